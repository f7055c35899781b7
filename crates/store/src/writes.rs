//! Changes rows: one transaction for a write, on connections of its own.

mod diagnosis;
mod session;
mod transaction;

use bytes::Bytes;
use query::catalog::FieldId;
use query::sql::write::{Diagnosis, WriteQuery};

use crate::database::{Database, Engine};
use crate::postgres::PostgresWrites;
use crate::run::AnswerContext;
use crate::settings::PoolFigures;
use crate::sqlite::SqliteWrites;
use crate::{DatabaseSettings, Error};

pub(crate) use diagnosis::diagnose;
pub(crate) use session::{DatabaseRefusal, RefusalKind, Savepoint, SessionError, Statement, WriteSession};
pub(crate) use transaction::{TransactionError, write};

/// How often a write is tried again after a deadlock or a conflict.
pub(crate) const MAX_TRIES: usize = 4;

/// The connections that change rows.
#[derive(Clone, Debug)]
pub struct Writers(WriteEngine);

#[derive(Clone, Debug)]
enum WriteEngine {
    Postgres(PostgresWrites),
    Sqlite(SqliteWrites),
}

/// What a write has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub count: usize,
    /// One object, or an array of them; none if the write asks for the number only.
    pub rows: Option<Bytes>,
}

/// Why a write changed nothing.
#[derive(Debug)]
pub enum WriteFailure {
    Refused(WriteRefusal),
    /// The database or the rules refuse it; [`Writers::diagnose`] finds out why.
    Unexplained,
    Store(Error),
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        WriteFailure::Store(error)
    }
}

/// A refusal that names no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRefusal {
    /// A row is not in reach.
    NotFound,
    /// A row is in reach and outside `scope`.
    OutOfScope,
    /// A row is not as `expect`, its version or `If-Match` says.
    Stale,
    TooManyRows {
        /// `max-rows`
        max: u64,
    },
    /// The rows of the answer do not fit into memory.
    AnswerTooLarge,
}

/// A fault of one row that the database found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFault {
    pub kind: WriteFaultKind,
    /// The row of the payload; none if the write has one for all.
    pub item: Option<usize>,
    /// The fields at fault; none if the database does not say.
    pub fields: Vec<FieldId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFaultKind {
    /// A row with this unique key exists.
    Exists,
    /// A reference leads to no row in reach.
    NoSuchRow,
    /// Other rows refer to the row.
    InUse,
    /// A constraint of the database.
    Refused,
    /// An increment leaves the range.
    OutOfRange,
    /// The row would leave the caller's reach, or break `check`.
    CheckFailed,
}

impl Writers {
    /// The connections for writes to a database. They go to `url` if there is one.
    pub fn open(database: &Database, url: Option<&str>, settings: &DatabaseSettings) -> Result<Self, Error> {
        Ok(Writers(match (&database.0, url) {
            (Engine::Postgres(postgres), None) => WriteEngine::Postgres(PostgresWrites::of(postgres, settings)?),
            (Engine::Postgres(_), Some(url)) if url.starts_with("postgres") => {
                let Engine::Postgres(postgres) = &Database::open(url, settings)?.0 else {
                    return Err(Error::Setting("accepted is postgres://…".to_owned()));
                };
                WriteEngine::Postgres(PostgresWrites::of(postgres, settings)?)
            }
            (Engine::Sqlite(sqlite), None) => WriteEngine::Sqlite(SqliteWrites::of(sqlite)?),
            (Engine::Postgres(_), Some(_)) => return Err(Error::Setting("accepted is postgres://…, as in DATABASE_URL".to_owned())),
            (Engine::Sqlite(_), Some(_)) => {
                return Err(Error::Setting("SQLite has one writer, which uses the file of DATABASE_URL; leave it out".to_owned()));
            }
        }))
    }

    /// The same connections, for one write with this context.
    #[must_use]
    pub fn for_answer(&self, context: AnswerContext) -> Self {
        Writers(match &self.0 {
            WriteEngine::Postgres(postgres) => WriteEngine::Postgres(postgres.for_answer(context)),
            WriteEngine::Sqlite(sqlite) => WriteEngine::Sqlite(sqlite.for_answer(context)),
        })
    }

    pub fn pool(&self) -> PoolFigures {
        match &self.0 {
            WriteEngine::Postgres(postgres) => postgres.pool(),
            WriteEngine::Sqlite(sqlite) => sqlite.pool(),
        }
    }

    /// Runs a write in one transaction: all of it, or nothing.
    pub async fn write(&self, query: WriteQuery) -> Result<Written, WriteFailure> {
        match &self.0 {
            WriteEngine::Postgres(postgres) => postgres.write(&query).await,
            WriteEngine::Sqlite(sqlite) => sqlite.write(query).await,
        }
    }

    /// Finds all faults of a write that was refused. It changes nothing. No fault means that the write may succeed now.
    pub async fn diagnose(&self, diagnosis: Diagnosis) -> Result<Vec<WriteFault>, WriteFailure> {
        match &self.0 {
            WriteEngine::Postgres(postgres) => postgres.diagnose(&diagnosis).await,
            WriteEngine::Sqlite(sqlite) => sqlite.diagnose(diagnosis).await,
        }
    }
}
