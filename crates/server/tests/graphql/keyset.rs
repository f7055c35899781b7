//! Keyset pages over GraphQL.

use serde_json::{Value, json};

use crate::support::{BACKENDS, shop};
use crate::{data, errors, send};

// contract G1.1, contract G1.2, contract Q16.1
#[tokio::test]
async fn next_is_the_query_of_the_next_page_as_over_rest() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = "query Page($query: QueryStatementInput) { shopKeysetPaginateOrders(query: $query) { __typename count rows next } }";
        let mut query = json!({ "order": [{ "field": "customer.name", "dir": "desc" }], "limit": 3, "relations": { "customer": true } });
        let mut ids = Vec::new();
        while !query.is_null() {
            let page = data(&server, document, json!({ "query": query })).await["shopKeysetPaginateOrders"].take();
            let rest = server.post("/api/shop/orders/keyset-paginate", json!({ "query": query }).to_string()).await.good();
            assert_eq!(page["__typename"], "KeysetPagination");
            for part in ["count", "rows", "next"] {
                assert_eq!(page[part], rest[part], "{backend:?} {part}");
            }
            ids.extend(page["rows"].as_array().expect("rows").iter().map(|row| row["id"].clone()));
            query = page["next"].clone();
        }
        assert_eq!(ids, [13, 12, 10, 11].map(|id| json!(id)), "{backend:?}");
    }
}

// contract G1.1, contract Q16.3
#[tokio::test]
async fn a_page_without_rows_has_its_next_and_faults_have_their_codes() {
    let (server, _database) = shop::open(BACKENDS[1]).await;
    let answer = data(&server, "{ page: shopKeysetPaginateItems(query: { limit: 2 }) { next } }", Value::Null).await;
    assert_eq!(answer["page"]["next"]["limit"], 2);
    let refused = send(&server, "{ shopKeysetPaginateItems(query: { offset: 2 }) { count } }", Value::Null).await;
    assert_eq!(errors(&refused)[0]["extensions"]["errors"][0]["code"], "QS111");
    // A resource without a key has no such field.
    let unknown = send(&server, "{ shopKeysetPaginateNotes { count } }", Value::Null).await;
    assert_eq!(errors(&unknown)[0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
}
