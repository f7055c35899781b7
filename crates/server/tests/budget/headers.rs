//! Headers about caches and encodings.

use crate::support::{Backend, Request, Setup, get, post};
use crate::{ALL, LIST, MANIFEST, ONE, database};

// contract E9.9
#[tokio::test]
async fn each_answer_forbids_sharing_it_between_callers() {
    let database = database(Backend::Sqlite).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    for request in [
        get("/health"),
        get("/ready"),
        get("/docs"),
        get("/docs/style.css"),
        get("/docs/resources.json"),
        get("/api/openapi.json"),
        get("/auth/me"),
        get("/nowhere"),
        post(LIST, ONE),
        post(LIST, ALL),
        post(LIST, "{"),
        post("/graphql", r#"{"query":"{ __typename }"}"#),
        get("/graphql?query=%7B__typename%7D"),
        Request::new("DELETE", LIST),
    ] {
        let answer = request.send(server.address).await;
        let cache = answer.header("cache-control").unwrap_or_default().to_owned();
        let vary: Vec<&str> = answer.head.headers.iter().filter(|(name, _)| name == "vary").map(|(_, value)| value.as_str()).collect();
        let varies = vary.iter().any(|value| value.to_ascii_lowercase().contains("authorization"));
        assert!(cache.contains("no-store") || varies, "{request:?}: {cache} {vary:?}");
    }
}

// contract E9.8
#[tokio::test]
async fn a_compressed_body_is_415() {
    let database = database(Backend::Sqlite).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    for path in [LIST, "/graphql"] {
        let request = post(path, [0x1f, 0x8b, 8, 0]).header("content-encoding", "gzip");
        let answer = request.send(server.address).await;
        assert_eq!(answer.problem(415)["code"], "UNSUPPORTED_CONTENT_ENCODING");
        assert_eq!(answer.header("accept-encoding"), Some("identity"));
    }
    let plain = post(LIST, ONE).header("content-encoding", "Identity");
    assert_eq!(plain.send(server.address).await.status(), 200);
}
