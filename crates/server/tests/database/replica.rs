//! Reads may go to a replica, and come back when it is gone.

use crate::support::proxy::{ProxyMode, Proxy};
use crate::support::{Database, Place, Setup};
use crate::{MANIFEST, SCRIPT, database, port};

// contract B1.2
#[tokio::test]
async fn reads_use_the_replica_and_fall_back_to_the_primary() {
    let primary = database().await;
    let replica = Database::with(Place::Postgres, &format!("{SCRIPT} UPDATE items SET label = 'from the replica';")).await;
    let proxy = Proxy::to(format!("127.0.0.1:{}", port())).await;
    let mut setup = Setup::new(MANIFEST);
    setup.read_url = Some(format!("postgres://postgres@{}/{}", proxy.address, replica.name()));
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
    assert_eq!(server.get("/ready").await.status(), 200, "the primary answers");
    proxy.set(ProxyMode::Forward);
    assert_eq!(labels().await, ["from the replica"; 4]);
    // One that is behind and lacks a table is no reason to fail.
    replica.execute("DROP TABLE parts; DROP TABLE items").await;
    assert_eq!(labels().await, ["item 1"; 4]);
}

// contract B1.2
#[tokio::test]
async fn a_replica_that_swallows_requests_is_left_alone_for_a_while() {
    let (primary, replica) = (database().await, database().await);
    let proxy = Proxy::to(format!("127.0.0.1:{}", port())).await;
    let mut setup = Setup::new(MANIFEST);
    setup.read_url = Some(format!("postgres://postgres@{}/{}?connect_timeout=1", proxy.address, replica.name()));
    let server = setup.serve(&primary).await;
    proxy.set(ProxyMode::Freeze);
    let ask = async || server.post("/api/shop/items/list", r#"{"query":{"where":{"id":{"eq":1}}}}"#).await.good();
    ask().await;
    let started = std::time::Instant::now();
    for _ in 0..5 {
        ask().await;
    }
    // Each of them would have waited a second.
    assert!(started.elapsed() < std::time::Duration::from_secs(4), "{:?}", started.elapsed());
}

// contract B1.1, contract B1.2
#[tokio::test]
async fn a_replica_s_bad_address_is_told_by_its_own_variable() {
    let primary = database().await;
    let mut setup = Setup::new(MANIFEST);
    setup.read_url = Some("postgres://u:sesame@replica/db?sslmode=perhaps".to_owned());
    let message = setup.boot(&primary.url).await.expect_err("no such sslmode").to_string();
    assert!(message.starts_with("DATABASE_READ_URL: ") && !message.contains("sesame"), "{message}");
}
