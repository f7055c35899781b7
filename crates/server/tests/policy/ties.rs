//! Rows with equal order values: a masked or hidden key does not decide their order.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Setup};

const MANIFEST: &str = r#"
[resource.shop.box]
plural = "boxes"
[resource.shop.box.fields]
note = "text"
id = { type = "int", key = true, mask = "redact", unmask = "shop.box.id" }
size = "int"
name = { type = "text", null = false }
extra = "json"
[resource.shop.box.relations]
items = { many = "shop.item", on = { id = "boxId" } }
tags = { many = "shop.tag", through = "boxes_tags", on = { id = "box_id" }, to = { tag_id = "id" } }

[resource.shop.item.fields]
id = { type = "int", key = true, hidden = true }
boxId = { type = "int", hidden = true }
kind = { type = "text", null = false }
weight = "float"
[resource.shop.item.relations]
box = { one = "shop.box", on = { boxId = "id" } }

[resource.shop.tag.fields]
tenant = { type = "int", key = true }
id = { type = "int", key = true, hidden = true }
label = { type = "text", null = false }
rank = "decimal"
"#;

/// The same rows in the same order, their keys counted upwards or downwards.
async fn boxes(backend: Backend, key: fn(usize) -> usize) -> Database {
    let mut script = "CREATE TABLE boxes (id integer PRIMARY KEY, name text NOT NULL, size integer, note text, extra EXTRA);
        CREATE TABLE items (id integer PRIMARY KEY, box_id integer, kind text NOT NULL, weight float);
        CREATE TABLE tags (tenant integer NOT NULL, id integer NOT NULL UNIQUE, label text NOT NULL, rank RANK, PRIMARY KEY (tenant, id));
        CREATE TABLE boxes_tags (box_id integer NOT NULL, tag_id integer NOT NULL, PRIMARY KEY (box_id, tag_id));
        CREATE INDEX by_box ON items (box_id); CREATE INDEX by_name ON boxes (name);"
        .to_owned();
    let null_or =
        |number: usize, every: usize| if number.is_multiple_of(every) { "NULL".to_owned() } else { (number * 7 % every).to_string() };
    for number in 0..18 {
        let (id, name, size) = (key(number), ["b", "a"][number % 2], null_or(number, 3));
        _ = write!(script, "INSERT INTO boxes VALUES ({id}, '{name}', {size}, 'note {}', '[{number}]');", number * 5 % 18);
        for item in 0..6 {
            let id = key(number) * 10 + key(item) % 7;
            let (kind, weight) = (["x", "y"][item % 2], null_or(item + number, 5));
            _ = write!(script, "INSERT INTO items VALUES ({id}, {}, '{kind}', {weight});", key(number));
        }
    }
    for number in 0..6 {
        let (id, label, rank) = (key(number), ["m", "n"][number % 2], null_or(number + 1, 4));
        _ = write!(script, "INSERT INTO tags VALUES ({}, {id}, '{label}', {rank});", number % 3);
        for of in 0..18 {
            _ = write!(script, "INSERT INTO boxes_tags VALUES ({}, {id});", key(of));
        }
    }
    let (extra, rank) = if backend == Backend::Postgres { ("jsonb", "numeric") } else { ("TEXT", "TEXT") };
    Database::with(backend, &script.replace("EXTRA", extra).replace("RANK", rank)).await
}

fn statements() -> Vec<(&'static str, Value)> {
    let by_name = json!([{ "field": "name" }]);
    vec![
        ("boxes", json!({ "order": by_name })),
        ("boxes", json!({ "order": [{ "field": "name", "dir": "desc" }, { "field": "size" }] })),
        ("boxes", json!({ "order": by_name, "limit": 4 })),
        ("boxes", json!({ "order": by_name, "limit": 3, "offset": 7 })),
        ("boxes", json!({ "order": by_name, "offset": 5, "where": { "items": { "kind": { "eq": "x" } } } })),
        ("items", json!({ "order": [{ "field": "kind" }], "limit": 30 })),
        ("items", json!({ "order": [{ "field": "box.name" }], "limit": 30 })),
        ("items", json!({ "order": [{ "field": "box.name", "dir": "desc" }] })),
        ("tags", json!({ "order": [{ "field": "label" }] })),
        ("tags", json!({ "order": [{ "field": "label" }], "limit": 2 })),
        ("boxes", json!({ "order": [{ "field": "note" }], "relations": { "items": { "order": [{ "field": "kind" }] } } })),
        (
            "boxes",
            json!({ "order": [{ "field": "note" }], "relations": { "items": { "order": [{ "field": "kind", "dir": "desc" }], "limit": 4, "offset": 1 } } }),
        ),
        ("boxes", json!({ "order": [{ "field": "note" }], "relations": { "tags": { "order": [{ "field": "label" }] } } })),
        ("boxes", json!({ "order": [{ "field": "note" }], "relations": { "tags": { "order": [{ "field": "label" }], "limit": 4 } } })),
        (
            "boxes",
            json!({ "order": [{ "field": "size" }], "limit": 9, "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["size", "name"] } }),
        ),
    ]
}

// contract Q8.6, contract P2.10, attack 71
#[tokio::test]
async fn a_masked_or_hidden_key_does_not_affect_the_order() {
    for backend in BACKENDS {
        let databases = [boxes(backend, |number| number + 1).await, boxes(backend, |number| 40 - number).await];
        let setup = Setup::new(MANIFEST).viewer(&[]);
        let servers = [setup.serve(&databases[0]).await, setup.serve(&databases[1]).await];
        for (plural, query) in statements() {
            for operation in ["list", "paginate", "find"] {
                let (path, body) = (format!("/api/shop/{plural}/{operation}"), json!({ "query": query }).to_string());
                let answers = [servers[0].post(&path, &body).await, servers[1].post(&path, &body).await];
                answers[0].good();
                assert_eq!(answers[0].text(), answers[1].text(), "{backend:?} {path} {body}");
            }
        }
    }
}

// contract Q8.6, contract Q8.4
#[tokio::test]
async fn ties_are_broken_by_visible_fields_in_the_order_of_the_manifest() {
    for backend in BACKENDS {
        let database = boxes(backend, |number| number + 1).await;
        let body = json!({ "query": { "order": [{ "field": "name" }], "limit": 9 } }).to_string();
        let shown = async |permissions: &[&str], field: &str| {
            let server = Setup::new(MANIFEST).viewer(permissions).serve(&database).await;
            let rows = server.post("/api/shop/boxes/list", &body).await.good();
            rows.as_array().unwrap().iter().map(|row| row[field].clone()).collect::<Vec<_>>()
        };
        let notes: Vec<Value> = [11, 13, 15, 17, 1, 3, 5, 7, 9].iter().map(|number| json!(format!("note {number}"))).collect();
        let mut sorted = notes.clone();
        sorted.sort_by_key(ToString::to_string);
        assert_eq!(shown(&[], "note").await, sorted, "{backend:?}");
        let ids: Vec<Value> = (1..=9).map(|number| json!(number * 2)).collect();
        assert_eq!(shown(&["shop.box.id"], "id").await, ids, "{backend:?}: a key that is seen plainly breaks them");
    }
}
