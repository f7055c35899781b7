//! A pool of connections that cache their prepared statements, and the lease of one of them.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool::Runtime;
use deadpool::managed::{self, Metrics, PoolError, RecycleError, RecycleResult, TimeoutType};
use lru::LruCache;
use query::sql::Sql;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error as DriverError, Statement};
use tracing::Instrument;

use crate::Error;
use crate::settings::{PoolFigures, Prepare};

use super::bind;
use super::connection_attempt::{DriverTask, FailureKind, RawConnection};
use super::connection_host::ConnectionHost;
use super::connector::{ConnectError, Connector};
use super::lease::{LastPage, Lease};
use super::pooler::{Pooling, PoolingProbe};

/// How many prepared statements a connection caches. The least recently used is closed first.
const MAX_STATEMENTS: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// How often a request asks its pool again for a connection, while the server has no room for another one.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// How often the server is asked for another connection, while it has no room.
const NO_ROOM_INTERVAL: Duration = Duration::from_millis(500);

/// A statement before the COMMIT keeps the limit of the session from ending its wait for a standby: the transaction would count here, and be
/// lost after a failover.
const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

pub(crate) type Pool = managed::Pool<Manager>;

pub(crate) struct Manager {
    pub(super) connector: Arc<Connector>,
    pub(super) probe: Arc<PoolingProbe>,
    pub(super) prepare: Prepare,
    pub(super) abandoned_timeout: Duration,
    setup: Arc<str>,
    /// When the server last had no room for another connection.
    no_room_at: Mutex<Option<Instant>>,
}

pub(crate) struct Connection {
    pub(crate) client: Client,
    _driver: DriverTask,
    pub(super) statements: LruCache<Arc<str>, PreparedStatement>,
    /// Whether a statement is being prepared. If that is abandoned, the statement stays open on the server.
    pub(super) is_preparing: bool,
    /// Whether a COMMIT was sent and has no answer yet, which also holds after its future was dropped.
    is_committing: AtomicBool,
    pub(super) prepare: Prepare,
    /// How long an abandoned statement may take.
    pub(super) abandoned_timeout: Duration,
    pub(super) host: Arc<ConnectionHost>,
    pub(super) made_at: Instant,
}

pub(super) struct PreparedStatement {
    statement: Statement,
    pub(super) last_page: LastPage,
}

impl Manager {
    pub(super) fn new(connector: Arc<Connector>, setup: &str, prepare: Prepare, abandoned_timeout: Duration) -> Self {
        Manager { connector, probe: Arc::default(), prepare, abandoned_timeout, setup: setup.into(), no_room_at: Mutex::default() }
    }

    /// The same for sessions with another setup.
    pub(super) fn with_setup(&self, setup: &str) -> Self {
        let Manager { connector, probe, prepare, abandoned_timeout, .. } = self;
        Manager { probe: probe.clone(), ..Manager::new(connector.clone(), setup, *prepare, *abandoned_timeout) }
    }

    /// Remembers whether the server has room for another connection. While it has none, it is asked a few times a second only.
    fn note(&self, failure: Option<&ConnectError>) {
        let has_no_room = failure.is_some_and(|failure| failure.kind == FailureKind::TooManyConnections);
        *self.no_room_at.lock().unwrap_or_else(PoisonError::into_inner) = has_no_room.then(Instant::now);
    }

    fn has_no_room(&self) -> bool {
        self.no_room_at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|last| last.elapsed() < NO_ROOM_INTERVAL)
    }

    async fn connect(&self) -> Result<RawConnection, ConnectError> {
        // Boxed, since these large futures are rarely used.
        let Manager { connector, probe, .. } = self;
        // Settings in a pooler's session would apply to other clients. Without prepared statements nobody asks whether there is one.
        let pooling = if self.prepare == Prepare::On { Box::pin(probe.pooling(connector)).await? } else { Pooling::Tracking };
        pooling.refuse_shared()?;
        let setup = if pooling == Pooling::Direct { &*self.setup } else { "" };
        Box::pin(connector.connect(setup)).await
    }
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = ConnectError;

    async fn create(&self) -> Result<Connection, ConnectError> {
        if self.has_no_room() {
            let error = Error::Unavailable(format!("{} has no room for another connection", self.connector.servers()));
            return Err(ConnectError { kind: FailureKind::TooManyConnections, error });
        }
        let connected = self.connect().await;
        self.note(connected.as_ref().err());
        let raw = connected?;
        raw.check_server()?;
        let RawConnection { client, driver, host, .. } = raw;
        Ok(Connection {
            client,
            _driver: driver,
            statements: LruCache::new(MAX_STATEMENTS),
            is_preparing: false,
            is_committing: AtomicBool::new(false),
            prepare: self.prepare,
            abandoned_timeout: self.abandoned_timeout,
            host: Arc::new(ConnectionHost::new(host, self.connector.clone())),
            made_at: Instant::now(),
        })
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<ConnectError> {
        let host = &connection.host;
        if connection.client.is_closed() || host.is_lost() {
            return Err(RecycleError::message("the connection is closed, or its host does not answer"));
        }
        if host.has_unanswered_timeout() {
            let asked = tokio::time::timeout(host.shared.timeouts.probe_delay, connection.client.check_connection());
            if !asked.await.is_ok_and(|answer| answer.is_ok()) {
                host.note_silence();
                return Err(RecycleError::message("the connection does not answer, and a statement on its host timed out"));
            }
            host.note_answer();
        }
        Ok(())
    }
}

impl Connection {
    pub(super) async fn statement(&mut self, sql: &Sql) -> Result<Statement, DriverError> {
        if let Some(prepared) = self.statements.get(sql.text()) {
            return Ok(prepared.statement.clone());
        }
        let types: Vec<_> = sql.params().iter().map(bind::kind).collect();
        Box::pin(self.prepare_new(sql.text(), &types)).await
    }

    /// The prepared statement of a fixed text, if statements are prepared at all.
    pub(crate) async fn named(&mut self, text: &'static str, types: &[Type]) -> Result<Option<Statement>, DriverError> {
        if self.prepare == Prepare::Off {
            return Ok(None);
        }
        if let Some(prepared) = self.statements.get(text) {
            return Ok(Some(prepared.statement.clone()));
        }
        self.prepare_new(text, types).await.map(Some)
    }

    async fn prepare_new(&mut self, text: &str, types: &[Type]) -> Result<Statement, DriverError> {
        self.is_preparing = true;
        let prepared = self.client.prepare_typed(text, types).await;
        self.is_preparing = false;
        let statement = prepared?;
        // A statement that leaves the cache is closed on the server when it is dropped.
        self.statements.put(text.into(), PreparedStatement { statement: statement.clone(), last_page: LastPage::Partial });
        Ok(statement)
    }

    pub(crate) fn forget(&mut self, text: &str) {
        self.statements.pop(text);
    }

    /// Prepares every statement again at its next use.
    pub(super) fn forget_all(&mut self) {
        self.statements.clear();
    }

    /// Commits the transaction.
    pub(crate) async fn commit(&self) -> Result<(), DriverError> {
        self.commit_after(async { Ok(()) }).await.map(drop)
    }

    /// Commits the transaction after statements that are sent before, all in one round trip. Once these have answers, the commit goes on.
    pub(crate) async fn commit_after<T>(&self, statements: impl Future<Output = Result<T, DriverError>>) -> Result<T, DriverError> {
        let statements = async {
            let answers = statements.await?;
            self.is_committing.store(true, Ordering::Relaxed);
            Ok(answers)
        };
        // They are sent in this order.
        let (answers, committed) = futures_util::future::join(statements, self.client.batch_execute(COMMIT)).await;
        self.is_committing.store(false, Ordering::Relaxed);
        let answers = answers?;
        committed.map(|()| answers)
    }

    /// Whether a commit may go on. It must not be cancelled: it may wait for a standby, and a cancelled wait commits without it.
    pub(super) fn is_committing(&self) -> bool {
        self.is_committing.load(Ordering::Relaxed)
    }
}

pub(super) fn pool(manager: Manager, size: usize, pool_timeout: Duration) -> Result<Pool, Error> {
    managed::Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(pool_timeout))
        .build()
        .map_err(|error| Error::Setting(error.to_string()))
}

pub(crate) fn figures(pool: &Pool) -> PoolFigures {
    let status = pool.status();
    PoolFigures { in_use: status.size.saturating_sub(status.available), idle: status.available, waiting: status.waiting }
}

/// A connection of the pool, by this time at the latest.
pub(super) async fn lease_until(pool: &Pool, deadline: Instant) -> Result<Lease, Error> {
    match tokio::time::timeout_at(deadline.into(), lease(pool)).await {
        Ok(leased) => leased,
        Err(_) => Err(pool.manager().connector.late()),
    }
}

pub(crate) async fn lease(pool: &Pool) -> Result<Lease, Error> {
    let connector = &pool.manager().connector;
    if connector.is_silent() {
        // Without a place in the pool: attempts that hang would take all of them.
        connector.attempt_in_silence().await?;
    }
    let started = Instant::now();
    let timeout = pool.timeouts().wait.unwrap_or_default();
    loop {
        let got = tokio::select! {
            biased;
            got = get(pool) => got?,
            () = connector.silent() => return Err(connector.silence()),
        };
        match got {
            Ok(connection) => return Ok(Lease::new(connection)),
            // Every place is taken by an attempt to connect.
            Err(PoolError::Timeout(TimeoutType::Wait)) if pool.status().size == 0 => return Err(connector.late()),
            Err(PoolError::Timeout(TimeoutType::Wait)) => return Err(Error::Overloaded),
            // Connections of this pool become free sooner than those of others.
            Err(PoolError::Backend(ConnectError { kind: FailureKind::TooManyConnections, .. }))
                if pool.status().size > 0 && started.elapsed() < timeout =>
            {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            // Whatever the reason, there is no connection.
            Err(PoolError::Backend(ConnectError { error, .. })) => return Err(unavailable(error)),
            Err(other) => return Err(Error::Unavailable(other.to_string())),
        }
    }
}

async fn get(pool: &Pool) -> Result<Result<managed::Object<Manager>, PoolError<ConnectError>>, Error> {
    let status = pool.status();
    if status.available > 0 || status.size >= status.max_size {
        return Ok(pool.get().await);
    }
    // If the request is abandoned, the new connection is still made and goes to the pool.
    let pool = pool.clone();
    let connecting = tokio::spawn(async move { pool.get().await }.in_current_span());
    connecting.await.map_err(|error| Error::Unexpected(error.to_string()))
}

fn unavailable(error: Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Unavailable(refusal.to_string()),
        Error::Setting(setting) => Error::Unavailable(setting),
        other => other,
    }
}
