//! `QUERY_MAX_COST`: statements that PostgreSQL expects to be expensive are refused before they run.

use serde_json::json;

use crate::support::{Backend, Setup};
use crate::{LIST, MANIFEST, ONE, database};

// contract E9.6
#[tokio::test]
async fn an_expensive_statement_is_422_with_a_hint() {
    let database = database(Backend::Postgres).await;
    database.execute("ANALYZE items").await;
    let mut setup = Setup::new(MANIFEST);
    setup.database.max_cost = Some(300.0);
    let server = setup.serve(&database).await;
    // The same SQL text is cheap for one value and expensive for another.
    let above = |id: i64| json!({ "query": { "where": { "id": { "gt": id } } } }).to_string();
    for _ in 0..2 {
        assert_eq!(server.post(LIST, ONE).await.status(), 200);
        assert_eq!(server.post(LIST, above(19_990)).await.good().as_array().map(Vec::len), Some(10));
        let problem = server.post(LIST, above(0)).await.problem(422);
        assert_eq!(problem["code"], "TOO_EXPENSIVE");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("QUERY_MAX_COST") && detail.contains("limit") && detail.contains("index"), "{detail}");
        // The estimate could reveal hidden rows, so the message has no number.
        assert!(!detail.contains(|character: char| character.is_ascii_digit()), "{detail}");
    }
    let page = json!({ "query": { "limit": 5 } }).to_string();
    assert_eq!(server.post(LIST, &page).await.status(), 200);
    assert_eq!(
        server.post("/api/shop/items/paginate", &page).await.problem(422)["code"],
        "TOO_EXPENSIVE",
        "the total reads the whole table"
    );
    let document = json!({ "query": "{ shopGetItems { id } shopFindItem { id } }" }).to_string();
    let answer = server.post("/graphql", document).await.json();
    assert_eq!(answer["errors"][0]["extensions"]["code"], "TOO_EXPENSIVE");
    assert_eq!(answer["data"]["shopFindItem"]["id"], 1);
}
