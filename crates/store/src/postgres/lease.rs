//! A leased connection. Its state decides whether it returns to the pool.

use std::pin::pin;
use std::time::{Duration, Instant};

use deadpool::managed::Object;
use query::sql::Sql;
use tokio::runtime::Handle;
use tokio_postgres::Error as DriverError;
use tokio_postgres::error::Severity;

use crate::Error;

use super::cancel::cancel;
use super::connection_host::NoAnswer;
use super::{CONNECT_TIMEOUT, Connection, Manager};

/// How long a cancelled statement may take to end before the request to cancel it is repeated.
const CANCEL_PAUSES: [Duration; 6] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];

/// When dropped, it returns to the pool once it is idle: transactions are rolled back, and statements that take long are cancelled.
pub(crate) struct Lease {
    connection: Option<Object<Manager>>,
    made_at: Instant,
    pub(super) state: LeaseState,
    step: Option<Instant>,
    /// When the request ends; none if each step has a timeout of its own.
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseState {
    Idle,
    Running,
    InTransaction,
    /// Returning to the pool. If that fails, the connection is closed.
    Returning,
}

/// The last page of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastPage {
    /// The total was needed too.
    Full,
    Partial,
}

impl Lease {
    pub(super) fn new(connection: Object<Manager>) -> Self {
        Lease { made_at: connection.made_at, connection: Some(connection), state: LeaseState::Idle, step: None, deadline: None }
    }

    /// When the connection was made.
    pub(super) fn made_at(&self) -> Instant {
        self.made_at
    }

    /// Ends every step at this time, or lets each have its own timeout again.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    pub(crate) fn enter(&mut self, state: LeaseState) {
        self.state = state;
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.connection.is_none()
    }

    /// Runs one step on the connection. After a timeout, or if its host falls silent, the connection is closed.
    pub(crate) async fn step<T>(
        &mut self,
        timeout: Duration,
        step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        let Some(connection) = self.connection.as_deref_mut() else {
            return Err(Error::Unavailable("the connection was closed".to_owned()));
        };
        let now = Instant::now();
        let timeout = self.deadline.map_or(timeout, |deadline| timeout.min(deadline.saturating_duration_since(now)));
        if timeout.is_zero() {
            return Err(Error::Timeout);
        }
        self.step = Some(now);
        let host = connection.host.clone();
        match host.wait(step(connection), timeout).await {
            Err(NoAnswer::Timeout) => {
                // A returning connection has little time, and its host may be well.
                if self.state != LeaseState::Returning {
                    host.note_timeout();
                }
                self.discard();
                Err(Error::Timeout)
            }
            Err(NoAnswer::Silent) => {
                drop(self.connection.take().map(Object::take));
                Err(Error::Unavailable(format!("{} does not answer", host.shared.endpoint)))
            }
            Ok(result) => {
                self.step = None;
                match result.as_ref().map_err(Ended::of) {
                    Ok(_) | Err(Ended::Statement) => host.note_answer(),
                    Err(Ended::Session) => {
                        host.note_answer();
                        drop(self.connection.take().map(Object::take));
                    }
                    Err(Ended::Connection) => drop(self.connection.take().map(Object::take)),
                }
                Ok(result?)
            }
        }
    }

    /// Runs a step that is one statement. If the database refuses it, the error has its SQL.
    pub(super) async fn run<T>(
        &mut self,
        sql: &Sql,
        timeout: Duration,
        step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        self.step(timeout, step).await.map_err(|error| error.in_statement(sql.text()))
    }

    pub(super) fn last_page_was_full(&self, sql: &Sql) -> bool {
        let kept = self.connection.as_ref().and_then(|connection| connection.statements.peek(sql.text()));
        kept.is_some_and(|kept| kept.last_page == LastPage::Full)
    }

    pub(super) fn note_last_page(&mut self, sql: &Sql, last_page: LastPage) {
        if let Some(kept) = self.connection.as_mut().and_then(|connection| connection.statements.peek_mut(sql.text())) {
            kept.last_page = last_page;
        }
    }

    /// Prepares every statement again.
    pub(super) fn forget_statements(&mut self) {
        if let Some(connection) = self.connection.as_deref_mut() {
            connection.forget_all();
        }
    }

    pub(crate) fn discard(&mut self) {
        let Some(connection) = self.connection.take().map(Object::take) else { return };
        let is_busy = self.step.is_some() || self.state == LeaseState::Running;
        if !is_busy || connection.is_committing() || connection.host.is_lost() {
            return;
        }
        // Without a runtime no task can cancel it, and closing the connection must do.
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(cancel_and_close(connection));
    }

    /// Returns the connection to the pool once it is idle. Clients often abandon requests, and a new connection costs much more than this wait.
    fn return_to_pool(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // Without a runtime no task can do it, and closing the connection ends everything too.
        let Ok(runtime) = Handle::try_current() else { return drop(Object::take(connection)) };
        let timeout = self.step.map_or(CONNECT_TIMEOUT, |start| connection.abandoned_timeout.saturating_sub(start.elapsed()));
        if timeout.is_zero() {
            self.connection = Some(connection);
            return self.discard();
        }
        // Its answer comes after those of all statements before it.
        let sql = if self.state == LeaseState::InTransaction { "ROLLBACK" } else { "" };
        let mut lease = Lease::new(connection);
        lease.enter(LeaseState::Returning);
        runtime.spawn(async move {
            match lease.step(timeout, async |connection| connection.client.batch_execute(sql).await).await {
                Ok(()) => lease.enter(LeaseState::Idle),
                Err(error) => tracing::debug!(%error, "closed a connection that did not become idle"),
            }
        });
    }
}

/// Cancels what runs on a connection, and closes it.
async fn cancel_and_close(connection: Connection) {
    let token = connection.client.cancel_token();
    let host = &connection.host;
    // Its answer comes after those of all statements before it.
    let mut idle = pin!(connection.client.batch_execute(""));
    // A request that fails has no effect, nor has one that arrives before its statement.
    for pause in CANCEL_PAUSES {
        match tokio::time::timeout(CONNECT_TIMEOUT, cancel(&host.shared.endpoint, &host.connector.tls, &token)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "could not cancel a statement"),
            Err(_) => tracing::debug!("could not cancel a statement in time"),
        }
        if tokio::time::timeout(pause, &mut idle).await.is_ok() {
            return;
        }
    }
    tracing::debug!("a cancelled statement goes on");
}

/// What an error has ended.
enum Ended {
    /// The server refused a statement, and goes on.
    Statement,
    /// The server said why it ends the session.
    Session,
    /// Nothing was said, so it is no sign of life.
    Connection,
}

impl Ended {
    fn of(error: &DriverError) -> Self {
        match error.as_db_error().map(tokio_postgres::error::DbError::parsed_severity) {
            Some(Some(Severity::Fatal | Severity::Panic)) => Ended::Session,
            Some(_) => Ended::Statement,
            None if error.is_closed() => Ended::Connection,
            // The connection may still work: a value could not be read.
            None => Ended::Statement,
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A statement whose preparation was abandoned would never be closed, and a commit must not be cancelled.
        let is_open = self.connection.as_ref().is_some_and(|connection| connection.is_preparing || connection.is_committing());
        match self.state {
            LeaseState::Idle if self.step.is_none() => {}
            LeaseState::Idle | LeaseState::InTransaction if !is_open => self.return_to_pool(),
            _ => self.discard(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::Postgres;
    use super::*;
    use crate::DatabaseSettings;

    const LIMIT: Duration = Duration::from_secs(10);

    fn postgres(abandoned_timeout: Duration) -> Postgres {
        Postgres::new(&url(), &DatabaseSettings { pool: 1, abandoned_timeout, ..DatabaseSettings::default() }).expect("a pool")
    }

    fn url() -> String {
        #[expect(clippy::disallowed_methods, reason = "tests learn the cluster's URL from scripts/services")]
        let url = std::env::var("PERISTYLE_TEST_POSTGRES");
        url.expect("run ./scripts/test, which starts PostgreSQL")
    }

    async fn row(postgres: &Postgres, sql: &str) -> tokio_postgres::Row {
        let mut lease = postgres.lease().await.expect("a connection");
        lease.step(LIMIT, async |connection| connection.client.query_one(sql, &[]).await).await.expect("a row")
    }

    /// The session of the only connection, and its isolation level.
    async fn session(postgres: &Postgres) -> (i32, String) {
        let row = row(postgres, "SELECT pg_backend_pid(), current_setting('transaction_isolation')").await;
        (row.get(0), row.get(1))
    }

    async fn begun(postgres: &Postgres) -> Lease {
        let mut lease = postgres.lease().await.expect("a connection");
        lease.enter(LeaseState::InTransaction);
        let begin = async |connection: &mut Connection| connection.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await;
        lease.step(LIMIT, begin).await.expect("begun");
        lease
    }

    #[tokio::test]
    async fn a_connection_returns_without_its_transaction_however_its_lease_ends() {
        let postgres = postgres(LIMIT);
        let before = session(&postgres).await;
        assert_eq!(before.1, "read committed");
        drop(begun(&postgres).await);
        assert_eq!(session(&postgres).await, before, "the same session, outside the snapshot");
        let borrowed = postgres.clone();
        let panicked = tokio::spawn(async move {
            let _lease = begun(&borrowed).await;
            panic!("between two steps");
        });
        assert!(panicked.await.expect_err("a panic").is_panic());
        assert_eq!(session(&postgres).await, before);
        let mut lease = begun(&postgres).await;
        lease.step(LIMIT, async |connection| connection.client.batch_execute("SELECT 1/0").await).await.expect_err("no such number");
        drop(lease);
        assert_eq!(session(&postgres).await, before, "a failed transaction ends too");
    }

    /// Begins a step and abandons it at its first wait.
    fn abandon(lease: &mut Lease, step: impl AsyncFnOnce(&mut Connection) -> Result<(), tokio_postgres::Error>) {
        assert!(lease.step(LIMIT, step).now_or_never().is_none(), "it is not done");
    }

    #[tokio::test]
    async fn an_abandoned_statement_that_ends_soon_keeps_its_connection() {
        let postgres = postgres(LIMIT);
        let before = session(&postgres).await;
        let mut lease = postgres.lease().await.expect("a connection");
        abandon(&mut lease, async |connection| connection.client.batch_execute("SELECT pg_sleep(0.02)").await);
        drop(lease);
        assert_eq!(session(&postgres).await, before);
        let mut lease = begun(&postgres).await;
        abandon(&mut lease, async |connection| connection.client.batch_execute("SELECT pg_sleep(0.02)").await);
        drop(lease);
        assert_eq!(session(&postgres).await, before, "and the transaction around it ends too");
    }

    #[tokio::test]
    async fn an_abandoned_preparation_closes_the_connection() {
        let postgres = postgres(LIMIT);
        let before = session(&postgres).await;
        let mut lease = postgres.lease().await.expect("a connection");
        abandon(&mut lease, async |connection| connection.named("SELECT 1", &[]).await.map(drop));
        drop(lease);
        assert_ne!(session(&postgres).await.0, before.0);
    }

    #[tokio::test]
    async fn prefetching_of_one_block_is_turned_off_and_other_values_stay() {
        for (asked, expected) in [("1", "0"), ("0", "0"), ("7", "7")] {
            let url = url();
            let mark = if url.contains('?') { '&' } else { '?' };
            let url = format!("{url}{mark}options=-c%20effective_io_concurrency%3D{asked}");
            let postgres = Postgres::new(&url, &DatabaseSettings::default()).expect("a pool");
            let row = row(&postgres, "SELECT current_setting('effective_io_concurrency')").await;
            assert_eq!(row.get::<_, &str>(0), expected, "where it was {asked}");
        }
    }

    #[test]
    fn a_lease_that_is_dropped_with_its_runtime_is_released() {
        // The task that would return the connection is dropped as soon as it is spawned.
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let lease = runtime.block_on(async { begun(&postgres(LIMIT)).await });
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        runtime.spawn(async move {
            let _lease = lease;
            drop(sender);
            std::future::pending::<()>().await;
        });
        runtime.block_on(receiver).expect_err("it only shows that the task runs");
        drop(runtime);
    }

    #[tokio::test]
    async fn an_abandoned_statement_that_takes_long_is_cancelled_and_its_connection_closed() {
        let abandoned_timeout = Duration::from_millis(10);
        let postgres = postgres(abandoned_timeout);
        // Abandoned before its time is over, and after.
        for time in [Duration::ZERO, 3 * abandoned_timeout] {
            let before = session(&postgres).await.0;
            let mut lease = begun(&postgres).await;
            let sleep = async |connection: &mut Connection| connection.client.batch_execute("SELECT pg_sleep(60)").await;
            tokio::time::timeout(time, lease.step(LIMIT, sleep)).await.expect_err("it is not done");
            drop(lease);
            assert_ne!(session(&postgres).await.0, before);
            let goes_on = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {before}");
            let started = Instant::now();
            while row(&postgres, &goes_on).await.get::<_, i64>(0) > 0 {
                assert!(started.elapsed() < LIMIT, "abandoned after {time:?}, it goes on");
                tokio::time::sleep(abandoned_timeout).await;
            }
        }
    }
}
