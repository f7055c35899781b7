//! Keyset pages and the policy: rows and fields that a viewer may not see change no page and are in no cursor.

use std::fmt::Write;

use query::policy::Viewer;
use serde_json::{Value, json};

use crate::support::{BACKENDS, Database, Setup};

const MANIFEST: &str = r#"
[resource.shop.order]
constraint = { where = { tenant = { eq = "$account.meta.tenant" } }, order = [{ field = "secret" }, { field = "rank", dir = "desc" }], limit = 3 }
[resource.shop.order.fields]
id = { type = "int", key = true }
tenant = { type = "text", hidden = true }
secret = { type = "int", hidden = true }
rank = "int"
note = { type = "text", mask = "redact", unmask = "shop.note" }

[resource.shop.box]
plural = "boxes"
[resource.shop.box.fields]
id = { type = "int", key = true, mask = "redact", unmask = "shop.box.id" }
"#;

fn script(hidden: bool) -> String {
    let mut script = "CREATE TABLE orders (id integer PRIMARY KEY, tenant text, secret integer, rank integer, note text);
        CREATE TABLE boxes (id integer PRIMARY KEY);"
        .to_owned();
    for id in 1..=40 {
        let is_own = id % 2 == 0;
        if is_own || hidden {
            let (tenant, rank) = (if is_own { "own" } else { "other" }, if id % 6 == 0 { "NULL".to_owned() } else { (id % 5).to_string() });
            _ = write!(script, "INSERT INTO orders VALUES ({id}, '{tenant}', {}, {rank}, 'n');", 40 - id);
        }
    }
    script
}

async fn pages(database: &Database) -> Vec<Value> {
    let mut setup = Setup::new(MANIFEST);
    setup.viewer = Some(Viewer::new([], json!({ "meta": { "tenant": "own" } })));
    let server = setup.serve(database).await;
    let (mut pages, mut query) = (Vec::new(), json!({ "limit": 5 }));
    while !query.is_null() {
        let page = server.post("/api/shop/orders/keyset-paginate", json!({ "query": query }).to_string()).await.good();
        query = page["next"].clone();
        pages.push(page);
    }
    pages
}

// contract Q16.2, contract Q16.4, contract Q16.6
#[tokio::test]
async fn hidden_rows_and_fields_of_the_policy_are_in_no_page_and_no_cursor() {
    for backend in BACKENDS {
        let with = pages(&Database::with(backend, &script(true)).await).await;
        let without = pages(&Database::with(backend, &script(false)).await).await;
        assert_eq!(with, without, "{backend:?}");
        let rows: Vec<Value> = with.iter().flat_map(|page| page["rows"].as_array().expect("rows").clone()).collect();
        let mut expected = rows.clone();
        // By the visible order of the manifest, NULL first, and then by the key.
        expected.sort_by_key(|row| (row["rank"].as_i64().map_or(i64::MIN, |rank| -rank), row["id"].as_i64()));
        assert_eq!((rows.len(), &rows), (20, &expected), "{backend:?}");
        for page in &with {
            assert!(page["count"].as_u64().is_some_and(|count| count <= 3), "the limit of the manifest");
            let next = page["next"].to_string();
            assert!(!next.contains("secret") && !next.contains("tenant") && !next.contains("own"), "{next}");
            if !page["next"].is_null() {
                assert_eq!((page["next"].get("order"), &page["next"]["limit"]), (None, &json!(5)), "{next}");
            }
        }
    }
}

// contract Q16.3
#[tokio::test]
async fn a_masked_key_is_refused_until_it_is_seen() {
    for backend in BACKENDS {
        let database = Database::with(backend, &script(false)).await;
        let server = Setup::new(MANIFEST).viewer(&[]).serve(&database).await;
        assert_eq!(server.post("/api/shop/boxes/keyset-paginate", "").await.fault(), ("QS314".to_owned(), String::new()));
        let server = Setup::new(MANIFEST).viewer(&["shop.box.id"]).serve(&database).await;
        let page = server.post("/api/shop/boxes/keyset-paginate", "").await.good();
        assert_eq!(page, json!({ "count": 0, "rows": [], "next": null }));
    }
}
