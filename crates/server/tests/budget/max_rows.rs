//! `QUERY_MAX_ROWS`: a list without a limit is cut and says so; a larger limit and too many related rows are refused.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Response, Setup, post, shop};

const ITEMS: &str = "/api/shop/items/list";
const PARENTS: &str = "/api/shop/parents/list";

fn setup(manifest: &str, max: u64) -> Setup {
    let mut setup = Setup::new(manifest);
    setup.max_rows = Some(max);
    setup
}

fn count(answer: &Response) -> Option<usize> {
    answer.good().as_array().map(Vec::len)
}

// contract B5.11
#[tokio::test]
async fn a_list_without_a_limit_is_cut_and_its_header_says_so() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        for (max, expected) in [(10, 10), (2_000, 2_000), (3_000, 2_500)] {
            let server = setup(shop::MANIFEST, max).serve(&database).await;
            let limit = max.to_string();
            let whole = server.post(ITEMS, "").await;
            assert_eq!((count(&whole), whole.header("x-row-limit")), (Some(expected), Some(limit.as_str())), "{backend:?}");
            let lines = post(ITEMS, "").header("accept", "application/x-ndjson").send(server.address).await;
            assert_eq!((lines.text().lines().count(), lines.header("x-row-limit")), (expected, Some(limit.as_str())));
            let page = server.post("/api/shop/items/paginate", "").await;
            assert_eq!(page.header("x-row-limit"), Some(limit.as_str()));
            let page = page.good();
            assert_eq!((&page["total"], &page["count"]), (&json!(2_500), &json!(expected)));
            assert_eq!(page["rows"].as_array().map(Vec::len), Some(expected));
            let limited = server.post(ITEMS, r#"{"query":{"limit":10}}"#).await;
            assert_eq!((count(&limited), limited.header("x-row-limit")), (Some(10), None), "a statement with a limit is not cut");
            let found = server.post("/api/shop/items/find", "").await;
            assert_eq!((found.good()["id"].is_number(), found.header("x-row-limit")), (true, None));
        }
        let unlimited = Setup::new(shop::MANIFEST).serve(&database).await.post(ITEMS, "").await;
        assert_eq!((count(&unlimited), unlimited.header("x-row-limit")), (Some(2_500), None), "it is off by default");
    }
}

// contract B5.11
#[tokio::test]
async fn a_larger_limit_is_refused_where_it_is_written() {
    let database = shop::database(Backend::Sqlite).await;
    let server = setup(shop::MANIFEST, 10).serve(&database).await;
    for (body, path) in [
        (r#"{"query":{"limit":11}}"#, "/query/limit"),
        (r#"{"query":{"limit":11},"constraint":{"limit":12}}"#, "/query/limit"),
        (r#"{"constraint":{"limit":11}}"#, "/constraint/limit"),
    ] {
        for operation in ["list", "paginate"] {
            let refused = server.post(&format!("/api/shop/items/{operation}"), body).await;
            assert_eq!(refused.status(), 400, "{body}");
            assert_eq!(refused.fault(), ("QS202".to_owned(), path.to_owned()), "{body}");
            let message = refused.json()["errors"][0]["message"].as_str().unwrap().to_owned();
            assert!(message.contains("at most 10") && message.contains("QUERY_MAX_ROWS") && message.contains("11"), "{message}");
        }
    }
    // The smaller of two limits counts, and a wrong name is reported beside the limit.
    assert_eq!(count(&server.post(ITEMS, r#"{"query":{"limit":11},"constraint":{"limit":3}}"#).await), Some(3));
    let both = server.post(ITEMS, r#"{"query":{"limit":11,"where":{"nope":{"eq":1}}}}"#).await;
    assert_eq!(both.faults().len(), 2, "{}", both.text());
    assert_eq!(server.post("/api/shop/items/find", r#"{"query":{"limit":11}}"#).await.status(), 200, "find answers one row");
}

// contract B5.11, B5.12
#[tokio::test]
async fn graphql_has_the_same_limits_and_the_same_header() {
    let database = shop::database(Backend::Sqlite).await;
    let server = setup(shop::MANIFEST, 2).serve(&database).await;
    let ask = async |document: &str| server.post("/graphql", json!({ "query": document }).to_string()).await;
    let cut = ask("{ shopGetItems { id } }").await;
    assert_eq!(cut.header("x-row-limit"), Some("2"));
    assert_eq!(cut.json()["data"]["shopGetItems"].as_array().map(Vec::len), Some(2));
    let limited = ask("{ shopGetItems(query: {limit: 2}) { id } }").await;
    assert_eq!((limited.header("x-row-limit"), limited.json()["data"]["shopGetItems"].as_array().map(Vec::len)), (None, Some(2)));
    let larger = ask("{ shopGetItems(query: {limit: 3}) { id } }").await.json();
    assert_eq!(larger["errors"][0]["extensions"]["errors"][0]["code"], "QS202", "{larger}");
    let where_ana = "{ shopGetCustomers(query: {where: {id: {eq: 1}}, relations: {orders: {relations: {lines: true}}}}) { id orders { id lines { sku } } } }";
    let related = ask(where_ana).await.json();
    assert_eq!(related["errors"][0]["extensions"]["code"], "TOO_MANY_ROWS", "two orders and three lines: {related}");
}

const MANIFEST: &str = r#"
[resource.shop.parent.fields]
id = { type = "int", key = true }
[resource.shop.parent.relations]
children = { many = "shop.child", on = { id = "parentId" } }

[resource.shop.child]
table = "children"
[resource.shop.child.fields]
id = { type = "int", key = true }
parentId = "int"
label = "text"
[resource.shop.child.relations]
toys = { many = "shop.toy", on = { id = "childId" } }

[resource.shop.toy.fields]
id = { type = "int", key = true }
childId = "int"
"#;

/// Parents with three children each, and one toy a child.
async fn family(backend: Backend, parents: usize) -> Database {
    let numbers =
        |count: usize| format!("WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count} - 1)");
    let children = 3 * parents;
    let label = if backend == Backend::Postgres { "repeat('x', 200)" } else { "hex(zeroblob(100))" };
    let script = format!(
        "CREATE TABLE parents (id integer PRIMARY KEY); INSERT INTO parents {} SELECT n FROM numbers;
         CREATE TABLE children (id integer PRIMARY KEY, parent_id integer, label text);
         INSERT INTO children {} SELECT n, n / 3, {label} FROM numbers;
         CREATE INDEX children_of_parent ON children (parent_id);
         CREATE TABLE toys (id integer PRIMARY KEY, child_id integer); INSERT INTO toys {} SELECT n, n FROM numbers;
         CREATE INDEX toys_of_child ON toys (child_id);",
        numbers(parents),
        numbers(children),
        numbers(children)
    );
    Database::with(backend, &script).await
}

// contract B5.12
#[tokio::test]
async fn related_rows_of_all_relations_together_have_a_limit_too() {
    for backend in BACKENDS {
        let database = family(backend, 40).await;
        let nested = json!({ "query": { "limit": 10, "relations": { "children": { "relations": { "toys": true } } } } }).to_string();
        // 30 children and 30 toys, read at once, and in portions that are read again.
        for memory in [8 * 1024 * 1024, 2_000] {
            for (max, status) in [(60, 200), (59, 422), (30, 422), (29, 422)] {
                let mut setup = setup(MANIFEST, max);
                setup.database.memory = memory;
                let server = setup.serve(&database).await;
                for _ in 0..2 {
                    let answer = post(PARENTS, &nested).attempt(server.address).await;
                    match answer {
                        Some(answer) if status == 200 => {
                            assert_eq!(answer.good().as_array().map(Vec::len), Some(10), "{backend:?} {memory} {max}");
                        }
                        Some(answer) => {
                            let problem = answer.problem(422);
                            assert_eq!(problem["code"], "TOO_MANY_ROWS");
                            assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("QUERY_MAX_ROWS")), "{problem}");
                        }
                        None => assert!(status == 422 && memory == 2_000, "only a stream is cut: {backend:?} {memory} {max}"),
                    }
                }
                let fewer = json!({ "query": { "limit": 10, "relations": { "children": { "limit": 1 } } } }).to_string();
                assert_eq!(count(&server.post(PARENTS, &fewer).await), Some(10), "ten related rows");
                let one = json!({ "query": { "relations": { "children": true } } }).to_string();
                assert_eq!(server.post("/api/shop/parents/find", &one).await.good()["children"].as_array().map(Vec::len), Some(3));
            }
        }
    }
}

// contract B5.12
#[tokio::test]
async fn a_stream_with_too_many_related_rows_is_cut_and_never_looks_complete() {
    for backend in BACKENDS {
        let database = family(backend, 3_000).await;
        let body = json!({ "query": { "relations": { "children": true } } }).to_string();
        let server = setup(MANIFEST, 9_000).serve(&database).await;
        let rows = server.post(PARENTS, &body).await.good();
        let related = |rows: &Value| rows.as_array().unwrap().iter().map(|row| row["children"].as_array().unwrap().len()).sum::<usize>();
        assert_eq!(related(&rows), 9_000, "{backend:?}");
        let server = setup(MANIFEST, 8_999).serve(&database).await;
        let cut = post(PARENTS, &body).attempt(server.address).await;
        assert!(cut.is_none_or(|answer| answer.status() == 422), "{backend:?}");
        assert_eq!(server.post(PARENTS, r#"{"query":{"limit":1}}"#).await.status(), 200, "the server goes on");
    }
}
