//! `/docs/resources.json` describes the writes that a caller may use, as the server accepts them.

use serde_json::{Value, json};

use crate::support::{Backend, Database, Server, Setup};

const MANIFEST: &str = r#"
[resource.shop.order]
permission = "shop.order.get"
soft-delete = "deletedAt"
[resource.shop.order.write]
create   = "shop.order.create"
update   = "shop.order.update"
delete   = "shop.order.delete"
restore  = "shop.order.restore"
version  = "version"
max-rows = 5
[resource.shop.order.fields]
id        = { type = "bigint", key = true }
number    = { type = "text", null = false, write = "create", max-length = 8, pattern = "[A-Z]{2}-[0-9]+" }
status    = { type = "enum", values = ["new", "paid"], null = false, write = true }
total     = { type = "decimal", write = true, min = 0, max = 999.50 }
discount  = { type = "decimal", write = true, write-permission = "shop.order.discount" }
tags      = { type = "text[]", write = "update", min-items = 1, max-items = 3 }
secret    = { type = "text", hidden = true, write = "create" }
enteredAt = { type = "timestamp", preset = { create = "$now" } }
deletedAt = "timestamp"
version   = { type = "int", null = false }

[resource.shop.mark]
[resource.shop.mark.write]
create = "shop.mark.create"
[resource.shop.mark.fields]
id   = { type = "int", key = true, hidden = true }
name = { type = "text", null = false, write = true }
"#;

const SCRIPT: &str = "
CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'new', total TEXT, discount TEXT,
    tags TEXT, secret TEXT, entered_at TEXT, deleted_at TEXT, version INTEGER NOT NULL DEFAULT 1);
CREATE TABLE marks (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
";

/// A server for an account with these permissions, and the resources that it describes.
async fn shown(permissions: &[&str]) -> ((Server, Database), Value) {
    let database = Database::with(Backend::Sqlite, SCRIPT).await;
    let server = Setup::new(MANIFEST).viewer(permissions).serve(&database).await;
    let resources = server.get("/docs/resources.json").await.good()["resources"].clone();
    ((server, database), resources)
}

fn find<'v>(list: &'v Value, name: &str) -> &'v Value {
    list.as_array().expect("a list").iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
}

// contract E8.2, contract E8.13
#[tokio::test]
async fn each_permission_shows_its_operations_and_fields() {
    let (_server, resources) = shown(&["shop.order.get"]).await;
    assert!(resources.as_array().expect("a list").iter().all(|resource| resource.get("write").is_none()), "{resources}");

    let (_server, resources) = shown(&["shop.order.get", "shop.order.update"]).await;
    let write = &find(&resources, "shop.order")["write"];
    assert_eq!(names(&write["operations"]), ["updateById", "update"]);
    assert_eq!(names(&write["fields"]), ["status", "total", "tags"]);
    assert_eq!((&write["key"], &write["version"], &write["maxRows"]), (&json!(["id"]), &json!("version"), &json!(5)));

    let every = ["shop.order.get", "shop.order.create", "shop.order.delete", "shop.order.restore", "shop.order.discount"];
    let (_server, resources) = shown(&every).await;
    let write = &find(&resources, "shop.order")["write"];
    assert_eq!(names(&write["operations"]), ["create", "deleteById", "delete", "restoreById"]);
    assert_eq!(names(&write["fields"]), ["number", "status", "total", "discount", "secret"]);
    assert_eq!(find(&write["operations"], "create")["graphql"], "shopCreateOrder");
    assert_eq!(
        find(&write["operations"], "restoreById"),
        &json!({"name": "restoreById", "address": "/api/shop/orders/restore/{id}", "graphql": "shopRestoreOrderById"})
    );

    // Without a visible key a row cannot be named. Without the right to read there is nothing but the write.
    let (_server, resources) = shown(&["shop.mark.create", "shop.order.create"]).await;
    assert_eq!(find(&resources, "shop.mark")["write"]["key"], json!([]));
    let order = find(&resources, "shop.order");
    assert_eq!([&order["operations"], &order["fields"], &order["relations"], &order["key"]], [&json!([]); 4]);
    assert_eq!(names(&order["write"]["operations"]), ["create"]);
}

// contract E8.13
#[tokio::test]
async fn a_field_has_its_type_its_rules_and_the_operations_that_take_it() {
    let (_server, resources) = shown(&["shop.order.get", "shop.order.create", "shop.order.update"]).await;
    let fields = &find(&resources, "shop.order")["write"]["fields"];
    assert_eq!(
        find(fields, "number"),
        &json!({"name": "number", "type": "text", "array": false, "nullable": false, "operations": ["create"], "required": true,
            "maxLength": 8, "pattern": "^(?:[A-Z]{2}-[0-9]+)$"})
    );
    let status = find(fields, "status");
    assert_eq!((&status["values"], &status["required"]), (&json!(["new", "paid"]), &json!(false)), "the database has a default");
    let total = find(fields, "total");
    assert_eq!((&total["min"], &total["max"], &total["operations"]), (&json!(0), &json!(999.5), &json!(["create", "update"])));
    let tags = find(fields, "tags");
    assert_eq!((&tags["array"], &tags["minItems"], &tags["maxItems"]), (&json!(true), &json!(1), &json!(3)));
}

// contract E8.13
#[tokio::test]
async fn exactly_the_described_fields_are_accepted() {
    let ((server, _database), resources) = shown(&["shop.order.get", "shop.order.create", "shop.order.update"]).await;
    let order = find(&resources, "shop.order");
    server.post("/api/shop/orders/create", json!({"payload": {"number": "AB-1"}}).to_string()).await;
    let values = [("number", json!("AB-2")), ("status", json!("paid")), ("total", json!("1.00")), ("discount", json!("1.00"))];
    let others = [("tags", json!(["a"])), ("secret", json!("s")), ("enteredAt", json!("2024-01-01T00:00:00Z")), ("deletedAt", json!(null))];
    for (name, value) in values.into_iter().chain(others) {
        for (operation, path) in [("create", "create"), ("update", "update/1")] {
            let mut payload = if operation == "create" { json!({"number": "AB-3"}) } else { json!({}) };
            payload[name] = value.clone();
            let answer = server.post(&format!("/api/shop/orders/{path}"), json!({"payload": payload, "dryRun": true}).to_string()).await;
            let described = order["write"]["fields"].as_array().expect("fields").iter().any(|field| {
                field["name"] == name && field["operations"].as_array().expect("a list").iter().any(|entry| entry == operation)
            });
            assert_eq!([200, 201].contains(&answer.status()), described, "{operation} {name}: {}", answer.text());
        }
    }
}
