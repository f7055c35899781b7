//! Boots a process from its configuration: opens the database, resolves the manifest, checks it against the database.

use std::path::Path;
use std::sync::Arc;

use identity::account::Permission;
use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::manifest::{Manifest, ManifestError};
use query::sql::Dialect;
use store::check::Report;
use store::hub_records::{Records, accounts, clients, rights};
use store::{Database, DatabaseSettings};

use crate::app_files::AppFiles;
use crate::app_state::AppState;
use crate::authenticator::Authenticator;
use crate::boot_error::{BootError, unusable};
use crate::budget::Budgets;
use crate::clock;
use crate::config::{Config, ManifestPath, SatelliteSettings};
use crate::graphql::{self, Engine};
use crate::hub::{self, Hub, KeyFiles};
use crate::key_files;
use crate::query_service::QueryService;
use crate::query_service::reader::DatabaseReader;
use crate::satellite::Satellite;

pub async fn boot(config: &Config) -> Result<AppState, BootError> {
    let app_files = app_files(config)?;
    let role = role(config)?;
    let declared = manifest(&config.manifest).map_err(|error| error.in_file(config))?;
    let name = config.manifest.path().display().to_string();
    let mut catalog = resolve(config, &declared).map_err(|error| error.in_file(config))?;
    let primary = open("DATABASE_URL", &config.database_url, &config.database, &catalog).await?;
    let replica = match config.database_read_url.as_deref() {
        Some(url) => Some(open("DATABASE_READ_URL", url, &config.database, &catalog).await?),
        None => None,
    };
    if !declared.resources.is_empty() {
        let report = bind(&mut catalog, &primary).await?;
        refuse_errors(&report, &name)?;
    }
    let budgets = Budgets::new(&config.budget, config.database.pool);
    let authenticator = match role {
        Role::None if config.listen.ip().is_loopback() => Authenticator::none_on_loopback(),
        Role::None => Authenticator::none(),
        Role::Hub(files) => Authenticator::Hub(start_hub(config, (&primary, &catalog), files, &budgets).await?),
        Role::Satellite(settings) => Authenticator::Satellite(Satellite::open(config, *settings, budgets.clone()).await?),
    };
    let graphql = Arc::new(Engine::new(&catalog, config.graphql_introspection)?);
    let queries = QueryService { catalog: Arc::new(catalog), reader: DatabaseReader::new(primary, replica, &budgets), budgets };
    Ok(AppState { queries, authenticator, graphql, app_files })
}

enum Role {
    None,
    Hub(KeyFiles),
    Satellite(Box<SatelliteSettings>),
}

/// The identity role. Every strategy but `none` needs a usable key.
fn role(config: &Config) -> Result<Role, BootError> {
    if config.strategy == Strategy::None {
        tracing::warn!(
            "OAUTH_STRATEGY is none: THERE IS NO AUTHORITY. Every caller is the anonymous account and resources without a permission are public. Not for production."
        );
        return Ok(Role::None);
    }
    let files = KeyFiles::read(config)?;
    warn_of_app_url(config);
    if config.strategy == Strategy::LocalProvider {
        return Ok(Role::Hub(files));
    }
    let settings = config.satellite.clone().map_err(|error| BootError(error.to_string()))?;
    Ok(Role::Satellite(Box::new(settings)))
}

/// Warns if tokens and links would name a URL that no browser can open.
fn warn_of_app_url(config: &Config) {
    if config.listen.ip().is_unspecified() && config.app_url == format!("http://{}", config.listen) {
        tracing::warn!("APP_URL is not set, and nobody can open {}; set it to the URL that browsers and clients use", config.app_url);
    }
}

fn app_files(config: &Config) -> Result<Option<AppFiles>, BootError> {
    let Some(folder) = &config.app_files else { return Ok(None) };
    if config.strategy == Strategy::LocalProvider {
        // Scripts of an app on the hub's origin could use the session of a signed-in person.
        return Err(BootError("APP_FILES: a hub serves no app; serve it from a satellite".to_owned()));
    }
    AppFiles::read(folder).map(Some)
}

async fn start_hub(
    config: &Config,
    (database, catalog): (&Database, &Catalog),
    files: KeyFiles,
    budgets: &Budgets,
) -> Result<Hub, BootError> {
    if let Some(path) = Database::sqlite_path(&config.database_url).filter(|path| key_files::others_can_read(path.as_ref())) {
        tracing::warn!("the SQLite file {path} holds the records of a hub and can be read by other users of this machine; chmod 600 it");
    }
    let records = Records::of(database).map_err(unusable)?;
    for step in records.migrate().await.map_err(unusable)? {
        tracing::info!(step, "migrated the tables of the hub");
    }
    let permissions = catalog.permissions().filter_map(|(name, _)| Permission::parse(name).ok());
    rights::declare(&records, permissions, clock::now()).await.map_err(unusable)?;
    if accounts::count(&records).await.map_err(unusable)? == 0 {
        tracing::warn!(
            "this hub has no account yet. Add the first one: echo 'a long password' | peristyle account add --username admin --email admin@example.com --role administrator --password-stdin"
        );
    }
    log_administration_hint(&records).await.map_err(unusable)?;
    let hub = Hub::open(config, records, files, budgets.clone()).await?;
    tokio::spawn(hub::keep(hub.clone()));
    tokio::spawn(hub::beat(hub.clone()));
    tokio::spawn(hub::follow(hub.clone()));
    Ok(hub)
}

/// Logs how to allow a client to change records over HTTP, if none may yet.
async fn log_administration_hint(records: &Records) -> Result<(), store::Error> {
    let clients = clients::list(records).await?;
    if !clients.is_empty() && !clients.iter().any(|client| client.administers) && accounts::active_administrators(records).await? > 0 {
        tracing::info!(
            "no client of this hub may change its records over HTTP; to let one: peristyle client update --id CLIENT --administers true"
        );
    }
    Ok(())
}

/// The resources that a process with this configuration serves. Only a hub may have no manifest.
pub fn catalog(config: &Config) -> Result<Catalog, BootError> {
    resolve_catalog(config).map_err(|error| error.in_file(config))
}

/// The same, with the faults of the manifest apart.
pub(crate) fn resolve_catalog(config: &Config) -> Result<Catalog, CatalogError> {
    let declared = match config.strategy {
        Strategy::LocalProvider => manifest(&config.manifest)?,
        Strategy::None | Strategy::PlatformHub => manifest(&ManifestPath::Named(config.manifest.path().clone()))?,
    };
    resolve(config, &declared)
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    Boot(#[from] BootError),
}

impl CatalogError {
    pub(crate) fn in_file(self, config: &Config) -> BootError {
        match self {
            CatalogError::Manifest(error) => BootError(error.in_file(&config.manifest.path().display().to_string())),
            CatalogError::Boot(error) => error,
        }
    }
}

/// Resolves a manifest, on a hub together with that of its own records. Names that GraphQL cannot serve are faults too.
fn resolve(config: &Config, declared: &Manifest) -> Result<Catalog, CatalogError> {
    let dialect = if config.database_url.starts_with("sqlite") { Dialect::Sqlite } else { Dialect::Postgres };
    let own = match config.strategy {
        Strategy::LocalProvider => hub::manifest(dialect).map_err(|error| BootError(error.to_string()))?,
        Strategy::None | Strategy::PlatformHub => Manifest::default(),
    };
    let catalog = Catalog::resolve_beside(&own, declared)?;
    graphql::sdl(&catalog)?;
    Ok(catalog)
}

fn manifest(manifest: &ManifestPath) -> Result<Manifest, CatalogError> {
    let path = manifest.path();
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && matches!(manifest, ManifestPath::Default(_)) => {
            tracing::warn!("there is no manifest at {name}; `peristyle introspect` writes one");
            return Ok(Manifest::default());
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let message = format!("PERISTYLE_MANIFEST: {name} does not exist; `peristyle introspect` writes one from the database");
            return Err(BootError(message).into());
        }
        Err(error) => return Err(BootError(format!("PERISTYLE_MANIFEST: {name} cannot be read: {error}")).into()),
    };
    Ok(Manifest::read(&text)?)
}

/// Opens a database. A missing SQLite file is created only if the manifest declares no tables.
pub async fn open(variable: &str, url: &str, settings: &DatabaseSettings, catalog: &Catalog) -> Result<Database, BootError> {
    if let Some(path) = Database::sqlite_path(url) {
        let missing = !Path::new(path).exists();
        if missing && catalog.resources().iter().any(|resource| !resource.is_own()) {
            return Err(BootError(format!("{variable}: the SQLite file {path:?} does not exist, and the manifest declares tables in it")));
        }
        if missing {
            create_private(path).map_err(|error| BootError(format!("{variable}: the SQLite file {path:?} cannot be created: {error}")))?;
        }
    }
    let refused = |error: store::Error| BootError(format!("{variable}: {error}"));
    let database = Database::open(url, settings).map_err(refused)?;
    database.check_server().await.map_err(refused)?;
    Ok(database)
}

/// Creates a file that other users cannot read, since it may hold password hashes.
fn create_private(path: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // Another process created it.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

pub async fn records(url: &str, settings: &DatabaseSettings) -> Result<Records, BootError> {
    let database = open("DATABASE_URL", url, settings, &Catalog::default()).await?;
    let records = Records::of(&database).map_err(unusable)?;
    records.migrate().await.map_err(unusable)?;
    rights::declare(&records, [], clock::now()).await.map_err(unusable)?;
    Ok(records)
}

/// Checks the catalog against the database, and takes from it what statements can rely on.
pub async fn bind(catalog: &mut Catalog, database: &Database) -> Result<Report, BootError> {
    let schema = database.schema().await.map_err(unusable)?;
    store::check::bind(catalog, &schema);
    Ok(store::check::check(catalog, &schema, database.dialect()))
}

fn refuse_errors(report: &Report, file: &str) -> Result<(), BootError> {
    let errors: Vec<String> = report.errors().map(|finding| format!("{file}:{}: {}", finding.line, finding.message)).collect();
    let warnings = report.warnings().count();
    if warnings > 0 {
        tracing::warn!("the manifest and the database differ in {warnings} lesser point(s); `peristyle check` lists them");
    }
    if errors.is_empty() { Ok(()) } else { Err(BootError(errors.join("\n"))) }
}
