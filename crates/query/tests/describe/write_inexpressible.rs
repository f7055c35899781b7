//! One test for each fault of a write that no schema can express, and for what it can.

use query::error::Code;
use query::payload::WriteForm;
use serde_json::{Value, json};

use crate::writes::write;

#[track_caller]
fn only_plan_refuses(form: WriteForm, body: &Value, code: Code) {
    let write = write("shop.order", form);
    assert!(write.accepts(body), "the schema says it after all: {body}");
    let found: Vec<Code> = write.faults(&body.to_string()).iter().map(|fault| fault.code).collect();
    assert!(!found.is_empty() && found.iter().all(|found| *found == code), "{found:?} of {body}");
}

#[track_caller]
fn both_refuse(form: WriteForm, body: &Value, code: Code) {
    let write = write("shop.order", form);
    assert!(!write.accepts(body), "{body}");
    let found = write.faults(&body.to_string());
    assert!(found.iter().any(|fault| fault.code == code), "{found:?} of {body}");
}

// contract E6.9
#[test]
fn no_schema_compares_strings_with_min_and_max() {
    for (name, value) in [("total", "0.09"), ("total", "1000.01"), ("big", "-1"), ("day", "2019-12-31"), ("clock", "12:00:01")] {
        only_plan_refuses(WriteForm::UpdateById, &json!({ "payload": { name: value } }), Code::ValueRule);
    }
    both_refuse(WriteForm::UpdateById, &json!({ "payload": { "total": 0.09 } }), Code::ValueRule);
    both_refuse(WriteForm::UpdateById, &json!({ "payload": { "big": -1 } }), Code::ValueRule);
}

// contract E6.9
#[test]
fn no_schema_knows_the_key_in_the_path() {
    only_plan_refuses(WriteForm::UpdateById, &json!({ "payload": { "id": 8, "stock": 1 } }), Code::WriteIdentifier);
    assert!(write("shop.order", WriteForm::UpdateById).faults(r#"{"payload": {"id": 7, "stock": 1}}"#).is_empty());
}

// contract E6.9
#[test]
fn no_schema_finds_a_row_that_a_list_names_twice() {
    let twice = json!({ "payload": [{ "id": 1, "stock": 1 }, { "id": "1", "stock": 2 }] });
    only_plan_refuses(WriteForm::Update, &twice, Code::RepeatedRow);
}

// contract E6.9
#[test]
fn no_schema_bounds_the_depth_of_a_json_value() {
    let deep = (0..300).fold(json!(1), |inside, _| json!([inside]));
    only_plan_refuses(WriteForm::UpdateById, &json!({ "payload": { "meta": deep } }), Code::JsonDepth);
}

// contract E6.9
#[test]
fn no_schema_sees_that_a_condition_holds_for_every_row() {
    for condition in [
        json!({ "and": [{}] }),
        json!({ "or": [{ "id": { "eq": 1 } }, {}] }),
        json!({ "id": { "notIn": [] } }),
        json!({ "not": { "id": { "in": [] } } }),
        json!({ "not": { "and": [{ "id": { "eq": 1 } }, { "id": { "in": [] } }] } }),
    ] {
        only_plan_refuses(WriteForm::Delete, &json!({ "query": { "where": condition } }), Code::EmptyWhere);
    }
    let narrow = r#"{"query": {"where": {"and": [{}, {"id": {"in": []}}]}}}"#;
    assert!(write("shop.order", WriteForm::Delete).faults(narrow).is_empty());
}

// contract E6.8
#[test]
fn a_schema_says_which_parts_of_a_body_come_together() {
    let set = json!({ "stock": 1 });
    both_refuse(WriteForm::UpdateById, &json!({ "payload": { "id": 7, "version": 1 } }), Code::WriteEmpty);
    both_refuse(WriteForm::UpdateById, &json!({ "payload": null, "increment": {} }), Code::WriteMissingKey);
    both_refuse(WriteForm::UpdateById, &json!({ "payload": set, "increment": set }), Code::Increment);
    both_refuse(WriteForm::UpdateById, &json!({ "payload": [set] }), Code::WriteShape);
    both_refuse(WriteForm::UpdateById, &json!({ "payload": { "stock": 1, "version": null } }), Code::NullValue);
    both_refuse(WriteForm::Update, &json!({ "payload": [{ "id": null, "stock": 1 }] }), Code::NullValue);
    both_refuse(WriteForm::Update, &json!({ "payload": set }), Code::EmptyWhere);
    both_refuse(WriteForm::Update, &json!({ "payload": set, "query": { "where": {} } }), Code::EmptyWhere);
    both_refuse(WriteForm::Update, &json!({ "payload": set, "all": true, "query": { "where": { "id": { "eq": 1 } } } }), Code::WriteKey);
    both_refuse(WriteForm::Update, &json!({ "payload": [{ "id": 1, "stock": 1 }], "all": true }), Code::WriteKey);
    both_refuse(WriteForm::Update, &json!({ "payload": [{ "stock": 1 }] }), Code::WriteIdentifier);
    both_refuse(WriteForm::Update, &json!({ "payload": { "id": 1, "stock": 1 }, "all": true }), Code::WriteIdentifier);
    both_refuse(WriteForm::Delete, &json!({ "all": true, "query": { "offset": 1 } }), Code::OperationKey);
    both_refuse(WriteForm::Delete, &json!({ "query": { "where": { "lineCount": { "gt": 1 } } } }), Code::WriteDerived);
    both_refuse(WriteForm::Create, &json!({}), Code::WriteMissingKey);
    both_refuse(WriteForm::Create, &json!({ "payload": [] }), Code::WriteEmpty);
    both_refuse(WriteForm::Create, &json!({ "payload": {} }), Code::RequiredValue);
}
