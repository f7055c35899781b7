//! Rows that many parents share: few loaded rows can make an answer larger than any memory.

use serde_json::{Value, json};

use crate::stalled;
use crate::support::http::Chunk;
use crate::support::{BACKENDS, Backend, Database, Server, Setup};

const MANIFEST: &str = r#"
[resource.shop.label.fields]
id = { type = "int", key = true }

[resource.shop.label.relations]
items = { many = "shop.item", through = "pairs", on = { id = "label_id" }, to = { item_id = "id" } }

[resource.shop.item.fields]
id = { type = "int", key = true }

[resource.shop.item.relations]
labels = { many = "shop.label", through = "pairs", on = { id = "item_id" }, to = { label_id = "id" } }
"#;

/// Twenty labels and twenty items; each label has all items, and each item all labels.
const SCRIPT: &str = "
CREATE TABLE labels (id integer PRIMARY KEY);
CREATE TABLE items (id integer PRIMARY KEY);
CREATE TABLE pairs (label_id integer, item_id integer);
INSERT INTO labels WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20) SELECT n FROM numbers;
INSERT INTO items SELECT id FROM labels;
INSERT INTO pairs SELECT labels.id, items.id FROM labels, items;
CREATE INDEX pairs_of_label ON pairs (label_id);
CREATE INDEX pairs_of_item ON pairs (item_id);
";

/// Relations of this depth. Ten levels make twenty to the power of ten rows.
fn relations(levels: usize) -> Value {
    (0..levels).rev().fold(Value::Bool(true), |below, level| {
        let name = if level % 2 == 0 { "items" } else { "labels" };
        match below {
            Value::Bool(_) => json!({ name: true }),
            below => json!({ name: { "relations": below } }),
        }
    })
}

/// The same relations as a selection.
fn selection(levels: usize) -> String {
    (0..levels).rev().fold("{ id }".to_owned(), |below, level| {
        let name = if level % 2 == 0 { "items" } else { "labels" };
        format!("{{ id {name} {below} }}")
    })
}

async fn server(backend: Backend) -> (Database, Server) {
    let database = Database::with(backend, SCRIPT).await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    (database, server)
}

fn body(levels: usize, rest: &Value) -> String {
    let mut query = json!({ "relations": relations(levels) });
    query.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    json!({ "query": query }).to_string()
}

// contract E4.1, trap 18
#[tokio::test]
async fn a_huge_answer_is_sent_while_it_is_written() {
    for backend in BACKENDS {
        let (_database, server) = server(backend).await;
        for (operation, rest) in [
            ("list", json!({})),
            ("list", json!({"limit": 1})),
            ("paginate", json!({"limit": 5})),
            ("paginate", json!({})),
            ("find", json!({"where": {"id": {"eq": 3}}})),
        ] {
            let (mut wire, _) = stalled(&server, &format!("/api/shop/labels/{operation}"), &body(10, &rest)).await;
            let mut seen = 0;
            while seen < 3 * 1024 * 1024 {
                match wire.chunk().await {
                    Chunk::Data(bytes) => seen += bytes.len(),
                    other => panic!("{backend:?} {operation} {rest}: {other:?} after {seen} bytes"),
                }
            }
        }
        // The clients are gone, and there is room for the next one.
        assert_eq!(server.post("/api/shop/labels/list", body(1, &json!({}))).await.good().as_array().map(Vec::len), Some(20));
    }
}

// contract E4.1
#[tokio::test]
async fn a_streamed_answer_equals_the_whole_answer() {
    for backend in BACKENDS {
        let (_database, server) = server(backend).await;
        let small = server.post("/api/shop/labels/list", body(1, &json!({"order": [{"field": "id"}]}))).await;
        assert!(small.header("content-length").is_some(), "{backend:?}");
        let large = server.post("/api/shop/labels/paginate", body(4, &json!({"order": [{"field": "id"}], "limit": 7}))).await;
        assert!(large.whole && large.chunks > 2, "{backend:?} {}", large.chunks);
        let page = large.good();
        assert_eq!((&page["total"], &page["count"]), (&json!(20), &json!(7)), "{backend:?}");
        assert_eq!(page["rows"].as_array().map(Vec::len), Some(7));
        for row in page["rows"].as_array().unwrap() {
            let items = row["items"].as_array().unwrap();
            assert_eq!(items.len(), 20);
            for item in items {
                assert_eq!(item["labels"].as_array().map(Vec::len), Some(20));
                assert!(item["labels"].as_array().unwrap().iter().all(|label| label["items"].as_array().unwrap().len() == 20));
            }
        }
    }
}

// contract G3.4
#[tokio::test]
async fn graphql_refuses_an_answer_beyond_its_limit() {
    for backend in BACKENDS {
        let (_database, server) = server(backend).await;
        let query = json!({ "relations": relations(10) });
        let ask = async |document: &str| {
            let request = json!({ "query": document, "variables": { "query": query } }).to_string();
            server.post("/graphql", request).await.json()
        };
        let selected = selection(10);
        for document in [
            "query ($query: QueryStatementInput) { shopPaginateLabels(query: $query) { rows } }".to_owned(),
            format!("query ($query: QueryStatementInput) {{ shopGetLabels(query: $query) {selected} }}"),
            format!("query ($query: QueryStatementInput) {{ shopFindLabel(query: $query) {selected} }}"),
        ] {
            let answer = ask(&document).await;
            assert!(answer["errors"][0]["message"].as_str().is_some_and(|text| text.contains("64 MiB")), "{backend:?} {document} {answer}");
        }
        // Unselected rows are not read or not written.
        let narrow = ask("query ($query: QueryStatementInput) { shopGetLabels(query: $query) { id items { id } } }").await;
        let rows = narrow["data"]["shopGetLabels"].as_array().expect("rows");
        assert!(
            rows.len() == 20 && rows.iter().all(|row| row["items"].as_array().is_some_and(|items| items.len() == 20)),
            "{backend:?} {narrow}"
        );
        let numbers = ask("query ($query: QueryStatementInput) { shopPaginateLabels(query: $query) { total count } }").await;
        assert_eq!(numbers["data"]["shopPaginateLabels"], json!({"total": 20, "count": 20}), "{backend:?} {numbers}");
    }
}
