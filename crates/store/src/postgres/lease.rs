//! A connection on loan: what it is at decides whether it goes back to the pool.

use std::time::{Duration, Instant};

use deadpool::managed::Object;
use query::sql::Sql;
use tokio::runtime::Handle;

use crate::Error;

use super::{CONNECT, Connection, Driven, Manager};

/// A connection on loan. Dropped, it goes back once it is idle: a transaction that it is in is rolled back before, a statement that began
/// a moment ago may end. One that takes longer is cancelled, and its connection does not go back.
pub(crate) struct Lease {
    driven: Option<Object<Manager>>,
    state: State,
    /// When the step began that did not end yet.
    step: Option<Instant>,
}

/// What a connection is at between two steps of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing.
    Idle,
    /// A statement.
    Running,
    /// A transaction, between two statements.
    InTransaction,
    /// On its way back: what ends that, ends the connection.
    Returning,
}

impl Lease {
    pub(super) fn new(driven: Object<Manager>) -> Self {
        Lease { driven: Some(driven), state: State::Idle, step: None }
    }

    /// Says what the connection is at from here on, between steps.
    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
    }

    /// Whether the connection was found closed, or was given up.
    pub(crate) fn is_gone(&self) -> bool {
        self.driven.is_none()
    }

    /// Runs one step on the connection within the time allowed. A connection that did not answer in time is given up.
    pub(crate) async fn step<T>(
        &mut self,
        timeout: Duration,
        step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        let Some(Driven { connection, driver }) = self.driven.as_deref_mut() else {
            return Err(Error::Unavailable("the connection is gone".to_owned()));
        };
        self.step = Some(Instant::now());
        match tokio::time::timeout(timeout, driver.drive(step(connection))).await {
            Err(_) => {
                self.discard();
                Err(Error::Timeout)
            }
            Ok(result) => {
                self.step = None;
                if result.as_ref().is_err_and(tokio_postgres::Error::is_closed) {
                    drop(self.driven.take().map(Object::take));
                }
                Ok(result?)
            }
        }
    }

    /// Whether the last page of this statement was full.
    pub(super) fn was_full(&self, sql: &Sql) -> bool {
        self.driven.as_ref().and_then(|driven| driven.connection.statements.peek(sql.text())).is_some_and(|kept| kept.full)
    }

    /// Remembers whether a page was full.
    pub(super) fn note_full(&mut self, sql: &Sql, full: bool) {
        if let Some(kept) = self.driven.as_mut().and_then(|driven| driven.connection.statements.peek_mut(sql.text())) {
            kept.full = full;
        }
    }

    /// Takes the connection out of the pool, cancelling what it runs.
    pub(crate) fn discard(&mut self) {
        let Some(driven) = self.driven.take().map(Object::take) else { return };
        if self.step.is_none() && self.state != State::Running {
            return;
        }
        // Without a runtime there is nobody left to cancel it; to close the connection has to do.
        let Ok(runtime) = Handle::try_current() else { return };
        let token = driven.connection.client.cancel_token();
        let (way, place) = (driven.connection.way.clone(), driven.connection.place.clone());
        runtime.spawn(async move {
            match tokio::time::timeout(CONNECT, way.cancel(&place, &token)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a statement could not be cancelled"),
                Err(_) => tracing::debug!("a statement could not be cancelled in time"),
            }
            drop(driven);
        });
    }
}

impl Lease {
    /// Ends what the connection is at, and then the loan: requests that are given up are as usual as refusals, and a new connection costs
    /// much more than to wait for this one.
    fn settle(&mut self) {
        let Some(driven) = self.driven.take() else { return };
        // Without a runtime there is nobody left to do it; to close the connection ends everything too.
        let Ok(runtime) = Handle::try_current() else { return drop(Object::take(driven)) };
        let patience = self.step.map_or(CONNECT, |start| driven.connection.grace.saturating_sub(start.elapsed()));
        // Answered only after all that was sent before it.
        let words = if self.state == State::InTransaction { "ROLLBACK" } else { "" };
        let mut lease = Lease { driven: Some(driven), state: State::Returning, step: None };
        runtime.spawn(async move {
            match lease.step(patience, async |connection| connection.client.batch_execute(words).await).await {
                Ok(()) => lease.enter(State::Idle),
                Err(error) => tracing::debug!(%error, "a connection was given up"),
            }
        });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What is prepared for nobody would never be closed.
        let is_preparing = self.driven.as_ref().is_some_and(|driven| driven.connection.is_preparing);
        match self.state {
            State::Idle if self.step.is_none() => {}
            State::Idle | State::InTransaction if !is_preparing => self.settle(),
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

    fn postgres(grace: Duration) -> Postgres {
        Postgres::new(&url(), &DatabaseSettings { pool: 1, grace, ..DatabaseSettings::default() }).expect("a pool")
    }

    fn url() -> String {
        #[expect(clippy::disallowed_methods, reason = "tests learn the cluster's address from scripts/services")]
        let url = std::env::var("PERISTYLE_TEST_POSTGRES");
        url.expect("run ./scripts/test, which starts PostgreSQL")
    }

    /// The session behind the only connection, and whether it is in a snapshot.
    async fn session(postgres: &Postgres) -> (i32, String) {
        let sql = "SELECT pg_backend_pid(), current_setting('transaction_isolation')";
        let mut lease = postgres.lease().await.expect("a connection");
        let row = lease.step(LIMIT, async |connection| connection.client.query_one(sql, &[]).await).await.expect("a row");
        (row.get(0), row.get(1))
    }

    async fn begun(postgres: &Postgres) -> Lease {
        let mut lease = postgres.lease().await.expect("a connection");
        lease.enter(State::InTransaction);
        let begin = async |connection: &mut Connection| connection.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ").await;
        lease.step(LIMIT, begin).await.expect("begun");
        lease
    }

    #[tokio::test]
    async fn a_connection_goes_back_without_its_transaction_whatever_ends_its_lease() {
        let postgres = postgres(LIMIT);
        let before = session(&postgres).await;
        assert_eq!(before.1, "read committed");
        drop(begun(&postgres).await);
        assert_eq!(session(&postgres).await, before, "the same session, and nobody gets another's snapshot");
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
        assert_eq!(session(&postgres).await, before, "a transaction that failed is over too");
    }

    /// Begins a step on the only connection and gives it up in the middle. A connection looks for answers before it sends: so it is never
    /// done that soon, however slow the machine is.
    fn give_up(lease: &mut Lease, step: impl AsyncFnOnce(&mut Connection) -> Result<(), tokio_postgres::Error>) {
        assert!(lease.step(LIMIT, step).now_or_never().is_none(), "it is not done");
    }

    #[tokio::test]
    async fn a_statement_that_is_soon_over_costs_no_connection_when_it_is_given_up() {
        let postgres = postgres(LIMIT);
        let before = session(&postgres).await;
        let mut lease = postgres.lease().await.expect("a connection");
        give_up(&mut lease, async |connection| connection.client.batch_execute("SELECT pg_sleep(0.02)").await);
        drop(lease);
        assert_eq!(session(&postgres).await, before);
        let mut lease = begun(&postgres).await;
        give_up(&mut lease, async |connection| connection.client.batch_execute("SELECT pg_sleep(0.02)").await);
        drop(lease);
        assert_eq!(session(&postgres).await, before, "and a transaction around it is over too");
    }

    #[tokio::test]
    async fn a_statement_that_was_prepared_for_nobody_costs_the_connection() {
        let postgres = postgres(LIMIT);
        let before = session(&postgres).await;
        let mut lease = postgres.lease().await.expect("a connection");
        give_up(&mut lease, async |connection| connection.named("SELECT 1", &[]).await.map(drop));
        drop(lease);
        assert_ne!(session(&postgres).await.0, before.0);
    }

    #[tokio::test]
    async fn one_block_is_fetched_ahead_by_nobody_who_did_not_ask_for_more() {
        for (asked, expected) in [("1", "0"), ("0", "0"), ("7", "7")] {
            let url = url();
            let mark = if url.contains('?') { '&' } else { '?' };
            let url = format!("{url}{mark}options=-c%20effective_io_concurrency%3D{asked}");
            let postgres = Postgres::new(&url, &DatabaseSettings::default()).expect("a pool");
            let mut lease = postgres.lease().await.expect("a connection");
            let sql = "SELECT current_setting('effective_io_concurrency')";
            let row = lease.step(LIMIT, async |connection| connection.client.query_one(sql, &[]).await).await.expect("a row");
            assert_eq!(row.get::<_, &str>(0), expected, "where it was {asked}");
        }
    }

    #[test]
    fn what_is_given_up_as_the_runtime_ends_is_let_go() {
        // The task that would give the connection back is dropped as soon as it is made.
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let lease = runtime.block_on(async { begun(&postgres(LIMIT)).await });
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        runtime.spawn(async move {
            let _lease = lease;
            drop(sender);
            std::future::pending::<()>().await;
        });
        runtime.block_on(receiver).expect_err("it only tells that the task runs");
        drop(runtime);
    }

    #[tokio::test]
    async fn a_connection_in_the_middle_of_a_long_statement_does_not_go_back() {
        let postgres = postgres(Duration::from_millis(10));
        let before = session(&postgres).await;
        let mut lease = begun(&postgres).await;
        give_up(&mut lease, async |connection| connection.client.batch_execute("SELECT pg_sleep(60)").await);
        drop(lease);
        assert_ne!(session(&postgres).await.0, before.0);
    }
}
