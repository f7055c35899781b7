//! A database that answers statements, whichever it is: the only way to a rendered statement's answer.
//!
//! A page of known size is read whole, and written whole if that is small enough. Everything else comes out of one snapshot in batches,
//! each sent on before the next is read, and so does a page that is more than is held at once: memory grows with the largest row of a table,
//! not with the answer.

use bytes::Bytes;
use query::catalog::Catalog;
use query::plan::Operation;
use query::sql::{Dialect, Query};
use tracing::Instrument;

use crate::assemble::Batch;
use crate::check::{Finding, values};
use crate::postgres::{self, Postgres};
use crate::run::{Chunks, Format, Frame, Opening, PageNumbers, PlanDetail, StreamLimits, channel};
use crate::schema::{self, Schema};
use crate::settings::{DatabaseSettings, PoolFigures};
use crate::sqlite::{self, Sqlite};
use crate::{Error, introspect};

/// A page of at most so many rows is built whole; a larger one is streamed.
const WHOLE_ROWS: u64 = 1_000;

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

/// What came of a statement.
#[derive(Debug)]
pub enum Answer {
    /// The whole answer.
    Whole(Bytes),
    /// The rows of a whole page, and its numbers beside them ([`Format::Rows`]).
    Page(Bytes, PageNumbers),
    /// There is no such row.
    Nothing,
    /// Chunks, as they are read. A chunk that is an error ends the answer, which must not look whole.
    Chunks(Chunks),
}

impl Answer {
    fn of((bytes, numbers): (Bytes, PageNumbers), format: Format) -> Self {
        if format == Format::Rows { Answer::Page(bytes, numbers) } else { Answer::Whole(bytes) }
    }
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

    /// Refuses sessions of PostgreSQL that a pooler shares out, where statements are to be prepared in them. One that is out of reach is
    /// asked when it is reached.
    pub async fn refuse_shared_sessions(&self) -> Result<(), Error> {
        match self {
            Database::Postgres(handle) => handle.0.refuse_shared_sessions().await,
            Database::Sqlite(_) => Ok(()),
        }
    }

    /// Refuses a PostgreSQL database that keeps texts in another encoding than UTF8. One that is out of reach is asked when it is reached.
    pub async fn refuse_other_encodings(&self) -> Result<(), Error> {
        match self {
            Database::Postgres(handle) => handle.0.refuse_other_encodings().await,
            Database::Sqlite(_) => Ok(()),
        }
    }

    /// The file that an address names, where it is one of SQLite.
    pub fn file(url: &str) -> Option<&str> {
        url.strip_prefix("sqlite://").filter(|path| !path.is_empty())
    }

    /// What its pool of connections holds now.
    pub fn pool(&self) -> PoolFigures {
        match self {
            Database::Postgres(handle) => handle.0.pool(),
            Database::Sqlite(handle) => handle.0.pool(),
        }
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
            Database::Sqlite(handle) => {
                let sampled = |connection: &_, begin: &dyn Fn()| {
                    let mut schema = schema::read_sqlite(connection)?;
                    introspect::sample(connection, &mut schema, begin);
                    Ok(schema)
                };
                handle.0.look(sampled).await
            }
        }
    }

    /// What rows hold that does not fit the manifest; PostgreSQL keeps them from that.
    pub async fn misfits(&self, catalog: &Catalog) -> Result<Vec<Finding>, Error> {
        match self {
            Database::Postgres(_) => Ok(Vec::new()),
            Database::Sqlite(handle) => {
                let asked = values::asked(catalog);
                handle.0.look(move |connection, begin| Ok(values::misfits(connection, &asked, begin))).await
            }
        }
    }

    /// Whether it answers.
    pub async fn ping(&self) -> Result<(), Error> {
        match self {
            Database::Postgres(handle) => handle.0.ping().await,
            Database::Sqlite(handle) => handle.0.ping().await,
        }
    }

    /// Whether the answer to a statement may be streamed: its number of rows is not known, or large.
    pub fn may_stream(query: &Query) -> bool {
        query.limit.is_none_or(|limit| limit > WHOLE_ROWS)
    }

    /// Runs a statement.
    pub async fn run(&self, query: Query, format: Format) -> Result<Answer, Error> {
        if let Database::Postgres(handle) = self
            && let Some(limit) = &handle.0.cost_limit
        {
            Box::pin(limit.refuse_expensive(&handle.0, &query)).await?;
        }
        if Self::may_stream(&query) {
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
            Some(whole) => Answer::of(whole, format),
            None => self.poured(Frame::new(operation, format), batch, total),
        })
    }

    /// The database's own plan of each level's statement, with the relations that lead to it. The statement is run for real,
    /// for its first rows, since a level below needs the keys of the one above.
    pub async fn analyze(&self, query: &Query, detail: PlanDetail) -> Result<Vec<(String, Vec<String>)>, Error> {
        match self {
            Database::Postgres(handle) => postgres::analyze(&handle.0, &query.root, detail).await,
            // It has no figures.
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
                        return Ok(whole.map_or_else(|| self.poured(frame(), batch, total), |whole| Answer::of(whole, format)));
                    }
                };
                let (sink, outlet) = channel(frame(), self.stream_limits());
                let (alarm, postgres) = (sink.alarm(), handle.0.clone());
                let work = async move { alarm.watch(postgres::proceed(&postgres, &query, batch, *rest, sink).await) };
                tokio::spawn(work.in_current_span());
                Ok(Answer::Chunks(outlet.chunks()))
            }
            Database::Sqlite(handle) => {
                let (sink, outlet) = channel(frame(), self.stream_limits());
                let (alarm, sqlite, operation) = (sink.alarm(), handle.0.clone(), query.operation);
                let work = async move { alarm.watch(sqlite::stream(&sqlite, query, sink).await) };
                tokio::spawn(work.in_current_span());
                Ok(match outlet.open().await? {
                    Opening::Whole(bytes, _) if operation == Operation::Find && bytes.is_empty() => Answer::Nothing,
                    Opening::Whole(bytes, numbers) => Answer::of((bytes, numbers), format),
                    Opening::Chunks(chunks) => Answer::Chunks(chunks),
                })
            }
        }
    }

    /// A page that is too large to be built whole, in pieces.
    fn poured(&self, frame: Frame, batch: Batch, total: i64) -> Answer {
        let (mut sink, outlet) = channel(frame, self.stream_limits());
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

    fn stream_limits(&self) -> StreamLimits {
        match self {
            Database::Postgres(handle) => StreamLimits::starting_now(handle.0.patience, handle.0.stream_timeout),
            Database::Sqlite(handle) => StreamLimits::starting_now(handle.0.patience, handle.0.stream_timeout),
        }
    }
}
