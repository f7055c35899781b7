//! One answer reads one snapshot.

use serde_json::Value;

use crate::support::{PLACES, Place, Setup};
use crate::{DEEP, LIST, MANIFEST, ROWS, database, stalled};

// contract E4.2
#[tokio::test]
async fn rows_deleted_during_a_stream_stay_in_the_answer_with_their_children() {
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
