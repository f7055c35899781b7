//! Runs a rendered statement: the only way to one, whichever database it is for.
//!
//! A page of known size is read whole, and written whole if that is small enough. Everything else comes out of one snapshot in batches,
//! each sent on before the next is read, and so does a page that is more than is held at once: memory grows with the largest row of a table,
//! not with the answer.

mod batch_size;
mod page;
mod sink;

use std::time::Duration;

use bytes::Bytes;
use query::catalog::Catalog;
use query::plan::Operation;
use query::sql::{Dialect, Query, Sql, Total};
use tracing::Instrument;

use crate::Error;
use crate::assemble::Batch;
use crate::check::Finding;
use crate::postgres::{self, Postgres};
use crate::schema::Schema;
use crate::sqlite::{self, Sqlite};

pub use crate::postgres::Prepare;
pub(crate) use batch_size::BatchSize;
pub use page::Page;
pub use sink::Chunks;
use sink::Opening;
pub(crate) use sink::{Frame, Sink};

/// A page of at most so many rows is built whole; a larger one is streamed.
const WHOLE_ROWS: u64 = 1_000;

/// A longer text is not kept as a prepared statement: a connection keeps many, and a client chooses their shapes.
const KEPT_TEXT: usize = 16 * 1024;

/// Whether a statement is kept once it is prepared.
pub(crate) fn is_kept(text: &str) -> bool {
    text.len() <= KEPT_TEXT
}

/// How a database is used.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseSettings {
    /// How many connections.
    pub pool: usize,
    /// How long a statement may run.
    pub timeout: Duration,
    /// Whether PostgreSQL statements are prepared by name.
    pub prepare: Prepare,
    /// How long a reader of a streamed answer may take nothing before it is cut off.
    pub patience: Duration,
    /// How many bytes of rows an answer holds at once, and of related rows as many again; what is more is read in portions.
    pub memory: usize,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        let seconds = Duration::from_secs(30);
        DatabaseSettings { pool: 16, timeout: seconds, prepare: Prepare::On, patience: seconds, memory: 8 * 1024 * 1024 }
    }
}

/// A database that answers statements.
#[derive(Clone, Debug)]
pub enum Database {
    /// PostgreSQL.
    Postgres(PostgresHandle),
    /// Embedded SQLite.
    Sqlite(SqliteHandle),
}

/// A pool of PostgreSQL connections.
#[derive(Clone, Debug)]
pub struct PostgresHandle(pub(crate) Postgres);

/// An embedded SQLite database.
#[derive(Clone, Debug)]
pub struct SqliteHandle(pub(crate) Sqlite);

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As the operation says: an array, a page, or one object.
    Json,
    /// One row a line.
    Lines,
}

/// What came of a statement.
#[derive(Debug)]
pub enum Answer {
    /// The whole answer.
    Whole(Bytes),
    /// There is no such row.
    Nothing,
    /// Chunks, as they are read. A chunk that is an error ends the answer, which must not look whole.
    Chunks(Chunks),
}

impl Database {
    /// Opens the database an address names: `postgres://…`, `sqlite://PATH` or `sqlite::memory:`.
    pub fn open(url: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Database::Postgres(PostgresHandle(Postgres::new(url, settings)?)));
        }
        if let Some(path) = url.strip_prefix("sqlite:") {
            return Ok(Database::Sqlite(SqliteHandle(Sqlite::open(path.strip_prefix("//").unwrap_or(path), settings)?)));
        }
        Err(Error::Setting("an address begins with postgres:// or is sqlite://PATH or sqlite::memory:".to_owned()))
    }

    /// Which SQL it speaks.
    pub fn dialect(&self) -> Dialect {
        match self {
            Database::Postgres(_) => Dialect::Postgres,
            Database::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// What tables there are.
    pub async fn schema(&self) -> Result<Schema, Error> {
        match self {
            Database::Postgres(handle) => handle.0.schema().await,
            Database::Sqlite(handle) => handle.0.schema().await,
        }
    }

    /// What tables there are, with what only rows can tell of their columns.
    pub async fn sampled_schema(&self) -> Result<Schema, Error> {
        match self {
            Database::Postgres(handle) => handle.0.schema().await,
            Database::Sqlite(handle) => handle.0.sampled_schema().await,
        }
    }

    /// What rows hold that does not fit the manifest; PostgreSQL keeps them from that.
    pub async fn misfits(&self, catalog: &Catalog) -> Result<Vec<Finding>, Error> {
        match self {
            Database::Postgres(_) => Ok(Vec::new()),
            Database::Sqlite(handle) => handle.0.misfits(catalog).await,
        }
    }

    /// Whether it answers.
    pub async fn ping(&self) -> Result<(), Error> {
        match self {
            Database::Postgres(handle) => handle.0.ping().await,
            Database::Sqlite(handle) => handle.0.ping().await,
        }
    }

    /// Runs a statement.
    pub async fn run(&self, query: Query, format: Format) -> Result<Answer, Error> {
        let whole = query.limit.is_some_and(|limit| limit <= WHOLE_ROWS);
        if !whole {
            // The rarer and larger of the two futures: boxed, so that pages do not carry its size.
            return Box::pin(self.stream(query, format)).await;
        }
        let operation = query.operation;
        let (query, page) = match self {
            Database::Postgres(handle) => {
                let page = postgres::page(&handle.0, &query).await?;
                (query, page)
            }
            Database::Sqlite(handle) => Box::pin(sqlite::page(&handle.0, query)).await?,
        };
        let Some((batch, total)) = page else {
            return Box::pin(self.stream(query, format)).await;
        };
        if operation == Operation::Find && batch.len() == 0 {
            return Ok(Answer::Nothing);
        }
        Ok(match Frame::counted(operation, format, batch.len(), total).whole(&batch, total) {
            Some(bytes) => Answer::Whole(bytes),
            None => self.poured(Frame::new(operation, format), batch, total),
        })
    }

    /// The database's own plan of each level's statement, with the relations that lead to it. The statement is run for real,
    /// for its first rows, since a level below needs the keys of the one above.
    pub async fn analyze(&self, query: &Query) -> Result<Vec<(String, Vec<String>)>, Error> {
        match self {
            Database::Postgres(handle) => postgres::analyze(&handle.0, &query.root).await,
            Database::Sqlite(handle) => sqlite::analyze(&handle.0, query.root.clone()).await,
        }
    }

    async fn stream(&self, query: Query, format: Format) -> Result<Answer, Error> {
        let frame = || Frame::new(query.operation, format);
        match self {
            Database::Postgres(handle) => {
                let (batch, begun) = postgres::start(&handle.0, &query).await?;
                let rest = match begun {
                    postgres::Begun::More(rest) => rest,
                    // Most answers without a limit are small: no task, no channel.
                    postgres::Begun::Whole(_) if query.operation == Operation::Find && batch.len() == 0 => return Ok(Answer::Nothing),
                    postgres::Begun::Whole(total) => {
                        let whole = frame().whole(&batch, total);
                        return Ok(whole.map_or_else(|| self.poured(frame(), batch, total), Answer::Whole));
                    }
                };
                let (sink, outlet) = sink::channel(frame(), self.patience());
                let (alarm, postgres) = (sink.alarm(), handle.0.clone());
                let work = async move { alarm.watch(postgres::proceed(&postgres, &query, (batch, *rest), sink).await) };
                tokio::spawn(work.in_current_span());
                Ok(Answer::Chunks(outlet.chunks()))
            }
            Database::Sqlite(handle) => {
                let (sink, outlet) = sink::channel(frame(), self.patience());
                let (alarm, sqlite, operation) = (sink.alarm(), handle.0.clone(), query.operation);
                let work = async move { alarm.watch(sqlite::stream(&sqlite, query, sink).await) };
                tokio::spawn(work.in_current_span());
                Ok(match outlet.open().await? {
                    Opening::Whole(bytes) if operation == Operation::Find && bytes.is_empty() => Answer::Nothing,
                    Opening::Whole(bytes) => Answer::Whole(bytes),
                    Opening::Chunks(chunks) => Answer::Chunks(chunks),
                })
            }
        }
    }

    /// A page that is too large to be built whole, in pieces.
    fn poured(&self, frame: Frame, batch: Batch, total: i64) -> Answer {
        let (mut sink, outlet) = sink::channel(frame, self.patience());
        let alarm = sink.alarm();
        let work = async move {
            let outcome = match sink.rows(&batch).await {
                Ok(()) => sink.finish(total).await,
                failed => failed,
            };
            alarm.watch(outcome);
        };
        tokio::spawn(work.in_current_span());
        Answer::Chunks(outlet.chunks())
    }

    fn patience(&self) -> Duration {
        match self {
            Database::Postgres(handle) => handle.0.patience,
            Database::Sqlite(handle) => handle.0.patience,
        }
    }
}

/// What is to be done to learn the total.
pub(crate) enum Need<'q> {
    Known(i64),
    Ask(&'q Sql),
}

/// The total is asked only when the page does not tell it.
pub(crate) fn need_total(query: &Query, count: usize) -> Need<'_> {
    let (count, offset) = (count as u64, query.offset);
    let short = query.limit.is_none_or(|limit| count < limit);
    match &query.total {
        Total::Unasked => Need::Known(0),
        Total::One => Need::Known(1),
        Total::Count(_) if short && (count > 0 || offset == 0) => Need::Known((offset + count) as i64),
        Total::Count(sql) => Need::Ask(sql),
    }
}

/// `orders` below the root, `orders.items` below `orders`.
pub(crate) fn below(path: &str, key: &[u8]) -> String {
    let key = String::from_utf8_lossy(key);
    let name = key.trim_end_matches(':').trim_matches('"');
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
