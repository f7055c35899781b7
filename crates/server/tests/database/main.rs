//! The server and its database: DSNs, outages, timeouts, prepared statements, the read replica.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dsn;
mod outages;
mod prepared_statements;
mod read_replica;
mod sqlite_file;
#[path = "../support/mod.rs"]
mod support;
mod timeouts;
mod unsupported;

use support::proxy::Proxy;
use support::{Backend, Database, variable};

/// A resource that shows the database session of the server, and one with rows.
const MANIFEST: &str = r#"
[resource.shop.session.fields]
encrypted = "bool"
client = "text"

[resource.shop.item.fields]
id = { type = "int", key = true }
label = "text"
at = "timestamp"
plainAt = "timestamp"

[resource.shop.item.relations]
parts = { many = "shop.part", on = { id = "itemId" } }

[resource.shop.part.fields]
id = { type = "int", key = true }
itemId = "int"
name = "text"
"#;

const SCRIPT: &str = "
CREATE VIEW sessions AS SELECT ssl AS encrypted, host(inet_client_addr()) AS client FROM pg_stat_ssl WHERE pid = pg_backend_pid();
CREATE TABLE items (id integer PRIMARY KEY, label varchar(40), at timestamptz, plain_at timestamp);
INSERT INTO items SELECT n, 'item ' || n, '2024-03-10T09:15:00.123456Z', '2024-03-10 09:15:00.5' FROM generate_series(1, 2000) n;
CREATE TABLE parts (id integer PRIMARY KEY, item_id integer REFERENCES items, name varchar(40));
INSERT INTO parts SELECT n, n % 2000 + 1, 'part ' || n FROM generate_series(1, 4000) n;
CREATE INDEX parts_of_item ON parts (item_id);
";

async fn database() -> Database {
    Database::with(Backend::Postgres, SCRIPT).await
}

/// The port of the PostgreSQL cluster.
fn port() -> String {
    variable("PERISTYLE_TEST_PORT")
}

/// A proxy to the cluster, and a DSN of this database through it.
async fn proxied(database: &Database) -> (Proxy, String) {
    let proxy = Proxy::to(format!("127.0.0.1:{}", port())).await;
    let dsn = format!("postgres://postgres@{}/{}", proxy.address, database.name());
    (proxy, dsn)
}
