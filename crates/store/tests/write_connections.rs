//! Connections of writes: their own URL, statements that are prepared again, and commits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use oracle::{Form, WriteOutcome, WriteRequest};
use query::catalog::write_rules::WriteOperation;
use query::payload::{self, WriteForm};
use query::plan::write::{ServerValues, WriteAddress, plan_write};
use query::policy::{Viewer, authorize_write};
use query::sql::Dialect;
use query::sql::write::{WriteQuery, render};
use serde_json::json;
use store::writes::WriteFailure;
use store::{DatabaseSettings, Writers};
use support::Postgres;
use support::writes::{Place, moment, viewer};

const TABLE: &str = "CREATE TABLE counters (id int PRIMARY KEY, value int NOT NULL, version int NOT NULL DEFAULT 1);
    INSERT INTO counters VALUES (1, 0, 1)";

const MANIFEST: &str = "
[resource.t.counter.write]
update = true
version = \"version\"
[resource.t.counter.fields]
id = { type = \"int\", key = true, null = false }
value = { type = \"int\", null = false, write = true }
version = { type = \"int\", null = false }
";

/// The catalog tables of Citus, in which the table is distributed.
const CITUS: &str = "SET allow_system_table_mods = on;
    CREATE TABLE pg_catalog.pg_dist_partition
        (logicalrelid regclass, partmethod \"char\", partkey text, colocationid int, repmodel \"char\");
    CREATE FUNCTION pg_catalog.column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS $$ SELECT 'id'::text $$;
    INSERT INTO pg_catalog.pg_dist_partition VALUES ('counters', 'h', 'id', 1, 's')";

fn update(body: serde_json::Value) -> WriteRequest {
    let id = vec!["1".to_owned()];
    WriteRequest { viewer: "chief", resource: "t.counter".to_owned(), form: Form::UpdateById, id, if_match: None, body }
}

async fn value(server: &Postgres, column: &str) -> i32 {
    let client = support::connect(&server.url).await;
    client.query_one(&format!("SELECT {column} FROM counters"), &[]).await.expect("a row").get(0)
}

// contract W2.9, contract W3.8
#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writers_with_the_same_version_wins_on_citus_through_any_connection() {
    let server = Postgres::with(&format!("{TABLE}; {CITUS}")).await;
    for has_url in [false, true] {
        let mut place = Place::open(&server.url, MANIFEST, 8).await;
        assert_eq!(place.database.dialect(), Dialect::Citus);
        if has_url {
            let settings = DatabaseSettings { write_pool: 8, ..DatabaseSettings::default() };
            place.writers = Writers::open(&place.database, Some(&server.url), &settings).expect("writers");
        }
        for round in 0..10 {
            let version = value(&server, "version").await;
            let viewer = viewer("chief");
            let write = async |number: i32| {
                let request = update(json!({ "payload": { "version": version, "value": number } }));
                place.write(&viewer, &request, &moment(round)).await
            };
            let outcomes = join_all((0..8).map(write)).await;
            let done = outcomes.iter().filter(|outcome| outcome.is_done()).count();
            let stale = outcomes.iter().filter(|outcome| **outcome == WriteOutcome::Stale).count();
            assert_eq!((done, stale), (1, 7), "with a URL of its own: {has_url}, round {round}");
        }
    }
    server.drop().await;
}

// contract W3.7
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_table_fails_no_write_however_many_connections_prepared_its_statements() {
    let server = Postgres::with(TABLE).await;
    let place = Place::open(&server.url, MANIFEST, 12).await;
    let viewer = viewer("chief");
    let write = async |number: i32| place.attempt(&viewer, &update(json!({ "increment": { "value": number } })), &moment(0)).await;
    for kind in ["bigint", "int"] {
        // Each connection has the statements.
        for _ in 0..4 {
            let written = join_all((0..12).map(|_| write(1))).await;
            assert!(written.iter().all(|outcome| outcome.as_ref().is_ok_and(WriteOutcome::is_done)), "{written:?}");
        }
        let client = support::connect(&server.url).await;
        client.batch_execute(&format!("ALTER TABLE counters ALTER COLUMN value TYPE {kind}")).await.expect("altered");
        for number in 0..12 {
            let written = write(1).await;
            assert!(written.as_ref().is_ok_and(WriteOutcome::is_done), "write {number} after {kind}: {written:?}");
        }
    }
    server.drop().await;
}

/// An update as the writers take it.
fn rendered(place: &Place, viewer: &Viewer, body: &serde_json::Value) -> WriteQuery {
    let resource = place.catalog.by_name("t.counter").expect("a resource");
    let access = authorize_write(&place.catalog, resource, WriteOperation::Update, viewer).expect("allowed");
    let body = payload::body(WriteForm::UpdateById, body.to_string().as_bytes()).expect("a body");
    let address = WriteAddress { id: Some(&["1"]), if_match: None };
    let plan = plan_write(access, WriteForm::UpdateById, &body, address, ServerValues { now: 0, random: &mut || [0; 16] }).expect("valid");
    render(&plan, place.database.dialect())
}

/// Runs until something holds.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(60), "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// contract E2.15
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_waits_is_in_doubt_and_is_not_cancelled() {
    // A constraint that is checked at the COMMIT waits for a lock, as a COMMIT waits for a standby.
    let script = format!(
        "{TABLE}; CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER waits AFTER UPDATE ON counters DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()"
    );
    let server = Postgres::with(&script).await;
    let holder = support::connect(&server.url).await;
    holder.batch_execute("SELECT pg_advisory_lock(7)").await.expect("locked");
    let settings = DatabaseSettings { timeout: Duration::from_secs(2), ..DatabaseSettings::default() };
    let mut place = Place::open(&server.url, MANIFEST, 2).await;
    let database = store::Database::open(&server.url, &settings).expect("a database");
    place.writers = Writers::open(&database, None, &settings).expect("writers");
    let query = rendered(&place, &viewer("chief"), &json!({ "payload": { "value": 5 } }));
    let failure = place.writers.write(query).await.expect_err("no answer");
    assert!(matches!(failure, WriteFailure::InDoubt(_)), "{failure:?}");
    // A cancel request would have ended the transaction by now.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(value(&server, "value").await, 0, "it still waits");
    holder.batch_execute("SELECT pg_advisory_unlock(7)").await.expect("unlocked");
    until("the transaction is committed", async || value(&server, "value").await == 5).await;
    server.drop().await;
}
