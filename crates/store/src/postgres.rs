//! PostgreSQL: the address, the pool, and connections that remember their prepared statements.

mod address;
mod bind;
mod cost;
mod cursor;
mod driver;
mod encode;
mod encoding;
mod lease;
mod load;
mod numeric;
mod page;
mod pooler;
mod pour;
mod read;
mod rows;
mod tls;
mod told_plan;
mod way;
mod wire;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{self, Metrics, PoolError, RecycleError, RecycleResult};
use lru::LruCache;
use query::sql::Sql;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};
use tracing::Instrument;

use crate::Error;
use crate::settings::{DatabaseSettings, PoolFigures, Prepare};

use address::address;
pub(crate) use bind::array;
use cost::CostLimit;
use driver::Driver;
pub(crate) use lease::{Lease, State};
pub(crate) use page::page;
use pooler::{Owners, Sessions};
pub(crate) use read::{Begun, analyze, proceed, start};

use way::{Line, Place, Way};

/// Microseconds and days from 1970 to PostgreSQL's own beginning, 2000.
pub(crate) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;
const EPOCH_DAYS: i32 = 10_957;

/// What PostgreSQL says of a prepared statement whose tables have changed since, or that is gone.
pub(crate) const STALE: [&str; 2] = ["0A000", "26000"];
/// What it says of all that follows in a transaction once something of it failed.
pub(crate) const FAILED: &str = "25P02";

/// How many prepared statements a connection keeps, none of them long; the least recently used goes first, here and on the server.
const STATEMENTS: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// How long a request waits for a free connection.
const WAIT: Duration = Duration::from_secs(5);
/// How long a new connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Said once to every new connection that reads: a page is never worth compiling, and we never write here. To fetch one block ahead,
/// PostgreSQL's setting of old, looks every block of a bitmap scan up twice and gains nothing by it; whoever set more knows better.
const READING: &str = "SET jit = off; SET default_transaction_read_only = on; SET idle_in_transaction_session_timeout = '90s'; \
                       SELECT set_config('effective_io_concurrency', '0', false) \
                       WHERE current_setting('effective_io_concurrency', true) = '1'";

/// Said once to every new connection that keeps records. The time limit is kept on our side, as for reading; PostgreSQL's own, a while
/// after it, is for what we can no longer reach to cancel it. Reading has none of its own, which would count the time of slow readers.
/// Whoever waits for a row is to see what it has become, whatever isolation the role has by default.
fn writing(longest: Duration) -> String {
    let limit = (longest + CONNECT).as_millis().min(i32::MAX as u128);
    format!(
        "SET jit = off; SET idle_in_transaction_session_timeout = '30s'; SET statement_timeout = {limit}; \
         SET default_transaction_isolation = 'read committed'"
    )
}

/// A pool of connections.
#[derive(Clone)]
pub(crate) struct Postgres {
    pool: managed::Pool<Manager>,
    size: usize,
    wait: Duration,
    pub(crate) timeout: Duration,
    pub(crate) patience: Duration,
    pub(crate) stream_timeout: Duration,
    /// How many bytes of related rows are held at once.
    memory: usize,
    /// The highest cost of a statement that is run.
    pub(crate) cost_limit: Option<Arc<CostLimit>>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address holds a password.
        out.debug_struct("Postgres").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

pub(crate) struct Manager {
    way: Arc<Way>,
    owners: Arc<Owners>,
    prepare: Prepare,
    grace: Duration,
    session: Arc<str>,
}

/// A connection and what moves it on.
pub(crate) struct Driven {
    pub(crate) connection: Connection,
    driver: Driver,
}

/// A connection with its prepared statements.
pub(crate) struct Connection {
    pub(crate) client: Client,
    statements: LruCache<Arc<str>, Kept>,
    /// Whether a statement is being prepared: given up meanwhile, it stays on the server with nobody to close it.
    is_preparing: bool,
    prepare: Prepare,
    /// How long a statement may take that nobody waits for.
    grace: Duration,
    way: Arc<Way>,
    place: Place,
}

/// A prepared statement.
struct Kept {
    statement: Statement,
    /// Whether its last page was full, so that the total had to be asked too.
    full: bool,
}

impl Kept {
    fn new(statement: &Statement) -> Self {
        Kept { statement: statement.clone(), full: false }
    }
}

impl managed::Manager for Manager {
    type Type = Driven;
    type Error = Error;

    async fn create(&self) -> Result<Driven, Error> {
        // Boxed, as all that is rare and large: whoever waits for a connection would carry its size.
        let Manager { prepare, grace, ref way, ref owners, .. } = *self;
        let sessions = if prepare == Prepare::On { Some(Box::pin(owners.sessions(way)).await?) } else { None };
        sessions.map_or(Ok(()), Sessions::refuse_shared)?;
        let Line { client, mut driver, place, encoding } = Box::pin(way.connect()).await?;
        encoding.refuse_others()?;
        // A pooler's connection is not ours to set up.
        if sessions == Some(Sessions::Own) {
            Box::pin(driver.drive(client.batch_execute(&self.session))).await?;
        }
        let statements = LruCache::new(STATEMENTS);
        let connection = Connection { client, statements, is_preparing: false, prepare, grace, way: way.clone(), place };
        Ok(Driven { connection, driver })
    }

    async fn recycle(&self, driven: &mut Driven, _: &Metrics) -> RecycleResult<Error> {
        if driven.driver.is_over() {
            return Err(RecycleError::message("the connection is closed"));
        }
        Ok(())
    }
}

impl Connection {
    /// The statement of this text, prepared now or earlier.
    async fn statement(&mut self, sql: &Sql) -> Result<Statement, tokio_postgres::Error> {
        if let Some(kept) = self.statements.get(sql.text()) {
            return Ok(kept.statement.clone());
        }
        let types: Vec<_> = sql.params().iter().map(bind::kind).collect();
        Box::pin(self.prepared(sql.text(), &types)).await
    }

    /// The statement of a fixed text, where statements may be kept.
    pub(crate) async fn named(&mut self, text: &'static str, types: &[Type]) -> Result<Option<Statement>, tokio_postgres::Error> {
        if self.prepare == Prepare::Off {
            return Ok(None);
        }
        if let Some(kept) = self.statements.get(text) {
            return Ok(Some(kept.statement.clone()));
        }
        self.prepared(text, types).await.map(Some)
    }

    async fn prepared(&mut self, text: &str, types: &[Type]) -> Result<Statement, tokio_postgres::Error> {
        self.is_preparing = true;
        let prepared = self.client.prepare_typed(text, types).await;
        self.is_preparing = false;
        let statement = prepared?;
        // What falls out of the cache is closed on the server when it is dropped.
        self.statements.put(text.into(), Kept::new(&statement));
        Ok(statement)
    }

    pub(crate) fn forget(&mut self, text: &str) {
        self.statements.pop(text);
    }
}

impl Postgres {
    /// What the pool holds now.
    pub(crate) fn pool(&self) -> PoolFigures {
        let status = self.pool.status();
        PoolFigures { in_use: status.size.saturating_sub(status.available), idle: status.available, waiting: status.waiting }
    }

    /// Reads the address and sets up the pool; connects to nothing yet.
    pub(crate) fn new(url: &str, settings: &DatabaseSettings) -> Result<Self, Error> {
        let (mut config, tls) = address(url)?;
        // As in libpq, a Unix socket has no use for TLS, whatever was asked.
        let local = !config.get_hosts().is_empty() && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        config.ssl_mode(if local { SslMode::Disable } else { tls.mode.driver() });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("peristyle");
        }
        let DatabaseSettings { timeout, prepare, patience, stream_timeout, grace, memory, max_cost, .. } = *settings;
        let cost_limit = max_cost.map(|max| Arc::new(CostLimit::new(max)));
        let way = Arc::new(Way::new(config, tls::connector(&tls)?));
        let manager = Manager { way, owners: Arc::default(), prepare, grace, session: READING.into() };
        let (size, wait) = (settings.pool + settings.reserved, WAIT.min(settings.timeout));
        Ok(Postgres { pool: pool(manager, size, wait)?, size, wait, timeout, patience, stream_timeout, memory, cost_limit })
    }

    /// A second pool, of connections that may write; no statement of theirs takes longer than this.
    pub(crate) fn writers(&self, longest: Duration) -> Result<managed::Pool<Manager>, Error> {
        let Manager { way, owners, prepare, grace, .. } = self.pool.manager();
        let (way, owners, session) = (way.clone(), owners.clone(), writing(longest).into());
        pool(Manager { way, owners, prepare: *prepare, grace: *grace, session }, self.size, self.wait)
    }

    async fn lease(&self) -> Result<Lease, Error> {
        lease(&self.pool).await
    }

    /// A connection for reading the schema at boot.
    pub(crate) async fn schema(&self) -> Result<crate::schema::Schema, Error> {
        let mut lease = self.lease().await?;
        lease.step(self.timeout, async |connection| crate::schema::read_postgres(&connection.client).await).await
    }

    /// Whether the database answers.
    pub(crate) async fn ping(&self) -> Result<(), Error> {
        let mut lease = self.lease().await?;
        match lease.step(Duration::from_secs(2), async |connection| connection.client.check_connection().await).await {
            Err(Error::Timeout) => Err(Error::Unavailable("no answer within two seconds".to_owned())),
            other => other,
        }
    }
}

fn pool(manager: Manager, size: usize, wait: Duration) -> Result<managed::Pool<Manager>, Error> {
    managed::Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(wait))
        .create_timeout(Some(CONNECT))
        .build()
        .map_err(|error| Error::Setting(error.to_string()))
}

/// A connection of a pool, in time.
pub(crate) async fn lease(pool: &managed::Pool<Manager>) -> Result<Lease, Error> {
    let status = pool.status();
    let got = if status.available == 0 && status.size < status.max_size {
        // Whoever waits for a new connection may lose patience; it is made nevertheless, and there for the next one.
        let pool = pool.clone();
        let made = tokio::spawn(async move { pool.get().await }.in_current_span());
        made.await.map_err(|error| Error::Unexpected(error.to_string()))?
    } else {
        pool.get().await
    };
    match got {
        Ok(connection) => Ok(Lease::new(connection)),
        Err(PoolError::Timeout(managed::TimeoutType::Wait)) => Err(Error::Overloaded),
        // Whatever it says, we have no connection.
        Err(PoolError::Backend(Error::Refused(refusal))) => Err(Error::Unavailable(refusal.to_string())),
        Err(PoolError::Backend(Error::Setting(setting))) => Err(Error::Unavailable(setting)),
        Err(PoolError::Backend(other)) => Err(other),
        Err(other) => Err(Error::Unavailable(other.to_string())),
    }
}
