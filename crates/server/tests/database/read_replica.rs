//! Reads go to the read replica, and to the primary during its outage.

use crate::support::proxy::ProxyMode;
use crate::support::{Backend, Database, Setup, until};
use crate::{MANIFEST, SCRIPT, database, proxied};

// contract B1.2
#[tokio::test]
async fn reads_use_the_read_replica_and_fall_back_to_the_primary() {
    let primary = database().await;
    let replica = Database::with(Backend::Postgres, &format!("{SCRIPT} UPDATE items SET label = 'from the replica';")).await;
    let (proxy, dsn) = proxied(&replica).await;
    let mut setup = Setup::new(MANIFEST);
    setup.read_url = Some(dsn);
    let server = setup.serve(&primary).await;
    let labels = async || {
        let mut labels = Vec::new();
        for operation in ["find", "find/1", "list", "paginate"] {
            let body = r#"{"query":{"where":{"id":{"eq":1}}}}"#;
            let answer = server.post(&format!("/api/shop/items/{operation}"), body).await.good();
            let row = if operation == "list" {
                &answer[0]
            } else if operation == "paginate" {
                &answer["rows"][0]
            } else {
                &answer
            };
            labels.push(row["label"].as_str().expect("a label").to_owned());
        }
        labels
    };
    assert_eq!(labels().await, ["from the replica"; 4]);
    proxy.set(ProxyMode::Disconnect);
    assert_eq!(labels().await, ["item 1"; 4]);
    assert_eq!(server.get("/ready").await.status(), 200, "the primary is available");
    proxy.set(ProxyMode::Forward);
    until("the read replica is used again", async || labels().await == ["from the replica"; 4]).await;
    // A read replica that lags behind may lack a table.
    replica.execute("DROP TABLE parts; DROP TABLE items").await;
    assert_eq!(labels().await, ["item 1"; 4]);
}

// contract B1.2
#[tokio::test]
async fn a_hanging_read_replica_is_skipped_for_a_while() {
    let (primary, replica) = (database().await, database().await);
    let (proxy, dsn) = proxied(&replica).await;
    let mut setup = Setup::new(MANIFEST);
    setup.read_url = Some(format!("{dsn}?connect_timeout=1"));
    let server = setup.serve(&primary).await;
    proxy.set(ProxyMode::Freeze);
    let ask = async || server.post("/api/shop/items/list", r#"{"query":{"where":{"id":{"eq":1}}}}"#).await.good();
    ask().await;
    let attempts = proxy.accepted();
    for _ in 0..5 {
        ask().await;
    }
    // Without the skip, each request would try to connect. On a slow machine the skip may end between two of them.
    let further = proxy.accepted() - attempts;
    assert!(further <= 2, "{further} attempts");
}

// contract B1.1, contract B1.2
#[tokio::test]
async fn an_invalid_dsn_of_the_read_replica_names_database_read_url() {
    let primary = database().await;
    let mut setup = Setup::new(MANIFEST);
    setup.read_url = Some("postgres://u:sesame@replica/db?sslmode=perhaps".to_owned());
    let message = setup.boot(&primary.url).await.expect_err("no such sslmode").to_string();
    assert!(message.starts_with("DATABASE_READ_URL: ") && !message.contains("sesame"), "{message}");
}

// contract B1.27
#[tokio::test]
async fn a_statement_that_fails_on_a_read_replica_that_answers_leaves_it_in_use() {
    // Such as a conflict with recovery.
    let torn = "CREATE FUNCTION torn() RETURNS integer LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM pg_sleep(0.5); RAISE EXCEPTION 'conflict with recovery' USING ERRCODE = '40001'; END $$; \
         CREATE VIEW parts AS SELECT torn() AS id, 1 AS item_id, 'x' AS label; \
         CREATE TABLE items (id integer PRIMARY KEY, label text); INSERT INTO items VALUES (1, 'from the replica');";
    let script = "CREATE TABLE parts (id integer PRIMARY KEY, item_id integer, label text); INSERT INTO parts VALUES (7, 1, 'x'); \
         CREATE TABLE items (id integer PRIMARY KEY, label text); INSERT INTO items VALUES (1, 'from the primary');";
    let manifest = "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\nlabel = \"text\"\n\
         [resource.shop.part.fields]\nid = \"int\"\n";
    let (primary, replica) = (Database::with(Backend::Postgres, script).await, Database::with(Backend::Postgres, torn).await);
    let mut setup = Setup::new(manifest);
    setup.read_url = Some(replica.url.clone());
    let server = setup.serve(&primary).await;
    let part = server.post("/api/shop/parts/list", "{}").await.good();
    assert_eq!(part[0]["id"], 7, "the primary runs it");
    let item = server.post("/api/shop/items/list", "{}").await.good();
    assert_eq!(item[0]["label"], "from the replica");
}

// contract E2.7, contract B1.27
#[tokio::test]
async fn all_servers_that_a_read_asks_share_its_deadline() {
    let script = "CREATE TABLE items (id integer PRIMARY KEY); CREATE VIEW naps AS SELECT 1 AS id WHERE pg_sleep(4) IS NOT NULL";
    let manifest = "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\n[resource.shop.nap.fields]\nid = \"int\"\n";
    let (primary, replica) = (Database::with(Backend::Postgres, script).await, Database::with(Backend::Postgres, script).await);
    let ((one, first), (two, second)) = (proxied(&replica).await, proxied(&replica).await);
    let mut setup = Setup::new(manifest);
    let place = |dsn: &str| dsn.split_once('@').and_then(|(_, rest)| rest.split_once('/')).expect("a host").0.to_owned();
    setup.read_url = Some(second.replace(&place(&second), &format!("{},{}", place(&first), place(&second))));
    setup.database.timeout = std::time::Duration::from_secs(8);
    let server = setup.serve(&primary).await;
    for _ in 0..2 {
        server.post("/api/shop/items/list", "{}").await.good();
    }
    for proxy in [one, two] {
        proxy.set(ProxyMode::Freeze);
    }
    // Three seconds for each of them leave two for the primary, which needs four.
    let status = server.post("/api/shop/naps/list", "{}").await.status();
    assert!([503, 504].contains(&status), "{status}");
    // Nobody waits for them again.
    server.post("/api/shop/naps/list", "{}").await.good();
}
