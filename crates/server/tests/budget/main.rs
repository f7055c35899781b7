//! Budgets: one caller exhausts memory, connections, the pool or the CPU, and other callers still get answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cost;
mod fairness;
mod graphql_documents;
mod headers;
mod max_rows;
mod streams;
#[path = "../support/mod.rs"]
mod support;

use std::net::{IpAddr, Ipv4Addr};

use support::{Backend, Database};

const ROWS: usize = 20_000;

/// Another client address of this machine.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

const MANIFEST: &str = r#"
[resource.shop.item.fields]
id = { type = "int", key = true }
label = { type = "text", null = false }
"#;

const LIST: &str = "/api/shop/items/list";
const ALL: &str = "{}";
const ONE: &str = r#"{"query":{"where":{"id":{"eq":1}},"limit":1}}"#;

/// Ten megabytes of rows, more than all buffers between server and client hold.
async fn database(backend: Backend) -> Database {
    let label = if backend == Backend::Postgres { "repeat('x', 500)" } else { "hex(zeroblob(250))" };
    let script = format!(
        "CREATE TABLE items (id integer PRIMARY KEY, label text NOT NULL);
         INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ROWS}) SELECT n, {label} FROM numbers;"
    );
    Database::with(backend, &script).await
}
