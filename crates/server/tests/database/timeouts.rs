//! Timeouts of statements, cancellation by disconnected clients, and exhausted pools.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;

use crate::support::http::Connection;
use crate::support::{BACKENDS, Backend, Database, Server, Setup, post, until};

const MANIFEST: &str = r#"
[resource.shop.nap.fields]
id = "bigint"

[resource.shop.row.fields]
id = { type = "int", key = true }
label = "text"

[resource.shop.row.relations]
naps = { many = "shop.nap", on = { id = "id" } }
"#;

/// A timeout for statements that take longer. The server boots within it, also on a loaded machine.
const SHORT: Duration = Duration::from_secs(1);

/// A timeout that does not end a statement while a test waits.
const LONGER_THAN_A_TEST: Duration = Duration::from_secs(600);

const LONG: &str = "[resource.shop.text.fields]\nid = { type = \"int\", key = true }\nbody = \"text\"\nwords = \"text[]\"\n";

// contract E2.7, trap 20, trap 11
#[tokio::test]
async fn the_statement_timeout_also_interrupts_a_single_row() {
    for backend in BACKENDS {
        // PostgreSQL checks for a cancel only after a comparison, so one comparison is enough there.
        let (body, words, comparisons) = match backend {
            Backend::Postgres => ("repeat('a', 100000)", "text[]", 1),
            Backend::Sqlite => ("replace(hex(zeroblob(50000)), '0', 'a')", "text", 12),
        };
        let script = format!(
            "CREATE TABLE texts (id integer PRIMARY KEY, body text, words {words}); INSERT INTO texts (id, body) VALUES (1, {body}), (2, {body});"
        );
        let database = Database::with(backend, &script).await;
        let mut setup = Setup::new(LONG).pool(1);
        setup.database.timeout = SHORT;
        let server = setup.serve(&database).await;
        // Each position of the string is compared with nearly the whole pattern.
        let pattern = format!("%{}b", "a".repeat(50_000));
        let request_body = json!({"query": {"where": {"or": vec![json!({"body": {"iLike": pattern}}); comparisons]}}}).to_string();
        server.post("/api/shop/texts/list", request_body).await.problem(504);
        // The only connection is free again.
        let first = r#"{"query":{"where":{"id":{"eq":1}},"limit":1}}"#;
        until("the connection is free", async || server.post("/api/shop/texts/list", first).await.status() == 200).await;
        if backend == Backend::Postgres {
            until("the statement ends", async || database.sessions("state <> 'idle'").await == 0).await;
        }
    }
}

/// A view that takes minutes to read, and a table of thirty megabytes.
async fn database(backend: Backend) -> Database {
    let nap = match backend {
        Backend::Postgres => "CREATE VIEW naps AS SELECT n AS id FROM generate_series(1, 3::bigint) n WHERE pg_sleep(60) IS NOT NULL",
        Backend::Sqlite => {
            "CREATE VIEW naps AS WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT n AS id FROM numbers WHERE n < 0"
        }
    };
    let text = if backend == Backend::Postgres { "repeat('x', 1000)" } else { "hex(zeroblob(500))" };
    let script = format!(
        "{nap}; CREATE TABLE rows (id integer PRIMARY KEY, label text); \
         INSERT INTO rows WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000) SELECT n, {text} FROM numbers;"
    );
    Database::with(backend, &script).await
}

const NAPS: [(&str, &str); 4] = [
    ("/api/shop/naps/list", "{}"),
    ("/api/shop/naps/paginate", r#"{"query":{"limit":5}}"#),
    ("/api/shop/rows/list", r#"{"query":{"relations":{"naps":true},"limit":1}}"#),
    ("/api/shop/rows/list", r#"{"query":{"relations":{"naps":true}}}"#),
];

async fn serve(database: &Database, timeout: Duration) -> Server {
    let mut setup = Setup::new(MANIFEST).pool(1);
    setup.database.timeout = timeout;
    setup.serve(database).await
}

const ONE: &str = r#"{"query":{"where":{"id":{"eq":1}},"limit":1}}"#;

// contract E2.7, trap 20
#[tokio::test]
async fn a_statement_past_its_timeout_is_cancelled_and_answers_504() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = serve(&database, SHORT).await;
        for (path, body) in NAPS {
            let problem = server.post(path, body).await.problem(504);
            assert_eq!(problem["code"], "TIMEOUT", "{backend:?} {path} {body}");
            if backend == Backend::Postgres {
                until("the statement is cancelled", async || database.sessions("state <> 'idle'").await == 0).await;
            }
            // The only connection is free again.
            until("the server answers", async || server.post("/api/shop/rows/list", ONE).await.status() == 200).await;
        }
    }
}

/// Starts each statement, disconnects, and waits until the only connection is free. The statement itself would run longer than the test waits.
async fn check_disconnect(backend: Backend, running: impl AsyncFn(&Database, &Server) -> bool) {
    let database = database(backend).await;
    let server = serve(&database, LONGER_THAN_A_TEST).await;
    for (path, body) in NAPS {
        let wire = post(path, body).start(server.address).await;
        until("the statement runs", async || running(&database, &server).await).await;
        drop(wire);
        let free = format!("the connection is free after {path} {body}");
        until(&free, async || server.post("/api/shop/rows/list", ONE).await.status() == 200).await;
        if backend == Backend::Postgres {
            until("the statement is cancelled", async || database.sessions("state <> 'idle'").await == 0).await;
        }
    }
}

// contract E4.4, trap 20
#[tokio::test]
async fn a_disconnected_client_cancels_its_statement_on_postgres() {
    check_disconnect(Backend::Postgres, async |database, _| database.sessions("state = 'active' AND query LIKE '%naps%'").await == 1).await;
}

// contract E4.4, trap 20
#[tokio::test]
async fn a_disconnected_client_cancels_the_total_of_its_page() {
    // More rows than one chunk; only the total is slow.
    let script = "CREATE VIEW dozes AS SELECT n AS id FROM generate_series(1, 3000::bigint) n WHERE n < 2000 OR pg_sleep(60) IS NOT NULL";
    let database = Database::with(Backend::Postgres, script).await;
    let mut setup = Setup::new("[resource.shop.doze.fields]\nid = { type = \"bigint\", key = true }\n").pool(1);
    setup.database.timeout = LONGER_THAN_A_TEST;
    let server = setup.serve(&database).await;
    let wire = post("/api/shop/dozes/paginate", r#"{"query":{"limit":1500}}"#).start(server.address).await;
    until("the total is counted", async || database.sessions("state = 'active' AND query LIKE '%count(*) FROM \"dozes\"%'").await == 1)
        .await;
    drop(wire);
    until("the total is cancelled", async || database.sessions("state <> 'idle'").await == 0).await;
}

// contract E4.4, trap 20
#[tokio::test]
async fn a_disconnected_client_cancels_its_statement_on_sqlite() {
    // The statement runs if another request gets no connection.
    check_disconnect(Backend::Sqlite, async |_, server| {
        tokio::time::timeout(Duration::from_millis(300), server.post("/api/shop/rows/list", ONE)).await.is_err()
    })
    .await;
}

// contract E5.5
#[tokio::test]
async fn a_disconnected_client_does_not_count_as_in_flight() {
    let database = database(Backend::Sqlite).await;
    let server = serve(&database, Duration::from_secs(60)).await;
    let in_flight = |count: u32| server.metrics.text().contains(&format!("peristyle_requests_in_flight {count}\n"));
    let wire = post(NAPS[1].0, NAPS[1].1).start(server.address).await;
    until("the request is in flight", async || in_flight(1)).await;
    drop(wire);
    until("the request is no longer in flight", async || in_flight(0)).await;
}

// contract E2.6
#[tokio::test]
async fn a_pool_without_a_free_connection_is_503_with_retry_after() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = serve(&database, SHORT).await;
        // A client that does not read its answer holds the only connection.
        let mut holder = Connection::with_small_buffer(server.address).await;
        holder.request(&post("/api/shop/rows/list", "{}")).await;
        assert_eq!(holder.head().await.expect("a head").status, 200, "{backend:?}");
        // All of them wait for a connection at once.
        let requests =
            [("/api/shop/rows/list", ONE), ("/api/shop/rows/list", "{}"), ("/api/shop/rows/paginate", ONE), ("/api/shop/rows/find/1", "")];
        let answers = join_all(requests.map(async |(path, body)| (path, server.post(path, body).await))).await;
        for (path, answer) in answers {
            assert_eq!(answer.problem(503)["code"], "OVERLOADED", "{backend:?} {path}");
            assert!(answer.header("retry-after").is_some(), "{backend:?}");
        }
        assert_eq!(server.get("/health").await.status(), 200);
        drop(holder);
        until("the connection is free", async || server.post("/api/shop/rows/list", ONE).await.status() == 200).await;
    }
}
