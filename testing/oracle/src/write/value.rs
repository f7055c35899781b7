//! Checks one value of a payload: its type, null, and the value rules of its field.

use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::schema::{Field, Kind};
use serde_json::Value;
use std::cmp::Ordering;

/// The value as it is stored, or the code of its fault.
pub(super) fn check(field: &Field, value: &Value) -> Result<Cell, &'static str> {
    if has_nul(value) {
        return Err("WR117");
    }
    if value.is_null() {
        return if field.nullable { Ok(Cell::Null) } else { Err("WR115") };
    }
    let cell = written(field, value).ok_or("WR114")?;
    if meets_rules(field, &cell) { Ok(cell) } else { Err("WR116") }
}

/// A value that is not null as it is stored; `None` if it does not fit the type.
pub(super) fn written(field: &Field, value: &Value) -> Option<Cell> {
    if !field.array {
        return Cell::scalar(field, value);
    }
    let element = |item: &Value| if item.is_null() { Some(Cell::Null) } else { Cell::scalar(field, item) };
    value.as_array()?.iter().map(element).collect::<Option<_>>().map(Cell::List)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(object) => object.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn meets_rules(field: &Field, cell: &Cell) -> bool {
    let rules = &field.writes;
    let is_within = |count: usize, min: &str, max: &str| {
        rules.bound(min).is_none_or(|min| count >= min) && rules.bound(max).is_none_or(|max| count <= max)
    };
    let is_in_bounds = is_in_bounds(field, cell);
    match cell {
        Cell::List(items) => is_within(items.len(), "min-items", "max-items"),
        Cell::Text(text) if field.kind == Kind::Text => {
            let pattern = rules.rules["pattern"].as_str();
            is_within(text.chars().count(), "min-length", "max-length") && pattern.is_none_or(|pattern| matches(pattern, text))
        }
        _ => is_in_bounds,
    }
}

/// Whether a value is NULL, or within `min` and `max`.
pub(super) fn is_in_bounds(field: &Field, cell: &Cell) -> bool {
    let compared = |name: &str| {
        let bound = field.writes.rules.get(name)?;
        cell.compare(&Cell::scalar(field, bound).expect("the bound has the type of its field"))
    };
    compared("min").is_none_or(Ordering::is_ge) && compared("max").is_none_or(Ordering::is_le)
}

/// Whether all of the text matches. A pattern here is one range of characters, once or more: `[a-z]+`.
fn matches(pattern: &str, text: &str) -> bool {
    let range: Vec<char> = pattern.strip_prefix('[').and_then(|rest| rest.strip_suffix("]+")).expect("a simple pattern").chars().collect();
    !text.is_empty() && text.chars().all(|character| range[0] <= character && character <= range[2])
}

/// The sum, or `None` if it leaves the range of the type.
pub(super) fn sum(field: &Field, cell: &Cell, added: &Cell) -> Option<Cell> {
    match (cell, added) {
        (Cell::Null, _) => Some(Cell::Null),
        (Cell::Whole(left), Cell::Whole(right)) => {
            let sum = left.checked_add(*right)?;
            let fits = field.kind == Kind::Bigint || i32::try_from(sum).is_ok();
            fits.then_some(Cell::Whole(sum))
        }
        (Cell::Float(left), Cell::Float(right)) => Some(left + right).filter(|sum| sum.is_finite()).map(Cell::Float),
        (Cell::Decimal(left), Cell::Decimal(right)) => Some(left.plus(right)).filter(Decimal::is_storable).map(Cell::Decimal),
        (left, right) => panic!("{left:?} and {right:?} have no sum"),
    }
}
