//! Checks a value of a payload against the type of its field.

use crate::json::Json;
use crate::types::{Scalar, Type};

use super::{Value, check, jsonb_text, number};

/// Checks a value to be stored: a scalar, an array, or any JSON. The error is a message without its subject: `takes …; found …`.
pub(crate) fn written(kind: &Type, json: &Json) -> Result<Value, String> {
    match (kind, json) {
        (_, Json::Null) => Ok(Value::Null),
        (Type::One(Scalar::Json), json) => document(json),
        (Type::One(scalar), json) => check(scalar, json),
        (Type::Array(scalar), Json::Array(items)) => {
            let element = |json: &Json| match scalar {
                Scalar::Json if *json != Json::Null => document(json),
                scalar => check(scalar, json),
            };
            Ok(Value::List(items.iter().map(element).collect::<Result<_, _>>()?))
        }
        (Type::Array(_), json) => Err(format!("takes an array; found {}", json.noun())),
    }
}

/// Whether a string anywhere inside has U+0000, which PostgreSQL cannot store.
pub(crate) fn has_nul(json: &Json) -> bool {
    match json {
        Json::Text(text) => text.contains('\0'),
        Json::Array(items) => items.iter().any(has_nul),
        Json::Object(entries) => entries.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Any JSON, if the database can hold its numbers.
fn document(json: &Json) -> Result<Value, String> {
    match unfit_number(json) {
        Some(number) => Err(format!(
            "takes JSON with numbers of at most 300 digits on either side of the point; found {}",
            crate::error::shorten(number)
        )),
        None => Ok(Value::Json(jsonb_text(json))),
    }
}

fn unfit_number(json: &Json) -> Option<&str> {
    match json {
        Json::Number(text) => number::decimal(text).is_none().then_some(text),
        Json::Array(items) => items.iter().find_map(unfit_number),
        Json::Object(entries) => entries.iter().find_map(|(_, value)| unfit_number(value)),
        Json::Null | Json::Bool(_) | Json::Text(_) => None,
    }
}
