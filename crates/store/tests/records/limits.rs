//! Records on PostgreSQL in bad times: a network that is dead, a lock that is not let go, a caller who leaves.

use std::time::{Duration, Instant};

use store::Prepare;
use store::hub_records::{Bind, Records, Run};
use store::{Database, DatabaseSettings, Error};

use super::cable::{Cable, lay};
use super::support::{Postgres, connect};
use super::{ADDED, COUNTED, count, tenant};

const LIMIT: Duration = Duration::from_millis(400);
const NUMBER: &str = "SELECT 1";

fn impatient(url: &str, prepare: Prepare, timeout: Duration) -> Records {
    let settings = DatabaseSettings { pool: 1, timeout, prepare, ..DatabaseSettings::default() };
    Records::of(&Database::open(url, &settings).expect("the database opens")).expect("records")
}

async fn migrated() -> Postgres {
    let database = Postgres::with("").await;
    super::records(&database.url).migrate().await.expect("steps");
    database
}

/// The step takes about as long as it may, and says so.
async fn times_out<T: std::fmt::Debug>(what: &str, step: impl Future<Output = Result<T, Error>>) {
    let started = Instant::now();
    let outcome = tokio::time::timeout(20 * LIMIT, step).await.unwrap_or_else(|_| panic!("{what} waits without bound"));
    assert!(matches!(outcome, Err(Error::Timeout)), "{what}: {outcome:?}");
    assert!(started.elapsed() < 5 * LIMIT, "{what}: {:?}", started.elapsed());
}

/// How many sessions of ours run a statement.
async fn busy(database: &Postgres) -> i64 {
    let sql =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'peristyle' AND state = 'active'";
    connect(&database.url).await.query_one(sql, &[]).await.expect("a count").get(0)
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < Duration::from_secs(20), "waited too long until {what}");
        tokio::task::yield_now().await;
    }
}

// contract E2.7
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_network_is_waited_for_no_longer_than_allowed() {
    let database = migrated().await;
    let (url, cable) = lay(&database.url).await;
    for prepare in [Prepare::On, Prepare::Off] {
        let records = impatient(&url, prepare, LIMIT);
        let frozen = async || {
            cable.send_replace(Cable::Whole);
            assert_eq!(count(&records).await, 0, "it works again");
        };
        frozen().await;
        cable.send_replace(Cable::Frozen);
        times_out("run", records.run(COUNTED, &[])).await;
        frozen().await;
        cable.send_replace(Cable::Frozen);
        times_out("begin", records.begin()).await;
        frozen().await;
        cable.send_replace(Cable::Frozen);
        times_out("begin_async_commit", records.begin_async_commit(COUNTED, &[])).await;
        frozen().await;
        cable.send_replace(Cable::Frozen);
        times_out("run_async_commit", records.run_async_commit(&[(COUNTED, &[])])).await;
        frozen().await;
        let mut transaction = records.begin().await.expect("a transaction");
        cable.send_replace(Cable::Frozen);
        times_out("a statement", transaction.run(COUNTED, &[])).await;
        let over = transaction.run(COUNTED, &[]).await;
        assert!(matches!(over, Err(Error::Unavailable(_))), "{over:?}");
        drop(transaction);
        frozen().await;
        let transaction = records.begin().await.expect("a transaction");
        cable.send_replace(Cable::Frozen);
        times_out("commit", transaction.commit()).await;
        frozen().await;
        let transaction = records.begin().await.expect("a transaction");
        cable.send_replace(Cable::Frozen);
        times_out("commit_with", transaction.commit_with(COUNTED, &[])).await;
        frozen().await;
    }
    database.drop().await;
}

// contract E2.7
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_is_waited_for_no_longer_than_allowed_and_nothing_stays_behind() {
    let database = migrated().await;
    let holder = connect(&database.url).await;
    holder.batch_execute("BEGIN; LOCK TABLE peristyle.tenant").await.expect("locked");
    for prepare in [Prepare::On, Prepare::Off] {
        let records = impatient(&database.url, prepare, LIMIT);
        times_out("run", records.run(ADDED, &tenant(1))).await;
        let mut transaction = records.begin().await.expect("a transaction");
        times_out("a statement", transaction.run(ADDED, &tenant(1))).await;
        drop(transaction);
        until("the statements are cancelled", async || busy(&database).await == 0).await;
    }
    holder.batch_execute("COMMIT").await.expect("unlocked");
    assert_eq!(count(&impatient(&database.url, Prepare::On, LIMIT)).await, 0, "nothing that timed out counts later");
    database.drop().await;
}

// contract E4.4
#[tokio::test(flavor = "multi_thread")]
async fn nobody_queues_behind_a_statement_whose_caller_left() {
    let database = migrated().await;
    let holder = connect(&database.url).await;
    holder.batch_execute("BEGIN; LOCK TABLE peristyle.tenant").await.expect("locked");
    let records = impatient(&database.url, Prepare::On, Duration::from_secs(60));
    let asked = records.clone();
    let waiting = tokio::spawn(async move { asked.run(COUNTED, &[]).await });
    until("the statement runs", async || busy(&database).await == 1).await;
    waiting.abort();
    let next = tokio::time::timeout(Duration::from_secs(10), records.run(NUMBER, &[])).await;
    next.expect("the next one has a connection of its own").expect("a number");
    until("the statement is cancelled", async || busy(&database).await == 0).await;
    drop(holder);
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_lost_is_not_made_twice() {
    let database = migrated().await;
    let (url, cable) = lay(&database.url).await;
    let records = impatient(&url, Prepare::On, Duration::from_secs(20));
    let added = async |number: u128| records.run(ADDED, &tenant(number)).await;
    added(1).await.expect("inserted");
    cable.send_replace(Cable::Deaf);
    let outcome = added(2).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    cable.send_replace(Cable::Whole);
    added(3).await.expect("and the next one works");
    let marked: [store::hub_records::BoundStatement<'_>; 1] =
        [("UPDATE peristyle.tenant SET name = name || '+' WHERE code = $1", &[Bind::Text("one")])];
    // The first time it is prepared, which is a trip of its own.
    records.run_async_commit(&marked).await.expect("marked");
    cable.send_replace(Cable::Deaf);
    let outcome = records.run_async_commit(&marked).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    cable.send_replace(Cable::Whole);
    let name = "SELECT name FROM peristyle.tenant WHERE code = 'one'";
    let row = records.row(name, &[]).await.expect("a read").expect("a row");
    // Whether PostgreSQL came as far as the commit before it found the connection closed, nobody can tell.
    assert!(["A tenant+", "A tenant++"].contains(&row.text(0).unwrap()), "{:?}", row.text(0));
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_whose_connection_ended_is_made_again() {
    let database = migrated().await;
    let (url, cable) = lay(&database.url).await;
    let records = impatient(&url, Prepare::On, Duration::from_secs(20));
    assert_eq!(count(&records).await, 0);
    cable.send_replace(Cable::Deaf);
    assert_eq!(count(&records).await, 0);
    database.drop().await;
}

// contract E2.6
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_changed_under_prepared_statements_is_no_fault() {
    let database = migrated().await;
    let records = impatient(&database.url, Prepare::On, Duration::from_secs(10));
    let everything = "SELECT * FROM peristyle.tenant";
    let changer = connect(&database.url).await;
    for (round, kind) in ["varchar(300)", "text", "varchar(200)"].into_iter().enumerate() {
        assert_eq!(records.run(everything, &[]).await.expect("rows").len(), 0, "{round}");
        let mut transaction = records.begin().await.expect("a transaction");
        transaction.run(everything, &[]).await.expect("rows");
        transaction.commit().await.expect("committed");
        changer.batch_execute(&format!("ALTER TABLE peristyle.tenant ALTER name TYPE {kind}")).await.expect("changed");
        // In a transaction it is over, and told as something to try again.
        let mut transaction = records.begin().await.expect("a transaction");
        let outcome = transaction.run(everything, &[]).await;
        assert!(matches!(outcome, Err(Error::Unavailable(_))), "{round}: {outcome:?}");
        drop(transaction);
        let mut transaction = records.begin().await.expect("a transaction");
        transaction.run(everything, &[]).await.expect("prepared anew");
        transaction.commit().await.expect("committed");
        changer.batch_execute("ALTER TABLE peristyle.tenant ALTER name TYPE varchar(250)").await.expect("changed");
        assert_eq!(records.run(everything, &[]).await.expect("rows").len(), 0, "{round}: by itself it is sent again");
    }
    drop(records);
    database.drop().await;
}

// contract E2.6
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_is_out_of_reach() {
    let database = migrated().await;
    let name = database.url.rsplit('/').next().expect("a name");
    connect(&database.url)
        .await
        .batch_execute(&format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = on"))
        .await
        .expect("set");
    let records = impatient(&database.url, Prepare::On, Duration::from_secs(10));
    let outcome = records.run("DELETE FROM peristyle.tenant", &[]).await;
    assert!(matches!(outcome, Err(Error::Unavailable(_))), "{outcome:?}");
    drop(records);
    database.drop().await;
}

#[tokio::test]
async fn a_transaction_sees_what_a_row_has_become_whatever_the_role_would_have() {
    const ISOLATION: &str = "SELECT current_setting('transaction_isolation')";
    let database = Postgres::with("").await;
    let setting = format!("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'", database.name);
    connect(&database.url).await.batch_execute(&setting).await.expect("a setting");
    for prepare in [Prepare::On, Prepare::Off] {
        let records = impatient(&database.url, prepare, 10 * LIMIT);
        let mut transaction = records.begin().await.expect("a transaction");
        let told = transaction.run(ISOLATION, &[]).await.expect("a row");
        assert_eq!(told[0].text(0).expect("a text"), "read committed", "{prepare:?}");
    }
    let told = impatient(&database.url, Prepare::On, 10 * LIMIT).run(ISOLATION, &[]).await.expect("a row");
    assert_eq!(told[0].text(0).expect("a text"), "read committed", "and so does a statement by itself");
    database.drop().await;
}
