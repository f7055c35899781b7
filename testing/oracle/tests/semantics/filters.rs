//! Where clauses: NULL, lists, arrays, json and relations.

use crate::world::{ids, rows};
use serde_json::json;

#[test]
fn null_follows_sql() {
    assert_eq!(ids(&json!({ "size": { "eq": null } })), [0; 0]);
    assert_eq!(ids(&json!({ "size": { "ne": null } })), [0; 0]);
    assert_eq!(ids(&json!({ "not": { "size": { "eq": null } } })), [0; 0]);
    assert_eq!(ids(&json!({ "size": { "ne": 5 } })), [3, 6]);
    assert_eq!(ids(&json!({ "not": { "size": { "eq": 5 } } })), [3, 6]);
    assert_eq!(ids(&json!({ "size": { "isNull": true } })), [2]);
    assert_eq!(ids(&json!({ "not": { "size": { "isNull": true } } })), [1, 3, 4, 6]);
    assert_eq!(ids(&json!({ "or": [{ "size": { "eq": null } }, { "id": { "eq": 2 } }] })), [2]);
    assert_eq!(ids(&json!({ "not": { "and": [{ "size": { "eq": null } }, { "id": { "eq": 2 } }] } })), [1, 3, 4, 6]);
}

#[test]
fn lists_follow_sql() {
    assert_eq!(ids(&json!({ "size": { "in": [5, null] } })), [1, 4]);
    assert_eq!(ids(&json!({ "not": { "size": { "in": [5, null] } } })), [0; 0]);
    assert_eq!(ids(&json!({ "size": { "notIn": [5] } })), [3, 6]);
    assert_eq!(ids(&json!({ "size": { "notIn": [5, null] } })), [0; 0]);
    assert_eq!(ids(&json!({ "not": { "size": { "notIn": [5, null] } } })), [1, 4]);
    assert_eq!(ids(&json!({ "size": { "in": [] } })), [0; 0]);
    assert_eq!(ids(&json!({ "size": { "notIn": [] } })), [1, 2, 3, 4, 6]);
    assert_eq!(ids(&json!({ "size": { "between": [5, 7] } })), [1, 3, 4]);
    assert_eq!(ids(&json!({ "size": { "between": [7, 5] } })), [0; 0]);
    assert_eq!(ids(&json!({ "size": { "between": [6, null] } })), [0; 0]);
    assert_eq!(ids(&json!({ "not": { "size": { "between": [6, null] } } })), [1, 4, 6]);
    assert_eq!(ids(&json!({ "size": { "gt": 0, "lt": 6 } })), [1, 4]);
}

#[test]
fn arrays_contain_and_overlap() {
    assert_eq!(ids(&json!({ "tags": { "contains": "x" } })), [1, 4]);
    assert_eq!(ids(&json!({ "tags": { "contains": ["x", "y"] } })), [4]);
    assert_eq!(ids(&json!({ "tags": { "contains": [] } })), [1, 3, 4]);
    assert_eq!(ids(&json!({ "tags": { "contains": null } })), [0; 0]);
    assert_eq!(ids(&json!({ "not": { "tags": { "contains": null } } })), [1, 3, 4]);
    assert_eq!(ids(&json!({ "tags": { "overlap": ["y", "z"] } })), [4]);
    assert_eq!(ids(&json!({ "tags": { "overlap": [null] } })), [0; 0]);
    assert_eq!(ids(&json!({ "not": { "tags": { "overlap": [] } } })), [1, 3, 4]);
}

#[test]
fn json_contains_overlaps_and_equals() {
    assert_eq!(ids(&json!({ "data": { "contains": 1 } })), [6]);
    assert_eq!(ids(&json!({ "data": { "contains": [1, "1"] } })), [6]);
    assert_eq!(ids(&json!({ "data": { "contains": [2] } })), [1]);
    assert_eq!(ids(&json!({ "data": { "contains": [] } })), [1, 6]);
    assert_eq!(ids(&json!({ "data": { "contains": null } })), [6]);
    assert_eq!(ids(&json!({ "data": { "overlap": [1, 2] } })), [1, 6]);
    assert_eq!(ids(&json!({ "data": { "overlap": ["a"] } })), [0; 0]);
    assert_eq!(ids(&json!({ "data": { "overlap": [null, true] } })), [6]);
    assert_eq!(ids(&json!({ "data": { "overlap": [] } })), [0; 0]);
    assert_eq!(ids(&json!({ "data": { "eq": 1.0 } })), [4]);
    assert_eq!(ids(&json!({ "data": { "ne": 1 } })), [1, 2, 3, 6]);
    assert_eq!(ids(&json!({ "data": { "eq": null } })), [0; 0]);
    // A JSON null is a value: row 2 has one, and every row has data.
    assert_eq!(ids(&json!({ "data": { "isNull": true } })), [0; 0]);
}

#[test]
fn relation_filters_are_exists_under_the_policy_of_the_target() {
    assert_eq!(ids(&json!({ "group": {} })), [1, 2, 3]);
    assert_eq!(ids(&json!({ "not": { "group": {} } })), [4, 6]);
    assert_eq!(ids(&json!({ "group": { "rank": { "gt": 1 } } })), [1, 3]);
    assert_eq!(ids(&json!({ "marks": { "points": { "gte": 20 } } })), [1, 3]);
    let groups = rows("t.group", &json!({ "where": { "things": { "id": { "eq": 5 } } } }));
    assert!(groups.is_empty(), "a soft-deleted thing is out of reach");
}
