//! Statements that fail midway: the answer is cut off, and the connection stays usable.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{BACKENDS, Backend, Database, Setup};

const MANIFEST: &str = r#"
[resource.shop.brittle]
table = "brittle"
[resource.shop.brittle.fields]
id = "bigint"
value = "bigint"
[resource.shop.brittle.relations]
parts = { many = "shop.part", on = { id = "id" } }

[resource.shop.broken]
table = "broken"
[resource.shop.broken.fields]
id = "bigint"
value = "bigint"
[resource.shop.broken.relations]
parts = { many = "shop.part", on = { id = "id" } }

[resource.shop.part.fields]
id = { type = "bigint", key = true }
[resource.shop.part.relations]
broken = { many = "shop.broken", on = { id = "id" } }
"#;

/// A view whose row 20,000 cannot be computed, and one that fails at its first row.
async fn database(backend: Backend) -> Database {
    let (value, least) = match backend {
        Backend::Postgres => ("1000 / (n - 20000)", "1 / (n - n)"),
        Backend::Sqlite => ("abs(CASE n WHEN 20000 THEN -9223372036854775807 - 1 ELSE n END)", "abs(-9223372036854775807 - 1 + n - n)"),
    };
    let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 30000)";
    let cast = |text: &str| if backend == Backend::Postgres { format!("({text})::bigint") } else { text.to_owned() };
    let script = format!(
        "CREATE TABLE parts (id bigint PRIMARY KEY); INSERT INTO parts VALUES (1), (2);
         CREATE TABLE numbered (n bigint); INSERT INTO numbered {numbers} SELECT n FROM numbers;
         CREATE VIEW brittle AS SELECT n AS id, {} AS value FROM numbered;
         CREATE VIEW broken AS SELECT n AS id, {} AS value FROM numbered WHERE n <= 2;",
        cast(value),
        cast(least)
    );
    Database::with(backend, &script).await
}

// contract E4.3
#[tokio::test]
async fn an_error_after_the_first_byte_cuts_the_answer_off() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).pool(1).serve(&database).await;
        for (path, body) in [
            ("/api/shop/brittles/list", "{}"),
            ("/api/shop/brittles/paginate", "{}"),
            ("/api/shop/brittles/list", r#"{"query":{"relations":{"parts":true}}}"#),
        ] {
            let answer = server.post(path, body).await;
            assert_eq!(answer.status(), 200, "{backend:?} {path} {body}");
            assert!(!answer.whole && answer.body.len() > 100_000, "{backend:?} {path} {body}: {} bytes", answer.body.len());
            // The only connection still works, again and again.
            for _ in 0..3 {
                assert_eq!(
                    server.post("/api/shop/parts/paginate", r#"{"query":{"limit":1}}"#).await.good()["total"],
                    2,
                    "{backend:?} {path}"
                );
                assert_eq!(server.post("/api/shop/parts/list", "{}").await.good(), json!([{"id": 1}, {"id": 2}]), "{backend:?}");
            }
        }
    }
}

// contract E4.3
#[tokio::test]
async fn an_answer_that_breaks_off_over_http_1_0_resets_the_connection() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).pool(1).serve(&database).await;
        for (path, expected) in [("/api/shop/brittles/list", Err(std::io::ErrorKind::ConnectionReset)), ("/api/shop/parts/list", Ok(()))] {
            let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("a connection");
            let head = format!("POST {path} HTTP/1.0\r\naccept: application/x-ndjson\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("sent");
            let mut answer = Vec::new();
            let ended = stream.read_to_end(&mut answer).await;
            assert_eq!(ended.map(drop).map_err(|error| error.kind()), expected, "{backend:?} {path}");
            assert!(answer.starts_with(b"HTTP/1.0 200"), "{backend:?} {path}");
        }
    }
}

// contract E2.8, contract E4.3
#[tokio::test]
async fn an_error_before_the_first_byte_is_a_500_without_text_of_the_database() {
    for backend in BACKENDS {
        let database = database(backend).await;
        let server = Setup::new(MANIFEST).pool(1).serve(&database).await;
        for (path, body) in [
            ("/api/shop/brokens/list", "{}"),
            ("/api/shop/brokens/find", "{}"),
            ("/api/shop/brokens/paginate", r#"{"query":{"limit":5}}"#),
            ("/api/shop/brokens/list", r#"{"query":{"relations":{"parts":true}}}"#),
            ("/api/shop/parts/list", r#"{"query":{"relations":{"broken":true}}}"#),
            ("/api/shop/parts/find", r#"{"query":{"relations":{"broken":true}}}"#),
        ] {
            let answer = server.post(path, body).await;
            assert_eq!(answer.problem(500)["code"], "INTERNAL", "{backend:?} {path} {body}");
            for word in ["division", "zero", "overflow", "numbered", "broken"] {
                assert!(!answer.text().contains(word), "{backend:?} {}", answer.text());
            }
            assert_eq!(
                server.post("/api/shop/parts/list", r#"{"query":{"limit":9}}"#).await.good(),
                json!([{"id": 1}, {"id": 2}]),
                "{backend:?} {path} {body}"
            );
            assert_eq!(server.post("/api/shop/parts/list", "{}").await.good(), json!([{"id": 1}, {"id": 2}]), "{backend:?} {path} {body}");
        }
    }
}
