//! What `peristyle check` says about the read replicas.

use futures_util::future::join_all;
use query::catalog::Catalog;
use store::{Database, Error, Reachability};

use crate::boot_error::BootError;
use crate::config::Config;

/// How many differences of one read replica are listed.
const MAX_DIFFERENCES: usize = 5;

/// Warnings, because other servers answer instead of a read replica that cannot be used.
pub(super) async fn warnings(config: &Config, catalog: &Catalog, primary: &Database) -> Result<Vec<String>, BootError> {
    let Some(url) = config.database_read_url.as_deref() else { return Ok(Vec::new()) };
    let replicas = Database::open_each_host(url, &config.database).map_err(|error| refusal(&error))?;
    let identity = primary.identity().await.ok();
    let mut warnings = Vec::new();
    for differences in join_all(replicas.iter().map(|replica| differences(replica, catalog, identity.as_deref()))).await {
        warnings.extend(differences?);
    }
    Ok(warnings)
}

fn refusal(error: &Error) -> BootError {
    BootError(format!("DATABASE_READ_URL: {error}"))
}

async fn differences(replica: &Database, catalog: &Catalog, primary: Option<&str>) -> Result<Vec<String>, BootError> {
    match replica.check_server().await {
        // A member of a cluster that is its primary now.
        Err(Error::Unavailable(_)) if replica.reachability() == Reachability::OtherRole => return Ok(Vec::new()),
        Err(Error::Unavailable(reason)) => return Ok(vec![format!("DATABASE_READ_URL: {reason}; other servers answer instead")]),
        checked => checked.map_err(|error| refusal(&error))?,
    }
    let server = replica.servers();
    let schema = replica.schema().await.map_err(|error| refusal(&error))?;
    let report = store::check::check(catalog, &schema, replica.dialect());
    let errors: Vec<&str> = report.errors().map(|finding| finding.message.as_str()).collect();
    let mut warnings: Vec<String> =
        errors.iter().take(MAX_DIFFERENCES).map(|message| format!("DATABASE_READ_URL: {server}: {message}")).collect();
    if errors.len() > MAX_DIFFERENCES {
        warnings.push(format!("DATABASE_READ_URL: {server}: and {} more", errors.len() - MAX_DIFFERENCES));
    }
    // Not every server lets everyone ask this.
    let identity = replica.identity().await.ok();
    if primary.zip(identity.as_deref()).is_some_and(|(primary, identity)| primary != identity) {
        warnings.push(format!("DATABASE_READ_URL: {server} is no standby of DATABASE_URL but another database; its rows may differ"));
    }
    Ok(warnings)
}
