//! `keyset-paginate` over HTTP.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Server, Setup, post, shop};

async fn page(server: &Server, path: &str, query: &Value) -> Value {
    server.post(path, json!({ "query": query }).to_string()).await.good()
}

/// The ids of all pages, and the number of pages.
async fn walk(server: &Server, path: &str, query: Value) -> (Vec<Value>, usize) {
    let (mut ids, mut pages, mut query) = (Vec::new(), 0, query);
    while !query.is_null() {
        let page = page(server, path, &query).await;
        ids.extend(page["rows"].as_array().expect("rows").iter().map(|row| row["id"].clone()));
        pages += 1;
        query = page["next"].clone();
    }
    (ids, pages)
}

// contract Q16.1, contract Q16.4, contract Q16.6
#[tokio::test]
async fn a_walk_shows_every_row_once_and_ends_with_null() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for (order, expected) in [
            (json!([{ "field": "visits" }]), [3, 1, 2]),
            (json!([{ "field": "visits", "dir": "desc" }]), [2, 1, 3]),
            (json!([{ "field": "isVip", "dir": "desc" }]), [3, 1, 2]),
            (json!([]), [1, 2, 3]),
        ] {
            for limit in 1..=4 {
                let (ids, pages) = walk(&server, "/api/shop/customers/keyset-paginate", json!({ "order": order, "limit": limit })).await;
                assert_eq!(ids, expected.map(|id| json!(id)), "{backend:?} {order}");
                assert_eq!(pages, 3_usize.div_ceil(limit), "a full page at the end is the last: {backend:?} {order} {limit}");
            }
        }
        let (ids, _) =
            walk(&server, "/api/shop/orders/keyset-paginate", json!({ "order": [{ "field": "customer.name" }], "limit": 1 })).await;
        assert_eq!(ids, [10, 11, 12, 13].map(|id| json!(id)), "{backend:?}");
        let items = page(&server, "/api/shop/items/keyset-paginate", &json!({})).await;
        assert_eq!((&items["count"], items["rows"].as_array().map(Vec::len)), (&json!(100), Some(100)), "{backend:?}");
        assert_eq!(
            items["next"],
            json!({ "where": { "and": [{ "or": [{ "id": { "gt": 100 } }] }] }, "order": [{ "field": "id", "dir": "asc" }], "limit": 100 })
        );
        // A page beyond the rows that are read whole.
        let (ids, pages) = walk(&server, "/api/shop/items/keyset-paginate", json!({ "limit": 1_200 })).await;
        assert_eq!((ids.len(), pages), (2_500, 3), "{backend:?}");
        let nothing = page(&server, "/api/shop/items/keyset-paginate", &json!({ "limit": 0 })).await;
        assert_eq!(nothing, json!({ "count": 0, "rows": [], "next": null }), "{backend:?}");
        // A bigint is a string in a cursor, which no client rounds.
        let first = page(&server, "/api/shop/customers/keyset-paginate", &json!({ "limit": 1 })).await;
        assert_eq!(first["next"]["where"], json!({ "and": [{ "or": [{ "id": { "gt": "1" } }] }] }));
    }
}

// contract Q16.4
#[tokio::test]
async fn the_next_statement_has_the_query_and_nothing_of_the_constraint() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let query = json!({
            "where": { "or": [{ "id": { "gte": 1 } }, { "name": { "iLike": "a%" } }] },
            "order": [{ "field": "visits", "dir": "desc" }],
            "limit": 2,
            "relations": { "orders": { "limit": 5, "order": [{ "field": "id" }] } },
        });
        let constraint = json!({
            "where": { "status": { "in": ["active", "lead"] } },
            "limit": 1,
            "relations": { "orders": { "where": { "total": { "gt": 7 } }, "limit": 3 }, "bills": true },
        });
        let body = json!({ "query": query, "constraint": constraint });
        let first = server.post("/api/shop/customers/keyset-paginate", body.to_string()).await.good();
        assert_eq!((&first["count"], &first["rows"][0]["id"]), (&json!(1), &json!(2)), "{backend:?}");
        let mut next = first["next"].clone();
        let cursor = next["where"]["and"].take();
        assert_eq!(cursor.as_array().map(Vec::len), Some(1), "{backend:?}");
        next["where"].as_object_mut().expect("a where").remove("and");
        let mut own = query.clone();
        own["relations"]["orders"]["order"][0]["dir"] = json!("asc");
        assert_eq!(next, own, "{backend:?}");
        let body = json!({ "query": first["next"], "constraint": constraint });
        let second = server.post("/api/shop/customers/keyset-paginate", body.to_string()).await.good();
        assert_eq!((&second["rows"][0]["id"], &second["next"]), (&json!(1), &Value::Null), "{backend:?}");
        assert_eq!(second["rows"][0]["orders"], json!([{ "id": 10, "customerId": 1, "total": "19.99" }]), "{backend:?}");
    }
}

// contract Q16.5, contract Q11.1, contract Q11.3
#[tokio::test]
async fn a_cursor_costs_no_depth_and_no_nodes_and_does_not_grow() {
    let (server, _database) = shop::open(BACKENDS[1]).await;
    let nested = (0..10).fold(json!({ "id": { "gte": 0 } }), |inner, _| json!({ "or": [inner] }));
    let many = json!({ "or": vec![json!({ "id": { "gte": 0 } }); 999] });
    for filter in [nested, many] {
        let query = json!({ "where": filter, "limit": 400, "order": [{ "field": "label", "dir": "desc" }] });
        let (ids, pages) = walk(&server, "/api/shop/items/keyset-paginate", query.clone()).await;
        assert_eq!((ids.len(), pages), (2_500, 7));
        let first = page(&server, "/api/shop/items/keyset-paginate", &query).await;
        let second = page(&server, "/api/shop/items/keyset-paginate", &first["next"]).await;
        let size = |page: &Value| page["next"]["where"]["and"].as_array().map(Vec::len);
        assert_eq!((size(&first), size(&second)), (Some(1), Some(1)));
    }
}

// contract Q16.3
#[tokio::test]
async fn what_a_keyset_page_cannot_have_is_refused() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let fault = async |path: &str, query: Value| server.post(path, json!({ "query": query }).to_string()).await.fault();
        let customers = "/api/shop/customers/keyset-paginate";
        let told = |code: &str, path: &str| (code.to_owned(), path.to_owned());
        assert_eq!(fault(customers, json!({ "offset": 0 })).await, told("QS111", "/query/offset"));
        let count = json!({ "aggregation": { "fields": [{ "fn": "count", "field": "*" }] } });
        assert_eq!(fault(customers, count).await, told("QS111", "/query/aggregation"));
        assert_eq!(fault("/api/shop/notes/keyset-paginate", json!({})).await, told("QS314", ""));
        assert_eq!(fault(customers, json!({ "order": [{ "field": "email" }] })).await, told("QS304", "/query/order/0/field"));
        assert_eq!(fault(customers, json!({ "order": [{ "field": "orders.id" }] })).await, told("QS307", "/query/order/0/field"));
        assert_eq!(fault(customers, json!({ "limit": 10_001 })).await, told("QS202", "/query/limit"));
    }
}

// contract E1.6, contract Q16.1
#[tokio::test]
async fn fields_narrow_the_rows_and_not_the_cursor() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let body = r#"{"query":{"order":[{"field":"visits"}],"limit":1}}"#;
        let request = post("/api/shop/customers/keyset-paginate?fields=name", body).header("Accept", "application/x-ndjson");
        let answer = server.send(&request).await;
        assert_eq!(answer.header("content-type"), Some("application/json"), "a page is one object");
        let page = answer.good();
        assert_eq!(page["rows"], json!([{ "name": "Çelik \"Ç\" O'Neil \\" }]), "{backend:?}");
        assert_eq!(page["next"]["where"]["and"][0]["or"][1], json!({ "visits": { "gt": -1 } }), "{backend:?}");
    }
}

// contract Q16.7
#[tokio::test]
async fn a_page_that_ends_at_a_value_that_no_statement_can_name_is_refused() {
    let database = crate::support::Database::with(
        BACKENDS[0],
        "CREATE TABLE customers (id bigint PRIMARY KEY, score float8); INSERT INTO customers VALUES (1, 1), (2, 'NaN'), (3, NULL)",
    )
    .await;
    let manifest = "[resource.shop.customer.fields]\nid = { type = \"bigint\", key = true }\nscore = \"float\"\n";
    let server = Setup::new(manifest).serve(&database).await;
    let body = r#"{"query":{"order":[{"field":"score"}],"limit":2}}"#;
    let address = "/api/shop/customers/keyset-paginate";
    let answer = server.post(address, body).await;
    assert_eq!(answer.fault(), ("QS315".to_owned(), "/query/order/0/field".to_owned()));
    assert!(answer.problem(400)["detail"].as_str().is_some_and(|detail| detail.contains("`score`")));
    let body = r#"{"query":{"limit":2},"constraint":{"order":[{"field":"score"}]}}"#;
    assert_eq!(server.post(address, body).await.fault().1, "/constraint/order/0/field");
    let ordered = format!("[resource.shop.customer]\nconstraint = {{ order = [{{ field = \"score\" }}] }}\n{manifest}");
    let server = Setup::new(&ordered).serve(&database).await;
    assert_eq!(server.post(address, r#"{"query":{"limit":2}}"#).await.fault().1, "/query/order");
}

// contract Q16.7
#[tokio::test]
async fn a_page_that_is_streamed_is_refused_before_its_first_byte() {
    for backend in BACKENDS {
        let (letters, kind, unrepresentable) = match backend {
            Backend::Postgres => ("repeat('x', 4000)", "float8", "'NaN'::float8"),
            // No double is this number.
            Backend::Sqlite => ("printf('%.*c', 4000, 'x')", "", "9007199254740993"),
        };
        let script = format!(
            "CREATE TABLE customers (id integer PRIMARY KEY, score {kind}, note text);
             INSERT INTO customers WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3001)
             SELECT n, CASE WHEN n = 3000 THEN {unrepresentable} WHEN n < 3000 THEN n END, {letters} FROM numbers"
        );
        let database = crate::support::Database::with(backend, &script).await;
        let manifest = "[resource.shop.customer.fields]\nid = { type = \"int\", key = true }\nscore = \"float\"\nnote = \"text\"\n";
        let server = Setup::new(manifest).serve(&database).await;
        let ask = async |limit: usize| {
            let body = json!({ "query": { "order": [{ "field": "score" }], "limit": limit } });
            server.post("/api/shop/customers/keyset-paginate", body.to_string()).await
        };
        assert_eq!(ask(3_000).await.fault(), ("QS315".to_owned(), "/query/order/0/field".to_owned()), "{backend:?}");
        for (limit, has_next) in [(2_999, true), (3_001, false)] {
            let page = ask(limit).await.good();
            assert_eq!((&page["count"], page["next"].is_object()), (&json!(limit), has_next), "{backend:?}");
        }
    }
}

// contract Q16.7
#[tokio::test]
async fn a_next_statement_that_no_body_can_hold_is_refused() {
    let database = crate::support::Database::with(
        BACKENDS[1],
        "CREATE TABLE customers (id integer PRIMARY KEY, note text); INSERT INTO customers
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3) SELECT n, n || printf('%.*c', 300000 * n, 'x') FROM numbers",
    )
    .await;
    let manifest = "[resource.shop.customer.fields]\nid = { type = \"int\", key = true }\nnote = \"text\"\n";
    let server = Setup::new(manifest).serve(&database).await;
    let ask = async |query: &Value| server.post("/api/shop/customers/keyset-paginate", json!({ "query": query }).to_string()).await;
    let first = ask(&json!({ "order": [{ "field": "note" }], "limit": 1 })).await.good();
    // A body of 1 MiB has room for the next statement of the first page, and not for that of the second.
    let second = ask(&first["next"]).await;
    assert_eq!(second.fault(), ("QS315".to_owned(), "/query/order/0/field".to_owned()));
    assert!(second.problem(400)["detail"].as_str().is_some_and(|detail| detail.contains("a long value of `note`")));
}

// contract Q16.8
#[tokio::test]
async fn explain_shows_the_segments_of_a_keyset_page() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup::new(shop::MANIFEST).viewer(&["peristyle.explain"]).serve(&database).await;
        let first = page(&server, "/api/shop/customers/keyset-paginate", &json!({ "order": [{ "field": "visits" }], "limit": 1 })).await;
        let body = json!({ "query": first["next"] }).to_string();
        let explained = server.post("/api/shop/customers/explain?operation=keyset-paginate&analyze=true", &body).await.good();
        let sql = explained["levels"][0]["sql"].as_str().expect("a text");
        assert!(sql.contains(" UNION ALL "), "{backend:?}: {sql}");
        assert!(explained["levels"][0]["plan"].is_array(), "{backend:?}");
        let plain = server.post("/api/shop/customers/explain", &body).await.good();
        assert!(!plain["levels"][0]["sql"].as_str().expect("a text").contains(" UNION ALL "));
        assert_eq!(server.post("/api/shop/customers/explain?operation=find", &body).await.problem(400)["code"], "BAD_REQUEST");
    }
}
