//! Changes rows: one transaction for a write, on connections of its own.

use query::sql::write::{Diagnosis, WriteQuery};

use crate::database::{Database, Engine};
use crate::postgres::PostgresWrites;
use crate::run::AnswerContext;
use crate::settings::{HostFigures, PoolFigures};
use crate::sqlite::SqliteWrites;
use crate::writes::{WriteFailure, WriteFault, Written};
use crate::{DatabaseSettings, Error};

/// The connections that change rows.
#[derive(Clone, Debug)]
pub struct Writers(WriteEngine);

#[derive(Clone, Debug)]
enum WriteEngine {
    Postgres(PostgresWrites),
    Sqlite(SqliteWrites),
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

    /// What is known of each address that was tried.
    pub fn hosts(&self) -> Vec<HostFigures> {
        match &self.0 {
            WriteEngine::Postgres(postgres) => postgres.hosts(),
            WriteEngine::Sqlite(_) => Vec::new(),
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
