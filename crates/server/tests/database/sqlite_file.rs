//! The SQLite file of a running server is replaced or removed.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Backend, Database, Response, Server, Setup};

const MANIFEST: &str = "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\nlabel = \"text\"\n";
const LIST: &str = "/api/shop/items/list";
const FIRST: &str = r#"{"query":{"order":[{"field":"id"}],"limit":1}}"#;

/// Enough rows for a file of many pages.
fn script(label: &str) -> String {
    format!(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, label TEXT);
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) INSERT INTO items SELECT n, '{label}' FROM n;"
    )
}

fn path(database: &Database) -> PathBuf {
    PathBuf::from(database.url.trim_start_matches("sqlite://"))
}

/// The answers to parallel requests, so that the pool holds several connections.
async fn list_eight_times(server: &Server) -> Vec<Value> {
    let answers = futures_util::future::join_all((0..8).map(|_| server.post(LIST, FIRST))).await;
    answers.iter().map(Response::good).collect()
}

// contract E2.6, contract E5.1
#[tokio::test]
async fn a_replaced_or_missing_sqlite_file_makes_the_database_unavailable() {
    let (database, other) = (Database::with(Backend::Sqlite, &script("old")).await, Database::with(Backend::Sqlite, &script("new")).await);
    let server = Setup::new(MANIFEST).serve(&database).await;
    assert_eq!(list_eight_times(&server).await, vec![json!([{ "id": 1, "label": "old" }]); 8]);
    let unavailable = async || {
        let answer = server.post(LIST, FIRST).await;
        assert_eq!(answer.problem(503)["code"], "DATABASE_UNAVAILABLE");
        assert!(answer.header("retry-after").is_some() && !answer.text().contains("test.db"), "{}", answer.text());
        server.get("/ready").await.problem(503);
    };
    let aside = path(&database).with_extension("aside");
    std::fs::rename(path(&database), &aside).unwrap();
    unavailable().await;
    assert!(!path(&database).exists(), "the server creates no new file");
    // The server uses another file only after a restart.
    std::fs::rename(path(&other), path(&database)).unwrap();
    unavailable().await;
    std::fs::rename(&aside, path(&database)).unwrap();
    assert_eq!(server.get("/ready").await.status(), 200);
    assert_eq!(list_eight_times(&server).await, vec![json!([{ "id": 1, "label": "old" }]); 8]);
    let again = Setup::new(MANIFEST).serve(&database).await;
    assert_eq!(list_eight_times(&again).await, vec![json!([{ "id": 1, "label": "old" }]); 8]);
}
