//! The thirteen operators in three-valued logic: `None` is SQL's unknown.

use crate::cell::{Cell, same_json};
use crate::pattern;
use crate::schema::Field;
use serde_json::Value;
use std::cmp::Ordering;

/// AND: false wins over unknown, unknown over true.
pub(crate) fn both(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// OR: true wins over unknown, unknown over false.
pub(crate) fn either(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

pub(crate) fn negated(value: Option<bool>) -> Option<bool> {
    value.map(|value| !value)
}

/// Applies one operator to one cell.
pub(crate) fn apply(field: &Field, cell: &Cell, operator: &str, value: &Value) -> Option<bool> {
    let given = |value: &Value| Cell::given_or_null(field, value);
    let ordered = |test: fn(Ordering) -> bool| cell.compare(&given(value)).map(test);
    match operator {
        "eq" => cell.equals(&given(value)),
        "ne" => negated(cell.equals(&given(value))),
        "gt" => ordered(Ordering::is_gt),
        "gte" => ordered(Ordering::is_ge),
        "lt" => ordered(Ordering::is_lt),
        "lte" => ordered(Ordering::is_le),
        "in" => one_of(field, cell, list(value)),
        "notIn" => negated(one_of(field, cell, list(value))),
        "between" => {
            let ends = list(value);
            let above = cell.compare(&given(&ends[0])).map(Ordering::is_ge);
            let below = cell.compare(&given(&ends[1])).map(Ordering::is_le);
            both(above, below)
        }
        "isNull" => Some(cell.is_null() == value.as_bool().expect("isNull takes a boolean")),
        "iLike" => match cell {
            Cell::Text(text) => Some(pattern::matches(text, value.as_str().expect("iLike takes a string"))),
            _ => None,
        },
        "contains" => elements(field, cell, value, |found| found.iter().all(|found| *found)),
        "overlap" => elements(field, cell, value, |found| found.iter().any(|found| *found)),
        other => panic!("no operator {other:?}"),
    }
}

/// An empty list matches nothing, not even NULL.
fn one_of(field: &Field, cell: &Cell, wanted: &[Value]) -> Option<bool> {
    let tests = wanted.iter().map(|value| cell.equals(&Cell::given_or_null(field, value)));
    tests.fold(Some(false), either)
}

/// Tests for each wanted element whether the list has it. JSON that is not an array never matches.
fn elements(field: &Field, cell: &Cell, value: &Value, decide: fn(&[bool]) -> bool) -> Option<bool> {
    let single = [value.clone()];
    let wanted = value.as_array().map_or(&single[..], Vec::as_slice);
    match cell {
        Cell::Null => None,
        Cell::List(cells) => {
            let has = |value: &Value| {
                let wanted = Cell::given_or_null(field, value);
                cells.iter().any(|cell| cell.equals(&wanted) == Some(true))
            };
            Some(decide(&wanted.iter().map(has).collect::<Vec<_>>()))
        }
        Cell::Json(Value::Array(items)) => {
            let has = |value: &Value| items.iter().any(|item| same_json(item, value));
            Some(decide(&wanted.iter().map(has).collect::<Vec<_>>()))
        }
        _ => Some(false),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("the operator takes a list")
}
