//! Request ids, compression, one row on each line, CORS and hosts.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::support::http::Connection;
use crate::support::{BACKENDS, Backend, Request, Setup, get, post, shop};

const LIST: &str = "/api/shop/customers/list";
const ITEMS: &str = "/api/shop/items/list";

// contract E2.8
#[tokio::test]
async fn every_response_has_a_request_id_in_its_header_only() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let requests =
        [post(LIST, ""), post(LIST, "nonsense"), get("/nowhere"), get("/health"), get(LIST), post("/api/vault/secret-plans/list", "")];
    for request in requests {
        let given = server.send(&request.clone().header("x-request-id", "trace-1.A_b")).await;
        assert_eq!(given.header("x-request-id"), Some("trace-1.A_b"), "{request:?}");
        let (first, second) = (server.send(&request).await, server.send(&request).await);
        let id = first.header("x-request-id").expect("an id").to_owned();
        assert_eq!(id.len(), 36, "{id}");
        assert_ne!(Some(id.as_str()), second.header("x-request-id"));
        assert_eq!(first.body, second.body, "equal requests, equal bodies");
        assert!(!first.text().contains(&id) && !given.text().contains("trace-1"));
        assert_eq!(first.header("x-content-type-options"), Some("nosniff"), "{request:?}");
    }
    for bad in ["", "a b", "x\"y", "a;b", "ünder", &"x".repeat(65)] {
        let answer = server.send(&post(LIST, "").header("x-request-id", bad)).await;
        assert_ne!(answer.header("x-request-id"), Some(bad), "an id that could confuse a log is replaced");
    }
}

// contract E5.3
#[tokio::test]
async fn a_large_answer_is_compressed_if_the_client_accepts_it() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for body in ["", r#"{"query":{"order":[{"field":"id"}],"limit":1000}}"#] {
            let plain = server.post(ITEMS, body).await;
            assert_eq!(plain.header("content-encoding"), None);
            let packed = server.send(&post(ITEMS, body).header("accept-encoding", "gzip")).await;
            assert_eq!((packed.status(), packed.header("content-encoding")), (200, Some("gzip")), "{backend:?}");
            assert_eq!(packed.header("content-type"), Some("application/json"));
            assert!(packed.header("vary").is_some_and(|vary| vary.to_ascii_lowercase().contains("accept-encoding")), "{:?}", packed.head);
            assert!(packed.whole && packed.body.len() < plain.body.len() / 2);
            let mut text = Vec::new();
            GzDecoder::new(packed.body.as_slice()).read_to_end(&mut text).expect("whole gzip");
            assert!(text == plain.body, "{backend:?}");
            let zstd = server.send(&post(ITEMS, body).header("accept-encoding", "br, zstd")).await;
            assert_eq!(zstd.header("content-encoding"), Some("zstd"), "{backend:?}");
        }
        let small = server.send(&post(LIST, "").header("accept-encoding", "gzip")).await;
        assert_eq!(small.header("content-encoding"), None, "what fits a packet is not compressed");
        let refused = server.send(&post(ITEMS, "").header("accept-encoding", "gzip;q=0, identity")).await;
        assert_eq!(refused.header("content-encoding"), None);
        // A client that forbids `identity` gets an uncompressed answer all the same, with its own status.
        for accepted in ["identity;q=0", "*;q=0", "identity;q=0.0, *;q=0", "Identity; Q=0"] {
            let answer = server.send(&post(ITEMS, "").header("accept-encoding", accepted)).await;
            assert_eq!((answer.status(), answer.header("content-encoding")), (200, None), "{accepted}");
        }
        let packed = server.send(&post(ITEMS, "").header("accept-encoding", "gzip, identity;q=0")).await;
        assert_eq!((packed.status(), packed.header("content-encoding")), (200, Some("gzip")));
    }
}

// contract E4.1
#[tokio::test]
async fn a_list_can_be_one_row_on_each_line() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let lines = async |body: &str| server.send(&post(ITEMS, body).header("accept", "application/x-ndjson")).await;
        for (body, count) in
            [("", 2500), (r#"{"query":{"limit":7}}"#, 7), (r#"{"query":{"limit":0}}"#, 0), (r#"{"query":{"where":{"id":{"lt":0}}}}"#, 0)]
        {
            let answer = lines(body).await;
            assert_eq!(answer.header("content-type"), Some("application/x-ndjson"), "{backend:?} {body}");
            assert_eq!(answer.status(), 200);
            let text = answer.text();
            assert!(answer.whole && (text.is_empty() || text.ends_with('\n')), "{backend:?}");
            let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("a row a line")).collect();
            assert_eq!(rows.len(), count, "{backend:?} {body}");
            assert!(rows.iter().all(|row| row["label"].is_string()));
        }
        // Pages and rows are JSON, errors are problems; any other `Accept` is answered with JSON.
        let page =
            server.send(&post("/api/shop/items/paginate", r#"{"query":{"limit":1}}"#).header("accept", "application/x-ndjson")).await;
        assert_eq!((page.good()["total"].as_i64(), page.header("content-type")), (Some(2500), Some("application/json")), "{backend:?}");
        server.send(&post(ITEMS, "{").header("accept", "application/x-ndjson")).await.problem(400);
        for (accept, kind) in [
            ("application/x-ndjson;q=0", "application/json"),
            ("application/x-ndjson;q=0.5, application/json", "application/json"),
            ("*/*", "application/json"),
            ("application/json;q=0.5, application/x-ndjson", "application/x-ndjson"),
            // The first one, if both are accepted alike.
            ("application/json,application/x-ndjson,application/problem+json", "application/json"),
            ("application/x-ndjson, application/json", "application/x-ndjson"),
            ("application/x-ndjson, */*", "application/x-ndjson"),
            ("application/*", "application/json"),
        ] {
            let answer = server.send(&post(ITEMS, "").header("accept", accept)).await;
            assert_eq!(answer.header("content-type"), Some(kind), "{accept}");
        }
        let other = server.send(&post(LIST, "").header("accept", "text/html")).await;
        assert_eq!((other.status(), other.header("content-type")), (200, Some("application/json")));
    }
}

// contract E5.2
#[tokio::test]
async fn without_listed_origins_there_is_no_cross_origin_access() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let answer = server.send(&post(LIST, "").header("origin", "https://app.example")).await;
    assert!(answer.head.headers.iter().all(|(name, _)| !name.starts_with("access-control")), "{:?}", answer.head);
    let asked = Request::new("OPTIONS", LIST).header("origin", "https://app.example").header("access-control-request-method", "POST");
    let answer = server.send(&asked).await;
    assert!(answer.status() == 405 && answer.head.headers.iter().all(|(name, _)| !name.starts_with("access-control")), "{:?}", answer.head);
}

// contract E5.2
#[tokio::test]
async fn listed_origins_are_allowed_with_credentials_and_no_others() {
    let database = shop::database(Backend::Sqlite).await;
    let mut setup = Setup::new(shop::MANIFEST);
    setup.cors = vec!["https://app.example".to_owned(), "http://localhost:5173".to_owned()];
    let server = setup.serve(&database).await;
    for origin in ["https://app.example", "http://localhost:5173"] {
        // The paths of a hub's pages are ordinary paths elsewhere.
        for path in ["/account", "/logout", "/sign-in"] {
            let answer = server.send(&get(path).header("origin", origin)).await;
            assert_eq!((answer.status(), answer.header("access-control-allow-origin")), (404, Some(origin)), "{path}");
        }
        // The page can read refusals too.
        for body in ["{}", "nonsense"] {
            let answer = server.send(&post(LIST, body).header("origin", origin)).await;
            assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
            assert_eq!(answer.header("access-control-allow-credentials"), Some("true"));
            let shown = answer.header("access-control-expose-headers").unwrap_or_default();
            assert!(
                ["x-request-id", "retry-after", "www-authenticate", "etag", "dry-run"].iter().all(|name| shown.contains(name)),
                "{shown}"
            );
        }
        let asked = Request::new("OPTIONS", LIST)
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type,authorization");
        let answer = server.send(&asked).await;
        assert_eq!((answer.status(), answer.header("access-control-allow-origin")), (200, Some(origin)));
        let allowed = |name: &str| answer.header(name).unwrap_or_default().to_ascii_lowercase();
        assert!(allowed("access-control-allow-methods").contains("post"));
        let headers = allowed("access-control-allow-headers");
        assert!(["content-type", "authorization", "if-match"].iter().all(|name| headers.contains(name)), "{headers}");
        assert_eq!(answer.header("access-control-max-age"), Some("600"), "a browser asks once, not before each request");
    }
    for origin in ["https://evil.example", "https://app.example.evil.example", "http://app.example", "null", "https://app.example:8443"] {
        let answer = server.send(&post(LIST, "").header("origin", origin)).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
    }
}

// contract E2.9
#[tokio::test]
async fn a_request_must_name_one_host() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for (head, status) in [
        ("GET /health HTTP/1.1\r\nhost: a.example\r\n\r\n", 200),
        ("GET /health HTTP/1.1\r\nhost:\r\n\r\n", 200),
        ("GET /health HTTP/1.0\r\n\r\n", 200),
        ("GET /health HTTP/1.1\r\n\r\n", 400),
        ("GET http://a.example/health HTTP/1.1\r\n\r\n", 400),
        ("GET /health HTTP/1.1\r\nhost: a.example\r\nhost: b.example\r\n\r\n", 400),
    ] {
        let mut wire = Connection::open(server.address).await;
        wire.send(head.as_bytes()).await;
        let answer = wire.response("GET").await;
        assert_eq!(answer.status(), status, "{head:?} {}", answer.text());
        if status == 400 {
            assert_eq!(answer.problem(400)["code"], "BAD_REQUEST", "{head:?}");
        }
    }
}

// trap 20
#[tokio::test]
async fn an_idle_connection_is_closed() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let mut wires = Vec::new();
    for begun in ["", "P", "GET /health HTTP/1.1\r\nhost: t"] {
        let mut wire = Connection::open(server.address).await;
        wire.send(begun.as_bytes()).await;
        wires.push((begun, wire));
    }
    for (begun, wire) in &mut wires {
        assert!(wire.head().await.is_none_or(|head| head.status == 408), "{begun:?}");
    }
}

#[tokio::test]
async fn http_2_is_refused() {
    // contract E9.8
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let mut wire = Connection::open(server.address).await;
    wire.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(wire.head().await.is_none(), "the connection is closed");
}
