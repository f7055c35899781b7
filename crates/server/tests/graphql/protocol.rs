//! GraphQL over HTTP: methods, media types, statuses and requests.

use serde_json::json;

use crate::support::{BACKENDS, Backend, Request, get, post, shop};
use crate::{errors, refused};

const GRAPHQL: &str = "application/graphql-response+json";

// contract G2.2, contract G2.8
#[tokio::test]
async fn each_media_type_has_its_own_statuses() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for (document, plain, strict) in [
        ("{ __typename }", 200, 200),
        ("{ shopGetItems(query: { limit: -1 }) { id } }", 200, 200),
        ("{", 200, 400),
        ("{ nope }", 200, 400),
        ("query ($id: ID!) { shopFindItemById(id: $id) { id } }", 200, 400),
    ] {
        let body = json!({"query": document}).to_string();
        for (accept, status, kind) in [
            ("application/json", plain, "application/json; charset=utf-8"),
            ("*/*", plain, "application/json; charset=utf-8"),
            (GRAPHQL, strict, "application/graphql-response+json; charset=utf-8"),
            (
                "application/graphql-response+json; charset=utf-8, application/json; charset=utf-8",
                strict,
                "application/graphql-response+json; charset=utf-8",
            ),
        ] {
            let answer = server.send(&post("/graphql", &body).header("accept", accept)).await;
            assert_eq!((answer.status(), answer.header("content-type")), (status, Some(kind)), "{document} {accept}");
        }
    }
    let unacceptable = server.send(&post("/graphql", r#"{"query":"{ __typename }"}"#).header("accept", "text/html")).await;
    assert_eq!((unacceptable.status(), refused(&unacceptable).as_str()), (406, "NOT_ACCEPTABLE"));
}

// contract G2.7
#[tokio::test]
async fn a_query_can_be_sent_by_get() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let variables = "%7B%22q%22%3A%7B%22limit%22%3A1%2C%22order%22%3A%5B%7B%22field%22%3A%22id%22%7D%5D%7D%7D";
        let document = "query+A(%24q:+QueryStatementInput)%7BshopGetItems(query:%24q)%7Bid%7D%7D%20query%20B%7B__typename%7D";
        let path = format!("/graphql?query={document}&operationName=A&variables={variables}&extensions=%7B%7D");
        assert_eq!(server.get(&path).await.good(), json!({"data": {"shopGetItems": [{"id": 1}]}}), "{backend:?}");
        assert_eq!(server.get("/graphql?query=%7B__typename%7D&variables=&extensions=").await.good()["data"]["__typename"], "Query");
        let (head, whole) = (server.send(&Request::new("HEAD", &path)).await, server.get(&path).await);
        assert_eq!((head.status(), head.body.len()), (200, 0), "{backend:?}");
        for name in ["content-type", "content-length", "vary"] {
            assert_eq!(head.header(name), whole.header(name), "{backend:?} {name}");
        }
        for path in [
            "/graphql",
            "/graphql?query",
            "/graphql?query=%FF",
            "/graphql?query=%7B__typename%7D&query=%7B__typename%7D",
            "/graphql?query=%7B__typename%7D&variables=7",
            "/graphql?query=%7B__typename%7D&variables=%7B",
        ] {
            let answer = server.get(path).await;
            let status = if path == "/graphql?query" { 200 } else { 400 };
            assert_eq!(answer.status(), status, "{path}");
            errors(&answer);
        }
    }
}

// contract G2.7, contract G3.5
#[tokio::test]
async fn get_runs_only_queries() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for query in ["mutation%7B__typename%7D", "mutation%20A%7B__typename%7D", "subscription%7B__typename%7D"] {
        let answer = server.get(&format!("/graphql?query={query}")).await;
        assert_eq!((answer.status(), answer.header("allow")), (405, Some("POST")), "{query}");
        assert_eq!(refused(&answer), "METHOD_NOT_ALLOWED");
    }
    let head = server.send(&Request::new("HEAD", "/graphql?query=mutation%7B__typename%7D")).await;
    assert_eq!((head.status(), head.header("allow")), (405, Some("POST")));
    let named = server.get("/graphql?query=mutation%20A%7B__typename%7D%20query%20B%7B__typename%7D&operationName=A").await;
    assert_eq!(named.status(), 405);
    // A URL can hold thousands of parameters; comparing each with all others would be slow.
    let many: Vec<String> = (0..5_000).map(|number| format!("a{number}")).collect();
    let crowded = server.get(&format!("/graphql?query=%7B__typename%7D&{}", many.join("&"))).await;
    assert!(crowded.status() == 400 && crowded.text().contains("too many parameters"), "{}", crowded.text());
    assert_eq!(server.get("/graphql?query=%7").await.status(), 400);
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let answer = server.send(&Request::new(method, "/graphql")).await;
        assert_eq!((answer.status(), answer.header("allow")), (405, Some("GET, HEAD, POST")), "{method}");
        assert_eq!(refused(&answer), "METHOD_NOT_ALLOWED");
    }
}

// contract G2.7, contract G3.5
#[tokio::test]
async fn only_a_json_body_is_accepted() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let body = r#"{"query":"{ __typename }"}"#;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
        "application/json; charset=iso-8859-1",
        "application/jsonp",
        "text/plain; x=, application/json",
        "",
    ] {
        let answer = server.send(&post("/graphql", body).header("content-type", kind)).await;
        assert_eq!((answer.status(), refused(&answer).as_str()), (415, "UNSUPPORTED_MEDIA_TYPE"), "{kind}");
        assert!(answer.text().contains("the body must be application/json in UTF-8; found "), "{}", answer.text());
    }
    assert_eq!(server.send(&post("/graphql", body).without("content-type")).await.status(), 415);
    for kind in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
        assert_eq!(server.send(&post("/graphql", body).header("content-type", kind)).await.status(), 200, "{kind}");
    }
}

// contract G2.7
#[tokio::test]
async fn an_invalid_graphql_request_is_400() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for body in [
        "",
        "{",
        "7",
        "null",
        "\"{ __typename }\"",
        "{}",
        "[]",
        r#"{"query":null}"#,
        r#"{"query":7}"#,
        r#"{"query":{}}"#,
        r#"{"query":["{ __typename }"]}"#,
        r#"{"query":"{ __typename }","variables":"{}"}"#,
        r#"{"query":"{ __typename }","variables":[]}"#,
        r#"{"query":"{ __typename }","operationName":7}"#,
        r#"{"query":"{ __typename }","extensions":"x"}"#,
        r#"{"query":"{ __typename }","query":"{ __typename }"}"#,
        "{\"query\":\"{ __typename }\"} x",
    ] {
        for accept in ["application/json", GRAPHQL] {
            let answer = server.send(&post("/graphql", body).header("accept", accept)).await;
            assert_eq!((answer.status(), refused(&answer).as_str()), (400, "BAD_REQUEST"), "{body}");
        }
    }
    for body in [
        r#"{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null}"#,
        r#"{"query":"{ __typename }","variables":{"unused":1},"extensions":{"a":1},"id":"x"}"#,
        r#"{"query":"query A { __typename } query B { __typename }","operationName":"B"}"#,
    ] {
        assert_eq!(server.post("/graphql", body).await.good(), json!({"data": {"__typename": "Query"}}), "{body}");
    }
}

// contract G3.2
#[tokio::test]
async fn a_batch_is_answered_in_order_and_limited() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let one = json!({"query": "query ($n: ID!) { shopFindItemById(id: $n) { id } }", "variables": {"n": 3}});
        let batch = json!([one, {"query": "{ nope }"}, {"query": "{ __typename }"}]);
        let answers = server.post("/graphql", batch.to_string()).await.good();
        assert_eq!(answers[0], json!({"data": {"shopFindItemById": {"id": 3}}}), "{backend:?}");
        assert_eq!(answers[1]["errors"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
        assert_eq!(answers[2], json!({"data": {"__typename": "Query"}}));
        let most: Vec<_> = (0..10).map(|_| one.clone()).collect();
        assert_eq!(server.post("/graphql", json!(most).to_string()).await.good().as_array().map(Vec::len), Some(10));
        let more: Vec<_> = (0..11).map(|_| one.clone()).collect();
        let refusal = server.post("/graphql", json!(more).to_string()).await;
        assert_eq!((refusal.status(), refused(&refusal).as_str()), (400, "BAD_REQUEST"));
        assert_eq!(server.post("/graphql", "[1]").await.status(), 400);
    }
}

// contract G2.9
#[tokio::test]
async fn a_browser_that_opens_the_path_gets_a_page() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
    for accept in ["text/html", browser] {
        let page = server.send(&get("/graphql").header("accept", accept)).await;
        assert_eq!((page.status(), page.header("content-type")), (200, Some("text/html; charset=utf-8")), "{accept}");
        let policy = page.header("content-security-policy").expect("a policy");
        assert_eq!(Some(policy), server.get("/docs").await.header("content-security-policy"), "the policy of /docs");
        assert!(page.header("vary").is_some_and(|vary| vary.contains("accept")), "{:?}", page.header("vary"));
        let head = server.send(&Request::new("HEAD", "/graphql").header("accept", accept)).await;
        assert_eq!((head.status(), head.body.len()), (200, 0), "{accept}");
        let text = page.text();
        for path in ["/graphql/main.js", "/graphql/style.css", "/graphql/schema.graphql", "/docs/style.css"] {
            assert!(text.contains(path), "{path}");
        }
    }
    for path in ["/graphql/main.js", "/graphql/queries.js", "/graphql/style.css"] {
        let file = server.get(path).await;
        assert_eq!((file.status(), file.header("x-frame-options")), (200, Some("DENY")), "{path}");
        assert!(!file.text().contains("innerHTML") && !file.text().contains("http"), "{path}");
    }
    for path in ["/graphql/", "/graphql/index.html", "/graphql/package.json"] {
        server.get(path).await.problem(404);
    }
    // Other requests are GraphQL, also from a browser.
    let answer = server.send(&get("/graphql?query=%7B__typename%7D").header("accept", browser)).await;
    assert_eq!(answer.good(), json!({"data": {"__typename": "Query"}}));
    let posted = server.send(&post("/graphql", r#"{"query":"{ __typename }"}"#).header("accept", browser)).await;
    assert_eq!(posted.good(), json!({"data": {"__typename": "Query"}}));
    let bare = server.send(&get("/graphql").header("accept", "application/json")).await;
    assert_eq!((bare.status(), refused(&bare).as_str()), (400, "BAD_REQUEST"));
}
