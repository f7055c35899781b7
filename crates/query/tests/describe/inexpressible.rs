//! What no schema can say: each thing with its own test, so that the list in `UNSAID` and in the guide stays a list.

use query::error::Code;
use serde_json::{Value, json};

use crate::{accepts, faults};

/// Instants of the right form that an offset, or rounding, moves out of the years 1 to 9999.
pub(crate) const INSTANTS: [&str; 4] =
    ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9999999Z"];

/// The schema accepts it, and plan refuses it with this code alone.
#[track_caller]
fn unsaid(resource: &str, query: &Value, code: Code) {
    let body = json!({ "query": query });
    assert!(accepts(resource, &body), "the schema says it after all: {body}");
    let found = faults(resource, &body.to_string());
    assert!(!found.is_empty() && found.iter().all(|found| *found == code), "{found:?} of {body}");
}

/// The key so many times around what is inside.
fn nested(count: usize, key: &str, inside: Value) -> Value {
    (0..count).fold(inside, |inside, _| json!({ key: inside }))
}

// contract E6.2
#[test]
fn how_deep_a_where_and_relations_are() {
    let leaf = json!({ "name": { "eq": "a" } });
    unsaid("shop.label", &json!({ "where": nested(11, "not", leaf.clone()) }), Code::Depth);
    unsaid("shop.label", &json!({ "where": nested(11, "parent", leaf.clone()) }), Code::Depth);
    assert_eq!(faults("shop.label", &json!({ "query": { "where": nested(10, "not", leaf) } }).to_string()), []);
    let loaded = (0..10).fold(json!({ "parent": true }), |inside, _| json!({ "parent": { "relations": inside } }));
    unsaid("shop.label", &json!({ "relations": loaded }), Code::Depth);
    unsaid("shop.label", &json!({ "where": nested(300, "not", json!({})) }), Code::JsonDepth);
}

// contract E6.2
#[test]
fn how_many_nodes_a_statement_has() {
    let many = vec![json!({ "name": { "eq": "a" } }); 1_000];
    unsaid("shop.label", &json!({ "where": { "or": many } }), Code::FilterNodes);
    let mut wide = json!({ "parent": true, "children": true });
    for _ in 0..6 {
        wide = json!({ "parent": { "relations": wide }, "children": { "relations": wide } });
    }
    unsaid("shop.label", &json!({ "relations": wide }), Code::RelationNodes);
}

// contract E6.2
#[test]
fn that_two_keys_of_a_result_are_equal() {
    let measures = json!([{ "fn": "count", "field": "*" }, { "fn": "count", "field": "id", "as": "count" }]);
    unsaid("shop.label", &json!({ "aggregation": { "fields": measures } }), Code::EqualKeys);
    let named = json!({ "fields": [{ "fn": "count", "field": "*", "as": "name" }], "groupBy": ["name"] });
    unsaid("shop.label", &json!({ "aggregation": named }), Code::EqualKeys);
    let twice = json!({ "query": { "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["name", "name"] } } });
    assert!(!accepts("shop.label", &twice), "an entry of groupBy that stands twice can be said");
}

// contract E6.2
#[test]
fn that_the_order_of_groups_names_a_group() {
    let fields = json!([{ "fn": "count", "field": "*" }]);
    unsaid("shop.label", &json!({ "aggregation": { "fields": fields }, "order": [{ "field": "name" }] }), Code::OrderGroup);
    let other = json!({ "aggregation": { "fields": fields, "groupBy": ["id"] }, "order": [{ "field": "name" }] });
    unsaid("shop.label", &other, Code::OrderGroup);
}

// contract E6.2
#[test]
fn that_a_key_stands_twice_in_an_object() {
    // A reader of JSON keeps one of them, and the schema never sees the other.
    let text = r#"{"query":{"limit":1,"limit":2}}"#;
    assert!(accepts("shop.label", &serde_json::from_str(text).expect("JSON")));
    assert_eq!(faults("shop.label", text), [Code::DuplicateKey]);
}

// contract E6.2
#[test]
fn that_an_offset_leads_out_of_the_calendar() {
    for text in INSTANTS {
        unsaid("org.review", &json!({ "where": { "heldAt": { "gt": text } } }), Code::ValueType);
    }
}

// contract E6.2
#[test]
fn how_far_an_exponent_moves_the_point_of_a_text() {
    for text in ["1e19", "15e-1", "1.05e1", "0.1e0"] {
        unsaid("shop.event", &json!({ "where": { "amount": { "eq": text } } }), Code::ValueType);
    }
    for text in ["1e300", "1e-301", "1e99999999999999999999"] {
        unsaid("shop.customer", &json!({ "where": { "balance": { "eq": text } } }), Code::ValueType);
    }
}

// contract E6.2
#[test]
fn digits_that_a_reader_of_json_has_lost() {
    let agree = |text: &str| {
        let body: Value = serde_json::from_str(text).expect("JSON");
        (accepts("shop.event", &body), faults("shop.event", text).is_empty())
    };
    // A double of the text is whole, the text is not; and the other way round, beyond 2^53, with a point.
    assert_eq!(agree(r#"{"query":{"where":{"amount":{"eq":1.00000000000000000001}}}}"#), (true, false));
    assert_eq!(agree(r#"{"query":{"where":{"amount":{"eq":9223372036854775807.0}}}}"#), (false, true));
    // More than 300 decimals.
    unsaid("shop.customer", &json!({ "where": { "balance": { "eq": 1e-305 } } }), Code::ValueType);
}
