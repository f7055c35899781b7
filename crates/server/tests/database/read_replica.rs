//! Reads go to the read replica, and to the primary during its outage.

use crate::support::proxy::ProxyMode;
use crate::support::{Backend, Database, Setup};
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
    assert_eq!(labels().await, ["from the replica"; 4]);
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
