//! Connections that are lost before a COMMIT.

use super::*;

fn url() -> String {
    #[expect(clippy::disallowed_methods, reason = "tests learn the cluster's URL from scripts/services")]
    let url = std::env::var("PERISTYLE_TEST_POSTGRES");
    url.expect("run ./scripts/test, which starts PostgreSQL")
}

/// Ends the connection of a transaction, and waits until its client knows.
async fn terminate(transaction: &mut PostgresWriteTransaction<'_>, pid: i32) {
    let mut other = transaction.postgres.lease().await.expect("another connection");
    let terminate = async |connection: &mut Connection| connection.client.query_one("SELECT pg_terminate_backend($1)", &[&pid]).await;
    other.step(transaction.timeout(), terminate).await.expect("terminated");
    let is_closed = async |connection: &mut Connection| Ok(connection.client.is_closed());
    while !transaction.lease.step(transaction.timeout(), is_closed).await.expect("a step") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_connection_that_closes_before_its_commit_is_old_only_if_the_write_began_after_it() {
    let settings = DatabaseSettings::default();
    let postgres = Postgres::new(&url(), &settings).expect("a pool");
    let writes = PostgresWrites::of(&postgres, &settings).expect("a pool");
    for was_old in [false, true] {
        if was_old {
            drop(lease_until(&writes.pool, postgres.deadline()).await.expect("a connection for the pool"));
        }
        let retries = WriteRetries::begin(postgres.deadline());
        let mut transaction = writes.begin(Dialect::Postgres, &retries).await.expect("a transaction");
        transaction.batch("SELECT 1").await.expect("begun");
        let pid = async |connection: &mut Connection| connection.client.query_one("SELECT pg_backend_pid()", &[]).await;
        let pid = transaction.lease.step(transaction.timeout(), pid).await.expect("a row").get(0);
        terminate(&mut transaction, pid).await;
        let lost = transaction.commit(&retries).await.expect_err("the connection is closed");
        assert!(
            matches!(lost, TransactionError::Retry(RetryReason::ConnectionLost { was_old: found, .. }) if found == was_old),
            "{lost:?}"
        );
    }
}
