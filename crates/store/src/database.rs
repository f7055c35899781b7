//! Runs rendered reads on either database. `writers` runs writes.
//!
//! A page of known size is read whole, and sent whole if it is small. Everything else is streamed in batches from one snapshot, so memory grows
//! with the largest row of a table, not with the answer.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use query::catalog::{Catalog, TableName};
use query::plan::Operation;
use query::sql::{Dialect, Query};
use tracing::Instrument;

use crate::assemble::Batch;
use crate::check::{Finding, derived, values};
use crate::postgres::{self, Postgres, ReplayPosition, StreamStart};
use crate::run::{AnswerContext, Chunks, Format, Frame, Opening, PageNumbers, PlanDetail, StreamLimits, channel};
use crate::schema::{self, Schema};
use crate::settings::{DatabaseSettings, HostFigures, PoolFigures, Reachability};
use crate::sqlite::{self, Sqlite};
use crate::{Error, introspect};

/// Larger pages are streamed.
const MAX_WHOLE_ROWS: u64 = 1_000;

#[derive(Clone, Debug)]
pub struct Database(pub(crate) Engine);

#[derive(Clone, Debug)]
pub(crate) enum Engine {
    Postgres(Postgres),
    Sqlite(Sqlite),
}

#[derive(Debug)]
pub enum Answer {
    Whole(Bytes),
    /// The rows of a whole page, and its numbers ([`Format::Rows`]); or the row that an id names, and its version.
    Page(Bytes, PageNumbers),
    Nothing,
    /// A stream. After an error it must not look complete.
    Chunks(Chunks),
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

impl Answer {
    fn of((bytes, numbers): (Bytes, PageNumbers), format: Format) -> Self {
        if format == Format::Rows || numbers.version.is_some() { Answer::Page(bytes, numbers) } else { Answer::Whole(bytes) }
    }
}

impl Database {
    /// Opens the database of a URL: `postgres://…`, `sqlite://PATH` or `sqlite::memory:`.
    pub fn open(url: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        if is_postgres(url) {
            return Ok(Database(Engine::Postgres(Postgres::new(url, settings)?)));
        }
        if let Some(path) = url.strip_prefix("sqlite:") {
            return Ok(Database(Engine::Sqlite(Sqlite::open(path.strip_prefix("//").unwrap_or(path), settings)?)));
        }
        Err(Error::Setting("accepted are postgres://…, sqlite://PATH and sqlite::memory:".to_owned()))
    }

    /// Refuses a malformed URL. Opens nothing.
    pub fn check_url(url: &str) -> Result<(), Error> {
        if is_postgres(url) { postgres::check_url(url) } else { Ok(()) }
    }

    /// Opens each host of a `postgres://…` URL as a database of its own.
    pub fn open_each_host(url: &str, settings: &DatabaseSettings) -> Result<Vec<Self>, Error> {
        Ok(Postgres::each_host(url, settings)?.into_iter().map(|postgres| Database(Engine::Postgres(postgres))).collect())
    }

    /// The servers of a PostgreSQL URL with their ports, for messages.
    pub fn servers(&self) -> String {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.servers(),
            Engine::Sqlite(_) => String::new(),
        }
    }

    /// The database, its servers and the user, for messages.
    pub fn describe(&self) -> String {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.describe(),
            Engine::Sqlite(sqlite) => sqlite.describe(),
        }
    }

    /// How much of its primary's log a standby has.
    pub async fn replay_position(&self) -> Result<ReplayPosition, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.replay_position().await,
            Engine::Sqlite(_) => Ok(ReplayPosition::Primary),
        }
    }

    /// The end of the log of a primary; none at a standby.
    pub async fn log_position(&self) -> Result<Option<u64>, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.log_position().await,
            Engine::Sqlite(_) => Ok(None),
        }
    }

    /// Whether no server of the URL answers, also on connections that are open.
    pub fn is_silent(&self) -> bool {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.is_silent(),
            Engine::Sqlite(_) => false,
        }
    }

    /// What the newest attempt to connect found.
    pub fn reachability(&self) -> Reachability {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.reachability(),
            Engine::Sqlite(_) => Reachability::Reachable,
        }
    }

    /// What is known of each address that was tried.
    pub fn hosts(&self) -> Vec<HostFigures> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.hosts(),
            Engine::Sqlite(_) => Vec::new(),
        }
    }

    /// How long all statements of an answer may take.
    pub fn timeout(&self) -> Duration {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.timeout,
            Engine::Sqlite(sqlite) => sqlite.timeout,
        }
    }

    /// The same database, for one answer with this context.
    #[must_use]
    pub fn for_answer(&self, context: AnswerContext) -> Self {
        Database(match &self.0 {
            Engine::Postgres(postgres) => Engine::Postgres(postgres.for_answer(context)),
            Engine::Sqlite(sqlite) => Engine::Sqlite(sqlite.for_answer(context)),
        })
    }

    /// Refuses a PostgreSQL that is too old, a database in another encoding than UTF8, and a pooler that shares sessions between clients
    /// if statements are prepared. A server that cannot be reached is [`Error::Unavailable`]; it is checked when it answers.
    pub async fn check_server(&self) -> Result<(), Error> {
        let Engine::Postgres(postgres) = &self.0 else { return Ok(()) };
        postgres.check_server().await?;
        postgres.check_pooling().await
    }

    /// Why no write succeeds: the role of PostgreSQL begins its transactions read-only, or the SQLite file or its folder takes no changes.
    pub async fn refuses_writes(&self) -> Result<Option<String>, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => {
                let reason = "the database user begins read-only transactions (default_transaction_read_only is on); run ALTER ROLE … SET default_transaction_read_only = off, or name another user";
                Ok(postgres.begins_read_only().await?.then(|| reason.to_owned()))
            }
            Engine::Sqlite(sqlite) => sqlite.refuses_writes().await,
        }
    }

    /// Whether two URLs of PostgreSQL lead to one database. True if that cannot be found out.
    pub async fn is_same_as(&self, other: &Database) -> Result<bool, Error> {
        match (&self.0, &other.0) {
            (Engine::Postgres(postgres), Engine::Postgres(other)) => postgres.is_same_as(other).await,
            _ => Ok(true),
        }
    }

    pub fn sqlite_path(url: &str) -> Option<&str> {
        url.strip_prefix("sqlite://").filter(|path| !path.is_empty())
    }

    pub fn pool(&self) -> PoolFigures {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.pool(),
            Engine::Sqlite(sqlite) => sqlite.pool(),
        }
    }

    /// The dialect of its SQL. Reading the schema finds out whether Citus distributes tables.
    pub fn dialect(&self) -> Dialect {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.dialect(),
            Engine::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Names the database itself: a standby has the name of its primary, and a database beside it another one. Fails where it cannot be told.
    pub async fn identity(&self) -> Result<String, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.identity().await,
            Engine::Sqlite(_) => Err(Error::Setting("a SQLite file has no standby".to_owned())),
        }
    }

    pub async fn schema(&self) -> Result<Schema, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.schema().await,
            Engine::Sqlite(sqlite) => sqlite.schema().await,
        }
    }

    /// Its tables and views, with the types that SQLite's columns really hold.
    pub async fn sampled_schema(&self) -> Result<Schema, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.schema().await,
            Engine::Sqlite(sqlite) => {
                let sampled = |connection: &_, begin: &dyn Fn()| {
                    let mut schema = schema::read_sqlite(connection)?;
                    introspect::sample(connection, &mut schema, begin);
                    Ok(schema)
                };
                sqlite.sample(sampled).await
            }
        }
    }

    /// Warns of invalid values in the first rows. PostgreSQL has none.
    pub async fn invalid_values(&self, catalog: &Catalog) -> Result<Vec<Finding>, Error> {
        match &self.0 {
            Engine::Postgres(_) => Ok(Vec::new()),
            Engine::Sqlite(sqlite) => {
                let tables = values::declared(catalog);
                sqlite.sample(move |connection, begin| values::invalid_values(connection, &tables, begin)).await
            }
        }
    }

    /// The findings on derived fields that only the database itself can tell.
    pub async fn check_derived(&self, catalog: &Catalog, schema: &Schema) -> Result<Vec<Finding>, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => derived::ask_postgres(postgres, catalog, schema).await,
            Engine::Sqlite(_) => Ok(Vec::new()),
        }
    }

    /// The places of the tables that do not exist, in the list.
    pub async fn missing_tables(&self, tables: &[&TableName]) -> Result<Vec<usize>, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.missing_tables(tables).await,
            Engine::Sqlite(sqlite) => sqlite.missing_tables(tables).await,
        }
    }

    pub async fn ping(&self) -> Result<(), Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres.ping().await,
            Engine::Sqlite(sqlite) => sqlite.ping().await,
        }
    }

    pub fn may_stream(query: &Query) -> bool {
        // The end of a keyset page is checked before its first byte is sent.
        query.next.is_none() && query.limit.is_none_or(|limit| limit > MAX_WHOLE_ROWS)
    }

    pub async fn run(&self, mut query: Query, format: Format) -> Result<Answer, Error> {
        let distant = std::mem::take(&mut query.distant_relations);
        self.answer(query, format).await.map_err(|error| error.over_relations(distant))
    }

    async fn answer(&self, query: Query, format: Format) -> Result<Answer, Error> {
        if let Engine::Postgres(postgres) = &self.0
            && let Some(limit) = &postgres.cost_limit
        {
            Box::pin(limit.refuse_expensive(postgres, &query)).await?;
        }
        if Self::may_stream(&query) {
            return self.stream(query, format).await;
        }
        let operation = query.operation;
        let (query, page) = self.page(query).await?;
        let Some((batch, total)) = page else {
            self.check_page_end(&query, format).await?;
            return self.stream(query, format).await;
        };
        if operation == Operation::Find && batch.len() == 0 {
            return Ok(Answer::Nothing);
        }
        if let Some(whole) = Frame::counted(&query, format, batch.len(), total).ending_at(&batch.position).whole(&batch, total)? {
            return Ok(Answer::of(whole, format));
        }
        let frame = Frame::new(&query, format).ending_at(&batch.position);
        frame.next()?;
        Ok(self.in_chunks(frame, batch, total))
    }

    async fn page(&self, query: Query) -> Result<(Query, Option<(Batch, i64)>), Error> {
        match &self.0 {
            Engine::Postgres(postgres) => {
                let page = postgres::page(postgres, &query).await?;
                Ok((query, page))
            }
            Engine::Sqlite(sqlite) => Box::pin(sqlite::page(sqlite, query)).await,
        }
    }

    /// Refuses a keyset page that ends where no statement can continue, before its first byte is sent.
    async fn check_page_end(&self, query: &Query, format: Format) -> Result<(), Error> {
        let Some(end) = query.end_of_page(self.dialect()) else { return Ok(()) };
        if let (end, Some((batch, _))) = Box::pin(self.page(end)).await? {
            Frame::new(&end, format).ending_at(&batch.position).next()?;
        }
        Ok(())
    }

    /// The database's plan of each level, by the path of relations. PostgreSQL runs the first rows, whose keys the level below needs.
    pub async fn analyze(&self, query: &Query, detail: PlanDetail) -> Result<Vec<(String, Vec<String>)>, Error> {
        match &self.0 {
            Engine::Postgres(postgres) => postgres::analyze(postgres, &query.root, detail).await,
            // SQLite has no figures.
            Engine::Sqlite(sqlite) => sqlite::analyze(sqlite, query.root.clone()).await,
        }
    }

    /// Boxed, so that pages do not carry the size of this larger future.
    fn stream(&self, query: Query, format: Format) -> Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send + '_>> {
        Box::pin(async move {
            match &self.0 {
                Engine::Postgres(postgres) => self.stream_postgres(postgres, query, format).await,
                Engine::Sqlite(sqlite) => self.stream_sqlite(sqlite, query, format).await,
            }
        })
    }

    async fn stream_postgres(&self, postgres: &Postgres, query: Query, format: Format) -> Result<Answer, Error> {
        let frame = |batch: &Batch| Frame::new(&query, format).ending_at(&batch.position);
        let (batch, rest) = match postgres::start(postgres, &query).await? {
            StreamStart::Partial(batch, rest) => (batch, rest),
            // Most answers without a limit are small, and need no task and no channel.
            StreamStart::Complete(batch, _) if query.operation == Operation::Find && batch.len() == 0 => return Ok(Answer::Nothing),
            StreamStart::Complete(batch, total) => {
                let whole = frame(&batch).whole(&batch, total)?;
                frame(&batch).next()?;
                return Ok(match whole {
                    Some(whole) => Answer::of(whole, format),
                    None => self.in_chunks(frame(&batch), batch, total),
                });
            }
        };
        let (sink, chunks) = channel(frame(&batch), self.stream_limits());
        let (reporter, postgres) = (sink.reporter(), postgres.clone());
        let work = async move { reporter.report(postgres::proceed(&postgres, &query, batch, *rest, sink).await) };
        tokio::spawn(work.in_current_span());
        Ok(Answer::Chunks(chunks))
    }

    async fn stream_sqlite(&self, sqlite: &Sqlite, query: Query, format: Format) -> Result<Answer, Error> {
        let (sink, chunks) = channel(Frame::new(&query, format), self.stream_limits());
        let (reporter, sqlite, operation) = (sink.reporter(), sqlite.clone(), query.operation);
        let work = async move { reporter.report(sqlite::stream(&sqlite, query, sink).await) };
        tokio::spawn(work.in_current_span());
        Ok(match chunks.open().await? {
            Opening::Whole(bytes, _) if operation == Operation::Find && bytes.is_empty() => Answer::Nothing,
            Opening::Whole(bytes, numbers) => Answer::of((bytes, numbers), format),
            Opening::Chunks(chunks) => Answer::Chunks(chunks),
        })
    }

    fn in_chunks(&self, frame: Frame, batch: Batch, total: i64) -> Answer {
        let (mut sink, chunks) = channel(frame, self.stream_limits());
        let reporter = sink.reporter();
        let work = async move {
            let outcome = match sink.rows(&batch).await {
                Ok(()) => sink.finish(total).await,
                failed => failed,
            };
            reporter.report(outcome);
        };
        tokio::spawn(work.in_current_span());
        Answer::Chunks(chunks)
    }

    fn stream_limits(&self) -> StreamLimits {
        match &self.0 {
            Engine::Postgres(postgres) => StreamLimits::starting_now(postgres.stall_timeout, postgres.stream_timeout),
            Engine::Sqlite(sqlite) => StreamLimits::starting_now(sqlite.stall_timeout, sqlite.stream_timeout),
        }
    }
}
