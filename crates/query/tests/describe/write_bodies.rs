//! Random bodies of writes over a manifest with every type and every value rule. Most of them are valid.

use oracle::Random;
use query::catalog::write_rules::WriteOperation;
use query::catalog::{Field, Resource};
use query::payload::WriteForm;
use query::types::{Scalar, Type};
use serde_json::{Map, Value, json};

pub(crate) const MANIFEST: &str = r#"
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
orderCount = { count = "orders" }
[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }

[resource.shop.order]
permission = "shop.order.get"
soft-delete = "deletedAt"
[resource.shop.order.write]
create = "shop.order.create"
update = "shop.order.update"
delete = "shop.order.delete"
restore = "shop.order.delete"
version = "version"
max-rows = 50
[resource.shop.order.fields]
id = { type = "bigint", key = true }
number = { type = "text", null = false, write = "create", min-length = 4, max-length = 8, pattern = "[A-Z]{2}-\\d+" }
customerId = { type = "bigint", null = false, write = true }
status = { type = "enum", values = ["new", "paid"], null = false, write = true }
channel = { type = "enum", values = ["web", "shop"], write = true }
step = { type = "enum", values = ["a", "b"], hidden = true, write = true }
total = { type = "decimal", null = false, write = true, min = "0.10", max = 1000 }
price = { type = "decimal", write = true, write-permission = "shop.order.price" }
stock = { type = "int", write = true, min = -5, max = 100 }
big = { type = "bigint", write = true, min = 0 }
code = { type = "bigint", write = "update" }
ratio = { type = "float", write = true, max = 1.5 }
note = { type = "text", write = true, max-length = 3 }
name = { type = "text", write = "update", pattern = "(?i)ab*|c." }
token = { type = "text", null = false, hidden = true, write = true }
day = { type = "date", write = true, min = "2020-01-01" }
clock = { type = "time", write = true, max = "12:00:00" }
at = { type = "timestamp", write = true, min = "2020-01-01T00:00:00Z", max = "2029-12-31T00:00:00Z" }
ref = { type = "uuid", write = true }
active = { type = "bool", null = false, write = true }
tags = { type = "text[]", write = true, min-items = 1, max-items = 3 }
marks = { type = "int[]", null = false, write = "update" }
states = { type = "enum[]", values = ["x", "y"], write = true }
documents = { type = "json[]", write = true, max-items = 2 }
meta = { type = "json", write = true }
settings = { type = "json", null = false, write = "update" }
ownerId = { type = "uuid", preset = { create = "$account.id" } }
source = { type = "text", null = false, preset = { create = "api" } }
seenAt = { type = "timestamp", preset = { create = "$now", update = "$now" } }
frozen = { type = "text", null = false }
secret = { type = "text", hidden = true }
deletedAt = "timestamp"
version = { type = "int", null = false }
lineCount = { count = "lines" }
[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }
lines = { many = "shop.line", on = { id = "orderId" } }

[resource.shop.line]
[resource.shop.line.write]
create = true
update = true
delete = true
[resource.shop.line.fields]
orderId = { type = "bigint", key = true, write = "create" }
sku = { type = "text", key = true, write = "create", pattern = "[a-z]+" }
quantity = { type = "int", null = false, write = true, min = 1 }

[resource.shop.ticket]
[resource.shop.ticket.write]
create = true
update = true
delete = true
[resource.shop.ticket.fields]
id = { type = "uuid", key = true, hidden = true, write = "create" }
text = { type = "text", write = true }
"#;

/// The id in the path of a write.
pub(crate) fn id(resource: &Resource) -> Vec<&'static str> {
    match resource.key.len() {
        2 => vec!["7", "ab"],
        _ if resource.name == "ticket" => vec!["00000000-0000-0000-0000-000000000000"],
        _ => vec!["7"],
    }
}

/// A body for this write.
pub(crate) fn body(random: &mut Random, resource: &Resource, form: WriteForm) -> Value {
    let mut body = Map::new();
    match form {
        WriteForm::Create => {
            let row = |random: &mut Random| row(random, resource, WriteOperation::Create, |field| field.is_required());
            let payload =
                if random.one_in(3) { Value::Array((0..1 + random.below(3)).map(|_| row(random)).collect()) } else { row(random) };
            body.insert("payload".into(), payload);
        }
        WriteForm::UpdateById => changes(random, resource, &mut body, true),
        WriteForm::Update if random.one_in(3) => {
            let items = (0..1 + random.below(3)).map(|index| item(random, resource, index)).collect();
            body.insert("payload".into(), Value::Array(items));
        }
        WriteForm::Update => {
            changes(random, resource, &mut body, false);
            target(random, resource, &mut body);
        }
        WriteForm::Delete => target(random, resource, &mut body),
        WriteForm::DeleteById | WriteForm::RestoreById => {}
    }
    let is_by_query = matches!(form, WriteForm::Update | WriteForm::Delete);
    for key in form.keys() {
        let value = match *key {
            "expect" => condition(random, resource),
            "constraint" => json!({ "where": condition(random, resource), "limit": 3 }),
            "returning" => random.pick(&[json!(true), json!(false), Value::Null, json!({}), json!({ "relations": null })]).clone(),
            "dryRun" => random.pick(&[json!(true), json!(false), Value::Null]).clone(),
            "all" if is_by_query && !body.contains_key("all") => random.pick(&[json!(false), Value::Null]).clone(),
            _ => continue,
        };
        if random.one_in(4) {
            body.insert((*key).to_owned(), value);
        }
    }
    Value::Object(body)
}

/// `payload`, `increment` or both.
fn changes(random: &mut Random, resource: &Resource, body: &mut Map<String, Value>, by_id: bool) {
    let mut payload = row(random, resource, WriteOperation::Update, |_| false);
    if by_id && random.one_in(4) {
        payload["id"] = json!("7");
    }
    if random.one_in(4) {
        payload["version"] = json!(3);
    }
    let increments = [("stock", json!(-1)), ("total", json!("2.50")), ("big", json!("7")), ("ratio", json!(0.5)), ("quantity", json!(1))];
    let increment: Map<String, Value> =
        increments.into_iter().filter(|_| random.one_in(3)).map(|(key, value)| (key.to_owned(), value)).collect();
    // The names of another resource are refused, and the same field twice.
    let is_known = |key: &String| resource.field(key).is_some() && payload.get(key).is_none();
    let increment: Map<String, Value> = increment.into_iter().filter(|(key, _)| is_known(key)).collect();
    if random.one_in(3) {
        body.insert("increment".into(), Value::Object(increment));
    }
    if !random.one_in(6) {
        body.insert("payload".into(), payload);
    }
}

fn item(random: &mut Random, resource: &Resource, index: usize) -> Value {
    let mut item = row(random, resource, WriteOperation::Update, |_| false);
    for field in resource.key_fields().filter(|field| !field.hidden) {
        item[&field.name] = if field.name == "sku" { json!("ab") } else { json!(index) };
    }
    if random.one_in(3) {
        item["version"] = json!(1);
    }
    item
}

fn target(random: &mut Random, resource: &Resource, body: &mut Map<String, Value>) {
    if random.one_in(4) {
        body.insert("all".into(), json!(true));
        if random.one_in(2) {
            body.insert("query".into(), random.pick(&[json!({}), json!({ "limit": 2 }), json!({ "where": {} }), Value::Null]).clone());
        }
        return;
    }
    let mut query = json!({ "where": condition(random, resource) });
    if random.one_in(2) {
        query["order"] =
            random.pick(&[json!([]), json!([{ "field": "id", "dir": "desc" }]), json!([{ "field": "customer.name" }])]).clone();
        query["limit"] = json!(1 + random.below(5));
    }
    body.insert("query".into(), query);
}

fn condition(random: &mut Random, resource: &Resource) -> Value {
    let conditions = if resource.name == "order" {
        [
            json!({ "status": { "eq": "new" } }),
            json!({ "or": [{ "total": { "gt": "1.5" } }, { "not": { "note": { "isNull": true } } }] }),
            json!({ "customer": { "orderCount": { "gt": 3 } } }),
            json!({ "lines": {} }),
        ]
    } else if resource.name == "line" {
        [json!({ "quantity": { "gt": 1 } }), json!({ "sku": { "iLike": "a%" } }), json!({ "orderId": { "eq": "7" } }), json!({ "not": {} })]
    } else {
        [json!({ "text": { "eq": "a" } }), json!({ "text": { "isNull": true } }), json!({ "and": [{}] }), json!({ "not": {} })]
    };
    random.pick(&conditions).clone()
}

/// A row with the required fields and some others.
fn row(random: &mut Random, resource: &Resource, operation: WriteOperation, is_required: fn(&Field) -> bool) -> Value {
    let mut row = Map::new();
    for field in resource.fields.iter().filter(|field| field.is_writable(operation)) {
        if is_required(field) || random.one_in(6) {
            row.insert(field.name.clone(), value(random, field));
        }
    }
    Value::Object(row)
}

/// A value that fits the field, at the edge of its rules.
fn value(random: &mut Random, field: &Field) -> Value {
    if field.nullable && random.one_in(8) {
        return Value::Null;
    }
    let fitting: &[Value] = &match (field.name.as_str(), &field.kind) {
        ("number", _) => vec![json!("AA-1"), json!("ZZ-12345"), json!("AB-٣٤")],
        ("name", _) => vec![json!("ab"), json!("ABBBB"), json!("cü"), json!("C🎈")],
        ("sku", _) => vec![json!("a"), json!("xyz")],
        ("note", _) => vec![json!(""), json!("🎈🎈🎈"), json!("a\nb")],
        ("total", _) => vec![json!("0.10"), json!(0.1), json!(1000), json!("1000.00"), json!(12.5)],
        ("stock", _) => vec![json!(-5), json!(100), json!(3.0)],
        ("quantity", _) => vec![json!(1), json!(2_147_483_647)],
        ("big", _) => vec![json!(0), json!("9223372036854775807"), json!("5")],
        ("ratio", _) => vec![json!(1.5), json!(-1e300), json!(0)],
        ("day", _) => vec![json!("2020-01-01"), json!("2024-02-29")],
        ("clock", _) => vec![json!("12:00:00"), json!("00:00:00.5")],
        ("at", _) => vec![json!("2020-01-01"), json!("2024-02-29T12:00:00+02:00")],
        ("tags", _) => vec![json!(["a"]), json!(["a", null, ""])],
        ("documents", _) => vec![json!([]), json!([{ "a": [1] }, null]), json!(["x", true])],
        (_, Type::Array(Scalar::Int)) => vec![json!([]), json!([1, null, -7])],
        (_, Type::Array(_)) => vec![json!([]), json!(["x", "y", null])],
        (_, Type::One(Scalar::Enum(values))) => values.iter().map(|value| json!(&**value)).collect(),
        (_, Type::One(Scalar::Bool)) => vec![json!(true), json!(false)],
        (_, Type::One(Scalar::Uuid)) => vec![json!("00000000-0000-0000-0000-000000000000")],
        (_, Type::One(Scalar::Json)) => vec![json!({ "a": { "b": [null, 1.5] } }), json!([]), json!("x"), json!(false), json!(0)],
        (_, Type::One(Scalar::BigInt | Scalar::Decimal)) => vec![json!(7), json!("7"), json!("-3.0")],
        _ => vec![json!("a"), json!("ü")],
    };
    random.pick(fitting).clone()
}
