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
    for document in documents.chain([json_schema::document(catalog())]) {
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
