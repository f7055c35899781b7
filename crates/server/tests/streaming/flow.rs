//! Rows are sent while they are read.

use serde_json::Value;

use crate::support::http::Chunk;
use crate::support::{BACKENDS, Backend, Database, Setup, post};
use crate::{ALL, DEEP, LIST, MANIFEST, ROWS, database};

// contract E4.1, trap 18
#[tokio::test]
async fn a_list_without_a_limit_sends_all_rows_in_many_chunks() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).serve(&database).await;
        for body in [ALL, DEEP] {
            let answer = server.post(LIST, body).await;
            assert!(answer.whole && answer.chunks > 10, "{backend:?} {} chunks", answer.chunks);
            assert_eq!((answer.header("content-length"), answer.header("content-type")), (None, Some("application/json")));
            let rows = answer.good();
            let mut ids: Vec<i64> = rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(1..=ROWS as i64), "{backend:?}");
            if body == DEEP {
                assert!(rows.as_array().unwrap().iter().all(|row| row["parts"][0]["itemId"] == row["id"]), "{backend:?}");
            }
        }
        let answer = server.send(&post(LIST, DEEP).header("accept", "application/x-ndjson")).await;
        assert!(answer.whole && answer.chunks > 10, "{backend:?}");
        let lines =
            answer.text().lines().filter(|line| serde_json::from_str::<Value>(line).is_ok_and(|row| row["parts"].is_array())).count();
        assert_eq!(lines, ROWS, "{backend:?}");
    }
}

// contract E4.5, contract E1.2
#[tokio::test]
async fn paginate_without_a_limit_writes_the_rows_first_and_the_total_last() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).serve(&database).await;
        for (body, rows, total) in [
            (ALL, ROWS, ROWS),
            (DEEP, ROWS, ROWS),
            (r#"{"query":{"offset":100}}"#, ROWS - 100, ROWS),
            (r#"{"query":{"limit":10000,"offset":5}}"#, 10_000, ROWS),
            (r#"{"query":{"where":{"id":{"lte":2000}}}}"#, 2_000, 2_000),
        ] {
            let answer = server.post("/api/shop/items/paginate", body).await;
            let text = answer.text();
            assert!(
                text.starts_with("{\"rows\":[{") && text.ends_with(&format!("],\"count\":{rows},\"total\":{total}}}")),
                "{backend:?} {body}"
            );
            assert_eq!(answer.good()["rows"].as_array().map(Vec::len), Some(rows), "{backend:?} {body}");
        }
    }
}

// contract E4.1, trap 18
#[tokio::test]
async fn the_first_bytes_are_sent_before_the_last_row_is_read() {
    let database = Database::with(
        Backend::Postgres,
        // Row 20,000 cannot be read while the lock is held.
        "CREATE VIEW items AS SELECT n AS id, repeat('x', 500) AS label FROM generate_series(1, 30000) n
             WHERE n <> 20000 OR pg_advisory_xact_lock_shared(7)::text IS NOT NULL;
         CREATE TABLE parts (id integer PRIMARY KEY, item_id integer); CREATE INDEX ON parts (item_id);",
    )
    .await;
    let server = Setup::new(&MANIFEST.replace(", key = true", "")).serve(&database).await;
    for body in [ALL, DEEP] {
        let keeper = database.client().await;
        keeper.batch_execute("SELECT pg_advisory_lock(7)").await.expect("the lock");
        let mut wire = post(LIST, body).start(server.address).await;
        let head = wire.head().await.expect("a head");
        let Chunk::Data(first) = wire.chunk().await else { panic!("no chunk") };
        assert!(first.starts_with(b"[{\"id\":1,"));
        keeper.batch_execute("SELECT pg_advisory_unlock(7)").await.expect("the lock");
        let rest = wire.rest(head, "POST").await;
        assert!(rest.whole);
        let rows: Value = serde_json::from_slice(&[first, rest.body].concat()).expect("JSON");
        assert_eq!(rows.as_array().map(Vec::len), Some(ROWS));
    }
}
