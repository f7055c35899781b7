//! The documents: snapshots of a small manifest, what they must not contain, and unique names.

use std::collections::HashSet;

use insta::{assert_snapshot, with_settings};
use query::catalog::Catalog;
use query::describe::{json_schema, typescript};
use query::json::build::{compact, pretty};
use query::manifest::Manifest;
use serde_json::Value;

use crate::catalog;

const SMALL: &str = r#"
[resource.shop.customer]
permission = "shop.customer.get"

[resource.shop.customer.fields]
id = { type = "bigint", key = true }
email = { type = "text", mask = "email", unmask = "shop.customer.pii" }
note = { type = "text", mask = "redact" }
apiKey = { type = "text", hidden = true }
status = { type = "enum", values = ["lead", "active"], null = false }
tags = "text[]"

[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }

[resource.shop.order.fields]
number = { type = "int", key = true }
customerId = { type = "bigint", key = true }
total = { type = "decimal", null = false }

[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }
"#;

/// A resource with every write.
const WRITABLE: &str = r#"
[resource.shop.order]
permission = "shop.order.get"
soft-delete = "deletedAt"
[resource.shop.order.write]
create = "shop.order.create"
update = "shop.order.update"
delete = "shop.order.delete"
restore = "shop.order.delete"
version = "version"
[resource.shop.order.fields]
id = { type = "bigint", key = true }
number = { type = "text", null = false, write = "create", max-length = 8, pattern = "[A-Z]{2}-[0-9]+" }
status = { type = "enum", values = ["new", "paid"], write = true }
total = { type = "decimal", null = false, write = true, min = 0, write-permission = "shop.order.price" }
tags = { type = "text[]", write = true, max-items = 3 }
day = { type = "date", write = true, min = "2020-01-01" }
meta = { type = "json", null = false, write = "update" }
token = { type = "text", hidden = true, write = true }
ownerId = { type = "uuid", preset = { create = "$account.id" } }
deletedAt = "timestamp"
version = { type = "int", null = false }
"#;

fn resolved(text: &str) -> Catalog {
    Catalog::resolve(&Manifest::read(text).expect("a manifest")).expect("a catalog")
}

// contract E6.1, contract E6.3
#[test]
fn the_json_schema_of_a_small_manifest() {
    let text = pretty(&json_schema::of_resource(&resolved(SMALL), 1));
    with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
        assert_snapshot!("describe-json-schema", text);
    });
}

// contract E6.4
#[test]
fn the_typescript_of_a_small_manifest() {
    let text = typescript::module(&resolved(SMALL));
    with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
        assert_snapshot!("describe-typescript", text);
    });
}

// contract E6.8
#[test]
fn the_writes_of_a_small_manifest() {
    let catalog = resolved(WRITABLE);
    let definitions = json_schema::definitions(&catalog, "#/$defs/").entries;
    let row = definitions.iter().position(|(name, _)| name == "ShopOrder").expect("a row");
    let is_input = |name: &str| name.ends_with("Input") || name.ends_with("UpdateByQueryRequest") || name == "ShopOrderTarget";
    let written = definitions.into_iter().skip(row + 1).filter(|(name, _)| is_input(name));
    let module = typescript::module(&catalog);
    let (_, types) = module.split_once("export type ShopOrderPage").expect("a page");
    let text = pretty(&query::json::Json::Object(written.collect())) + "\n\n" + types.split_once('\n').expect("a line").1;
    with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../snapshots", omit_expression => true }, {
        assert_snapshot!("describe-writes", text);
    });
}

// contract E6.8
#[test]
fn a_description_of_writes_has_what_a_payload_may_have() {
    let catalog = resolved(WRITABLE);
    let document: Value = serde_json::from_str(&compact(&json_schema::document(&catalog))).expect("JSON");
    let properties = |name: &str| document["$defs"][name]["properties"].as_object().expect("properties").clone();
    let created = properties("ShopOrderCreateInput");
    assert!(created.contains_key("token"), "a hidden field may be written");
    for absent in ["id", "meta", "ownerId", "deletedAt", "version"] {
        assert!(!created.contains_key(absent), "{absent}");
    }
    assert_eq!(document["$defs"]["ShopOrderCreateInput"]["required"], serde_json::json!(["number", "total"]));
    let mut with_default = resolved(WRITABLE);
    let (total, _) = with_default.resource(0).field("total").expect("a field");
    with_default.set_default(0, total);
    let document: Value = serde_json::from_str(&compact(&json_schema::document(&with_default))).expect("JSON");
    assert_eq!(document["$defs"]["ShopOrderCreateInput"]["required"], serde_json::json!(["number"]));
    assert!(!properties("ShopOrderUpdateInput").contains_key("number"), "a field that is written once");
    assert!(!properties("ShopOrder").contains_key("token") && !properties("ShopOrderWhere").contains_key("token"));
    let one: Value = serde_json::from_str(&compact(&json_schema::of_resource(&catalog, 0))).expect("JSON");
    assert!(one["$defs"]["ShopOrderRestoreByIdRequest"].is_object() && one["$defs"]["WriteCount"].is_object());
    let of_reads = json_schema::definitions(&resolved(SMALL), "#/$defs/").entries;
    assert!(!of_reads.iter().any(|(name, _)| name == "WriteCount" || name.ends_with("Input")));
}

/// The names of writes give way to all others, so that new writes change no name.
#[test]
fn writes_take_no_name_of_another_resource() {
    let text = format!("{WRITABLE}\n[resource.shop.orderRows.fields]\nid = \"int\"\n");
    let catalog = resolved(&text);
    let definitions = json_schema::definitions(&catalog, "#/$defs/");
    assert_eq!(definitions.resources[1].row, "ShopOrderRows");
    let rows = definitions.resources[0].writes.as_ref().map(|writes| writes.rows.as_str());
    assert_eq!(rows, Some("ShopOrder_Rows"));
    let names: HashSet<&String> = definitions.entries.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), definitions.entries.len());
}

// contract E6.5
#[test]
fn no_description_names_a_hidden_field_a_column_or_a_constraint() {
    for text in [compact(&json_schema::document(catalog())), typescript::module(catalog())] {
        for word in
            ["apiKey", "api_key", "internalCode", "tracking", "leftAt", "customers_labels", "event_feed", "$account", "the \\\"note"]
        {
            assert!(!text.contains(word), "{word}");
        }
        assert!(text.contains("secretNote") && text.contains("shop.customer.pii"));
    }
}

// contract E6.5
#[test]
fn no_description_names_the_hidden_source_of_a_derived_field() {
    let text = r#"
[resource.shop.customer.fields]
id = { type = "int", key = true }
secretBlob = { type = "json", hidden = true }
secretAt = { type = "timestamp", hidden = true }
profile = "json"
day = "date"
tier = { json = "secretBlob", path = ["secretPath", "x"], type = "text" }
plan = { json = "profile", path = ["plan", "tier"], type = "text" }
month = { bucket = "month", of = "secretAt", zone = "Europe/Berlin" }
week = { bucket = "week", of = "day" }
top = { max = "orders.secretCost" }
both = { sum = "orders.secretItems", where = { total = { gt = 0 } } }
spent = { sum = "orders.total" }
hasOrders = { exists = "orders", where = { total = { gt = 0 } } }
[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }
[resource.shop.order.fields]
id = { type = "int", key = true }
customerId = "int"
total = "decimal"
secretCost = { type = "decimal", hidden = true }
secretItems = { count = "items", hidden = true }
[resource.shop.order.relations]
items = { many = "shop.order", on = { id = "customerId" } }
"#;
    let catalog = resolved(text);
    let schema = compact(&json_schema::document(&catalog));
    let module = typescript::module(&catalog);
    assert!(!schema.contains("secret") && !module.contains("secret"));
    for about in [
        "text, a value inside json",
        "text, `plan.tier` inside `profile`",
        "timestamp, start of the month of a timestamp in Europe/Berlin",
        "date, start of the week of `day`",
        "decimal, max over `orders`",
        "decimal, sum over `orders` that meet a condition",
        "decimal, sum of `orders.total`",
        "bool, whether `orders` has a row that meets a condition",
    ] {
        assert!(schema.contains(&format!("\"{about}\"")), "{about}");
        assert!(module.contains(&format!("/** {about} */")), "{about}");
    }
}

// contract E6.5
#[test]
fn equal_catalogs_give_equal_bytes() {
    assert_eq!(compact(&json_schema::document(&resolved(SMALL))), compact(&json_schema::document(&resolved(SMALL))));
    assert_eq!(typescript::module(&resolved(SMALL)), typescript::module(&resolved(SMALL)));
}

fn references(value: &Value, found: &mut HashSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|item| references(item, found));
        }
        _ => {}
    }
}

#[test]
fn every_document_is_a_schema_whose_references_lead_somewhere() {
    let documents = (0..catalog().resources().len()).map(|id| json_schema::of_resource(catalog(), id));
    let of_writes = json_schema::document(crate::writes::catalog());
    for document in documents.chain([json_schema::document(catalog()), of_writes]) {
        let schema: Value = serde_json::from_str(&compact(&document)).expect("JSON");
        assert!(jsonschema::meta::is_valid(&schema), "{}", schema["$id"]);
        let mut found = HashSet::new();
        references(&schema, &mut found);
        assert!(found.iter().all(|target| schema.pointer(&target[1..]).is_some()), "{}", schema["$id"]);
        let pretty: Value = serde_json::from_str(&pretty(&document)).expect("JSON");
        assert_eq!(pretty, schema);
    }
}

/// The name of one resource's row can equal the name of another resource's `where`.
#[test]
fn names_that_would_collide_become_unique() {
    let text = r#"
[resource.shop.customer.fields]
id = { type = "int", key = true }
where = { type = "enum", values = ["here", "*/ there"] }
[resource.shop.customerWhere]
permission = "*/ evil"
[resource.shop.customerWhere.fields]
id = "int"
[resource.shopC.ustomer.fields]
id = "int"
[resource.text.operators.fields]
profile = "json"
[resource.json.scalar.fields]
id = "int"
"#;
    let catalog = resolved(text);
    let definitions = json_schema::definitions(&catalog, "#/$defs/");
    let names: HashSet<&String> = definitions.entries.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), definitions.entries.len());
    let module = typescript::module(&catalog);
    let mut declared = HashSet::new();
    for line in module.lines() {
        let rest = line.strip_prefix("export type ").or_else(|| line.strip_prefix("export interface "));
        if let Some(name) = rest.and_then(|rest| rest.split([' ', '<']).next()) {
            assert!(declared.insert(name), "{name} is declared twice");
        }
    }
    assert!(!module.contains("*/ evil") && module.contains("\"*/ there\""));
    jsonschema::draft202012::new(&serde_json::from_str(&compact(&json_schema::document(&catalog))).expect("JSON")).expect("a schema");
}

/// Twice the relations make about twice the document: definitions are referenced, not copied.
#[test]
fn a_document_grows_as_its_manifest_does() {
    let size = |count: usize| {
        let resource = |index: usize| {
            let next = (index + 1) % count;
            let fields = format!("[resource.a.r{index}.fields]\nid = {{ type = \"int\", key = true }}\n");
            fields + &format!("[resource.a.r{index}.relations]\nnext = {{ one = \"a.r{next}\", on = {{ id = \"id\" }} }}\n")
        };
        let text: String = (0..count).map(resource).collect();
        compact(&json_schema::document(&resolved(&text))).len()
    };
    let (small, large) = (size(20) - size(10), size(200) - size(100));
    assert!(large < small * 11, "{small} became {large}");
}
