//! Embedded SQLite: connections that only read, each on a thread of its own while it works.

mod brake;
mod cell;
mod encode;
pub(crate) mod fill;
mod functions;
mod glance;
mod ilike;
mod place;
mod pour;
mod prepared;
mod read;
mod session;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;
use crate::schema::{self, Schema};
use crate::settings::{DatabaseSettings, PoolFigures};

use brake::{Brake, Waiter};
pub(crate) use encode::readable;
pub(crate) use glance::{encoding_of, glance, know_collations};
use place::{Identity, Place};
pub(crate) use pour::stream;
pub(crate) use read::{analyze, page};
use session::Session;

const STATEMENTS: usize = 256;
/// How long the first rows of one table may take to look at, so that a view that never ends costs the others nothing.
const LOOK: Duration = Duration::from_secs(5);
/// How many steps of the virtual machine pass between two looks at the clock. A step may be a call of ours that takes long.
const STEPS: i32 = 1_000;

/// A SQLite database.
#[derive(Clone, Debug)]
pub(crate) struct Sqlite {
    shared: Arc<Shared>,
    pub(crate) timeout: Duration,
    pub(crate) patience: Duration,
    pub(crate) stream_timeout: Duration,
    /// How many bytes of related rows are held at once.
    memory: usize,
}

#[derive(Debug)]
struct Shared {
    place: Place,
    /// The file that was opened.
    identity: Option<Identity>,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    max_connections: usize,
    /// An in-memory database lives as long as one connection to it.
    _keeper: Mutex<Connection>,
    session: Session,
}

impl Shared {
    /// An idle connection, or a new one.
    fn take(&self) -> Result<Connection, Error> {
        self.place.still(self.identity)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect(&self.place, &self.session), Ok)
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Sqlite {
    /// What the pool holds now. A permit that is held or waited for keeps a reference to the semaphore.
    pub(crate) fn pool(&self) -> PoolFigures {
        let Shared { idle, permits, max_connections, .. } = &*self.shared;
        let in_use = max_connections.saturating_sub(permits.available_permits());
        let waiting = Arc::strong_count(permits).saturating_sub(1 + in_use);
        PoolFigures { in_use, idle: idle.lock().unwrap_or_else(PoisonError::into_inner).len(), waiting }
    }

    /// Opens a file, or a database in memory for `:memory:`.
    pub(crate) fn open(path: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        let place = match path {
            "" => return Err(Error::Setting("sqlite:// needs a path, such as sqlite://peristyle.db".to_owned())),
            ":memory:" => {
                // A name of its own: databases in memory of the same name are one.
                static NEXT: AtomicU64 = AtomicU64::new(0);
                Place::Memory(format!("file:/peristyle-{}?vfs=memdb", NEXT.fetch_add(1, Ordering::Relaxed)))
            }
            path => Place::File(path.to_owned()),
        };
        let session = Session::new(settings);
        let keeper = connect(&place, &session)?;
        let max_connections = settings.pool + settings.reserved;
        let permits = Arc::new(Semaphore::new(max_connections));
        let identity = place.identity()?;
        let shared =
            Shared { place, identity, idle: Mutex::new(Vec::new()), permits, max_connections, _keeper: Mutex::new(keeper), session };
        let DatabaseSettings { timeout, patience, stream_timeout, memory, .. } = *settings;
        Ok(Sqlite { shared: Arc::new(shared), timeout, patience, stream_timeout, memory })
    }

    /// That the file is still the one that was opened.
    pub(crate) fn still(&self) -> Result<(), Error> {
        self.shared.place.still(self.shared.identity)
    }

    /// One more connection to the same database.
    pub(crate) fn connection(&self) -> Result<Connection, Error> {
        connect(&self.shared.place, &self.shared.session)
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        match tokio::time::timeout(self.shared.session.wait, self.shared.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Overloaded),
        }
    }

    /// Does work with a connection on a thread that may block.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Brake) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.permit().await?;
        let shared = self.shared.clone();
        let brake = Brake::new(self.timeout);
        let waiter = Waiter(brake.clone());
        let result = tokio::task::spawn_blocking(move || {
            let mut connection = shared.take()?;
            let watched = brake.clone();
            connection.progress_handler(STEPS, Some(move || watched.is_pulled()))?;
            let result = brake.over(|| work(&connection, &brake));
            connection.progress_handler(0, None::<fn() -> bool>)?;
            // One that failed may go on failing: SQLite keeps what it read of a file that was written over meanwhile.
            if matches!(result, Ok(_) | Err(Error::Timeout | Error::Gone)) {
                shared.give_back(connection);
            }
            drop(permit);
            result
        })
        .await;
        drop(waiter);
        result.map_err(|error| Error::Unexpected(error.to_string()))?
    }

    pub(crate) async fn schema(&self) -> Result<Schema, Error> {
        self.work(|connection, _| Ok(schema::read_sqlite(connection)?)).await
    }

    /// Looks at tables one by one; what is called before each gives it a time of its own.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection, &dyn Fn()) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let each = LOOK.min(self.timeout);
        self.work(move |connection, brake| look(connection, &|| brake.renew(each))).await
    }

    pub(crate) async fn ping(&self) -> Result<(), Error> {
        self.work(|connection, _| Ok(connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?)).await
    }
}

fn connect(place: &Place, session: &Session) -> Result<Connection, Error> {
    let connection = match place {
        Place::Memory(name) => Connection::open_with_flags(
            name,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        // Writable where that is allowed, since reading a WAL file may first have to recover it; we still never write.
        Place::File(path) => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .or_else(|_| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX))
            .map_err(|error| Error::Unavailable(format!("the SQLite file {path:?} cannot be opened: {error}")))?,
    };
    session.begin(&connection).map_err(|error| match (error.sqlite_error_code(), place) {
        (Some(ErrorCode::NotADatabase), Place::File(path)) => Error::Setting(format!("the file {path:?} is no SQLite database")),
        _ => error.into(),
    })?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    rusqlite::vtab::array::load_module(&connection)?;
    functions::install(&connection)?;
    Ok(connection)
}
