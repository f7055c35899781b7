//! Plans of writes: what a viewer may ask of rows that it does not see, and the shapes that the fixtures of other tests do not have.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use query::catalog::Catalog;
use query::manifest::Manifest;
use query::payload::{self, WriteForm};
use query::plan::write::{ServerValues, WriteAddress, WriteError, plan_write};
use query::policy::{Viewer, authorize_write};
use query::sql::{Dialect, write::render};
use serde_json::{Value, json};

const MANIFEST: &str = r#"
[resource.t.note]
permission = "t.note.get"
constraint = { unless = "t.all", where = { owner = { eq = "$account.id" } } }
[resource.t.note.write]
create = true
update = true
delete = true
scope = { unless = "t.late", where = { stock = { gt = 0 } } }
check = { unless = "t.free", where = { stock = { lt = 100 } } }
max-rows = 10
version = "version"
[resource.t.note.fields]
id = { type = "decimal", key = true }
owner = { type = "text", write = true }
stock = { type = "int", write = true }
pin = { type = "int", hidden = true, write = true }
credit = { type = "int", write = true, mask = "redact", unmask = "t.credit" }
rate = { type = "int", write = true, write-permission = "t.rate" }
seal = { type = "text", hidden = true, write = true, write-permission = "t.seal" }
version = "int"

[resource.t.sealed]
[resource.t.sealed.write]
update = true
version = "version"
[resource.t.sealed.fields]
id = { type = "int", key = true }
text = { type = "text", write = true }
version = { type = "int", mask = "redact", unmask = "t.version" }

[resource.t.blind]
[resource.t.blind.write]
update = true
version = "version"
[resource.t.blind.fields]
id = { type = "int", key = true }
text = { type = "text", write = true }
version = { type = "int", hidden = true }

[resource.t.pair]
[resource.t.pair.write]
update = true
version = "version"
[resource.t.pair.fields]
a = { type = "uuid", key = true }
b = { type = "int", key = true }
text = { type = "text", write = true }
version = "int"

[resource.t.ticket]
permission = "t.ticket.get"
[resource.t.ticket.write]
create = true
[resource.t.ticket.fields]
code = { type = "text", key = true, hidden = true, preset = { create = "$uuid" } }
part = { type = "text", key = true, mask = "last4", preset = { create = "$uuid" } }
text = { type = "text", write = true }
"#;

const READER: &[&str] = &["t.note.get"];

fn catalog() -> Catalog {
    Manifest::read(MANIFEST).and_then(|manifest| Catalog::resolve(&manifest)).expect("a manifest")
}

/// The end of a path, and what stands in `If-Match`.
#[derive(Clone, Copy, Default)]
struct Sent<'s> {
    id: Option<&'s [&'s str]>,
    if_match: Option<&'s str>,
}

fn by_id<'s>(id: &'s [&'s str]) -> Sent<'s> {
    Sent { id: Some(id), if_match: None }
}

/// What `explain` shows of a write, or its faults.
fn planned(
    resource: &str,
    permissions: &[&str],
    (form, sent): (WriteForm, Sent<'_>),
    body: &Value,
) -> Result<Value, Vec<(String, String)>> {
    let catalog = catalog();
    let viewer = Viewer::new(permissions.iter().map(|&name| name.to_owned()), json!({ "id": "me" }));
    let access =
        authorize_write(&catalog, catalog.by_name(resource).expect("a resource"), form.operation(), &viewer).expect("an open write");
    let server_values = ServerValues { now: 0, random: &mut || [0; 16] };
    let body = payload::body(form, body.to_string().as_bytes()).expect("an object");
    let address = WriteAddress { id: sent.id, if_match: sent.if_match };
    match plan_write(access, form, &body, address, server_values) {
        Ok(plan) => Ok(query::explain::write(&plan, &render(&plan, Dialect::Postgres), Dialect::Postgres)),
        Err(WriteError::Faults(error)) => {
            Err(error.faults.iter().map(|fault| (fault.code.as_str().to_owned(), fault.path.clone())).collect())
        }
        Err(WriteError::NeedsRead(permission)) => Err(vec![("NeedsRead".to_owned(), permission)]),
        Err(other) => panic!("{other:?}"),
    }
}

fn one_fault(code: &str, path: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), path.to_owned())]
}

const UPDATE: (WriteForm, Sent<'static>) = (WriteForm::UpdateById, Sent { id: Some(&["1"]), if_match: None });

// contract W2.14
#[test]
fn an_increment_needs_a_field_that_the_viewer_sees_plainly() {
    let add = |name: &str| json!({ "increment": { name: 1 } });
    for (name, code) in
        [("pin", "WR110"), ("nope", "WR110"), ("credit", "QS304"), ("rate", "WR112"), ("version", "WR111"), ("owner", "WR118")]
    {
        let faults = planned("t.note", READER, UPDATE, &add(name)).expect_err(name);
        assert_eq!(faults, one_fault(code, &format!("/increment/{name}")));
    }
    for permissions in [&["t.note.get", "t.credit"][..], READER] {
        let name = if permissions.len() > 1 { "credit" } else { "stock" };
        planned("t.note", permissions, UPDATE, &add(name)).expect(name);
    }
    let catalog = catalog();
    let note = catalog.resource(catalog.by_name("t.note").expect("a resource"));
    let described: Vec<&str> = query::describe::increments(note).map(|(_, field)| field.name.as_str()).collect();
    assert_eq!(described, ["stock", "credit", "rate"]);
    // A new value tells nothing of the old one.
    planned("t.note", READER, UPDATE, &json!({ "payload": { "pin": 1, "credit": 2 } })).expect("new values");
}

// contract W2.14
#[test]
fn a_viewer_that_may_not_read_asks_nothing_of_rows() {
    let needs_read = one_fault("NeedsRead", "t.note.get");
    for body in [
        json!({ "increment": { "stock": 1 } }),
        json!({ "payload": { "stock": 1, "version": 3 } }),
        json!({ "payload": { "stock": 1 }, "expect": { "stock": { "gt": 0 } } }),
        json!({ "payload": { "stock": 1 }, "constraint": { "where": { "stock": { "gt": 0 } } } }),
    ] {
        assert_eq!(planned("t.note", &[], UPDATE, &body), Err(needs_read.clone()), "{body}");
    }
    let sent = Sent { id: Some(&["1"]), if_match: Some("\"3\"") };
    let body = json!({ "payload": { "stock": 1 } });
    assert_eq!(planned("t.note", &[], (WriteForm::UpdateById, sent), &body), Err(needs_read.clone()));
    planned("t.note", &[], UPDATE, &body).expect("a write by id");
}

// contract W2.9, contract W2.15
#[test]
fn a_version_is_compared_only_if_the_viewer_sees_it() {
    let with_version = json!({ "payload": { "text": "x", "version": 3 } });
    let plain = json!({ "payload": { "text": "x" } });
    let sent = |if_match| (WriteForm::UpdateById, Sent { id: Some(&["1"]), if_match: Some(if_match) });
    assert_eq!(planned("t.sealed", &[], UPDATE, &with_version), Err(one_fault("QS304", "/payload/version")));
    assert_eq!(planned("t.blind", &[], UPDATE, &with_version), Err(one_fault("WR110", "/payload/version")));
    for resource in ["t.sealed", "t.blind"] {
        assert_eq!(planned(resource, &[], sent("\"3\""), &plain), Err(one_fault("WR121", "")), "{resource}");
    }
    planned("t.sealed", &["t.version"], sent("\"3\""), &with_version).expect("a version");
    // Null would be stale for ever.
    let null = json!({ "payload": { "stock": 1, "version": null } });
    assert_eq!(planned("t.note", READER, UPDATE, &null), Err(one_fault("WR115", "/payload/version")));
}

// contract W2.15
#[test]
fn if_match_is_an_etag_to_the_byte_and_belongs_to_one_row() {
    let body = json!({ "payload": { "stock": 1 } });
    for text in ["\"+9\"", "\"09\"", "9", "W/\"9\"", "*", "\"9\", \"9\"", "\"\"", "\" 9\"", "\"9223372036854775808\""] {
        let sent = (WriteForm::UpdateById, Sent { id: Some(&["1"]), if_match: Some(text) });
        assert_eq!(planned("t.note", READER, sent, &body), Err(one_fault("WR121", "")), "{text}");
    }
    for text in ["\"9\"", "\"-9\"", "\"0\""] {
        planned("t.note", READER, (WriteForm::UpdateById, Sent { id: Some(&["1"]), if_match: Some(text) }), &body).expect(text);
    }
    let sent = Sent { id: None, if_match: Some("\"9\"") };
    let rows = json!({ "where": { "stock": { "gt": 0 } } });
    for (form, body) in [
        (WriteForm::Create, json!({ "payload": { "stock": 1 } })),
        (WriteForm::Update, json!({ "payload": { "stock": 1 }, "query": rows })),
        (WriteForm::Update, json!({ "payload": [{ "id": 1, "stock": 1 }] })),
        (WriteForm::Delete, json!({ "query": rows })),
    ] {
        assert_eq!(planned("t.note", READER, (form, sent), &body), Err(one_fault("WR121", "")), "{body}");
    }
}

// contract W3.4
#[test]
fn a_hidden_field_that_the_viewer_cannot_write_is_unknown() {
    for operation in [WriteForm::Create, WriteForm::UpdateById] {
        let sent = if operation == WriteForm::Create { Sent::default() } else { by_id(&["1"]) };
        let body = json!({ "payload": { "seal": "x" } });
        assert_eq!(planned("t.note", READER, (operation, sent), &body), Err(one_fault("WR110", "/payload/seal")));
        planned("t.note", &["t.note.get", "t.seal"], (operation, sent), &body).expect("a hidden field");
    }
}

// contract W2.6
#[test]
fn a_list_that_names_a_row_twice_is_refused_however_the_key_is_written() {
    for (one, other) in [(json!("1.50"), json!("1.5")), (json!(2), json!("2.00")), (json!("-0.0"), json!(0))] {
        let list = json!({ "payload": [{ "id": one, "stock": 1 }, { "id": "7", "stock": 1 }, { "id": other, "stock": 2 }] });
        let faults = planned("t.note", READER, (WriteForm::Update, Sent::default()), &list);
        assert_eq!(faults, Err(one_fault("WR120", "/payload/2")), "{one} {other}");
    }
    let null = json!({ "payload": [{ "id": null, "stock": 1 }, { "stock": 2 }] });
    let faults = planned("t.note", READER, (WriteForm::Update, Sent::default()), &null).expect_err("no keys");
    assert!(faults.iter().all(|(code, path)| ["WR115", "WR119"].contains(&code.as_str()) && path.ends_with("/id")), "{faults:?}");
}

// contract W2.3, contract W2.9
#[test]
fn a_part_of_the_key_in_the_payload_changes_neither_row_nor_version() {
    let id = ["11111111-1111-4111-8111-111111111111", "1"];
    let sql = |members: Value| {
        let mut payload = json!({ "text": "x", "version": 1 });
        payload.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let explained = planned("t.pair", &[], (WriteForm::UpdateById, by_id(&id)), &json!({ "payload": payload })).expect("an update");
        explained["levels"].clone()
    };
    let plain = sql(json!({}));
    for members in [json!({ "a": id[0] }), json!({ "b": 1 }), json!({ "a": id[0], "b": 1 })] {
        assert_eq!(sql(members.clone()), plain, "{members}");
    }
    let other = json!({ "payload": { "text": "x", "b": 2 } });
    assert_eq!(planned("t.pair", &[], (WriteForm::UpdateById, by_id(&id)), &other), Err(one_fault("WR119", "/payload/b")));
}

// contract W3.12
#[test]
fn an_update_without_a_key_in_its_address_takes_it_from_the_payload() {
    let update = |payload: Value| planned("t.pair", &[], (WriteForm::UpdateById, Sent::default()), &json!({ "payload": payload }));
    let (a, b) = ("11111111-1111-4111-8111-111111111111", 1);
    update(json!({ "a": a, "b": b, "text": "x", "version": 1 })).expect("an update");
    let faults = update(json!({ "b": "x", "text": 7 })).expect_err("faults");
    let expected = [("WR114", "/payload/b"), ("WR114", "/payload/text"), ("WR119", "/payload/a")];
    assert_eq!(faults, expected.map(|(code, path)| (code.to_owned(), path.to_owned())));
}

// contract W2.10
#[test]
fn a_viewer_that_may_not_read_gets_the_parts_of_the_key_that_a_reader_sees() {
    for permissions in [&[][..], &["t.ticket.get"]] {
        let explained = planned("t.ticket", permissions, (WriteForm::Create, Sent::default()), &json!({ "payload": { "text": "x" } }));
        let levels = explained.expect("a create")["levels"].clone();
        let answer = levels.as_array().unwrap().iter().find(|level| level["path"] == "answer").expect("an answer");
        let selected = answer["sql"].as_str().unwrap().split(" FROM ").next().unwrap().to_owned();
        assert!(!selected.contains("\"code\""), "{selected}");
        assert!(selected.contains("right(") || selected.contains("\"part\""), "{selected}");
    }
}

// contract W3.14
#[test]
fn explain_names_the_source_of_every_condition_and_each_lifted_rule() {
    let sources = |permissions: &[&str], body: &Value| {
        let explained = planned("t.note", permissions, UPDATE, body).expect("an update");
        let mut found = Vec::new();
        for level in explained["levels"].as_array().unwrap() {
            for predicate in level["predicates"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                found.push((text(&level["path"]), text(&predicate["source"]), text(&predicate["unless"])));
            }
        }
        found
    };
    let has = |found: &[(String, String, String)], path: &str, source: &str, unless: &str| {
        found.iter().any(|one| (one.0.as_str(), one.1.as_str(), one.2.as_str()) == (path, source, unless))
    };
    let body = json!({ "payload": { "stock": 1 } });
    let bound = sources(READER, &body);
    assert!(has(&bound, "scope", "scope", "") && has(&bound, "answer", "check", ""), "{bound:?}");
    let lifted = sources(&["t.note.get", "t.late", "t.free", "t.all"], &body);
    assert!(has(&lifted, "target", "scope", "t.late") && has(&lifted, "answer", "check", "t.free"), "{lifted:?}");
    assert!(has(&lifted, "target", "policy", "t.all") && !lifted.iter().any(|one| one.0 == "scope"), "{lifted:?}");
    let counted = sources(&["t.note.get", "t.free"], &json!({ "payload": { "stock": 1 }, "returning": false }));
    assert!(has(&counted, "after", "check", "t.free"), "{counted:?}");
}

// contract W2.12
#[test]
fn the_limit_of_a_wire_constraint_counts_where_keys_name_the_rows() {
    let constraint = json!({ "limit": 1 });
    for (form, sent, body) in [
        (WriteForm::UpdateById, by_id(&["1"]), json!({ "payload": { "stock": 1 }, "constraint": constraint })),
        (WriteForm::DeleteById, by_id(&["1"]), json!({ "constraint": constraint })),
        (
            WriteForm::Update,
            Sent::default(),
            json!({ "payload": [{ "id": 1, "stock": 1 }, { "id": 2, "stock": 1 }], "constraint": constraint }),
        ),
        // Chosen rows are locked too.
        (WriteForm::Delete, Sent::default(), json!({ "all": true, "constraint": constraint })),
    ] {
        let explained = planned("t.note", READER, (form, sent), &body).expect("a write");
        let sql = |path: &str| {
            let level = explained["levels"].as_array().unwrap().iter().find(|level| level["path"] == path);
            level.map(|level| level["sql"].as_str().unwrap().to_owned()).unwrap_or_default()
        };
        assert!(sql("target").contains("LIMIT"), "{form:?}: {}", sql("target"));
        assert!(sql("target").contains("FOR ") || sql("lock").contains("FOR "), "{form:?}: {explained}");
    }
}
