//! A connection on loan: what it is at decides whether it goes back to the pool.

use std::time::Duration;

use deadpool::managed::Object;
use query::sql::Sql;
use tokio::runtime::Handle;

use crate::Error;

use super::{CONNECT, Connection, Manager};

/// A connection on loan. Dropped, it goes back if it is idle. A transaction that it is in is rolled back before it does; in the middle of
/// a statement it does not go back, and the statement is cancelled.
pub(crate) struct Lease {
    connection: Option<Object<Manager>>,
    state: State,
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
}

impl Lease {
    pub(super) fn new(connection: Object<Manager>) -> Self {
        Lease { connection: Some(connection), state: State::Idle }
    }

    /// Says what the connection is at from here on, between steps.
    pub(crate) fn enter(&mut self, state: State) {
        self.state = state;
    }

    /// Whether the connection was found closed, or was given up.
    pub(crate) fn is_gone(&self) -> bool {
        self.connection.is_none()
    }

    /// Runs one step on the connection within the time allowed. A connection that did not answer in time is given up.
    pub(crate) async fn step<T>(
        &mut self,
        timeout: Duration,
        step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Error> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(Error::Unavailable("the connection is gone".to_owned()));
        };
        let between = std::mem::replace(&mut self.state, State::Running);
        match tokio::time::timeout(timeout, step(connection)).await {
            Err(_) => {
                self.discard();
                Err(Error::Timeout)
            }
            Ok(result) => {
                self.state = between;
                if result.as_ref().is_err_and(tokio_postgres::Error::is_closed) {
                    drop(self.connection.take().map(Object::take));
                }
                Ok(result?)
            }
        }
    }

    /// Whether the last page of this statement was full.
    pub(super) fn was_full(&self, sql: &Sql) -> bool {
        self.connection.as_ref().and_then(|connection| connection.statements.peek(sql.text())).is_some_and(|kept| kept.full)
    }

    /// Remembers whether a page was full.
    pub(super) fn note_full(&mut self, sql: &Sql, full: bool) {
        if let Some(kept) = self.connection.as_mut().and_then(|connection| connection.statements.peek_mut(sql.text())) {
            kept.full = full;
        }
    }

    /// Takes the connection out of the pool, cancelling what it runs.
    pub(crate) fn discard(&mut self) {
        let Some(connection) = self.connection.take().map(Object::take) else { return };
        if self.state != State::Running {
            return;
        }
        // Without a runtime there is nobody left to cancel it; to close the connection has to do.
        let Ok(runtime) = Handle::try_current() else { return };
        let token = connection.client.cancel_token();
        let tls = connection.tls.clone();
        runtime.spawn(async move {
            match tokio::time::timeout(CONNECT, token.cancel_query(tls)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a statement could not be cancelled"),
                Err(_) => tracing::debug!("a statement could not be cancelled in time"),
            }
            drop(connection);
        });
    }
}

impl Lease {
    /// Ends the transaction, and then the loan: refusals are as usual as what they refuse, and a new connection costs much more.
    fn roll_back(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // Without a runtime there is nobody left to do it; to close the connection rolls back too.
        let Ok(runtime) = Handle::try_current() else { return drop(Object::take(connection)) };
        // Whatever ends the task before it is done, the connection does not go back.
        let mut lease = Lease { connection: Some(connection), state: State::Running };
        runtime.spawn(async move {
            match lease.step(CONNECT, async |connection| connection.client.batch_execute("ROLLBACK").await).await {
                Ok(()) => lease.enter(State::Idle),
                Err(error) => {
                    tracing::debug!(%error, "a transaction could not be rolled back");
                    lease.discard();
                }
            }
        });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        match self.state {
            State::Idle => {}
            State::InTransaction => self.roll_back(),
            State::Running => self.discard(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Postgres;
    use super::*;
    use crate::DatabaseSettings;

    const LIMIT: Duration = Duration::from_secs(10);

    fn postgres() -> Postgres {
        #[expect(clippy::disallowed_methods, reason = "tests learn the cluster's address from scripts/services")]
        let url = std::env::var("PERISTYLE_TEST_POSTGRES").expect("run ./scripts/test, which starts PostgreSQL");
        Postgres::new(&url, &DatabaseSettings { pool: 1, ..DatabaseSettings::default() }).expect("a pool")
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
        let postgres = postgres();
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

    #[tokio::test]
    async fn a_connection_in_the_middle_of_a_statement_does_not_go_back() {
        let postgres = postgres();
        let before = session(&postgres).await;
        let mut lease = begun(&postgres).await;
        let asleep = lease.step(LIMIT, async |connection| connection.client.batch_execute("SELECT pg_sleep(60)").await);
        tokio::time::timeout(Duration::from_millis(100), asleep).await.expect_err("it sleeps");
        drop(lease);
        assert_ne!(session(&postgres).await.0, before.0);
    }
}
