//! Request bodies, and the problems of bad ones.

use serde_json::json;

use crate::support::http::Connection;
use crate::support::{BACKENDS, Backend, Request, post, shop};

const LIST: &str = "/api/shop/customers/list";
const MEBIBYTE: usize = 1024 * 1024;

// contract E1.5
#[tokio::test]
async fn a_body_may_be_empty() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let empty = [
            Request::new("POST", LIST),
            Request::new("POST", LIST).header("content-type", "text/plain"),
            post(LIST, ""),
            post(LIST, " \r\n\t "),
            post(LIST, "{}"),
            post(LIST, r#"{"query":{}}"#),
            post(LIST, r#"{"query":null,"constraint":null}"#),
            post(LIST, r#"{"query":{"where":null,"relations":null,"order":null,"aggregation":null,"limit":null,"offset":null}}"#),
        ];
        for request in empty {
            let rows = server.send(&request).await.good();
            assert_eq!(rows.as_array().map(Vec::len), Some(3), "{backend:?} {request:?}");
        }
        // A body of unknown length may turn out to be empty.
        let mut wire = Connection::open(server.address).await;
        wire.send(format!("POST {LIST} HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n").as_bytes()).await;
        assert_eq!(wire.response("POST").await.good().as_array().map(Vec::len), Some(3), "{backend:?}");
    }
}

// contract E2.4
#[tokio::test]
async fn a_body_of_another_content_type_is_415() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "application/jsonp",
        "json",
        "",
        "application/json;charset=utf-16",
        "application/json; v=1; charset=\"iso-8859-1\"",
        // Several types at once; browsers send the first of these without a preflight.
        "text/plain; x=, application/json",
        "text/plain, application/json",
        "application/json, text/plain; charset=latin1",
        "application/json, application/json",
        "application/json; x=1, text/plain",
    ] {
        let answer = server.send(&post(LIST, "{}").header("content-type", kind)).await;
        assert_eq!(answer.problem(415)["code"], "UNSUPPORTED_MEDIA_TYPE", "{kind}");
    }
    let detail = async |request: Request| server.send(&request).await.problem(415)["detail"].as_str().expect("a detail").to_owned();
    let expected = |found: &str| format!("the body must be application/json in UTF-8; found {found}");
    let long = "x".repeat(500);
    for (kind, found) in [
        ("text/plain", "text/plain"),
        ("application/json;charset=utf-16", "application/json;charset=utf-16"),
        ("a\"b\\c\u{e4}", "a?b?c??"),
        ("", "an empty content-type"),
        (&long, &long[..100]),
    ] {
        assert_eq!(detail(post(LIST, "{}").without("content-type").header("content-type", kind)).await, expected(found));
    }
    assert_eq!(detail(post(LIST, "{}").without("content-type")).await, expected("no content-type"));
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "Application/JSON; v=1",
        "application/problem+json",
    ] {
        server.send(&post(LIST, "{}").header("content-type", kind)).await.good();
    }
}

// contract E2.4, trap 19
#[tokio::test]
async fn a_body_of_one_mebibyte_passes_and_one_byte_more_is_413() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let sized = |size: usize| {
            let (start, end) = (r#"{"query":{"where":{"name":{"ne":""#, r#""}}}}"#);
            format!("{start}{}{end}", "x".repeat(size - start.len() - end.len()))
        };
        assert_eq!(server.post(LIST, sized(MEBIBYTE)).await.good().as_array().map(Vec::len), Some(3), "{backend:?}");
        for size in [MEBIBYTE + 1, 10_000_000] {
            let answer = server.post(LIST, sized(size)).await;
            assert_eq!(answer.problem(413)["code"], "BODY_TOO_LARGE", "{backend:?} {size}");
        }
        // White space counts too.
        server.post(LIST, format!("{{}}{}", " ".repeat(MEBIBYTE))).await.problem(413);
        // A body of unknown length has the same limit.
        let mut wire = Connection::open(server.address).await;
        let head = format!("POST {LIST} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
        wire.send(head.as_bytes()).await;
        let chunk = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
        for _ in 0..17 {
            wire.send(&chunk).await;
        }
        wire.send(b"0\r\n\r\n").await;
        wire.response("POST").await.problem(413);
    }
}

// contract E2.4
#[tokio::test]
async fn a_client_that_is_still_sending_receives_the_refusal() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let kind = ("content-type", "application/json");
    for (path, (name, value), size, status) in [
        ("/api/shop/nowhere/list", kind, 900_000, 404),
        ("/nowhere", kind, 900_000, 404),
        (LIST, ("content-type", "text/plain"), 900_000, 415),
        ("/graphql", ("content-type", "text/plain"), 900_000, 415),
        (LIST, kind, 10_000_000, 413),
    ] {
        let mut wire = Connection::open(server.address).await;
        wire.send(format!("POST {path} HTTP/1.1\r\nhost: test\r\n{name}: {value}\r\ncontent-length: {size}\r\n\r\n").as_bytes()).await;
        for _ in 0..10 {
            wire.send(&vec![b' '; size / 10]).await;
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(wire.response("POST").await.status(), status, "{path}");
        // The connection can be used again.
        wire.request(&post(LIST, "{}")).await;
        wire.response("POST").await.good();
    }
    // A client that sends `Expect: 100-continue` gets the refusal at once, and sends no body.
    let mut wire = Connection::open(server.address).await;
    let head =
        format!("POST {LIST} HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\n{}: {}\r\ncontent-length: 2000000\r\n\r\n", kind.0, kind.1);
    wire.send(head.as_bytes()).await;
    wire.response("POST").await.problem(413);
}

// contract E1.5
#[tokio::test]
async fn an_unknown_body_key_is_refused() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let refused = |body: &'static str| server.post(LIST, body);
        assert_eq!(refused(r#"{"where":{}}"#).await.fault(), ("QS102".to_owned(), "/where".to_owned()), "{backend:?}");
        assert_eq!(refused(r#"{"query":{},"viewer":"admin"}"#).await.fault(), ("QS102".to_owned(), "/viewer".to_owned()));
        assert_eq!(refused(r#"{"a/b~c":1}"#).await.fault(), ("QS102".to_owned(), "/a~1b~0c".to_owned()));
        assert_eq!(refused(r#"{"":1}"#).await.fault(), ("QS102".to_owned(), "/".to_owned()));
    }
}

// contract Q1.1
#[tokio::test]
async fn a_body_or_statement_that_is_not_an_object_is_refused() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for body in ["[]", "1", "\"query\"", "null", "true"] {
        assert_eq!(server.post(LIST, body).await.fault(), ("QS103".to_owned(), String::new()), "{body}");
    }
    for query in ["[]", "1", "\"x\"", "false"] {
        let answer = server.post(LIST, format!("{{\"query\":{query}}}")).await;
        assert_eq!(answer.fault(), ("QS103".to_owned(), "/query".to_owned()), "{query}");
    }
    for key in ["attributes", "group", "lock", "distinct", "literal", "fn", "col", "having", "Where", "select", "include"] {
        let answer = server.post(LIST, format!("{{\"query\":{{\"{key}\":1}}}}")).await;
        assert_eq!(answer.fault(), ("QS102".to_owned(), format!("/query/{key}")));
    }
}

// contract E2.1, contract E2.2, contract E2.3, contract Q1.7
#[tokio::test]
async fn one_answer_lists_all_faults() {
    let mut bodies = Vec::new();
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let body = json!({
            "extra": 1,
            "query": {
                "where": {"and": [{"nmae": {"eq": 1}}, {"name": {"like": "a%"}}, {"visits": {"eq": "three"}}, {"name": "Ana"}, {"RAW": {"eq": 1}}]},
                "relations": {"ordres": true, "orders": {"limit": 10001, "required": true}},
                "order": [{"field": "tags"}, {"field": "name", "dir": "up"}],
                "limit": -1,
                "select": ["id"]
            },
            "constraint": {"where": {"or": []}, "offset": 1.5}
        });
        let answer = server.post(LIST, body.to_string()).await;
        let faults = answer.faults();
        let expected = [
            ("QS102", "/extra"),
            ("QS302", "/query/where/and/0/nmae"),
            ("QS104", "/query/where/and/1/name/like"),
            ("QS306", "/query/where/and/2/visits/eq"),
            ("QS106", "/query/where/and/3/name"),
            ("QS301", "/query/where/and/4/RAW"),
            ("QS303", "/query/relations/ordres"),
            ("QS202", "/query/relations/orders/limit"),
            ("QS102", "/query/relations/orders/required"),
            ("QS308", "/query/order/0/field"),
            ("QS312", "/query/order/1/dir"),
            ("QS203", "/query/limit"),
            ("QS102", "/query/select"),
            ("QS105", "/constraint/where/or"),
            ("QS203", "/constraint/offset"),
        ];
        for (code, path) in expected {
            assert!(faults.contains(&(code.to_owned(), path.to_owned())), "{backend:?}: {code} {path} is missing in {faults:#?}");
        }
        assert_eq!(faults.len(), expected.len(), "{backend:?} {faults:#?}");
        let problem = answer.json();
        assert_eq!(problem["title"], "The statement is not valid");
        let message = |code: &str| {
            let errors = problem["errors"].as_array().unwrap();
            errors.iter().find(|error| error["code"] == code).and_then(|error| error["message"].as_str()).unwrap().to_owned()
        };
        assert!(message("QS302").contains("name") && message("QS303").contains("orders"), "near names are hinted at");
        assert!(message("QS106").contains("eq"), "the form with eq is shown");
        bodies.push(answer.body);
    }
    assert_eq!(bodies[0], bodies[1], "an error does not depend on the database");
}

// contract Q1.7
#[tokio::test]
async fn at_most_a_hundred_faults_are_listed() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let clauses: Vec<_> = (0..500).map(|number| json!({ format!("nothing{number}"): {"eq": 1} })).collect();
    let faults = server.post(LIST, json!({"query": {"where": {"or": clauses}}}).to_string()).await.faults();
    assert_eq!(faults.len(), 100);
}
