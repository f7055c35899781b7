//! Derived fields over HTTP.

use query::policy::Viewer;
use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Server, Setup, shop};

/// The shop with derived fields.
fn manifest() -> String {
    let derived = r#"profile = "json"
orderCount = { count = "orders" }
spent = { sum = "orders.total" }
largest = { max = "orders.total", where = { total = { lt = "10" } }, eager = false }
hasOrders = { exists = "orders" }
planCount = { count = "plans" }
a = { json = "profile", path = ["a"], type = "int" }
createdMonth = { bucket = "month", of = "createdAt" }
"#;
    shop::MANIFEST.replacen("profile = \"json\"\n", derived, 1)
}

async fn open(backend: Backend) -> (Server, Database) {
    let database = shop::database(backend).await;
    (Setup::new(&manifest()).serve(&database).await, database)
}

async fn rows(server: &Server, path: &str, query: Value) -> Value {
    server.post(path, json!({ "query": query }).to_string()).await.good()
}

// contract P5.1, contract P5.2, contract P5.4, contract P5.5
#[tokio::test]
async fn derived_fields_are_shown_filtered_sorted_and_grouped() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        let all =
            rows(&server, "/api/shop/customers/list", json!({ "order": [{ "field": "spent", "dir": "desc" }, { "field": "id" }] })).await;
        let shown: Vec<Value> = all
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| json!([row["id"], row["orderCount"], row["spent"], row["hasOrders"], row["a"], row["createdMonth"]]))
            .collect();
        assert_eq!(
            shown,
            [
                json!([2, 0, null, false, null, null]),
                json!([3, 1, null, true, null, "1999-12-01T00:00:00Z"]),
                json!([1, 2, "24.99", true, 1, "2024-05-01T00:00:00Z"]),
            ],
            "{backend:?}"
        );
        assert!(all[0].get("largest").is_none() && all[0].get("planCount").is_none(), "{backend:?} {}", all[0]);
        let some = rows(
            &server,
            "/api/shop/customers/paginate?fields=id,largest",
            json!({ "where": { "orderCount": { "gte": 1 }, "hasOrders": { "eq": true } }, "order": [{ "field": "largest" }], "limit": 1 }),
        )
        .await;
        assert_eq!(some, json!({ "total": 2, "count": 1, "rows": [{ "id": 1, "largest": "5.00" }] }), "{backend:?}");
        let groups = json!({
            "aggregation": { "fields": [{ "fn": "sum", "field": "orderCount" }, { "fn": "count", "field": "*" }], "groupBy": ["hasOrders"] },
            "order": [{ "field": "hasOrders" }],
        });
        assert_eq!(
            rows(&server, "/api/shop/customers/list", groups).await,
            json!([{ "hasOrders": false, "sum_orderCount": "0", "count": 1 }, { "hasOrders": true, "sum_orderCount": "3", "count": 2 }]),
            "{backend:?}"
        );
        // A path to a customer that is missing is NULL, not zero.
        let orders = rows(
            &server,
            "/api/shop/orders/list?fields=id",
            json!({ "order": [{ "field": "customer.orderCount", "dir": "desc" }, { "field": "id" }] }),
        )
        .await;
        assert_eq!(orders, json!([{ "id": 13 }, { "id": 10 }, { "id": 11 }, { "id": 12 }]), "{backend:?}");
        let related = json!({ "where": { "customer": { "spent": { "gt": 20 } } }, "relations": { "customer": { "where": { "orderCount": { "eq": 2 } } } } });
        let related = rows(&server, "/api/shop/orders/list?fields=id,customer.orderCount", related).await;
        assert_eq!(
            related,
            json!([{ "id": 10, "customer": { "orderCount": 2 } }, { "id": 11, "customer": { "orderCount": 2 } }]),
            "{backend:?}"
        );
    }
}

// contract E5.4
#[tokio::test]
async fn explain_shows_the_lookups_of_the_named_fields() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup::new(&manifest()).viewer(&["peristyle.explain"]).serve(&database).await;
        let explained = async |parameters: &str| server.post(&format!("/api/shop/customers/explain{parameters}"), "{}").await;
        let sql = |answer: Value| answer["levels"][0]["sql"].as_str().expect("a text").to_owned();
        let all = sql(explained("").await.good());
        assert!(all.contains("count(*)") && !all.contains("max("), "{backend:?}: {all}");
        let narrow = sql(explained("?fields=id").await.good());
        assert!(narrow.starts_with("SELECT t0.\"id\"\n") || narrow.starts_with("SELECT t0.\"id\" FROM"), "{backend:?}: {narrow}");
        // A field that is not eager, with its own condition.
        let lazy = explained("?fields=largest").await.good();
        let predicate = &lazy["levels"][0]["predicates"][0];
        assert_eq!((&predicate["source"], &predicate["field"]), (&json!("field"), &json!("largest")), "{backend:?}: {lazy}");
        assert_eq!(explained("?fields=bogus").await.fault(), ("QS302".to_owned(), "/fields".to_owned()), "{backend:?}");
        assert_eq!(explained("?operation=keyset-paginate&fields=").await.fault().0, "QS105", "{backend:?}");
    }
}

// contract P5.3, contract E6.5, contract E8.2
#[tokio::test]
async fn no_document_names_the_hidden_source_of_a_derived_field() {
    let hidden = r#"profile = { type = "json", hidden = true }
a = { json = "profile", path = ["secretPath"], type = "int" }
createdMonth = { bucket = "month", of = "createdAt" }
"#;
    let manifest = shop::MANIFEST.replacen("profile = \"json\"\n", hidden, 1);
    let database = shop::database(Backend::Sqlite).await;
    let server = Setup::new(&manifest).serve(&database).await;
    for path in ["/api/openapi.json", "/docs/resources.json"] {
        let text = server.get(path).await.text();
        assert!(text.contains("a value inside json") && text.contains("start of the month of `createdAt`"), "{path}");
        assert!(!text.contains("profile") && !text.contains("secretPath"), "{path}");
    }
}

// contract P5.1, contract Q16.1
#[tokio::test]
async fn a_keyset_page_continues_after_a_derived_field() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        for direction in ["asc", "desc"] {
            let mut query = json!({ "order": [{ "field": "spent", "dir": direction }, { "field": "createdMonth" }], "limit": 1 });
            let listed = rows(&server, "/api/shop/customers/list?fields=id", json!({ "order": query["order"], "limit": 10 })).await;
            let mut walked = Vec::new();
            while !query.is_null() {
                let page = rows(&server, "/api/shop/customers/keyset-paginate?fields=id", query).await;
                walked.extend(page["rows"].as_array().expect("rows").clone());
                query = page["next"].clone();
            }
            assert_eq!(json!(walked), listed, "{backend:?} {direction}");
        }
    }
}

// contract P5.3
#[tokio::test]
async fn a_derived_field_is_unknown_without_the_permission_of_its_rows() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let setup = Setup::new(&manifest());
        let server = setup.serve(&database).await;
        for (path, query) in [
            ("list", json!({ "where": { "planCount": { "gt": 0 } } })),
            ("list", json!({ "order": [{ "field": "planCount" }] })),
            ("list?fields=id,planCount", json!({})),
            ("list", json!({ "aggregation": { "fields": [{ "fn": "max", "field": "planCount" }] } })),
        ] {
            let refused = server.post(&format!("/api/shop/customers/{path}"), json!({ "query": query }).to_string()).await;
            assert_eq!(refused.status(), 400, "{backend:?} {query}");
            let text = refused.text();
            assert!(text.contains("QS302") && !text.contains("did you mean `planCount`"), "{backend:?} {text}");
        }
        let mut setup = Setup::new(&manifest());
        setup.viewer = Some(Viewer::new(["vault.secretPlan.get".to_owned()], json!({})));
        let server = setup.serve(&database).await;
        let found = rows(
            &server,
            "/api/shop/customers/list?fields=id,planCount",
            json!({ "where": { "planCount": { "eq": 1 } }, "order": [{ "field": "id" }] }),
        )
        .await;
        assert_eq!(found, json!([{ "id": 1, "planCount": 1 }, { "id": 3, "planCount": 1 }]), "{backend:?}");
    }
}

// contract P5.3, contract Q16.1
#[tokio::test]
async fn a_cursor_names_no_field_that_the_caller_does_not_know() {
    let constrained =
        format!("[resource.shop.customer]\nconstraint = {{ order = [{{ field = \"planCount\", dir = \"desc\" }}] }}\n{}", manifest());
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup::new(&constrained).serve(&database).await;
        let page = rows(&server, "/api/shop/customers/keyset-paginate?fields=id", json!({ "limit": 1 })).await;
        assert!(page["next"].is_object() && !page.to_string().contains("planCount"), "{backend:?} {page}");
        let mut setup = Setup::new(&constrained);
        setup.viewer = Some(Viewer::new(["vault.secretPlan.get".to_owned()], json!({})));
        let page = rows(&setup.serve(&database).await, "/api/shop/customers/keyset-paginate?fields=id", json!({ "limit": 1 })).await;
        assert!(page["next"].to_string().contains("planCount"), "{backend:?} {page}");
    }
}
