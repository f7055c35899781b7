//! Records on PostgreSQL under failures: a dead network, a lock that is held, a dropped caller, a changed table.

use std::time::{Duration, Instant};

use store::Prepare;
use store::hub_records::{Bind, Records, Run};
use store::{Database, DatabaseSettings, Error};

use super::support::proxy::{self, Proxy};
use super::support::{Postgres, connect};
use super::{COUNT, INSERT, count, tenant};

const LIMIT: Duration = Duration::from_millis(400);
const NUMBER: &str = "SELECT 1";

fn with_timeout(url: &str, prepare: Prepare, timeout: Duration) -> Records {
    let settings = DatabaseSettings { pool: 1, timeout, prepare, ..DatabaseSettings::default() };
    Records::of(&Database::open(url, &settings).expect("the database opens")).expect("records")
}

async fn migrated() -> Postgres {
    let database = Postgres::with("").await;
    super::records(&database.url).migrate().await.expect("steps");
    database
}

/// The step ends with a timeout, or earlier because the server gives no sign of life.
async fn times_out<T: std::fmt::Debug>(what: &str, step: impl Future<Output = Result<T, Error>>) {
    let outcome = tokio::time::timeout(100 * LIMIT, step).await.unwrap_or_else(|_| panic!("{what} waits without bound"));
    assert!(matches!(outcome, Err(Error::Timeout | Error::Unavailable(_))), "{what}: {outcome:?}");
}

/// How many sessions of the records run a statement.
async fn busy(database: &Postgres) -> i64 {
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'peristyle' AND state = 'active'";
    connect(&database.url).await.query_one(sql, &[]).await.expect("a count").get(0)
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(60), "waited too long until {what}");
        tokio::task::yield_now().await;
    }
}

// contract E2.7
#[tokio::test(flavor = "multi_thread")]
async fn every_step_times_out_on_a_dead_network() {
    let database = migrated().await;
    let (url, mode) = proxy::start(&database.url).await;
    for prepare in [Prepare::On, Prepare::Off] {
        let records = with_timeout(&url, prepare, LIMIT);
        let recovered = async || {
            mode.send_replace(Proxy::Forwarding);
            assert_eq!(count(&records).await, 0, "it works again");
        };
        recovered().await;
        mode.send_replace(Proxy::Frozen);
        times_out("run", records.run(COUNT, &[])).await;
        recovered().await;
        mode.send_replace(Proxy::Frozen);
        times_out("begin", records.begin()).await;
        recovered().await;
        mode.send_replace(Proxy::Frozen);
        times_out("begin_async_commit", records.begin_async_commit(COUNT, &[])).await;
        recovered().await;
        mode.send_replace(Proxy::Frozen);
        times_out("run_async_commit", records.run_async_commit(&[(COUNT, &[])])).await;
        recovered().await;
        let mut transaction = records.begin().await.expect("a transaction");
        mode.send_replace(Proxy::Frozen);
        times_out("a statement", transaction.run(COUNT, &[])).await;
        let second = transaction.run(COUNT, &[]).await;
        assert!(matches!(second, Err(Error::Unavailable(_))), "{second:?}");
        drop(transaction);
        recovered().await;
        let transaction = records.begin().await.expect("a transaction");
        mode.send_replace(Proxy::Frozen);
        times_out("commit", transaction.commit()).await;
        recovered().await;
        let transaction = records.begin().await.expect("a transaction");
        mode.send_replace(Proxy::Frozen);
        times_out("commit_with", transaction.commit_with(COUNT, &[])).await;
        recovered().await;
    }
    database.drop().await;
}

// contract E2.7
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_waits_for_a_lock_times_out_and_is_cancelled() {
    let database = migrated().await;
    let holder = connect(&database.url).await;
    holder.batch_execute("BEGIN; LOCK TABLE peristyle.tenant").await.expect("locked");
    for prepare in [Prepare::On, Prepare::Off] {
        let records = with_timeout(&database.url, prepare, LIMIT);
        times_out("run", records.run(INSERT, &tenant(1))).await;
        let mut transaction = records.begin().await.expect("a transaction");
        times_out("a statement", transaction.run(INSERT, &tenant(1))).await;
        drop(transaction);
        until("the statements are cancelled", async || busy(&database).await == 0).await;
    }
    holder.batch_execute("COMMIT").await.expect("unlocked");
    assert_eq!(count(&with_timeout(&database.url, Prepare::On, LIMIT)).await, 0, "no statement that timed out is committed later");
    database.drop().await;
}

// contract E2.15
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_waits_is_not_cancelled() {
    // A constraint that is checked at the COMMIT waits for a lock, as a COMMIT waits for a standby.
    const WAITING: &str = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON peristyle.tenant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()";
    let database = migrated().await;
    let holder = connect(&database.url).await;
    holder.batch_execute(WAITING).await.expect("a trigger");
    for prepare in [Prepare::On, Prepare::Off] {
        let records = with_timeout(&database.url, prepare, LIMIT);
        let before = count(&records).await;
        holder.batch_execute("SELECT pg_advisory_lock(7)").await.expect("locked");
        times_out("run", records.run(INSERT, &tenant(u128::from(before.unsigned_abs()) + 1))).await;
        // A cancel request would have ended it by now.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(busy(&database).await, 1, "it still waits");
        holder.batch_execute("SELECT pg_advisory_unlock(7)").await.expect("unlocked");
        until("it is committed", async || count(&records).await == before + 1).await;
    }
    database.drop().await;
}

// contract B1.29
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_waits_for_its_client_ends_soon_without_a_setting_of_its_session() {
    const IDLE: &str = "SELECT current_setting('idle_in_transaction_session_timeout')";
    let database = migrated().await;
    for prepare in [Prepare::On, Prepare::Off] {
        let records = with_timeout(&database.url, prepare, Duration::from_secs(10));
        let mut transaction = records.begin().await.expect("a transaction");
        let row = transaction.row(IDLE, &[]).await.expect("a read").expect("a row");
        assert_eq!(row.text(0).unwrap(), "10s");
    }
    database.drop().await;
}

// contract E4.4
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_waits_for_one_whose_caller_was_dropped() {
    let database = migrated().await;
    let holder = connect(&database.url).await;
    holder.batch_execute("BEGIN; LOCK TABLE peristyle.tenant").await.expect("locked");
    let records = with_timeout(&database.url, Prepare::On, Duration::from_secs(60));
    let waiter = records.clone();
    let waiting = tokio::spawn(async move { waiter.run(COUNT, &[]).await });
    until("the statement runs", async || busy(&database).await == 1).await;
    waiting.abort();
    let next = tokio::time::timeout(Duration::from_secs(10), records.run(NUMBER, &[])).await;
    next.expect("the next one has a connection of its own").expect("a number");
    until("the statement is cancelled", async || busy(&database).await == 0).await;
    drop(holder);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_lost_is_not_retried() {
    let database = migrated().await;
    let (url, mode) = proxy::start(&database.url).await;
    let records = with_timeout(&url, Prepare::On, Duration::from_secs(20));
    let insert = async |number: u128| records.run(INSERT, &tenant(number)).await;
    insert(1).await.expect("inserted");
    mode.send_replace(Proxy::LosingAnswers);
    let outcome = insert(2).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    mode.send_replace(Proxy::Forwarding);
    insert(3).await.expect("the next one works");
    let marked: [store::hub_records::BoundStatement<'_>; 1] =
        [("UPDATE peristyle.tenant SET name = name || '+' WHERE code = $1", &[Bind::Text("one")])];
    // The first run prepares it, which is a round trip of its own.
    records.run_async_commit(&marked).await.expect("marked");
    mode.send_replace(Proxy::LosingAnswers);
    let outcome = records.run_async_commit(&marked).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    mode.send_replace(Proxy::Forwarding);
    let name = "SELECT name FROM peristyle.tenant WHERE code = 'one'";
    let row = records.row(name, &[]).await.expect("a read").expect("a row");
    // PostgreSQL may find the connection closed before the commit or after it.
    assert!(["A tenant+", "A tenant++"].contains(&row.text(0).unwrap()), "{:?}", row.text(0));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_whose_connection_was_closed_is_retried() {
    let database = migrated().await;
    let (url, mode) = proxy::start(&database.url).await;
    let records = with_timeout(&url, Prepare::On, Duration::from_secs(20));
    assert_eq!(count(&records).await, 0);
    mode.send_replace(Proxy::LosingAnswers);
    assert_eq!(count(&records).await, 0);
    database.drop().await;
}

// contract E2.6
#[tokio::test(flavor = "multi_thread")]
async fn a_prepared_statement_is_prepared_again_after_its_table_changed() {
    let database = migrated().await;
    let records = with_timeout(&database.url, Prepare::On, Duration::from_secs(10));
    let everything = "SELECT * FROM peristyle.tenant";
    let changer = connect(&database.url).await;
    for (round, kind) in ["varchar(300)", "text", "varchar(200)"].into_iter().enumerate() {
        assert_eq!(records.run(everything, &[]).await.expect("rows").len(), 0, "{round}");
        let mut transaction = records.begin().await.expect("a transaction");
        transaction.run(everything, &[]).await.expect("rows");
        transaction.commit().await.expect("committed");
        changer.batch_execute(&format!("ALTER TABLE peristyle.tenant ALTER name TYPE {kind}")).await.expect("changed");
        // The transaction is lost, and its error allows a retry.
        let mut transaction = records.begin().await.expect("a transaction");
        let outcome = transaction.run(everything, &[]).await;
        assert!(matches!(outcome, Err(Error::Unavailable(_))), "{round}: {outcome:?}");
        drop(transaction);
        let mut transaction = records.begin().await.expect("a transaction");
        transaction.run(everything, &[]).await.expect("prepared anew");
        transaction.commit().await.expect("committed");
        changer.batch_execute("ALTER TABLE peristyle.tenant ALTER name TYPE varchar(250)").await.expect("changed");
        assert_eq!(records.run(everything, &[]).await.expect("rows").len(), 0, "{round}: a single statement is sent again");
    }
    drop(records);
    database.drop().await;
}

// contract E2.6
#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_counts_as_unavailable() {
    let database = migrated().await;
    let name = database.url.rsplit('/').next().expect("a name");
    connect(&database.url)
        .await
        .batch_execute(&format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = on"))
        .await
        .expect("set");
    let records = with_timeout(&database.url, Prepare::On, Duration::from_secs(10));
    let outcome = records.run("DELETE FROM peristyle.tenant", &[]).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    drop(records);
    database.drop().await;
}

#[tokio::test]
async fn a_transaction_is_read_committed_whatever_the_database_sets() {
    const ISOLATION: &str = "SELECT current_setting('transaction_isolation')";
    let database = Postgres::with("").await;
    let setting = format!("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'", database.name);
    connect(&database.url).await.batch_execute(&setting).await.expect("a setting");
    for prepare in [Prepare::On, Prepare::Off] {
        let records = with_timeout(&database.url, prepare, 10 * LIMIT);
        let mut transaction = records.begin().await.expect("a transaction");
        let rows = transaction.run(ISOLATION, &[]).await.expect("a row");
        assert_eq!(rows[0].text(0).expect("a string"), "read committed", "{prepare:?}");
    }
    let rows = with_timeout(&database.url, Prepare::On, 10 * LIMIT).run(ISOLATION, &[]).await.expect("a row");
    assert_eq!(rows[0].text(0).expect("a string"), "read committed", "a single statement too");
    database.drop().await;
}
