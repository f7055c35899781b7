//! One answer reads one snapshot.

use serde_json::Value;

use crate::support::{BACKENDS, Backend, Setup};
use crate::{DEEP, LIST, MANIFEST, ROWS, database, stalled};

// contract E4.2
#[tokio::test]
async fn rows_deleted_during_a_stream_stay_in_the_answer_with_their_children() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).serve(&database).await;
        for path in [LIST, "/api/shop/items/paginate"] {
            let (mut wire, head) = stalled(&server, path, DEEP).await;
            database
                .execute("DELETE FROM parts WHERE id % 2 = 0; DELETE FROM items WHERE id % 4 = 0; UPDATE items SET label = 'changed'")
                .await;
            let answer = wire.rest(head, "POST").await;
            let found: Value = answer.json();
            let rows = found.get("rows").unwrap_or(&found).as_array().unwrap();
            assert_eq!(rows.len(), ROWS, "{backend:?} {path}");
            assert!(rows.iter().all(|row| row["parts"].as_array().unwrap().len() == 1 && row["label"] != "changed"), "{backend:?} {path}");
            if path != LIST {
                assert_eq!(found["total"], ROWS, "{backend:?}");
            }
            database.execute("DELETE FROM parts; DELETE FROM items").await;
            let label = if backend == Backend::Postgres { "repeat('x', 500)" } else { "hex(zeroblob(250))" };
            database
                .execute(&format!(
                    "INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS}) SELECT n, {label} FROM numbers;
                     INSERT INTO parts SELECT id, id FROM items;"
                ))
                .await;
        }
    }
}
