//! PostgreSQL: a pool of connections that cache their prepared statements.

mod bind;
mod connector;
mod cost;
mod dsn;
mod explain;
mod host;
mod lease;
mod link;
mod numeric;
mod page;
mod pooler;
mod refusal;
mod row_encoder;
mod rows;
mod stream;
mod tls;
mod value_encoder;
mod write_session;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use deadpool::Runtime;
use deadpool::managed::{self, Metrics, PoolError, RecycleError, RecycleResult};
use lru::LruCache;
use query::catalog::{Identifier, TableName};
use query::sql::{Dialect, Sql};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};
use tracing::Instrument;

use crate::Error;
use crate::run::AnswerContext;
use crate::settings::{DatabaseSettings, PoolFigures, Prepare};

pub(crate) use bind::array;
use connector::{Connector, RawConnection};
use cost::CostLimit;
pub(crate) use explain::analyze;
pub(crate) use lease::{Lease, LeaseState};
use link::HostLink;
pub(crate) use page::page;
use pooler::{Pooling, PoolingProbe};
pub(crate) use stream::{StreamStart, proceed, start};
pub(crate) use write_session::PostgresWrites;

/// Microseconds and days from 1970 to 2000, where PostgreSQL's own dates begin.
pub(crate) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;
const EPOCH_DAYS: i32 = 10_957;

/// The SQLSTATE of a statement in a transaction that has failed before.
const FAILED: &str = "25P02";

/// How many prepared statements a connection caches. The least recently used is closed first.
const MAX_STATEMENTS: NonZeroUsize = NonZeroUsize::new(256).unwrap();
const POOL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a host may take to accept a connection, TLS and login included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long `/ready` waits for an answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// JIT never pays for a page. Prefetching one block (PostgreSQL's old default) looks up every block of a bitmap scan twice.
const READER_SETUP: &str = "SET jit = off; SET default_transaction_read_only = on; SET idle_in_transaction_session_timeout = '90s'; \
                       SELECT set_config('effective_io_concurrency', '0', false) \
                       WHERE current_setting('effective_io_concurrency', true) = '1'";

/// `statement_timeout` ends statements that can no longer be cancelled. Reading has none: it would count the time of slow readers.
/// `read committed` lets a transaction that waited for a row see its new version.
fn writer_setup(max_timeout: Duration) -> String {
    let limit = (max_timeout + CONNECT_TIMEOUT).as_millis().min(i32::MAX as u128);
    format!(
        "SET jit = off; SET idle_in_transaction_session_timeout = '30s'; SET statement_timeout = {limit}; \
         SET default_transaction_isolation = 'read committed'"
    )
}

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: managed::Pool<Manager>,
    size: usize,
    pool_timeout: Duration,
    pub(crate) timeout: Duration,
    pub(crate) stall_timeout: Duration,
    pub(crate) stream_timeout: Duration,
    /// How many bytes of related rows are held at once.
    memory: usize,
    pub(crate) cost_limit: Option<Arc<CostLimit>>,
    /// Whether Citus distributes its tables, as far as the schema was read.
    has_citus: Arc<AtomicBool>,
    pub(crate) context: AnswerContext,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL holds a password.
        out.debug_struct("Postgres").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

pub(crate) struct Manager {
    connector: Arc<Connector>,
    probe: Arc<PoolingProbe>,
    prepare: Prepare,
    abandoned_timeout: Duration,
    setup: Arc<str>,
}

pub(crate) struct Connection {
    pub(crate) client: Client,
    statements: LruCache<Arc<str>, PreparedStatement>,
    /// Whether a statement is being prepared. If that is abandoned, the statement stays open on the server.
    is_preparing: bool,
    prepare: Prepare,
    /// How long an abandoned statement may take.
    abandoned_timeout: Duration,
    link: Arc<HostLink>,
}

struct PreparedStatement {
    statement: Statement,
    /// Whether its last page was full, so that the total was needed too.
    full: bool,
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = Error;

    async fn create(&self) -> Result<Connection, Error> {
        // Boxed, since these large futures are rarely used.
        let Manager { prepare, abandoned_timeout, ref connector, ref probe, .. } = *self;
        let pooling = if prepare == Prepare::On { Some(Box::pin(probe.pooling(connector)).await?) } else { None };
        pooling.map_or(Ok(()), Pooling::refuse_shared)?;
        let raw = Box::pin(connector.connect()).await?;
        raw.check_server()?;
        // Settings in a pooler's session would apply to other clients.
        if pooling == Some(Pooling::Direct) {
            let setup = Box::pin(tokio::time::timeout(CONNECT_TIMEOUT, raw.client.batch_execute(&self.setup)));
            setup.await.map_err(|_| Error::Unavailable("a new connection was not set up in time".to_owned()))??;
        }
        let RawConnection { client, host, .. } = raw;
        let (statements, link) = (LruCache::new(MAX_STATEMENTS), Arc::new(HostLink::new(host, connector.clone())));
        Ok(Connection { client, statements, is_preparing: false, prepare, abandoned_timeout, link })
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<Error> {
        if connection.client.is_closed() || connection.link.is_lost() {
            return Err(RecycleError::message("the connection is closed, or its host does not answer"));
        }
        Ok(())
    }
}

impl Connection {
    async fn statement(&mut self, sql: &Sql) -> Result<Statement, tokio_postgres::Error> {
        if let Some(prepared) = self.statements.get(sql.text()) {
            return Ok(prepared.statement.clone());
        }
        let types: Vec<_> = sql.params().iter().map(bind::kind).collect();
        Box::pin(self.prepare_new(sql.text(), &types)).await
    }

    /// The prepared statement of a fixed text, if statements are prepared at all.
    pub(crate) async fn named(&mut self, text: &'static str, types: &[Type]) -> Result<Option<Statement>, tokio_postgres::Error> {
        if self.prepare == Prepare::Off {
            return Ok(None);
        }
        if let Some(prepared) = self.statements.get(text) {
            return Ok(Some(prepared.statement.clone()));
        }
        self.prepare_new(text, types).await.map(Some)
    }

    async fn prepare_new(&mut self, text: &str, types: &[Type]) -> Result<Statement, tokio_postgres::Error> {
        self.is_preparing = true;
        let prepared = self.client.prepare_typed(text, types).await;
        self.is_preparing = false;
        let statement = prepared?;
        // A statement that leaves the cache is closed on the server when it is dropped.
        self.statements.put(text.into(), PreparedStatement { statement: statement.clone(), full: false });
        Ok(statement)
    }

    pub(crate) fn forget(&mut self, text: &str) {
        self.statements.pop(text);
    }
}

/// Whether a prepared statement is gone or its tables have changed.
pub(crate) fn is_stale(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(crate::error::is_stale)
}

/// The first error of a statement that was tried twice: in a transaction, the second only says that the transaction has failed.
pub(crate) fn first_error(first: tokio_postgres::Error, second: tokio_postgres::Error) -> tokio_postgres::Error {
    if second.code().is_some_and(|code| code.code() == FAILED) { first } else { second }
}

impl Postgres {
    pub(crate) fn pool(&self) -> PoolFigures {
        let status = self.pool.status();
        PoolFigures { in_use: status.size.saturating_sub(status.available), idle: status.available, waiting: status.waiting }
    }

    pub(crate) fn new(url: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        Postgres::of(dsn::parse(url)?, settings)
    }

    /// A pool for each host of the URL.
    pub(crate) fn each_host(url: &str, settings: &DatabaseSettings) -> Result<Vec<Self>, Error> {
        dsn::parse(url)?.each_host().map(|dsn| Postgres::of(dsn, settings)).collect()
    }

    fn of(mut dsn: dsn::Dsn, settings: &DatabaseSettings) -> Result<Self, Error> {
        if dsn.config.get_application_name().is_none() {
            dsn.config.application_name("peristyle");
        }
        let DatabaseSettings { timeout, prepare, stall_timeout, stream_timeout, abandoned_timeout, memory, max_cost, .. } = *settings;
        let cost_limit = max_cost.map(|max| Arc::new(CostLimit::new(max)));
        let tls = tls::connector(&dsn.tls)?;
        let connector = Arc::new(Connector::new(dsn, tls));
        let manager = Manager { connector, probe: Arc::default(), prepare, abandoned_timeout, setup: READER_SETUP.into() };
        let (size, pool_timeout) = (settings.pool + settings.reserved, POOL_TIMEOUT.min(settings.timeout));
        let pool = pool(manager, size, pool_timeout)?;
        Ok(Postgres {
            pool,
            size,
            pool_timeout,
            timeout,
            stall_timeout,
            stream_timeout,
            memory,
            cost_limit,
            has_citus: Arc::default(),
            context: AnswerContext::default(),
        })
    }

    pub(crate) fn for_answer(&self, context: AnswerContext) -> Self {
        Postgres { context, ..self.clone() }
    }

    /// A pool of connections for writes to resources.
    fn write_pool(&self, size: usize) -> Result<managed::Pool<Manager>, Error> {
        self.writing_pool(self.timeout, size)
    }

    pub(crate) fn writers(&self, max_timeout: Duration) -> Result<managed::Pool<Manager>, Error> {
        self.writing_pool(max_timeout, self.size)
    }

    fn writing_pool(&self, max_timeout: Duration, size: usize) -> Result<managed::Pool<Manager>, Error> {
        let Manager { connector, probe, prepare, abandoned_timeout, .. } = self.pool.manager();
        let (connector, probe, setup) = (connector.clone(), probe.clone(), writer_setup(max_timeout).into());
        let manager = Manager { connector, probe, prepare: *prepare, abandoned_timeout: *abandoned_timeout, setup };
        pool(manager, size, self.pool_timeout)
    }

    async fn lease(&self) -> Result<Lease, Error> {
        lease(&self.pool).await
    }

    /// A connection for one request. Its statements have one timeout together, which begins with the first connection.
    async fn lease_until(&self, deadline: &mut Option<Instant>) -> Result<Lease, Error> {
        let mut lease = self.lease().await?;
        lease.set_deadline(Some(*deadline.get_or_insert_with(|| Instant::now() + self.timeout)));
        Ok(lease)
    }

    pub(crate) async fn schema(&self) -> Result<crate::schema::Schema, Error> {
        let mut lease = self.lease().await?;
        let schema = lease.step(self.timeout, async |connection| crate::schema::read_postgres(&connection.client).await).await?;
        self.has_citus.store(schema.has_citus, Ordering::Relaxed);
        Ok(schema)
    }

    pub(crate) fn dialect(&self) -> Dialect {
        if self.has_citus.load(Ordering::Relaxed) { Dialect::Citus } else { Dialect::Postgres }
    }

    pub(crate) async fn ping(&self) -> Result<(), Error> {
        self.probe(async |connection| connection.client.check_connection().await).await
    }

    /// The places of the tables that do not exist, in the list.
    pub(crate) async fn missing_tables(&self, tables: &[&TableName]) -> Result<Vec<usize>, Error> {
        const MISSING: &str = "SELECT place FROM unnest($1, $2) WITH ORDINALITY AS listed (schema, name, place) \
             WHERE to_regclass(concat_ws('.', quote_ident(schema), quote_ident(name))) IS NULL ORDER BY place";
        let schemas: Vec<Option<&str>> = tables.iter().map(|table| table.schema.as_ref().map(Identifier::plain)).collect();
        let names: Vec<&str> = tables.iter().map(|table| table.name.plain()).collect();
        // Unnamed, so that it works behind every pooler.
        let asked = self.probe(async |connection| {
            connection.client.query_typed(MISSING, &[(&schemas, Type::TEXT_ARRAY), (&names, Type::TEXT_ARRAY)]).await
        });
        // The database counts from one.
        Ok(asked.await?.iter().filter_map(|row| usize::try_from(row.get::<_, i64>(0) - 1).ok()).collect())
    }

    /// How far a standby is behind its primary; none if it cannot tell. A standby that has replayed all that it received, and still receives,
    /// is current: its primary may have nothing to send.
    pub(crate) async fn replay_lag(&self) -> Result<Option<Duration>, Error> {
        const LAG: &str = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0 \
             WHEN pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0 \
             ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END::float8";
        let rows = self.probe(async |connection| connection.client.query_typed(LAG, &[]).await).await?;
        let seconds = rows.first().and_then(|row| row.get::<_, Option<f64>>(0));
        // The clock of the primary may be ahead.
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)))
    }

    /// The servers with their ports.
    pub(crate) fn servers(&self) -> String {
        self.pool.manager().connector.servers()
    }

    async fn probe<T>(&self, step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        let mut lease = self.lease().await?;
        match lease.step(PROBE_TIMEOUT, step).await {
            Err(Error::Timeout) => Err(Error::Unavailable("no answer within two seconds".to_owned())),
            other => other,
        }
    }
}

fn pool(manager: Manager, size: usize, pool_timeout: Duration) -> Result<managed::Pool<Manager>, Error> {
    managed::Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(pool_timeout))
        .build()
        .map_err(|error| Error::Setting(error.to_string()))
}

pub(crate) async fn lease(pool: &managed::Pool<Manager>) -> Result<Lease, Error> {
    let status = pool.status();
    let got = if status.available == 0 && status.size < status.max_size {
        // If the request is abandoned, the new connection is still made and goes to the pool.
        let pool = pool.clone();
        let connecting = tokio::spawn(async move { pool.get().await }.in_current_span());
        connecting.await.map_err(|error| Error::Unexpected(error.to_string()))?
    } else {
        pool.get().await
    };
    match got {
        Ok(connection) => Ok(Lease::new(connection)),
        Err(PoolError::Timeout(managed::TimeoutType::Wait)) => Err(Error::Overloaded),
        // Whatever the reason, there is no connection.
        Err(PoolError::Backend(Error::Refused(refusal))) => Err(Error::Unavailable(refusal.to_string())),
        Err(PoolError::Backend(Error::Setting(setting))) => Err(Error::Unavailable(setting)),
        Err(PoolError::Backend(other)) => Err(other),
        Err(other) => Err(Error::Unavailable(other.to_string())),
    }
}
