//! Small random changes to a valid statement. Most of them make it invalid.

use oracle::Random;
use serde_json::{Value, json};

/// Words of the grammar and of the fixture.
const WORDS: &str = "where relations order aggregation limit offset fields groupBy fn field as dir asc desc count sum avg min max and or not eq ne gt \
    lte in notIn between isNull iLike contains overlap like RAW AND id name email secretNote apiKey status tags profile balance \
    isVip createdAt orders customer country labels customers parent lines total country.name orders.total customer.id \
    order.customer.id * query constraint";

pub(crate) fn values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(10_000),
        json!(10_001),
        json!(2_147_483_647),
        json!(2_147_483_648_i64),
        json!(-2_147_483_648_i64),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e30),
        json!(1e299),
        json!(1e300),
        json!(-1e301),
        json!(""),
        json!("a"),
        json!("active"),
        json!("\u{0}"),
        json!("a\u{0}b"),
        json!("50%\\"),
        json!("50\\%"),
        json!("9223372036854775807"),
        json!("9223372036854775808"),
        json!("-9223372036854775808"),
        json!("12.50"),
        json!("-0.10"),
        json!("1."),
        json!("2024-02-29"),
        json!("2023-02-29"),
        json!("2024-02-29T12:00:00+02:00"),
        json!("2024-02-29 12:00:00.123456789"),
        json!("12:30:00"),
        json!("24:00:00"),
        json!("00000000-0000-0000-0000-000000000000"),
        json!("00000000-0000-0000-0000-00000000000"),
        json!([]),
        json!([null]),
        json!([1, 2]),
        json!(["a", "b", "c"]),
        json!([[]]),
        json!({}),
        json!({ "eq": 1 }),
        json!({ "eq": "a" }),
        json!({ "isNull": true }),
        json!({ "isNull": null }),
        json!([{}]),
        json!([{ "field": "id" }]),
        json!([{ "field": "name", "dir": "up" }]),
        json!({ "fields": [{ "fn": "count", "field": "*" }] }),
        json!({ "fields": [{ "fn": "sum", "field": "*" }] }),
        json!({ "fields": [{ "fn": "count", "field": "id", "as": "NOT" }], "groupBy": ["name"] }),
        json!({ "fields": [{ "fn": "max", "field": "name" }], "groupBy": ["name", "name"] }),
    ]
}

/// The JSON Pointers to every part of a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), found)),
        Value::Object(object) => object.iter().for_each(|(key, item)| places(item, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

/// The body with one or two changes.
pub(crate) fn mutated(random: &mut Random, body: &Value) -> Value {
    let words: Vec<&str> = WORDS.split(' ').collect();
    mutated_with(random, body, &words, &values())
}

/// The body with one or two changes to these words and values.
pub(crate) fn mutated_with(random: &mut Random, body: &Value, words: &[&str], values: &[Value]) -> Value {
    let mut body = body.clone();
    for _ in 0..*random.pick(&[1, 1, 1, 2]) {
        let mut found = Vec::new();
        places(&body, "", &mut found);
        let path = random.pick(&found).clone();
        if let Some(place) = body.pointer_mut(&path) {
            change(random, place, words, values);
        }
    }
    body
}

fn change(random: &mut Random, place: &mut Value, words: &[&str], values: &[Value]) {
    let word = (*random.pick(words)).to_owned();
    let value = random.pick(values).clone();
    match place {
        Value::Object(object) if !random.one_in(4) => {
            let keys: Vec<String> = object.keys().cloned().collect();
            match (random.below(4), random.choose(&keys).cloned()) {
                (0, Some(key)) => _ = object.remove(&key),
                (1, Some(key)) => {
                    let moved = object.remove(&key).unwrap_or_default();
                    object.insert(word, moved);
                }
                _ => _ = object.insert(word, value),
            }
        }
        Value::Array(items) if !random.one_in(4) => match random.below(3) {
            0 => _ = items.pop(),
            1 => items.extend(items.first().cloned()),
            _ => items.push(value),
        },
        Value::String(text) if random.one_in(2) => *text = word,
        other => *other = value,
    }
}
