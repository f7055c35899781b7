//! Boots a process from its configuration: opens the database, resolves the manifest, checks it against the database.

mod open_access;
mod reading;
mod sqlite_file;
mod write_role;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use identity::account::Permission;
use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::manifest::{Manifest, ManifestError};
use query::messages::counted;
use query::sql::Dialect;
use store::check::Report;
use store::hub_records::{Records, TablesState, accounts, clients, rights};
use store::{Database, DatabaseSettings, Reachability, Writers};
use tokio::runtime::{Handle, RuntimeFlavor};

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
use crate::query_service::reader::DatabaseReader;
use crate::query_service::{QueryService, WriteMetrics};
use crate::satellite::Satellite;
use crate::slow_statements::SlowStatements;
use crate::traces::Tracer;

pub(crate) use open_access::open_resources;
use open_access::{MAX_LOGGED_RESOURCES, open_writes};
use sqlite_file::MissingFile;
pub(crate) use sqlite_file::{Content, require as require_sqlite_file};

/// How long a command that only reads waits for a SQLite file that another process has locked.
const READER_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

const READ_URL: &str = "DATABASE_READ_URL";

pub async fn boot(config: &Config) -> Result<AppState, BootError> {
    let app_files = app_files(config)?;
    let role = role(config)?;
    let declared = manifest(config.strategy, &config.manifest).map_err(|error| error.in_file(config))?;
    let mut catalog = resolve(config, &declared).map_err(|error| error.in_file(config))?;
    let primary = open("DATABASE_URL", &config.database_url, &config.database, &catalog).await?;
    let replicas = replicas(config).await?;
    check_declared(config, &declared, &mut catalog, &primary).await?;
    let budgets = Budgets::new(&config.budget, config.database.pool, config.database.write_pool);
    let tracer = config.traces.as_ref().map(Tracer::start).transpose()?;
    let authenticator = match role {
        Role::None if config.listen.ip().is_loopback() => Authenticator::none_on_loopback(),
        Role::None => Authenticator::none(),
        Role::Hub(files) => Authenticator::Hub(start_hub(config, (&primary, &catalog), files, &budgets).await?),
        Role::Satellite(settings) => Authenticator::Satellite(Satellite::open(config, *settings, budgets.clone()).await?),
    };
    let graphql = Arc::new(Engine::new(&catalog, config.graphql_introspection)?);
    let slow_statements = config.slow_statement.map(SlowStatements::from);
    let reader = DatabaseReader::new(primary, replicas, config.database_read_max_lag, &budgets).logging(slow_statements);
    let writers = writers(config, &reader.primary, &catalog)?;
    let writes = WriteMetrics::default();
    writes.note_writers(writers.as_ref());
    let queries = Arc::new(QueryService { catalog: Arc::new(catalog), reader, budgets, writers, writes });
    Ok(AppState { queries, authenticator, graphql, app_files, tracer })
}

/// Reads the manifest again and checks it as [`boot`] does. The new state shares everything but the manifest with the old one.
pub async fn reload(config: &Config, current: &AppState) -> Result<AppState, BootError> {
    // A file that was there must not be missing or empty now, or a half-done deployment would remove every resource.
    let had_resources = current.queries.catalog.resources().iter().any(|resource| !resource.is_own());
    let path = if had_resources { ManifestPath::Named(config.manifest.path().clone()) } else { config.manifest.clone() };
    let declared = manifest(config.strategy, &path).map_err(|error| error.in_file(config))?;
    if had_resources && declared.resources.is_empty() {
        let file = config.manifest.path().display();
        return Err(BootError(format!("{file} declares no resource, and there were some; to serve none, start the server again")));
    }
    let mut catalog = beside_requests(|| resolve(config, &declared)).map_err(|error| error.in_file(config))?;
    check_declared(config, &declared, &mut catalog, &current.queries.reader.primary).await?;
    let graphql = Arc::new(beside_requests(|| Engine::new(&catalog, config.graphql_introspection))?);
    if let Some(hub) = current.authenticator.as_hub() {
        declare_permissions(hub.records(), &catalog).await?;
    }
    let writers = match &current.queries.writers {
        Some(writers) => Some(writers.clone()),
        None => writers(config, &current.queries.reader.primary, &catalog)?,
    };
    current.queries.writes.note_writers(writers.as_ref());
    let queries = Arc::new(QueryService { catalog: Arc::new(catalog), writers, ..QueryService::clone(&current.queries) });
    Ok(AppState { queries, graphql, ..current.clone() })
}

/// The connections for writes, if a resource has any.
fn writers(config: &Config, primary: &Database, catalog: &Catalog) -> Result<Option<Writers>, BootError> {
    if !has_writes(catalog) {
        return Ok(None);
    }
    let url = config.database_write_url.as_deref();
    let writers = Writers::open(primary, url, &config.database);
    writers.map(Some).map_err(|error| BootError(format!("{}: {error}", if url.is_some() { "DATABASE_WRITE_URL" } else { "DATABASE_URL" })))
}

/// Runs work that takes long while other requests go on: moves the other tasks of this thread to another one, if there is one.
pub(crate) fn beside_requests<T>(work: impl FnOnce() -> T) -> T {
    if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread { tokio::task::block_in_place(work) } else { work() }
}

/// Refuses a manifest that does not fit the database, and warns of resources that everyone can read.
async fn check_declared(config: &Config, declared: &Manifest, catalog: &mut Catalog, database: &Database) -> Result<(), BootError> {
    for warning in open_resources(config, catalog, MAX_LOGGED_RESOURCES).into_iter().chain(open_writes(config, catalog)) {
        tracing::warn!("{warning}");
    }
    if declared.resources.is_empty() {
        return Ok(());
    }
    let report = check_catalog(config, catalog, database).await?;
    refuse_errors(&report, &config.manifest.path().display().to_string())
}

/// Makes the permissions of the manifest known to the hub, so that roles can hold them.
async fn declare_permissions(records: &Records, catalog: &Catalog) -> Result<(), BootError> {
    let permissions = catalog.permissions().filter_map(|(name, _)| Permission::parse(name).ok());
    rights::declare(records, permissions, clock::now()).await.map_err(unusable)
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
            "OAUTH_STRATEGY is none: NOBODY CAN SIGN IN. Every caller is anonymous, and everything without a permission is public. Do not use this in production."
        );
        return Ok(Role::None);
    }
    let files = KeyFiles::read(config);
    warn_of_app_url(config);
    if config.strategy == Strategy::LocalProvider {
        return files.map(Role::Hub);
    }
    let settings = config.satellite.clone().map_err(|error| BootError(error.to_string()));
    both(files, settings).map(|(_, settings)| Role::Satellite(Box::new(settings)))
}

/// Refuses settings of the strategy that are missing or cannot be used, as [`boot`] does.
pub(crate) fn check_role(config: &Config) -> Result<(), BootError> {
    both(role(config), app_files(config)).map(drop)
}

/// Both results, or one message with the errors of both.
fn both<A, B>(one: Result<A, BootError>, other: Result<B, BootError>) -> Result<(A, B), BootError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(BootError(one)), Err(BootError(other))) => Err(BootError(format!("{one}; {other}"))),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
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
    declare_permissions(&records, catalog).await?;
    if !accounts::is_any(&records).await.map_err(unusable)? {
        tracing::warn!(
            "this hub has no account yet. Add the first one: echo 'a long password' | peristyle account add --username admin --email admin@example.com --role administrator --password-stdin"
        );
    }
    log_administration_hint(&records).await.map_err(unusable)?;
    let hub = Hub::open(config, records, files, budgets.clone()).await?;
    hub::start_maintenance(&hub);
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
    let path = match config.strategy {
        Strategy::LocalProvider => config.manifest.clone(),
        Strategy::None | Strategy::PlatformHub => ManifestPath::Named(config.manifest.path().clone()),
    };
    let declared = manifest(config.strategy, &path)?;
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
    let (mut catalog, mut faults) = Catalog::resolve_partly(&own, declared);
    if let Err(ManifestError(unnameable)) = graphql::sdl(&catalog) {
        faults.extend(unnameable);
        faults.sort_by_key(|fault| fault.line);
    }
    if !faults.is_empty() {
        return Err(ManifestError(faults).into());
    }
    catalog.set_max_rows(config.max_rows);
    Ok(catalog)
}

/// Reads the manifest. A hub without one serves its own records.
fn manifest(strategy: Strategy, manifest: &ManifestPath) -> Result<Manifest, CatalogError> {
    let path = manifest.path();
    let name = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && matches!(manifest, ManifestPath::Default(_)) => {
            match strategy {
                Strategy::LocalProvider => tracing::info!("there is no manifest at {name}: this hub serves its own records"),
                Strategy::None | Strategy::PlatformHub => {
                    tracing::warn!("there is no manifest at {name}; `peristyle introspect` writes one");
                }
            }
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
    if let Some(missing) = MissingFile::find(variable, url)? {
        missing.refuse_declared_tables(catalog)?;
        missing.create()?;
    }
    connect(variable, url, settings).await
}

/// Opens the database for a command that only reads it. It creates nothing, and waits only briefly for a SQLite file that is locked.
pub(crate) async fn open_existing(config: &Config, catalog: &Catalog, content: Content) -> Result<Database, BootError> {
    let (variable, url) = ("DATABASE_URL", &config.database_url);
    if let Some(missing) = MissingFile::find(variable, url)? {
        missing.refuse_declared_tables(catalog)?;
        return Err(missing.refuse(content));
    }
    let refused = |error: store::Error| BootError(format!("{variable}: {error}"));
    let settings = DatabaseSettings { lock_timeout: READER_LOCK_TIMEOUT, ..config.database };
    let database = Database::open(url, &settings).map_err(refused)?;
    database.check_server().await.map_err(refused)?;
    Ok(database)
}

async fn connect(variable: &str, url: &str, settings: &DatabaseSettings) -> Result<Database, BootError> {
    let database = Database::open(url, settings).map_err(|error| BootError(format!("{variable}: {error}")))?;
    check_server(variable, &database).await?;
    Ok(database)
}

/// Refuses a server that cannot be used. One that does not answer may be back later.
async fn check_server(variable: &str, database: &Database) -> Result<(), BootError> {
    match database.check_server().await {
        Ok(()) => Ok(()),
        // A member of a cluster that is its primary now may be a standby later.
        Err(store::Error::Unavailable(reason)) if variable == READ_URL && database.reachability() == Reachability::OtherRole => {
            tracing::info!("{variable}: {reason}");
            Ok(())
        }
        Err(store::Error::Unavailable(reason)) => {
            tracing::warn!("{variable}: {reason}");
            Ok(())
        }
        Err(error) => Err(BootError(format!("{variable}: {error}"))),
    }
}

/// The read replicas, each host of DATABASE_READ_URL by itself.
async fn replicas(config: &Config) -> Result<Vec<Database>, BootError> {
    let Some(url) = config.database_read_url.as_deref() else {
        if config.database_read_max_lag.is_some() {
            tracing::warn!("DATABASE_READ_MAX_LAG has no effect without DATABASE_READ_URL");
        }
        return Ok(Vec::new());
    };
    let replicas = Database::open_each_host(url, &config.database).map_err(|error| BootError(format!("{READ_URL}: {error}")))?;
    for checked in join_all(replicas.iter().map(|replica| check_server(READ_URL, replica))).await {
        checked?;
    }
    Ok(replicas)
}

/// The records of a hub, for a command that adds to them: creates or migrates their tables first.
pub async fn records(url: &str, settings: &DatabaseSettings) -> Result<Records, BootError> {
    let database = open("DATABASE_URL", url, settings, &Catalog::default()).await?;
    let records = Records::of(&database).map_err(unusable)?;
    records.migrate().await.map_err(unusable)?;
    rights::declare(&records, [], clock::now()).await.map_err(unusable)?;
    Ok(records)
}

/// Whether the database has the tables of a hub. A missing SQLite file has none.
pub(crate) async fn hub_tables(config: &Config) -> Result<TablesState, BootError> {
    if MissingFile::find("DATABASE_URL", &config.database_url)?.is_some() {
        return Ok(TablesState::Missing);
    }
    let database = open_existing(config, &Catalog::default(), Content::HubRecords).await?;
    Records::read_only(&database).map_err(unusable)?.tables_state().await.map_err(unusable)
}

/// The records of a hub, for a command that changes none of them. Creates nothing.
pub(crate) async fn existing_records(config: &Config) -> Result<Records, BootError> {
    let database = open_existing(config, &Catalog::default(), Content::HubRecords).await?;
    let records = Records::read_only(&database).map_err(unusable)?;
    require_tables(&records).await?;
    records.check_privileges().await.map_err(unusable)?;
    Ok(records)
}

/// Refuses a database with the hub tables of another version.
pub(crate) async fn require_tables(records: &Records) -> Result<(), BootError> {
    let state = records.tables_state().await.map_err(unusable)?;
    migration_hint(state).map_or(Ok(()), |hint| Err(BootError(format!("DATABASE_URL: {hint}"))))
}

/// What to run if the tables of a hub are not those of this version.
pub(crate) fn migration_hint(state: TablesState) -> Option<&'static str> {
    match state {
        TablesState::Missing => Some("the hub's own tables are missing; run `peristyle migrate`, or start `peristyle serve`"),
        TablesState::Outdated => {
            Some("the hub's own tables are those of an older version; run `peristyle migrate`, or start `peristyle serve`")
        }
        TablesState::Current => None,
    }
}

/// Checks the catalog against the database, and takes from it what statements can rely on.
pub async fn check_catalog(config: &Config, catalog: &mut Catalog, database: &Database) -> Result<Report, BootError> {
    let schema = reading::read("DATABASE_URL", database, || database.schema().boxed()).await?;
    store::check::add_database_facts(catalog, &schema);
    let mut report = store::check::check(catalog, &schema, database.dialect());
    report.findings.extend(reading::read("DATABASE_URL", database, || database.check_derived(catalog, &schema).boxed()).await?);
    if has_writes(catalog) {
        report.findings.extend(write_role::check(config, catalog, (database, &schema)).await?);
    }
    report.findings.sort_by_key(|finding| finding.line);
    Ok(report)
}

fn has_writes(catalog: &Catalog) -> bool {
    catalog.resources().iter().any(|resource| resource.write_rules().is_some())
}

fn refuse_errors(report: &Report, file: &str) -> Result<(), BootError> {
    let errors: Vec<String> = report.errors().map(|finding| format!("{file}:{}: {}", finding.line, finding.message)).collect();
    let warnings = report.warnings().count();
    if warnings > 0 {
        tracing::warn!("{file} has {}; `peristyle check` lists them", counted(warnings as u64, "warning"));
    }
    if errors.is_empty() { Ok(()) } else { Err(BootError(errors.join("\n"))) }
}
