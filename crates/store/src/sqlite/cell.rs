//! Reads SQLite values in the formats that common programs write.

use std::borrow::Cow;

use query::json::{self, Json};
use query::value::{self, stored};
use rusqlite::types::ValueRef;

pub(super) fn real(cell: ValueRef<'_>) -> Option<f64> {
    match cell {
        ValueRef::Real(number) => Some(number),
        ValueRef::Integer(number) => Some(number as f64),
        _ => None,
    }
}

pub(super) fn text(cell: ValueRef<'_>) -> Option<&str> {
    match cell {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

pub(super) fn whole(cell: ValueRef<'_>) -> Option<i64> {
    match cell {
        ValueRef::Integer(number) => Some(number),
        _ => None,
    }
}

/// The text of a JSON value. A column declared `JSON` keeps a number by itself as SQLite's number.
pub(super) fn json_text(cell: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match cell {
        ValueRef::Text(_) => text(cell).map(Cow::Borrowed),
        ValueRef::Integer(_) | ValueRef::Real(_) => decimal(cell),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// The JSON value of a cell; none if the cell holds none.
pub(super) fn json(cell: ValueRef<'_>) -> Option<Json> {
    json::data(json_text(cell)?.as_bytes())
}

/// A decimal as plain digits. Other programs store small ones as numbers.
pub(crate) fn decimal(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text(_) => stored::decimal(text(value)?),
        ValueRef::Integer(number) => Some(number.to_string().into()),
        ValueRef::Real(number) if number.is_finite() => {
            let digits = stored::decimal(zmij::Buffer::new().format_finite(number).trim_end_matches(".0"))?.into_owned();
            Some(digits.into())
        }
        _ => None,
    }
}

/// Seconds since 1970, in microseconds.
pub(super) fn unix(value: ValueRef<'_>) -> Option<i64> {
    let micros = match value {
        ValueRef::Integer(seconds) => seconds.checked_mul(1_000_000)?,
        ValueRef::Real(seconds) if seconds.is_finite() && seconds.abs() < 1e12 => (seconds * 1e6).round() as i64,
        _ => return None,
    };
    value::timestamp_text(micros).map(|_| micros)
}

/// The same text for equal JSON values: numbers by value, keys sorted.
pub(super) fn canonical(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(text) => value::normal_decimal(text).unwrap_or_else(|| text.to_string()),
        Json::Text(text) => json::text(text),
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Object(entries) => {
            let mut members: Vec<String> =
                entries.iter().map(|(key, value)| format!("{}:{}", canonical(&Json::Text(key.clone())), canonical(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
    }
}

/// The form in which a bound JSON value is compared.
pub(super) fn canonical_text(text: &str) -> String {
    json::data(text.as_bytes()).map_or_else(|| text.to_owned(), |json| canonical(&json))
}
