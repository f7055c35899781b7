//! Reads SQLite's columns and writes them as JSON. An invalid value, one that does not fit its field's type, becomes null.

use query::catalog::Stored;
use query::json::{self, Json};
use query::plan::Show;
use query::plan::keyset::PositionValue;
use query::sql::{Decode, Output, PageEnd, SCALE};
use query::types::{Scalar, Type};
use query::value::{self, stored};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::{decimal, json_encoder};

use super::cell::{self, json_text, real, text, unix, whole};

/// Appends a row as an object without its closing brace.
pub(super) fn row(out: &mut Vec<u8>, outputs: &[Output], row: &Row<'_>) {
    let start = out.len();
    for output in outputs {
        out.extend_from_slice(&output.key);
        if member(out, output, row).is_none() {
            json_encoder::null(out);
        }
    }
    json_encoder::open(out, start);
}

/// The sort keys of a row of a keyset page. A value that is sorted by more than the answer shows cannot be said: an integer with more
/// digits than a double, a fraction of a microsecond.
pub(super) fn position(end: &PageEnd, row: &Row<'_>) -> Vec<PositionValue> {
    let value = |output: &Output| {
        let Ok(cell) = row.get_ref(output.column) else { return PositionValue::Unreadable };
        let mut out = Vec::new();
        match cell {
            ValueRef::Null => PositionValue::Null,
            _ if is_sorted_as_shown(&output.decode, cell) && member(&mut out, output, row).is_some() => PositionValue::Shown(out),
            _ => PositionValue::Unreadable,
        }
    };
    end.position.iter().map(value).collect()
}

fn is_sorted_as_shown(decode: &Decode, cell: ValueRef<'_>) -> bool {
    match (decode, cell) {
        (Decode::Value(Scalar::Float, _), ValueRef::Integer(number)) => i128::from(number) == number as f64 as i128,
        (Decode::Value(_, Stored::Unix), ValueRef::Real(seconds)) => {
            // The same number, bit by bit: it is compared with this one.
            unix(cell).is_some_and(|micros| (micros as f64 / 1e6).to_bits() == seconds.to_bits())
        }
        _ => true,
    }
}

fn member(out: &mut Vec<u8>, output: &Output, row: &Row<'_>) -> Option<()> {
    let cell = || row.get_ref(output.column).ok();
    let count = || row.get_ref(output.column + 1).ok().and_then(whole);
    let fits = |text: &str| output.fits(text.as_bytes());
    match &output.decode {
        Decode::Redacted => out.extend_from_slice(json_encoder::REDACTED),
        Decode::RedactedNull => return None,
        Decode::Value(scalar, kept) => {
            let cell = cell().filter(|cell| text(*cell).is_none_or(fits))?;
            value(out, scalar, *kept, cell, output.show)?;
        }
        Decode::Array(scalar) => array(out, scalar, text(cell()?)?, &fits)?,
        Decode::Count => json_encoder::integer(out, whole(cell()?)?),
        Decode::SumNumber => out.extend_from_slice(text(cell()?)?.as_bytes()),
        Decode::SumText => json_encoder::quoted(out, text(cell()?)?),
        Decode::Average => json_encoder::quoted(out, &decimal::average(text(cell()?)?, count()?)?),
        Decode::FloatSum => json_encoder::float(out, real(cell()?)? * SCALE),
        Decode::FloatAverage => json_encoder::float(out, real(cell()?)? / count()? as f64 * SCALE),
    }
    Some(())
}

pub(crate) fn readable(kind: &Type, kept: Stored, cell: ValueRef<'_>) -> bool {
    let mut out = Vec::new();
    let read = match kind {
        Type::One(Scalar::Enum(values)) => text(cell).filter(|text| values.iter().any(|value| **value == **text)).map(drop),
        Type::One(scalar) => value(&mut out, scalar, kept, cell, Show::Plain),
        Type::Array(scalar) => text(cell).and_then(|text| array(&mut out, scalar, text, &|_| true)),
    };
    read.is_some()
}

fn value(out: &mut Vec<u8>, scalar: &Scalar, kept: Stored, cell: ValueRef<'_>, show: Show) -> Option<()> {
    match scalar {
        Scalar::Bool => match whole(cell)? {
            0 => json_encoder::boolean(out, false),
            1 => json_encoder::boolean(out, true),
            _ => return None,
        },
        Scalar::Int => json_encoder::integer(out, i64::from(i32::try_from(whole(cell)?).ok()?)),
        Scalar::BigInt => json_encoder::integer(out, whole(cell)?),
        Scalar::Float => json_encoder::float(out, real(cell)?),
        Scalar::Decimal => json_encoder::quoted(out, &cell::decimal(cell)?),
        Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) => json_encoder::text(out, text(cell)?, show),
        Scalar::Uuid => json_encoder::quoted(out, text(cell).filter(|text| stored::uuid_canonical(text))?),
        Scalar::Date => json_encoder::quoted(out, text(cell).filter(|text| stored::date(text).is_some())?),
        Scalar::Time => json_encoder::time(out, stored::time(text(cell)?)?),
        Scalar::Timestamp => {
            let micros = match kept {
                Stored::Standard => stored::timestamp(text(cell)?)?,
                Stored::Datetime => stored::datetime(text(cell)?)?,
                Stored::Unix => unix(cell)?,
            };
            json_encoder::timestamp(out, micros);
        }
        Scalar::Json => {
            let text = json_text(cell)?;
            // Parsed as in a filter, so that every shown value can be found.
            json::data(text.as_bytes())?;
            json_encoder::json(out, text.as_bytes());
        }
    }
    Some(())
}

/// A stored JSON array. An element that does not fit its type becomes null.
fn array(out: &mut Vec<u8>, scalar: &Scalar, text: &str, fits: &dyn Fn(&str) -> bool) -> Option<()> {
    let Some(Json::Array(items)) = json::data(text.as_bytes()) else { return None };
    elements(out, scalar, &items, fits);
    Some(())
}

fn elements(out: &mut Vec<u8>, scalar: &Scalar, items: &[Json], fits: &dyn Fn(&str) -> bool) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match item {
            // Arrays may be nested, as in PostgreSQL.
            Json::Array(items) if *scalar != Scalar::Json => elements(out, scalar, items, fits),
            Json::Text(text) if !fits(text) => json_encoder::null(out),
            item => {
                if element(out, scalar, item).is_none() {
                    json_encoder::null(out);
                }
            }
        }
    }
    out.push(b']');
}

pub(super) fn element(out: &mut Vec<u8>, scalar: &Scalar, item: &Json) -> Option<()> {
    match (scalar, item) {
        (_, Json::Array(items)) if *scalar != Scalar::Json => elements(out, scalar, items, &|_| true),
        (Scalar::Bool, Json::Bool(value)) => json_encoder::boolean(out, *value),
        (Scalar::Int, Json::Number(text)) => json_encoder::integer(out, i64::from(text.parse::<i32>().ok()?)),
        (Scalar::BigInt, Json::Number(text)) => json_encoder::integer(out, text.parse().ok()?),
        (Scalar::Float, Json::Number(text)) => json_encoder::float(out, text.parse().ok()?),
        (Scalar::Decimal, Json::Number(text)) => json_encoder::quoted(out, &stored::decimal(text)?),
        (Scalar::Decimal, Json::Text(text)) => json_encoder::quoted(out, &stored::decimal(text)?),
        (Scalar::Text | Scalar::Enum(_), Json::Text(text)) => json_encoder::text(out, text, Show::Plain),
        (Scalar::Uuid, Json::Text(text)) => json_encoder::quoted(out, stored::uuid_canonical(text).then_some(text)?),
        (Scalar::Date, Json::Text(text)) => json_encoder::quoted(out, stored::date(text).map(|_| text)?),
        (Scalar::Time, Json::Text(text)) => json_encoder::quoted(out, &value::time_text(stored::time(text)?)),
        (Scalar::Timestamp, Json::Text(text)) => json_encoder::timestamp(out, stored::timestamp(text)?),
        (Scalar::Json, json) => out.extend_from_slice(value::jsonb_text(json).as_bytes()),
        _ => return None,
    }
    Some(())
}
