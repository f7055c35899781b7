//! Checks scalars of a statement against the type of their field. A database accepts every checked value.

mod calendar;
mod jsonb;
mod number;
mod order;
mod written;

use crate::json::{self, Json};
use crate::types::Scalar;

pub use calendar::{date_text, time_text, timestamp_fixed_text, timestamp_text, write_date, write_time, write_timestamp};
pub use jsonb::jsonb_text;
pub use number::normal_decimal;
pub(crate) use number::{decimal_ends, is_huge_whole, whole};
pub(crate) use order::order;
pub(crate) use written::{has_nul, written};

/// A checked value, ready to be bound.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// `int` and `bigint`
    Int(i64),
    Float(f64),
    /// `decimal`, as plain digits: `-12.50`
    Decimal(String),
    Text(String),
    Uuid([u8; 16]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// JSON, as text. One to be written is as `jsonb` prints it.
    Json(String),
    /// Values of one type, bound as one parameter.
    List(Vec<Value>),
}

/// Checks one scalar. The error is a message without its subject: `takes …; found …`.
pub(crate) fn check(scalar: &Scalar, json: &Json) -> Result<Value, String> {
    if *json == Json::Null {
        return Ok(Value::Null);
    }
    let value = match (scalar, json) {
        (Scalar::Bool, Json::Bool(value)) => Some(Value::Bool(*value)),
        (Scalar::Int, Json::Number(text)) => {
            number::whole(text).filter(|number| i32::try_from(*number).is_ok()).map(|number| Value::Int(number as i64))
        }
        (Scalar::BigInt, Json::Number(text)) => number::big(text),
        (Scalar::BigInt, Json::Text(text)) => number::big(text),
        (Scalar::Float, Json::Number(text)) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float),
        (Scalar::Decimal, Json::Number(text)) => number::decimal(text).map(|digits| Value::Decimal(digits.into_owned())),
        (Scalar::Decimal, Json::Text(text)) => number::decimal(text).map(|digits| Value::Decimal(digits.into_owned())),
        (Scalar::Text | Scalar::ReadAsText, Json::Text(text)) => Some(Value::Text(text.clone())),
        (Scalar::Uuid, Json::Text(text)) => uuid(text).map(Value::Uuid),
        (Scalar::Date, Json::Text(text)) => calendar::date(text).map(Value::Date),
        (Scalar::Time, Json::Text(text)) => calendar::time(text).map(Value::Time),
        (Scalar::Timestamp, Json::Text(text)) => calendar::timestamp(text).map(Value::Timestamp),
        (Scalar::Enum(values), Json::Text(text)) => values.iter().any(|value| **value == **text).then(|| Value::Text(text.clone())),
        (Scalar::Json, scalar) => json_scalar(scalar),
        _ => None,
    };
    value.ok_or_else(|| mismatch(scalar, json))
}

/// Checks a part of the id in a path (`find/{id}`) as a value of this type.
pub(crate) fn from_text(scalar: &Scalar, text: &str) -> Result<Value, String> {
    let json = match scalar {
        Scalar::Int | Scalar::Float => Json::Number(text.into()),
        Scalar::Bool if text == "true" => Json::Bool(true),
        Scalar::Bool if text == "false" => Json::Bool(false),
        _ => Json::Text(text.to_owned()),
    };
    if text.contains('\0') {
        return Err("cannot contain U+0000".to_owned());
    }
    check(scalar, &json)
}

fn json_scalar(json: &Json) -> Option<Value> {
    Some(Value::Json(match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        // The same bound as a decimal: the database compares it as numeric.
        Json::Number(text) => number::decimal(text)?.into_owned(),
        Json::Text(text) => json::text(text),
        Json::Array(_) | Json::Object(_) => return None,
    }))
}

fn mismatch(scalar: &Scalar, found: &Json) -> String {
    let accepted = match scalar {
        Scalar::Bool => "true or false".to_owned(),
        Scalar::Int => "a whole number from -2147483648 to 2147483647".to_owned(),
        Scalar::BigInt => "a whole number from -9223372036854775808 to 9223372036854775807, or the same as a string".to_owned(),
        Scalar::Float => "a number a double can hold".to_owned(),
        Scalar::Decimal => "a number of at most 300 digits on either side of the point, or the same as a string".to_owned(),
        Scalar::Text | Scalar::ReadAsText => "a string".to_owned(),
        Scalar::Uuid => "a UUID such as \"6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f\"".to_owned(),
        Scalar::Date => "a date such as \"2024-02-29\"".to_owned(),
        Scalar::Time => "a time such as \"17:30:00\" or \"17:30:00.25\"".to_owned(),
        Scalar::Timestamp => "an RFC 3339 timestamp such as \"2024-02-29T17:30:00Z\"".to_owned(),
        Scalar::Json => "a string, a number of at most 300 digits on either side of the point, a boolean or null".to_owned(),
        Scalar::Enum(values) => {
            let values: Vec<String> = values.iter().take(40).map(|value| format!("{value:?}")).collect();
            format!("one of {}", values.join(", "))
        }
    };
    let found = match found {
        Json::Number(text) => crate::error::shorten(text),
        Json::Text(text) => format!("{:?}", crate::error::shorten(text)),
        other => other.noun().to_owned(),
    };
    format!("takes {accepted}; found {found}")
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 {
        return None;
    }
    let mut out = [0; 16];
    let mut digits = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = (*byte as char).to_digit(16)? as u8;
        out[digits / 2] = out[digits / 2] << 4 | digit;
        digits += 1;
    }
    Some(out)
}

/// Appends a UUID in its canonical form: lower case, five groups.
pub fn write_uuid(out: &mut Vec<u8>, uuid: &[u8; 16]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    let mut place = 0;
    for (index, byte) in uuid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            place += 1;
        }
        text[place] = HEX[usize::from(byte >> 4)];
        text[place + 1] = HEX[usize::from(byte & 15)];
        place += 2;
    }
    out.extend_from_slice(&text);
}

/// The canonical form of a UUID; see [`write_uuid`].
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut out = Vec::new();
    write_uuid(&mut out, uuid);
    ascii(out)
}

/// The bytes are ASCII, so this cannot fail.
fn ascii(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// Parses the strings that a SQLite file stores. `None` if a string is not in the stored form.
pub mod stored {
    use super::{calendar, uuid};

    pub use super::calendar::{date, time, timestamp as datetime};
    pub use super::number::decimal;

    /// `YYYY-MM-DDTHH:MM:SS.ffffffZ`
    pub fn timestamp(text: &str) -> Option<i64> {
        // With this length and these letters there is one string for each timestamp.
        let bytes = text.as_bytes();
        (bytes.len() == 27 && bytes[10] == b'T' && bytes[19] == b'.' && bytes[26] == b'Z').then(|| calendar::timestamp(text)).flatten()
    }

    /// Lower case, five groups.
    pub fn uuid_canonical(text: &str) -> bool {
        !text.bytes().any(|byte| byte.is_ascii_uppercase()) && uuid(text).is_some()
    }
}
