//! Statements that the database does not support, and prepared statements of tables that have changed.

use crate::support::{Backend, Database, Setup};
use crate::{MANIFEST, database};

/// Each run takes another advisory lock, which outlives the failed transaction, so that the runs can be counted.
const SCRIPT: &str = "
CREATE FUNCTION unsupported(id integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_advisory_lock((extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    RAISE EXCEPTION 'joins of distant rows are not supported' USING ERRCODE = '0A000', DETAIL = 'two shards', HINT = 'one shard';
END $$;
CREATE TABLE rows (id integer PRIMARY KEY); INSERT INTO rows SELECT n FROM generate_series(1, 3) n;
CREATE VIEW items AS SELECT id, unsupported(id) AS far FROM rows;
";

const RUNS: &str = "SELECT count(*)::text FROM pg_locks JOIN pg_database ON pg_database.oid = database \
    WHERE locktype = 'advisory' AND datname = current_database()";

const ITEMS: &str = r#"
[resource.shop.row.fields]
id = { type = "int", key = true }
[resource.shop.row.relations]
items = { many = "shop.item", on = { id = "id" } }
[resource.shop.item.fields]
id = "int"
far = "int"
"#;

// contract E2.14, contract E2.8
#[tokio::test]
async fn an_unsupported_statement_is_501_and_is_sent_once() {
    let database = Database::with(Backend::Postgres, SCRIPT).await;
    let server = Setup::new(ITEMS).pool(1).serve(&database).await;
    let related = r#"{"query":{"relations":{"items":true}}}"#;
    let requests = [
        ("items/list", "{}"),
        ("items/list", r#"{"query":{"limit":2}}"#),
        ("items/paginate", r#"{"query":{"limit":2}}"#),
        ("rows/list", related),
        ("rows/find/1", related),
    ];
    for (count, (path, body)) in (1_u32..).zip(requests) {
        let answer = server.post(&format!("/api/shop/{path}"), body).await;
        let problem = answer.problem(501);
        assert_eq!(problem["code"], "UNSUPPORTED_BY_DATABASE", "{path} {body}");
        assert_eq!(answer.header("retry-after"), None);
        for word in ["distant", "shard", "0A000", "SELECT"] {
            assert!(!answer.text().contains(word), "{}", answer.text());
        }
        assert_eq!(database.texts(RUNS).await, [count.to_string()], "{path} {body}");
    }
    let answer = server.post("/graphql", r#"{"query":"{ shopGetItems { id far } }"}"#).await.json();
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNSUPPORTED_BY_DATABASE", "{answer}");
}

// contract E2.14
#[tokio::test]
async fn a_view_that_writes_is_501() {
    let script = "CREATE SEQUENCE numbers; CREATE TABLE rows (id integer PRIMARY KEY); INSERT INTO rows VALUES (1);
        CREATE FUNCTION noted(id integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO rows VALUES (id + 1); RETURN id; END $$;
        CREATE VIEW counted AS SELECT nextval('numbers') AS id; CREATE VIEW noted AS SELECT noted(id) AS id FROM rows;";
    let database = Database::with(Backend::Postgres, script).await;
    let manifest = "[resource.shop.counted]\nplural = \"counted\"\n[resource.shop.counted.fields]\nid = \"bigint\"\n\
        [resource.shop.noted]\nplural = \"noted\"\n[resource.shop.noted.fields]\nid = \"int\"\n";
    let server = Setup::new(manifest).pool(1).serve(&database).await;
    for name in ["counted", "noted"] {
        let answer = server.post(&format!("/api/shop/{name}/list"), "{}").await;
        assert_eq!(answer.problem(501)["code"], "UNSUPPORTED_BY_DATABASE", "{name}");
    }
}

// contract E2.14
#[tokio::test]
async fn a_changed_table_is_prepared_again_in_pages_and_in_streams() {
    let database = database().await;
    let server = Setup::new(MANIFEST).pool(1).serve(&database).await;
    let deep = r#"{"query":{"relations":{"parts":true}}}"#;
    for kind in ["varchar(40)", "text", "varchar(50)"] {
        database
            .execute(&format!("ALTER TABLE parts ALTER COLUMN name TYPE {kind}; ALTER TABLE items ALTER COLUMN label TYPE {kind}"))
            .await;
        for (operation, body) in
            [("list", "{}"), ("list", deep), ("paginate", deep), ("find/1", deep), ("list", r#"{"query":{"limit":1}}"#)]
        {
            let answer = server.post(&format!("/api/shop/items/{operation}"), body).await;
            assert_eq!(answer.status(), 200, "{kind} {operation} {body} {}", answer.text());
        }
    }
}
