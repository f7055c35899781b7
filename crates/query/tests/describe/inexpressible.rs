//! One test for each thing that no schema can express; the list is also in `INEXPRESSIBLE` and in the guide.

use query::error::Code;
use serde_json::{Value, json};

use crate::{accepts, faults};

/// Valid timestamps that an offset or rounding moves out of the years 1 to 9999.
pub(crate) const INSTANTS: [&str; 4] =
    ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9999999Z"];

/// Asserts that the schema accepts the body and that plan reports this code only.
#[track_caller]
fn only_plan_refuses(resource: &str, query: &Value, code: Code) {
    let body = json!({ "query": query });
    assert!(accepts(resource, &body), "the schema says it after all: {body}");
    let found = faults(resource, &body.to_string());
    assert!(!found.is_empty() && found.iter().all(|found| *found == code), "{found:?} of {body}");
}

/// Nests `inner` below the key.
fn nested(count: usize, key: &str, inside: Value) -> Value {
    (0..count).fold(inside, |inside, _| json!({ key: inside }))
}

// contract E6.2
#[test]
fn no_schema_bounds_the_depth_of_where_and_relations() {
    let leaf = json!({ "name": { "eq": "a" } });
    only_plan_refuses("shop.label", &json!({ "where": nested(11, "not", leaf.clone()) }), Code::Depth);
    only_plan_refuses("shop.label", &json!({ "where": nested(11, "parent", leaf.clone()) }), Code::Depth);
    assert_eq!(faults("shop.label", &json!({ "query": { "where": nested(10, "not", leaf) } }).to_string()), []);
    let loaded = (0..10).fold(json!({ "parent": true }), |inside, _| json!({ "parent": { "relations": inside } }));
    only_plan_refuses("shop.label", &json!({ "relations": loaded }), Code::Depth);
    only_plan_refuses("shop.label", &json!({ "where": nested(300, "not", json!({})) }), Code::JsonDepth);
}

// contract E6.2
#[test]
fn no_schema_counts_the_nodes_of_a_statement() {
    let many = vec![json!({ "name": { "eq": "a" } }); 1_000];
    only_plan_refuses("shop.label", &json!({ "where": { "or": many } }), Code::FilterNodes);
    let mut wide = json!({ "parent": true, "children": true });
    for _ in 0..6 {
        wide = json!({ "parent": { "relations": wide }, "children": { "relations": wide } });
    }
    only_plan_refuses("shop.label", &json!({ "relations": wide }), Code::RelationNodes);
}

// contract E6.2
#[test]
fn no_schema_finds_equal_result_keys() {
    let measures = json!([{ "fn": "count", "field": "*" }, { "fn": "count", "field": "id", "as": "count" }]);
    only_plan_refuses("shop.label", &json!({ "aggregation": { "fields": measures } }), Code::EqualKeys);
    let named = json!({ "fields": [{ "fn": "count", "field": "*", "as": "name" }], "groupBy": ["name"] });
    only_plan_refuses("shop.label", &json!({ "aggregation": named }), Code::EqualKeys);
    let twice = json!({ "query": { "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["name", "name"] } } });
    assert!(!accepts("shop.label", &twice), "a schema can express unique entries of groupBy");
}

// contract E6.2
#[test]
fn no_schema_relates_order_to_group_by() {
    let fields = json!([{ "fn": "count", "field": "*" }]);
    only_plan_refuses("shop.label", &json!({ "aggregation": { "fields": fields }, "order": [{ "field": "name" }] }), Code::OrderGroup);
    let other = json!({ "aggregation": { "fields": fields, "groupBy": ["id"] }, "order": [{ "field": "name" }] });
    only_plan_refuses("shop.label", &other, Code::OrderGroup);
}

// contract E6.2
#[test]
fn no_schema_finds_duplicate_keys() {
    // A JSON parser keeps one of them, so the schema never sees the other.
    let text = r#"{"query":{"limit":1,"limit":2}}"#;
    assert!(accepts("shop.label", &serde_json::from_str(text).expect("JSON")));
    assert_eq!(faults("shop.label", text), [Code::DuplicateKey]);
}

// contract E6.2
#[test]
fn no_schema_finds_an_offset_that_leaves_the_calendar() {
    for text in INSTANTS {
        only_plan_refuses("org.review", &json!({ "where": { "heldAt": { "gt": text } } }), Code::ValueType);
    }
}

// contract E6.2
#[test]
fn no_schema_bounds_the_exponent_of_a_numeric_string() {
    for text in ["1e19", "15e-1", "1.05e1", "0.1e0"] {
        only_plan_refuses("shop.event", &json!({ "where": { "amount": { "eq": text } } }), Code::ValueType);
    }
    for text in ["1e300", "1e-301", "1e99999999999999999999"] {
        only_plan_refuses("shop.customer", &json!({ "where": { "balance": { "eq": text } } }), Code::ValueType);
    }
}

// contract E6.2
#[test]
fn no_schema_sees_digits_that_a_json_parser_lost() {
    let agree = |text: &str| {
        let body: Value = serde_json::from_str(text).expect("JSON");
        (accepts("shop.event", &body), faults("shop.event", text).is_empty())
    };
    // A double of the text is whole, the text is not; and the other way round, beyond 2^53, with a point.
    assert_eq!(agree(r#"{"query":{"where":{"amount":{"eq":1.00000000000000000001}}}}"#), (true, false));
    assert_eq!(agree(r#"{"query":{"where":{"amount":{"eq":9223372036854775807.0}}}}"#), (false, true));
    // More than 300 decimals.
    only_plan_refuses("shop.customer", &json!({ "where": { "balance": { "eq": 1e-305 } } }), Code::ValueType);
}
