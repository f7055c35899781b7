//! GraphQL over real HTTP: the schema, the queries and their answers, the protocol, faults and limits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod faults;
mod keyset;
mod limits;
mod numbers;
mod protocol;
mod queries;
mod relations;
mod schema;
#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use support::{Response, Server};

/// Posts a document with its variables.
async fn send(server: &Server, document: &str, variables: Value) -> Response {
    server.post("/graphql", json!({ "query": document, "variables": variables }).to_string()).await
}

/// The `data` of an answer without errors.
async fn data(server: &Server, document: &str, variables: Value) -> Value {
    let answer = send(server, document, variables).await;
    let mut whole = answer.good();
    assert_eq!(whole.get("errors"), None, "{document}: {whole}");
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    whole["data"].take()
}

/// The errors of an answer, after a check of their shape.
fn errors(answer: &Response) -> Vec<Value> {
    let whole = answer.json();
    let errors = whole["errors"].as_array().unwrap_or_else(|| panic!("no errors: {whole}")).clone();
    assert!(!errors.is_empty(), "{whole}");
    for error in &errors {
        let problem = &error["extensions"];
        assert_eq!(error["message"], problem["detail"], "{error}");
        for key in ["type", "title", "code", "detail"] {
            assert!(problem[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {error}");
        }
        assert!(problem["status"].as_u64().is_some_and(|status| status >= 400), "{error}");
    }
    errors
}

/// The code of the one error of a request that was refused as a whole.
fn refused(answer: &Response) -> String {
    let errors = errors(answer);
    assert_eq!(answer.json().get("data"), None, "{}", answer.text());
    errors[0]["extensions"]["code"].as_str().unwrap().to_owned()
}
