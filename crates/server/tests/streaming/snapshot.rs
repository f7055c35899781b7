//! One answer, one snapshot.

use serde_json::Value;

use crate::support::{Database, PLACES, Place, Setup, post, until};
use crate::{DEEP, LIST, MANIFEST, ROWS, database, stalled};

// contract E4.2
#[tokio::test]
async fn rows_that_are_deleted_midway_are_still_in_the_answer_with_their_children() {
    for place in PLACES {
        let database = database(place).await;
        let server = Setup::new(MANIFEST).serve(&database).await;
        for path in [LIST, "/api/shop/items/paginate"] {
            let (mut wire, head) = stalled(&server, path, DEEP).await;
            database
                .execute("DELETE FROM parts WHERE id % 2 = 0; DELETE FROM items WHERE id % 4 = 0; UPDATE items SET label = 'changed'")
                .await;
            let answer = wire.rest(head, "POST").await;
            let found: Value = answer.json();
            let rows = found.get("rows").unwrap_or(&found).as_array().unwrap();
            assert_eq!(rows.len(), ROWS, "{place:?} {path}");
            assert!(rows.iter().all(|row| row["parts"].as_array().unwrap().len() == 1 && row["label"] != "changed"), "{place:?} {path}");
            if path != LIST {
                assert_eq!(found["total"], ROWS, "{place:?}");
            }
            database.execute("DELETE FROM parts; DELETE FROM items").await;
            let label = if place == Place::Postgres { "repeat('x', 500)" } else { "hex(zeroblob(250))" };
            database
                .execute(&format!(
                    "INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS}) SELECT n, {label} FROM numbers;
                     INSERT INTO parts SELECT id, id FROM items;"
                ))
                .await;
        }
    }
}

// contract E4.2
#[tokio::test]
async fn a_page_its_children_and_its_total_are_of_one_snapshot() {
    let database = Database::with(
        Place::Postgres,
        // The roots cannot be read while somebody holds the lock.
        "CREATE TABLE all_items (id integer PRIMARY KEY, label text NOT NULL);
         CREATE TABLE parts (id integer PRIMARY KEY, item_id integer);
         CREATE INDEX parts_of_item ON parts (item_id);
         CREATE VIEW items AS SELECT id, label FROM all_items WHERE pg_advisory_xact_lock_shared(8)::text IS NOT NULL;
         INSERT INTO all_items VALUES (1, 'one'), (2, 'two'); INSERT INTO parts VALUES (1, 1), (2, 2);",
    )
    .await;
    let manifest = MANIFEST.replacen("id = { type = \"int\", key = true }", "id = \"int\"", 1).replace("null = false", "null = true");
    let server = Setup::new(&manifest).serve(&database).await;
    let keeper = database.client().await;
    keeper.batch_execute("SELECT pg_advisory_lock(8)").await.expect("the lock");
    let mut wire = post("/api/shop/items/paginate", r#"{"query":{"relations":{"parts":true},"limit":1}}"#).start(server.address).await;
    until("the roots wait", async || database.sessions("wait_event_type = 'Lock'").await == 1).await;
    database.execute("DELETE FROM parts; DELETE FROM all_items").await;
    keeper.batch_execute("SELECT pg_advisory_unlock(8)").await.expect("the lock");
    let page = wire.response("POST").await.good();
    assert_eq!(page["count"], 1, "{page}");
    assert_eq!(page["total"], 2, "the total of the snapshot: {page}");
    assert_eq!(page["rows"][0]["parts"].as_array().map(Vec::len), Some(1), "the children of the snapshot: {page}");
}
