//! Hidden names and constraint values are in no message. (trap 4)

use serde_json::json;

use crate::support::{BACKENDS, Backend};
use crate::{address, fixture, serve};

/// Names close to a hidden one, for which a careless hint would show it.
const HIDDEN: [(&str, &str, &[&str]); 4] = [
    ("shop.customer", "apiKey", &["apikey", "apiKeys", "api_key", "apiKe"]),
    ("shop.shipment", "tracking", &["trackin", "trackings", "Tracking"]),
    ("org.employee", "leftAt", &["leftat", "left_at", "leftAtt"]),
    ("org.document", "internalCode", &["internalcode", "internal_code", "internalCodes"]),
];

// contract P2.3, contract E2.3, trap 4
#[tokio::test]
async fn a_hidden_field_is_answered_like_an_unknown_field() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "full", &[]).await;
        for (resource, hidden, near) in HIDDEN {
            let queries = |name: &str| {
                [
                    json!({"where": {name: {"eq": "x"}}}),
                    json!({"where": {"not": {name: {"isNull": true}}}}),
                    json!({"order": [{"field": name}]}),
                    json!({"aggregation": {"fields": [{"fn": "max", "field": name}]}}),
                    json!({"aggregation": {"fields": [{"fn": "count", "field": name}]}}),
                    json!({"aggregation": {"fields": [{"fn": "count", "field": "*"}], "groupBy": [name]}}),
                    json!({"relations": {name: true}}),
                ]
            };
            for (secret, invented) in queries(hidden).into_iter().zip(queries("zzzzzzzz")) {
                let mut texts = Vec::new();
                for (query, name) in [(secret, hidden), (invented, "zzzzzzzz")] {
                    let answer = server.post(&format!("{}/list", address(resource)), json!({ "query": query }).to_string()).await;
                    answer.faults();
                    texts.push(answer.text().replace(name, "NAME"));
                }
                assert_eq!(texts[0], texts[1], "{backend:?} {resource} {hidden}");
            }
            for name in near {
                for query in queries(name) {
                    let answer = server.post(&format!("{}/list", address(resource)), json!({ "query": query }).to_string()).await;
                    answer.faults();
                    assert!(!answer.text().replace(name, "").contains(hidden), "{backend:?} {}", answer.text());
                }
            }
        }
    }
}

// contract P2.4, trap 1
#[tokio::test]
async fn a_masked_field_is_shown_masked_and_cannot_be_used() {
    for backend in BACKENDS {
        let database = fixture(backend).await;
        let server = serve(&database, "clerk", &[]).await;
        let ask = async |query: serde_json::Value| server.post("/api/shop/customers/list", json!({ "query": query }).to_string()).await;
        for field in ["email", "phone", "secretNote", "creditLimit"] {
            for (query, path) in [
                (json!({"where": {field: {"eq": "1"}}}), format!("/query/where/{field}")),
                (json!({"where": {field: {"isNull": true}}}), format!("/query/where/{field}")),
                (json!({"order": [{"field": field}]}), "/query/order/0/field".to_owned()),
                (json!({"aggregation": {"fields": [{"fn": "min", "field": field}]}}), "/query/aggregation/fields/0/field".to_owned()),
                (json!({"aggregation": {"fields": [{"fn": "count", "field": field}]}}), "/query/aggregation/fields/0/field".to_owned()),
                (
                    json!({"aggregation": {"fields": [{"fn": "count", "field": "*"}], "groupBy": [field]}}),
                    "/query/aggregation/groupBy/0".to_owned(),
                ),
            ] {
                assert_eq!(ask(query.clone()).await.fault(), ("QS304".to_owned(), path), "{backend:?} {query}");
            }
        }
        // Through a relation too.
        let body = json!({"query": {"where": {"customer": {"email": {"iLike": "a%"}}}}}).to_string();
        assert_eq!(server.post("/api/shop/orders/list", body).await.fault().0, "QS304", "{backend:?}");
        let body = json!({"query": {"order": [{"field": "customer.email"}]}}).to_string();
        assert_eq!(server.post("/api/shop/orders/list", body).await.fault().0, "QS304", "{backend:?}");
        let shown = ask(json!({})).await.text();
        assert!(shown.contains("a***@example.org") && !shown.contains("ana@example.org"), "{backend:?}");
        // The loaded relation shows the same masks as the root.
        let loaded = server.post("/api/shop/orders/list", json!({"query": {"relations": {"customer": true}}}).to_string()).await.text();
        assert!(loaded.contains("***@") && !loaded.contains("ana@example.org") && !loaded.contains("note "), "{backend:?}");
    }
}

// contract Q12.5, contract E2.8, trap 4
#[tokio::test]
async fn an_error_shows_no_constraint_value_and_no_text_of_the_database() {
    let database = fixture(Backend::Postgres).await;
    let server = serve(&database, "clerk", &[]).await;
    let tenant = "aaaaaaaa-0000-4000-8000-000000000001";
    for (resource, query) in [
        ("shop.customer", json!({"where": {"tenantId": {"eq": "x"}, "nope": {"eq": 1}}, "limit": -1})),
        ("shop.customer", json!({"order": [{"field": "tenant"}], "relations": {"order": true}})),
        ("org.department", json!({"where": {"region": {"gt": 1}}, "aggregation": {"fields": [{"fn": "sum", "field": "region"}]}})),
        ("org.document", json!({"where": {"ownerId": {"iLike": "%"}}, "order": [{"field": "owner"}]})),
        ("org.employee", json!({"where": {"clearance": {"lte": "high"}}})),
    ] {
        let answer = server.post(&format!("{}/list", address(resource)), json!({ "query": query }).to_string()).await;
        answer.faults();
        let text = answer.text();
        for secret in [tenant, "south", "22222222-2222", "$account", "customers_labels", "tenant_id", "SELECT", "grand_total"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    // A constraint of the request is not repeated either.
    let clauses = [
        json!({"id": {"eq": "hush"}}),
        json!({"id": {"in": [1, "hush"]}}),
        json!({"createdAt": {"gt": "hush"}}),
        json!({"isVip": {"isNull": "hush"}}),
    ];
    for clause in clauses {
        let body = json!({"constraint": {"where": clause, "limit": 98_765}}).to_string();
        let answer = server.post("/api/shop/customers/list", body).await;
        assert_eq!(answer.faults().len(), 2, "{clause}");
        assert!(!answer.text().contains("hush") && !answer.text().contains("98765"), "{}", answer.text());
    }
}
