//! Embedded SQLite: read-only connections, each used on a blocking thread.

pub(crate) mod backup;
pub(crate) mod bulk_load;
mod cell;
mod derived;
mod foreign_keys;
mod functions;
mod ilike;
mod increment;
mod interrupt;
mod read;
mod refusal;
mod row_encoder;
mod sample;
mod session;
mod snapshot;
mod write_probe;
mod write_transaction;

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use query::catalog::TableName;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;
use crate::error::{needs_folder, unwritable_folder};
use crate::run::AnswerContext;
use crate::schema::{self, Schema};
use crate::settings::{DatabaseSettings, PoolFigures};

pub(crate) use cell::decimal as decimal_of;
use interrupt::{Interrupt, InterruptOnDrop};
pub(crate) use read::analyze;
pub(crate) use row_encoder::readable;
pub(crate) use sample::{check_collations, encoding_of, repeated_keys, sample_rows};
use session::Session;
pub(crate) use snapshot::{page, stream};
pub(crate) use write_transaction::SqliteWrites;

const MAX_STATEMENTS: usize = 256;
/// How long sampling one table may take, so that an endless view does not block the others.
const SAMPLE_TIMEOUT: Duration = Duration::from_secs(5);
/// How many steps of SQLite's virtual machine pass between two checks of the interrupt.
const CHECK_STEPS: i32 = 1_000;

#[derive(Clone, Debug)]
pub(crate) struct Sqlite {
    pool: Arc<Pool>,
    pub(crate) timeout: Duration,
    pub(crate) stall_timeout: Duration,
    pub(crate) stream_timeout: Duration,
    /// How many bytes of related rows are held at once.
    memory: usize,
    pub(crate) context: AnswerContext,
}

#[derive(Debug)]
struct Pool {
    location: Location,
    file: Option<FileId>,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    max_connections: usize,
    /// An in-memory database lives as long as one connection to it.
    _keeper: Mutex<Connection>,
    session: Session,
}

#[derive(Clone, Debug)]
enum Location {
    File(String),
    Memory(String),
}

/// The device and the inode number of a file. While a connection has it open, no other file gets them.
type FileId = (u64, u64);

impl Location {
    fn file_id(&self) -> Result<Option<FileId>, Error> {
        let Location::File(path) = self else { return Ok(None) };
        let file = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
        Ok(Some((file.dev(), file.ino())))
    }

    /// Refuses a file that replaced the one that was opened. Its WAL is found by name, so SQLite could apply the old WAL to the new file.
    fn check_unchanged(&self, opened: Option<FileId>) -> Result<(), Error> {
        if self.file_id()? == opened {
            return Ok(());
        }
        Err(Error::Unavailable("the SQLite file was replaced; start the server again to read the new one".to_owned()))
    }
}

impl Pool {
    fn take(&self) -> Result<Connection, Error> {
        self.location.check_unchanged(self.file)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect(&self.location, &self.session), Ok)
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Sqlite {
    /// What the pool holds now. A permit that is held or waited for keeps a reference to the semaphore.
    pub(crate) fn pool(&self) -> PoolFigures {
        let Pool { idle, permits, max_connections, .. } = &*self.pool;
        let in_use = max_connections.saturating_sub(permits.available_permits());
        let waiting = Arc::strong_count(permits).saturating_sub(1 + in_use);
        PoolFigures { in_use, idle: idle.lock().unwrap_or_else(PoisonError::into_inner).len(), waiting }
    }

    pub(crate) fn open(path: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        let location = match path {
            "" => return Err(Error::Setting("sqlite:// needs a path, such as sqlite://peristyle.db".to_owned())),
            ":memory:" => {
                // A unique name: databases in memory with the same name are one.
                static NEXT: AtomicU64 = AtomicU64::new(0);
                Location::Memory(format!("file:/peristyle-{}?vfs=memdb", NEXT.fetch_add(1, Ordering::Relaxed)))
            }
            path => Location::File(path.to_owned()),
        };
        let session = Session::new(settings);
        let keeper = connect(&location, &session)?;
        let max_connections = settings.pool + settings.reserved;
        let permits = Arc::new(Semaphore::new(max_connections));
        let file = location.file_id()?;
        let pool = Pool { location, file, idle: Mutex::new(Vec::new()), permits, max_connections, _keeper: Mutex::new(keeper), session };
        let DatabaseSettings { timeout, stall_timeout, stream_timeout, memory, .. } = *settings;
        Ok(Sqlite { pool: Arc::new(pool), timeout, stall_timeout, stream_timeout, memory, context: AnswerContext::default() })
    }

    pub(crate) fn describe(&self) -> String {
        match &self.pool.location {
            Location::File(path) => format!("the SQLite file {path:?}"),
            Location::Memory(_) => "the database in memory".to_owned(),
        }
    }

    pub(crate) fn for_answer(&self, context: AnswerContext) -> Self {
        Sqlite { context, ..self.clone() }
    }

    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        self.pool.location.check_unchanged(self.pool.file)
    }

    pub(crate) fn connection(&self) -> Result<Connection, Error> {
        connect(&self.pool.location, &self.pool.session)
    }

    /// The same file through connections that no other statement takes.
    pub(crate) fn with_own_connections(&self, max_connections: usize) -> Result<Self, Error> {
        let Pool { location, file, session, .. } = &*self.pool;
        let (keeper, permits) = (self.connection()?, Arc::new(Semaphore::new(max_connections)));
        let pool = Pool {
            location: location.clone(),
            file: *file,
            idle: Mutex::default(),
            permits,
            max_connections,
            _keeper: Mutex::new(keeper),
            session: *session,
        };
        Ok(Sqlite { pool: Arc::new(pool), ..self.clone() })
    }

    /// How long a statement waits for another process that writes.
    pub(crate) fn lock_timeout(&self) -> Duration {
        self.pool.session.lock_timeout
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        match tokio::time::timeout(self.pool.session.lock_timeout, self.pool.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Overloaded),
        }
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Interrupt) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.permit().await?;
        let pool = self.pool.clone();
        let interrupt = Interrupt::new(self.context.time_left(self.timeout));
        let caller = InterruptOnDrop(interrupt.clone());
        let result = tokio::task::spawn_blocking(move || {
            let mut connection = pool.take()?;
            let checked = interrupt.clone();
            connection.progress_handler(CHECK_STEPS, Some(move || checked.is_raised()))?;
            let result = interrupt.during(|| work(&connection, &interrupt));
            connection.progress_handler(0, None::<fn() -> bool>)?;
            // A failed connection may keep failing: SQLite caches pages of a file that was overwritten.
            if matches!(result, Ok(_) | Err(Error::Timeout | Error::Gone | Error::TooManyRows { .. })) {
                pool.give_back(connection);
            }
            drop(permit);
            result
        })
        .await;
        drop(caller);
        result.map_err(|error| Error::Unexpected(error.to_string()))?
    }

    pub(crate) async fn schema(&self) -> Result<Schema, Error> {
        self.run(|connection, _| Ok(schema::read_sqlite(connection)?)).await
    }

    /// Samples tables one by one. The callback restarts the time for the next table.
    pub(crate) async fn sample<T: Send + 'static>(
        &self,
        sample: impl FnOnce(&Connection, &dyn Fn()) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let each = SAMPLE_TIMEOUT.min(self.timeout);
        self.run(move |connection, interrupt| sample(connection, &|| interrupt.renew(each))).await
    }

    /// The places of the tables that do not exist, in the list. Only tables of the file itself are looked for.
    pub(crate) async fn missing_tables(&self, tables: &[&TableName]) -> Result<Vec<usize>, Error> {
        let in_file = |table: &&&TableName| table.schema.as_ref().is_none_or(|schema| schema.plain().eq_ignore_ascii_case("main"));
        let wanted: Vec<Option<String>> =
            tables.iter().map(|table| Some(table).filter(in_file).map(|table| table.name.plain().to_ascii_lowercase())).collect();
        self.run(move |connection, _| {
            let mut statement = connection.prepare_cached("SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')")?;
            let lower = |row: &rusqlite::Row<'_>| row.get::<_, String>(0).map(|name| name.to_ascii_lowercase());
            let names: HashSet<String> = statement.query_map([], lower)?.collect::<Result<_, _>>()?;
            let is_missing = |name: &Option<String>| name.as_ref().is_some_and(|name| !names.contains(name));
            Ok(wanted.iter().enumerate().filter(|(_, name)| is_missing(name)).map(|(place, _)| place).collect())
        })
        .await
    }

    pub(crate) async fn ping(&self) -> Result<(), Error> {
        self.run(|connection, _| Ok(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?)).await
    }
}

fn connect(location: &Location, session: &Session) -> Result<Connection, Error> {
    let connection = match location {
        Location::Memory(name) => Connection::open_with_flags(
            name,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        // Writable if that is allowed, since reading may first have to recover the WAL. No statement writes.
        Location::File(path) => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .or_else(|_| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX))
            .map_err(|error| cannot_open(path, &error))?,
    };
    session.apply(&connection).map_err(|error| match location {
        Location::File(path) => in_file(path, error),
        Location::Memory(_) => error.into(),
    })?;
    connection.set_prepared_statement_cache_capacity(MAX_STATEMENTS);
    rusqlite::vtab::array::load_module(&connection)?;
    functions::install(&connection)?;
    derived::install(&connection)?;
    increment::install(&connection)?;
    Ok(connection)
}

/// The error of a file with its name, which SQLite leaves out.
fn in_file(path: &str, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::Setting(format!("the file {path:?} is no SQLite database")),
        Some(ErrorCode::DatabaseCorrupt) => Error::Setting(format!("the SQLite file {path:?} is damaged: {error}")),
        Some(ErrorCode::DatabaseBusy) => Error::Unavailable(format!("another process has locked the SQLite file {path:?}")),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => cannot_open(path, &error),
        Some(ErrorCode::ReadOnly) if needs_folder(code) => Error::Unavailable(unwritable_folder(&format!("the SQLite file {path:?}"))),
        _ => error.into(),
    }
}

/// The reason of the system if it does not let the file be read; SQLite itself gives none.
fn cannot_open(path: &str, error: &dyn std::error::Error) -> Error {
    let reason = match std::fs::File::open(path).and_then(|file| file.metadata()) {
        Ok(file) if file.is_dir() => "it is a folder".to_owned(),
        Ok(_) => error.to_string(),
        Err(reason) => reason.to_string(),
    };
    Error::Unavailable(format!("the SQLite file {path:?} cannot be opened: {reason}"))
}
