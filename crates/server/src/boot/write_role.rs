//! Checks that the role of writes, or the SQLite file, can take every write, in the database that reads look at.

use futures_util::FutureExt;
use query::catalog::Catalog;
use store::Database;
use store::check::{Finding, check_write_privileges, check_write_role};
use store::schema::Schema;

use crate::boot_error::BootError;
use crate::config::Config;

use super::reading::read;

/// What the role of writes lacks, as findings at the resources. A role that cannot write at all, or writes elsewhere, ends the boot.
pub(super) async fn check(config: &Config, catalog: &Catalog, (database, schema): (&Database, &Schema)) -> Result<Vec<Finding>, BootError> {
    let (variable, url) = match config.database_write_url.as_deref() {
        None => ("DATABASE_URL", None),
        Some(url) => ("DATABASE_WRITE_URL", Some(url)),
    };
    let refused = |error| BootError(format!("{variable}: {error}"));
    let separate = url.map(|url| Database::open(url, &config.database)).transpose().map_err(refused)?;
    let written = separate.as_ref().unwrap_or(database);
    if let Some(reason) = read(variable, written, || written.refuses_writes().boxed()).await? {
        return Err(BootError(format!("{variable}: {reason}; or remove the writes from the manifest")));
    }
    let Some(separate) = &separate else { return Ok(check_write_privileges(catalog, schema, database.dialect())) };
    if !read(variable, separate, || database.is_same_as(separate).boxed()).await? {
        let advice = "name the same database, with another user or address";
        return Err(BootError(format!(
            "{variable}: it leads to another database than DATABASE_URL, so that no read would show what a write changes; {advice}"
        )));
    }
    let written = read(variable, separate, || separate.schema().boxed()).await?;
    Ok(check_write_role(catalog, schema, &written, database.dialect()))
}
