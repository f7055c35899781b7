//! Answers without a limit: streamed from one snapshot; one that breaks off never looks complete.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod faults;
mod flow;
mod shared_rows;
mod snapshot;
#[path = "../support/mod.rs"]
mod support;

use support::http::{Connection, Head};
use support::{Backend, Database, Server, post};

const ROWS: usize = 30_000;

const MANIFEST: &str = r#"
[resource.shop.item.fields]
id = { type = "int", key = true }
label = { type = "text", null = false }

[resource.shop.item.relations]
parts = { many = "shop.part", on = { id = "itemId" } }

[resource.shop.part.fields]
id = { type = "int", key = true }
itemId = "int"
"#;

/// Thirty thousand items of half a kilobyte, each with one part: more than all buffers between server and client hold.
async fn database(backend: Backend) -> Database {
    let label = if backend == Backend::Postgres { "repeat('x', 500)" } else { "hex(zeroblob(250))" };
    let wal = if backend == Backend::Sqlite { "PRAGMA journal_mode = WAL;" } else { "" };
    let script = format!(
        "{wal} CREATE TABLE items (id integer PRIMARY KEY, label text NOT NULL);
         CREATE TABLE parts (id integer PRIMARY KEY, item_id integer REFERENCES items);
         INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS}) SELECT n, {label} FROM numbers;
         INSERT INTO parts SELECT id, id FROM items;
         CREATE INDEX parts_of_item ON parts (item_id);"
    );
    Database::with(backend, &script).await
}

const LIST: &str = "/api/shop/items/list";
const ALL: &str = "{}";
const DEEP: &str = r#"{"query":{"relations":{"parts":true}}}"#;
const ONE: &str = r#"{"query":{"where":{"id":{"eq":1}},"limit":1}}"#;

/// A client that has read the head of an answer and pauses.
async fn stalled(server: &Server, path: &str, body: &str) -> (Connection, Head) {
    let mut wire = Connection::with_small_buffer(server.address).await;
    wire.request(&post(path, body)).await;
    let head = wire.head().await.expect("a head");
    assert_eq!(head.status, 200, "{path} {body}");
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    (wire, head)
}
