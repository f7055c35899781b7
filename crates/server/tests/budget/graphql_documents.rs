//! GraphQL documents that are cheap to send and expensive to validate.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Backend, Setup, get, post};
use crate::{MANIFEST, database};

/// 850 operations that spread one wide fragment. Each is within the limits of one operation.
fn wide_document() -> String {
    let fragment = format!("fragment f on ShopItem {{ {} }}", "id ".repeat(1_900));
    (0..850).fold(fragment, |text, index| format!("{text} query q{index}{{shopFindItem{{...f}}}}"))
}

// attack 56, contract G3.6, contract E9.11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_with_many_operations_does_not_block_the_server() {
    let database = database(Backend::Sqlite).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    let document = wide_document();
    assert!(document.len() < 64 * 1024, "{}", document.len());
    let batch: Vec<Value> = (0..10).map(|_| json!({ "query": document, "operationName": "q7" })).collect();
    let batch = Value::Array(batch).to_string();
    let address = server.address;
    let attacks: Vec<_> = (0..4)
        .map(|_| {
            let request = post("/graphql", &batch);
            tokio::spawn(async move { request.send(address).await })
        })
        .collect();
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(get("/health").send(address).await.status(), 200);
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    for attack in attacks {
        let answer = attack.await.expect("an answer");
        for one in answer.json().as_array().expect("a batch") {
            assert_eq!(one["errors"][0]["extensions"]["code"], "GRAPHQL_LIMIT_EXCEEDED", "{one}");
        }
    }
}

// attack 56, contract E9.11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validation_of_many_documents_does_not_delay_other_requests() {
    let database = database(Backend::Sqlite).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    let address = server.address;
    // Each document is new, has the maximum width, and has more than twenty faults.
    let document = |number: usize| format!("query q{number} {{ shopFindItem {{ {} }} }}", "no no1 no2 id ".repeat(490));
    let attacks: Vec<_> = (0..64)
        .map(|number| {
            let request = post("/graphql", json!({ "query": document(number) }).to_string());
            tokio::spawn(async move { request.send(address).await })
        })
        .collect();
    let started = Instant::now();
    for _ in 0..10 {
        assert_eq!(get("/health").send(address).await.status(), 200);
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    for attack in attacks {
        let answer = attack.await.expect("an answer");
        let errors = answer.json()["errors"].as_array().expect("errors").len();
        assert!(errors <= 20, "{errors} errors");
    }
}

// contract G3.6
#[tokio::test]
async fn only_the_requested_operation_of_a_document_is_validated() {
    let database = database(Backend::Sqlite).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    let document =
        "query Good { shopFindItem { ...f } } query Bad { nothing { ...g } } fragment f on ShopItem { id } fragment g on Nothing { x }";
    for _ in 0..2 {
        let request_body = |name: &str| json!({ "query": document, "operationName": name }).to_string();
        let good = server.post("/graphql", request_body("Good")).await.good();
        assert_eq!(good["data"]["shopFindItem"]["id"], 1);
        let bad = server.post("/graphql", request_body("Bad")).await.json();
        assert_eq!(bad["errors"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{bad}");
        let neither = server.post("/graphql", json!({ "query": document }).to_string()).await.json();
        assert_eq!(neither["errors"][0]["extensions"]["code"], "OPERATION_RESOLUTION_FAILURE", "{neither}");
    }
    for document in [
        "query A { __typename } fragment f on ShopItem { id }",
        "query A { __typename } query A { __typename }",
        "{ __typename } query A { __typename }",
    ] {
        let refused = server.post("/graphql", json!({ "query": document, "operationName": "A" }).to_string()).await.json();
        assert_eq!(refused["errors"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{document}: {refused}");
    }
}
