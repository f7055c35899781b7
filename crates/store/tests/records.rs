//! The records of a hub on both databases: migrations, bound values, and transactions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "records/limits.rs"]
mod limits;
#[path = "records/privileges.rs"]
mod privileges;
mod support;

use std::time::Duration;

use store::hub_records::{Bind, Records, Run};
use support::{Postgres, Sqlite, open};
use uuid::Uuid;

const INSERT: &str = "INSERT INTO peristyle.tenant (id, code, name, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)";
const COUNT: &str = "SELECT count(*) FROM peristyle.tenant";

fn records(url: &str) -> Records {
    Records::of(&open(url)).expect("records")
}

fn tenant(number: u128) -> [Bind<'static>; 4] {
    let code: &'static str = ["zero", "one", "two", "three"][number as usize];
    [Bind::Id(Uuid::from_u128(number)), Bind::Text(code), Bind::Text("A tenant"), Bind::Timestamp(1_700_000_000_123_456)]
}

async fn count(records: &Records) -> i64 {
    records.row(COUNT, &[]).await.expect("a count").expect("a row").number(0).expect("a number")
}

async fn two_replicas_take_each_step_once(url: &str) {
    let (one, two) = (records(url), records(url));
    let (first, second) = tokio::join!(one.migrate(), two.migrate());
    let mut taken = [first.expect("steps"), second.expect("steps")];
    taken.sort();
    assert_eq!(
        taken,
        [
            vec![],
            vec![
                "0001-identity",
                "0002-account-changes",
                "0003-administrator-permissions",
                "0004-undecided-attempts",
                "0005-family-origin",
                "0006-client-administers",
                "0007-outages",
                "0008-pending-rights",
                "0009-used-codes",
            ]
        ],
        "two replicas that start together take each step once"
    );
    assert!(one.migrate().await.expect("no steps").is_empty());
}

async fn stored_values_are_read_back(url: &str) {
    let records = records(url);
    records.migrate().await.expect("steps");
    let (id, texts) = (Uuid::from_u128(7), ["a".to_owned(), "b \"c\" \\ {}".to_owned()]);
    let ids = [Uuid::from_u128(1), Uuid::from_u128(2)];
    let insert = "INSERT INTO peristyle.account (id, type, code, email, username, is_active, tags, d_tenants, meta, created_at, updated_at) \
                  VALUES ($1, $2, $3, $4, $3, $5, $6, $7, $8, $9, $9)";
    let binds = [
        Bind::Id(id),
        Bind::Text("USER"),
        Bind::Text("ana"),
        Bind::Null,
        Bind::Flag(true),
        Bind::Texts(&texts),
        Bind::Ids(&ids),
        Bind::Json(r#"{"region": "north"}"#),
        Bind::Timestamp(1_700_000_000_123_456),
    ];
    records.run(insert, &binds).await.expect("inserted");
    let columns = "SELECT id, username, email, is_active, tags, d_tenants, meta, created_at FROM peristyle.account WHERE username = $1";
    let row = records.row(columns, &[Bind::Text("ana")]).await.expect("a read").expect("a row");
    assert_eq!((row.id(0).unwrap(), row.text(1).unwrap(), row.maybe_text(2).unwrap()), (id, "ana", None));
    assert_eq!((row.flag(3).unwrap(), row.texts(4).unwrap(), row.ids(5).unwrap()), (true, texts.to_vec(), ids.to_vec()));
    assert_eq!((row.text(6).unwrap(), row.micros(7).unwrap()), (r#"{"region": "north"}"#, 1_700_000_000_123_456));
    assert!(row.number(1).is_err() && row.id(1).is_err() && row.text(99).is_err());
    assert_eq!(format!("{row:?}"), "Row(8 columns)", "a row may hold hashes and sealed tokens");

    let client = "INSERT INTO peristyle.client (id, name, secret_hash, redirect, grants, access_token_seconds, refresh_token_seconds, created_at, updated_at) \
                  VALUES ('web', 'Web', $1, 'https://web.example/callback', $2, $3, 10, $4, $4) RETURNING secret_hash, access_token_seconds, app_id";
    let binds = [Bind::Bytes(&[0, 255, 1]), Bind::Texts(&texts), Bind::Number(3_600), Bind::Timestamp(0)];
    let row = records.row(client, &binds).await.expect("inserted").expect("a row");
    assert_eq!((row.bytes(0).unwrap(), row.number(1).unwrap(), row.maybe_id(2).unwrap()), (&[0, 255, 1][..], 3_600, None));
}

async fn only_a_commit_stores_the_rows_of_a_transaction(url: &str) {
    let records = records(url);
    records.migrate().await.expect("steps");
    {
        let mut transaction = records.begin().await.expect("a transaction");
        transaction.run(INSERT, &tenant(1)).await.expect("inserted");
    }
    assert_eq!(count(&records).await, 0, "dropped without a commit");

    let mut transaction = records.begin().await.expect("a transaction");
    transaction.run(INSERT, &tenant(1)).await.expect("inserted");
    transaction.run("SELECT id FROM peristyle.tenant WHERE code = $1 FOR UPDATE", &[Bind::Text("one")]).await.expect("locked");
    transaction.commit().await.expect("committed");
    assert_eq!(count(&records).await, 1);

    let mut transaction = records.begin().await.expect("a transaction");
    transaction.run(INSERT, &tenant(2)).await.expect("inserted");
    transaction.run(INSERT, &tenant(1)).await.expect_err("the id is taken");
    drop(transaction);
    assert_eq!(count(&records).await, 1, "a failed statement rolls back the others");
    records.run(INSERT, &tenant(3)).await.expect("the next one works");
    assert_eq!(count(&records).await, 2);
}

async fn statements_sent_together_are_committed_together(url: &str) {
    let (records, others) = (records(url), records(url));
    records.migrate().await.expect("steps");
    records.run_async_commit(&[(INSERT, &tenant(1)), (INSERT, &tenant(2))]).await.expect("both");
    assert_eq!(count(&others).await, 2);
    records.run_async_commit(&[(INSERT, &tenant(3)), (INSERT, &tenant(1))]).await.expect_err("the id is taken");
    assert_eq!(count(&others).await, 2, "a failed statement rolls back the others");

    let (transaction, rows) =
        records.begin_async_commit("SELECT code FROM peristyle.tenant ORDER BY code", &[]).await.expect("a transaction");
    assert_eq!(rows.iter().map(|row| row.text(0).unwrap()).collect::<Vec<_>>(), ["one", "two"]);
    transaction.commit_with(INSERT, &tenant(1)).await.expect_err("the id is taken");
    let (transaction, _) = records.begin_async_commit(INSERT, &tenant(3)).await.expect("a transaction");
    transaction.commit_with("DELETE FROM peristyle.tenant WHERE code = $1", &[Bind::Text("one")]).await.expect("committed");
    assert_eq!(count(&others).await, 2);
}

async fn a_caller_dropped_while_a_transaction_begins_leaves_none_open(url: &str) {
    let (records, others) = (records(url), records(url));
    records.migrate().await.expect("steps");
    for _ in 0..5 {
        // Polled once and then dropped.
        drop(tokio::time::timeout(Duration::ZERO, records.begin()).await);
        drop(tokio::time::timeout(Duration::ZERO, records.begin_async_commit(INSERT, &tenant(2))).await);
    }
    records.run(INSERT, &tenant(1)).await.expect("inserted");
    assert_eq!(count(&others).await, 1, "it is committed by itself");
}

async fn one_of_many_parallel_updates_wins(url: &str) {
    let records = records(url);
    records.migrate().await.expect("steps");
    records.run(INSERT, &tenant(1)).await.expect("inserted");
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let records = records.clone();
        tasks.push(tokio::spawn(async move {
            let sql = "UPDATE peristyle.tenant SET name = 'taken' WHERE code = 'one' AND name <> 'taken' RETURNING id";
            records.run(sql, &[]).await.expect("an update").len()
        }));
    }
    let mut winners = 0;
    for task in tasks {
        winners += task.await.expect("a task");
    }
    assert_eq!(winners, 1);
}

macro_rules! on_both {
    ($($test:ident),*) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let database = super::Postgres::with("").await;
                super::$test(&database.url).await;
                database.drop().await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                let database = super::Sqlite::with("");
                super::$test(&database.url).await;
            })*
        }
    };
}

on_both!(
    two_replicas_take_each_step_once,
    stored_values_are_read_back,
    only_a_commit_stores_the_rows_of_a_transaction,
    statements_sent_together_are_committed_together,
    a_caller_dropped_while_a_transaction_begins_leaves_none_open,
    one_of_many_parallel_updates_wins
);

#[tokio::test]
async fn connections_to_a_database_in_memory_share_its_tables() {
    let database = open("sqlite::memory:");
    let (one, two) = (Records::of(&database).expect("records"), Records::of(&database).expect("records"));
    one.migrate().await.expect("steps");
    one.run(INSERT, &tenant(1)).await.expect("inserted");
    assert_eq!(count(&two).await, 1);
}

#[tokio::test]
async fn two_databases_in_memory_share_nothing() {
    let mut all = Vec::new();
    for number in 0..64 {
        let records = records("sqlite::memory:");
        assert!(records.is_pending().await.expect("an answer"), "database {number} has the tables of another");
        records.migrate().await.expect("steps");
        all.push(records);
    }
}

#[tokio::test]
async fn tables_of_a_newer_version_are_refused() {
    let database = Sqlite::with("");
    let records = records(&database.url);
    records.migrate().await.expect("steps");
    records.run("INSERT INTO peristyle.migration (version, name) VALUES (999, 'later')", &[]).await.expect("inserted");
    let message = records.migrate().await.expect_err("a newer version").to_string();
    assert!(message.contains("999"), "{message}");
}
