//! PostgreSQL servers that are refused: a database whose encoding is not UTF8, and a version that is too old.

use crate::cluster::Cluster;
use crate::program::Folder;
use crate::support::database::{cluster, connect, dsn};
use crate::support::{Backend, Database};

const SCRIPT: &str = "CREATE TABLE customers (id bigint PRIMARY KEY, name text NOT NULL);
    CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, total numeric)";

/// The variable and the message of each command on a server that is refused, and of `serve` with such a read replica.
fn refusals(folder: &Folder, good: &Database, url: &str) -> Vec<(&'static str, String)> {
    folder.write("statement.json", "{}");
    let mut refusals = Vec::new();
    for command in [
        &["serve"][..],
        &["check"],
        &["introspect", "--out", "-"],
        &["explain", "shop.customer", "statement.json"],
        &["migrate"],
        &["account", "list"],
    ] {
        refusals.push(("DATABASE_URL", folder.run(command, &[("DATABASE_URL", url)]).refused()));
    }
    for prepare in ["on", "off"] {
        let variables = [("DATABASE_URL", good.url.as_str()), ("DATABASE_READ_URL", url), ("DATABASE_PREPARE", prepare)];
        refusals.push(("DATABASE_READ_URL", folder.run(&["serve"], &variables).refused()));
    }
    refusals
}

// contract B1.9
#[tokio::test]
async fn a_database_whose_encoding_is_not_utf8_is_refused_by_every_command() {
    let folder = Folder::shop();
    let admin = connect(&cluster()).await;
    let good = Database::with(Backend::Postgres, SCRIPT).await;
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = format!("encoding_{}_{}", encoding.to_ascii_lowercase(), std::process::id());
        let create = format!("CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
        admin.batch_execute(&create).await.expect("a database");
        let url = dsn(&name);
        connect(&url).await.batch_execute(SCRIPT).await.expect("tables");
        let refusals = refusals(&folder, &good, &url);
        admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.expect("dropped");
        for (variable, message) in refusals {
            let expected = format!(
                "{variable}: the encoding of the database is {encoding}; accepted is UTF8: make a new one (createdb -E UTF8 -T template0) and load the data into it"
            );
            assert_eq!(message, expected);
        }
    }
}

// contract B1.15
#[tokio::test]
async fn a_server_that_is_too_old_is_refused_by_every_command() {
    let folder = Folder::shop();
    let old = Cluster::start_refused();
    let client = connect(&old.url()).await;
    client.batch_execute(SCRIPT).await.expect("tables");
    let version: String = client.query_one("SHOW server_version", &[]).await.expect("a version").get(0);
    let good = Database::with(Backend::Postgres, SCRIPT).await;
    for (variable, message) in refusals(&folder, &good, &old.url()) {
        assert_eq!(message, format!("{variable}: the server is PostgreSQL {version}; accepted is PostgreSQL 13 or newer"));
    }
    let left: i64 = client.query_one("SELECT count(*) FROM pg_namespace WHERE nspname = 'peristyle'", &[]).await.expect("a count").get(0);
    assert_eq!(left, 0, "nothing was created in it");
}
