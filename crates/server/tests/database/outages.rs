//! Outages of the database, and recovery from them.

use crate::support::proxy::ProxyMode;
use crate::support::{Backend, Database, Response, Setup, until};
use crate::{MANIFEST, database, proxied};

const LIST: &str = "/api/shop/items/list";
const ONE: &str = r#"{"query":{"where":{"id":{"eq":1}},"limit":1}}"#;
const DEEP: &str = r#"{"query":{"relations":{"parts":true}}}"#;

// contract E2.6, contract E5.1
#[tokio::test]
async fn an_unreachable_database_is_503_and_the_server_recovers_by_itself() {
    let database = database().await;
    let (proxy, dsn) = proxied(&database).await;
    let server = Setup::new(MANIFEST).serve_at(&dsn).await;
    server.post(LIST, ONE).await.good();
    for round in 0..2 {
        proxy.set(ProxyMode::Disconnect);
        for (operation, body) in
            [("list", ONE), ("list", "{}"), ("list", DEEP), ("paginate", ONE), ("paginate", "{}"), ("find", ONE), ("find/1", "")]
        {
            let answer = server.post(&format!("/api/shop/items/{operation}"), body).await;
            let problem = answer.problem(503);
            assert_eq!(problem["code"], "DATABASE_UNAVAILABLE", "{round} {operation}");
            assert!(answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "{round} {operation}");
            for word in ["127.0.0.1", "postgres", "refused", "os error", "connection"] {
                assert!(!answer.text().to_ascii_lowercase().contains(word), "{}", answer.text());
            }
        }
        let ready = server.get("/ready").await;
        assert_eq!((ready.problem(503)["code"].as_str(), ready.header("retry-after").is_some()), (Some("DATABASE_UNAVAILABLE"), true));
        assert_eq!(server.get("/health").await.status(), 200);
        // A fault in the body needs no database.
        server.post(LIST, "{").await.problem(400);
        proxy.set(ProxyMode::Forward);
        assert_eq!(server.get("/ready").await.status(), 200);
        server.post(LIST, ONE).await.good();
        assert_eq!(server.post(LIST, DEEP).await.good().as_array().map(Vec::len), Some(2000));
    }
}

// contract E2.6
#[tokio::test]
async fn clients_do_not_notice_connections_that_the_database_terminated() {
    let database = database().await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    for (operation, body) in [("list", ONE), ("list", "{}"), ("list", DEEP), ("paginate", DEEP), ("find/1", "")] {
        // Parallel requests, so that the pool holds several connections.
        let warm = (0..8).map(|_| server.post(LIST, DEEP));
        futures_util::future::join_all(warm).await;
        let ended = database.change(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'peristyle'",
        );
        assert!(ended.await > 0);
        until("the sessions are gone", async || database.sessions("true").await == 0).await;
        let answers = futures_util::future::join_all((0..4).map(|_| server.post("/api/shop/items/find/1", ""))).await;
        assert!(answers.iter().all(|answer| answer.status() == 200), "{:?}", answers.iter().map(Response::text).collect::<Vec<_>>());
        assert_eq!(server.post(&format!("/api/shop/items/{operation}"), body).await.status(), 200, "{operation} {body}");
    }
}

// contract E5.1
#[tokio::test]
async fn a_server_whose_database_hangs_is_not_ready() {
    let database = database().await;
    let (proxy, dsn) = proxied(&database).await;
    let server = Setup::new(MANIFEST).serve_at(&dsn).await;
    assert_eq!(server.get("/ready").await.status(), 200);
    proxy.set(ProxyMode::Freeze);
    server.get("/ready").await.problem(503);
    assert_eq!(server.get("/health").await.status(), 200);
    proxy.set(ProxyMode::Forward);
    until("the server is ready again", async || server.get("/ready").await.status() == 200).await;
}

// contract E4.3, contract E2.6
#[tokio::test]
async fn an_answer_is_cut_if_the_database_disconnects_midway() {
    let database = database().await;
    database
        .execute(
            "ALTER TABLE items ALTER COLUMN label TYPE text; INSERT INTO items SELECT n, repeat('y', 500) FROM generate_series(3000, 60000) n",
        )
        .await;
    let (proxy, dsn) = proxied(&database).await;
    let server = Setup::new(MANIFEST).serve_at(&dsn).await;
    for body in ["{}", DEEP] {
        let mut wire = crate::support::http::Connection::with_small_buffer(server.address).await;
        wire.request(&crate::support::post(LIST, body)).await;
        let head = wire.head().await.expect("a head");
        assert_eq!(head.status, 200);
        proxy.set(ProxyMode::Disconnect);
        let answer = wire.rest(head, "POST").await;
        assert!(!answer.whole, "{} bytes look like a complete answer", answer.body.len());
        assert!(serde_json::from_slice::<serde_json::Value>(&answer.body).is_err());
        proxy.set(ProxyMode::Forward);
        server.post(LIST, ONE).await.good();
    }
}

// contract E2.6
#[tokio::test]
async fn a_serialization_failure_and_a_deadlock_are_503() {
    // A conflict with recovery on a read replica, and a deadlock.
    for code in ["40001", "40P01"] {
        let script = format!(
            "CREATE FUNCTION torn() RETURNS integer LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'canceling statement due to conflict with recovery' USING ERRCODE = '{code}'; END $$; \
             CREATE VIEW items AS SELECT torn() AS id;"
        );
        let database = Database::with(Backend::Postgres, &script).await;
        let server = Setup::new("[resource.shop.item.fields]\nid = \"int\"\n").serve(&database).await;
        for body in [ONE, "{}"] {
            let answer = server.post(LIST, body).await;
            assert_eq!(answer.problem(503)["code"], "DATABASE_UNAVAILABLE", "{code} {body}");
            assert!(answer.header("retry-after").is_some());
        }
    }
}
