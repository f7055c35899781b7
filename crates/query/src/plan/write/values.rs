//! Checks one value of a payload: its type, null, and the value rules of its field.

use std::cmp::Ordering;

use crate::catalog::write_rules::Bound;
use crate::catalog::{Field, Stored};
use crate::error::Code;
use crate::json::Json;
use crate::json::build::compact;
use crate::messages::counted;
use crate::value::{self, Value};

pub(super) fn check(field: &Field, json: &Json) -> Result<Value, (Code, String)> {
    let name = &field.name;
    if value::has_nul(json) {
        return Err((Code::WriteNul, format!("`{name}` cannot contain U+0000")));
    }
    let value = value::written(&field.kind, json).map_err(|message| (Code::WriteType, format!("`{name}` {message}")))?;
    match (&value, json) {
        (Value::Timestamp(micros), _) if field.stored == Stored::Unix && !is_kept_in_seconds(*micros) => {
            let message =
                format!("`{name}` is stored as a number of seconds, which does not keep all digits of this value; leave out the fraction");
            Err((Code::WriteType, message))
        }
        (Value::Null, _) if !field.nullable => {
            Err((Code::NullValue, format!("`{name}` is never null; give it a value of type {}", field.kind.name())))
        }
        (Value::Null, _) => Ok(value),
        _ => rules(field, &value).map_err(|message| (Code::ValueRule, format!("`{name}` {message}"))).map(|()| value),
    }
}

/// Whether a double of seconds since 1970 has the same microsecond.
fn is_kept_in_seconds(micros: i64) -> bool {
    micros % 1_000_000 == 0 || (micros as f64 / 1e6 * 1e6).round() as i64 == micros
}

/// The error is a message without its subject: `must be …`.
fn rules(field: &Field, value: &Value) -> Result<(), String> {
    let rules = &field.rules.values;
    let compared = |bound: &Bound| value::order(value, &bound.value);
    if let Some(min) = rules.min.as_ref().filter(|min| compared(min) == Ordering::Less) {
        return Err(format!("must be at least {}", compact(&min.json)));
    }
    if let Some(max) = rules.max.as_ref().filter(|max| compared(max) == Ordering::Greater) {
        return Err(format!("must be at most {}", compact(&max.json)));
    }
    match value {
        Value::Text(text) => {
            let count = text.chars().count() as u64;
            if let Some(min) = rules.min_length.filter(|min| count < *min) {
                return Err(format!("must have at least {}; found {count}", counted(min, "character")));
            }
            if let Some(max) = rules.max_length.filter(|max| count > *max) {
                return Err(format!("must have at most {}; found {count}", counted(max, "character")));
            }
            if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.regex.is_match(text)) {
                return Err(format!("must match the pattern {}", pattern.source));
            }
        }
        Value::List(items) => {
            let count = items.len() as u64;
            if let Some(min) = rules.min_items.filter(|min| count < *min) {
                return Err(format!("must have at least {}; found {count}", counted(min, "item")));
            }
            if let Some(max) = rules.max_items.filter(|max| count > *max) {
                return Err(format!("must have at most {}; found {count}", counted(max, "item")));
            }
        }
        _ => {}
    }
    Ok(())
}
