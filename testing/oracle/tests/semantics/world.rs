//! A small data set and helpers to query it.

use oracle::{Answer, Operation, Question, Schema, Viewer, World, answer_in};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const MANIFEST: &str = r#"
[resource.t.thing]
soft-delete = "gone"
[resource.t.thing.fields]
id = { type = "int", key = true }
size = "int"
name = "text"
tags = "text[]"
data = "json"
big = "bigint"
price = "decimal"
gone = "timestamp"
groupId = "int"
[resource.t.thing.relations]
group = { one = "t.group", on = { groupId = "id" } }
marks = { many = "t.mark", through = "things_marks", on = { id = "thing_id" }, to = { mark_id = "id" } }

[resource.t.group]
constraint = { where = { owner = { in = "$account.dTenants" } } }
[resource.t.group.fields]
id = { type = "int", key = true }
owner = "text"
rank = "int"
secret = { type = "text", mask = "redact" }
key = { type = "text", hidden = true }
mail = { type = "text", mask = "email", unmask = "t.pii" }
amount = { type = "int", mask = "redact" }
[resource.t.group.relations]
things = { many = "t.thing", on = { id = "groupId" } }

[resource.t.mark.fields]
id = { type = "int", key = true }
points = "int"
[resource.t.mark.relations]
things = { many = "t.thing", through = "things_marks", on = { id = "mark_id" }, to = { thing_id = "id" } }

[resource.t.safe]
permission = "t.safe.get"
constraint = { where = { or = [{ id = { gt = 0 } }, { id = { eq = "$account.meta.number" } }] } }
[resource.t.safe.fields]
id = { type = "int", key = true }
"#;

fn world() -> World {
    let data = BTreeMap::from([
        (
            "t.thing".to_owned(),
            vec![
                json!({ "id": 1, "size": 5, "name": "a", "tags": ["x", null], "data": [[1], 2], "big": i64::MAX, "price": "1.50", "groupId": 1 }),
                json!({ "id": 2, "name": "B", "data": null, "big": i64::MAX, "price": "0.01", "groupId": 2 }),
                json!({ "id": 3, "size": 7, "tags": [], "data": { "a": 1 }, "groupId": 1 }),
                json!({ "id": 4, "size": 5, "name": "É%", "tags": ["x", "y"], "data": 1, "big": 1, "price": "2.00", "groupId": 9 }),
                json!({ "id": 5, "size": 1, "name": "gone", "gone": "2024-01-01T00:00:00.000000Z", "groupId": 1 }),
                json!({ "id": 6, "size": 0, "data": [1.0, null, "1", true] }),
            ],
        ),
        (
            "t.group".to_owned(),
            vec![
                json!({ "id": 1, "owner": "ana", "rank": 2, "mail": "ana@x.org", "amount": 5, "key": "k" }),
                json!({ "id": 2, "owner": "bob", "rank": 1, "secret": "s" }),
                json!({ "id": 9, "owner": "eve", "rank": 0 }),
            ],
        ),
        ("t.mark".to_owned(), vec![json!({ "id": 1, "points": 10 }), json!({ "id": 2, "points": 20 }), json!({ "id": 3 })]),
        ("t.safe".to_owned(), vec![json!({ "id": 1 })]),
    ]);
    let pairs = [(1, 1), (1, 2), (1, 1), (3, 2), (5, 3)];
    let pairs = pairs.iter().map(|(thing, mark)| json!({ "thing_id": thing, "mark_id": mark })).collect();
    World::new(Schema::parse(MANIFEST), &data, BTreeMap::from([("things_marks".to_owned(), pairs)]))
}

pub(crate) fn ana() -> Viewer {
    let account = json!({ "id": "1", "dTenants": ["ana", "bob"], "meta": { "number": 1 } });
    Viewer { name: "ana", permissions: vec!["t.safe.get".to_owned()], account }
}

pub(crate) fn ask(viewer: &Viewer, resource: &str, operation: &Operation, query: &Value, constraint: Option<&Value>) -> Answer {
    answer_in(&world(), Question { viewer, resource, operation, query: Some(query), constraint })
}

pub(crate) fn rows(resource: &str, query: &Value) -> Vec<Value> {
    match ask(&ana(), resource, &Operation::List, query, None) {
        Answer::Rows(rows) => rows,
        other => panic!("{other:?}"),
    }
}

/// The ids of the things that meet a clause.
pub(crate) fn ids(clause: &Value) -> Vec<i64> {
    let rows = rows("t.thing", &json!({ "where": clause, "order": [{ "field": "id" }] }));
    rows.iter().map(|row| row["id"].as_i64().expect("an id")).collect()
}
