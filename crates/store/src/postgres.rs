//! PostgreSQL: a pool of connections that cache their prepared statements.

mod bind;
mod cancel;
mod connection_attempt;
mod connection_host;
mod connector;
mod cost;
mod dsn;
mod explain;
mod host;
mod host_state;
mod index_probe;
mod lease;
mod numeric;
mod page;
mod pool;
mod pooler;
mod read_retries;
mod refusal;
mod resolver;
mod row_encoder;
mod rows;
mod server_role;
mod standby;
mod stream;
mod tls;
mod value_encoder;
mod write_retries;
mod write_role;
mod write_transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use query::catalog::{Identifier, TableName};
use query::sql::Dialect;
use tokio_postgres::types::Type;

use crate::Error;
use crate::run::AnswerContext;
use crate::settings::{DatabaseSettings, HostFigures, PoolFigures, Reachability};

pub(crate) use bind::array;
use connector::Connector;
use cost::CostLimit;
pub(crate) use explain::analyze;
use host::HostTimeouts;
pub(crate) use lease::{Lease, LeaseState};
pub(crate) use page::page;
pub(crate) use pool::{Connection, Manager, Pool, figures, lease};
use pool::{lease_until, pool};
pub use standby::ReplayPosition;
pub(crate) use stream::{StreamStart, proceed, start};
pub(crate) use write_transaction::PostgresWrites;

/// Microseconds and days from 1970 to 2000, where PostgreSQL's own dates begin.
pub(crate) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;
const EPOCH_DAYS: i32 = 10_957;

/// The SQLSTATE of a statement in a transaction that has failed before.
const FAILED: &str = "25P02";

const POOL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a host may take to accept a connection, TLS and login included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long `/ready` waits for an answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// JIT never pays for a page. Prefetching one block (PostgreSQL's old default) looks up every block of a bitmap scan twice.
const READER_SETUP: &str = "SET standard_conforming_strings = on; SET jit = off; SET default_transaction_read_only = on; SET idle_in_transaction_session_timeout = '90s'; \
                       SELECT set_config('effective_io_concurrency', '0', false) \
                       WHERE current_setting('effective_io_concurrency', true) = '1'";

/// What every transaction that writes sets for itself, since a pooler keeps no settings: a server that waits for its client ends soon.
pub(crate) const WRITER_LIMITS: &str = "SET LOCAL idle_in_transaction_session_timeout = '10s'";

/// `statement_timeout` ends statements that can no longer be cancelled. Reading has none: it would count the time of slow readers.
/// `read committed` lets a transaction that waited for a row see its new version.
fn writer_setup(max_timeout: Duration) -> String {
    let limit = (max_timeout + CONNECT_TIMEOUT).as_millis().min(i32::MAX as u128);
    format!(
        "SET standard_conforming_strings = on; SET jit = off; SET statement_timeout = {limit}; SET default_transaction_isolation = 'read committed'"
    )
}

/// Refuses a malformed URL. No message repeats a password.
pub(crate) fn check_url(url: &str) -> Result<(), Error> {
    dsn::parse(url).map(drop)
}

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool,
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
        figures(&self.pool)
    }

    pub(crate) fn new(url: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        Postgres::of(dsn::parse(url)?, settings)
    }

    /// A pool for each host of the URL. A new connection has half of a request's time at most: another server may have to answer.
    pub(crate) fn each_host(url: &str, settings: &DatabaseSettings) -> Result<Vec<Self>, Error> {
        let limited = |mut dsn: dsn::Dsn| {
            let timeout = dsn.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
            dsn.config.connect_timeout(timeout.min(settings.timeout / 2));
            dsn
        };
        dsn::parse(url)?.each_host().map(|dsn| Postgres::of(limited(dsn), settings)).collect()
    }

    fn of(mut dsn: dsn::Dsn, settings: &DatabaseSettings) -> Result<Self, Error> {
        if dsn.config.get_application_name().is_none() {
            dsn.config.application_name("peristyle");
        }
        let DatabaseSettings { timeout, prepare, stall_timeout, stream_timeout, abandoned_timeout, memory, max_cost, .. } = *settings;
        let cost_limit = max_cost.map(|max| Arc::new(CostLimit::new(max)));
        let tls = tls::connector(&dsn.tls)?;
        let connector = Arc::new(Connector::new(dsn, tls, HostTimeouts::of(timeout)));
        let manager = Manager::new(connector, READER_SETUP, prepare, abandoned_timeout);
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
    fn write_pool(&self, size: usize) -> Result<Pool, Error> {
        self.writing_pool(self.timeout, size)
    }

    /// A pool of connections for the records of the hub.
    pub(crate) fn hub_pool(&self, max_timeout: Duration) -> Result<Pool, Error> {
        self.writing_pool(max_timeout, self.size)
    }

    fn writing_pool(&self, max_timeout: Duration, size: usize) -> Result<Pool, Error> {
        pool(self.pool.manager().with_setup(&writer_setup(max_timeout)), size, self.pool_timeout)
    }

    async fn lease(&self) -> Result<Lease, Error> {
        lease(&self.pool).await
    }

    /// When the statements of an answer have to be done.
    fn deadline(&self) -> Instant {
        self.context.deadline().unwrap_or_else(|| Instant::now() + self.timeout)
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

    /// The servers with their ports.
    pub(crate) fn servers(&self) -> String {
        self.pool.manager().connector.servers()
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.pool.manager().connector.is_silent()
    }

    pub(crate) fn reachability(&self) -> Reachability {
        self.pool.manager().connector.reachability()
    }

    pub(crate) fn hosts(&self) -> Vec<HostFigures> {
        self.pool.manager().connector.figures()
    }

    pub(crate) fn describe(&self) -> String {
        self.pool.manager().connector.describe()
    }

    async fn probe<T>(&self, step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        let deadline = Instant::now() + self.timeout.min(POOL_TIMEOUT);
        let mut lease = lease_until(&self.pool, deadline).await?;
        lease.set_deadline(Some(deadline));
        match lease.step(PROBE_TIMEOUT, step).await {
            Err(Error::Timeout) => Err(Error::Unavailable("no answer in time".to_owned())),
            other => other,
        }
    }
}
