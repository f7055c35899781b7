//! PostgreSQL's binary rows → JSON bytes.

use std::sync::Once;

use fallible_iterator::FallibleIterator;
use postgres_protocol::types::array_from_sql;
use query::plan::Show;
use query::sql::{Decode, Form, Output, SCALE};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Kind, Type};

use crate::decimal;
use crate::encode;

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

/// The bytes of a column, whatever its type.
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

pub(super) fn column(row: &Row, index: usize) -> Option<&[u8]> {
    row.try_get::<_, Option<Raw<'_>>>(index).ok().flatten().map(|raw| raw.0)
}

/// Appends a row as an object without its closing brace.
pub(super) fn row(out: &mut Vec<u8>, outputs: &[Output], row: &Row) {
    let start = out.len();
    for output in outputs {
        out.extend_from_slice(&output.key);
        member(out, output, row);
    }
    encode::open(out, start);
}

fn member(out: &mut Vec<u8>, output: &Output, row: &Row) {
    match output.decode {
        Decode::Redacted => return out.extend_from_slice(encode::REDACTED),
        Decode::RedactedNull => return encode::null(out),
        _ => {}
    }
    let Some(raw) = column(row, output.column) else {
        return encode::null(out);
    };
    let kind = row.columns()[output.column].type_();
    let done = match output.decode {
        Decode::Value(..) if !output.fits(raw) => None,
        Decode::Value(form, _) => value(out, form, raw, kind, output.show),
        Decode::Array(form) if matches!(kind.kind(), Kind::Array(_)) => array(out, form, raw, output),
        Decode::Array(_) => unlike(kind),
        Decode::Count => whole(raw).map(|count| encode::integer(out, count)),
        Decode::SumNumber => exact(raw, kind).map(|sum| out.extend_from_slice(sum.as_bytes())),
        Decode::SumText => exact(raw, kind).map(|sum| encode::quoted(out, &sum)),
        Decode::Average => average(exact(raw, kind), column(row, output.column + 1)).map(|text| encode::quoted(out, &text)),
        Decode::FloatSum => double(raw, kind).map(|sum| encode::float(out, sum * SCALE)),
        Decode::FloatAverage => {
            let count = column(row, output.column + 1).and_then(whole);
            double(raw, kind).zip(count).map(|(sum, count)| encode::float(out, sum / count as f64 * SCALE))
        }
        Decode::Redacted | Decode::RedactedNull => Some(()),
    };
    if done.is_none() {
        encode::null(out);
    }
}

fn double(raw: &[u8], kind: &Type) -> Option<f64> {
    if *kind == Type::FLOAT8 { raw.try_into().ok().map(f64::from_be_bytes) } else { unlike(kind) }
}

/// Whether bytes of this type can be read so. At boot they could; but a column may be given another type while the server runs, and a
/// replica may have another than the primary. Bytes of one type read as another would be values that nobody stored, or no JSON at all.
fn is_like(form: Form, kind: &Type) -> bool {
    match form {
        Form::Bool => *kind == Type::BOOL,
        Form::Int | Form::BigInt => matches!(*kind, Type::INT8 | Type::INT4 | Type::INT2),
        Form::Float => matches!(*kind, Type::FLOAT8 | Type::FLOAT4),
        Form::Decimal => *kind == Type::NUMERIC,
        Form::Text => matches!(*kind, Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME),
        Form::Uuid => *kind == Type::UUID,
        Form::Date => *kind == Type::DATE,
        Form::Time => *kind == Type::TIME,
        Form::Timestamp => matches!(*kind, Type::TIMESTAMPTZ | Type::TIMESTAMP),
        Form::Json => matches!(*kind, Type::JSONB | Type::JSON),
    }
}

/// Says, once, that a column is not what it was; its values read as null.
fn unlike<T>(kind: &Type) -> Option<T> {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        let message = "a column has another type than at the start, and reads as null; run `peristyle check`, and start again";
        tracing::error!(found = kind.name(), "{message}");
    });
    None
}

fn average(sum: Option<String>, count: Option<&[u8]>) -> Option<String> {
    decimal::average(&sum?, whole(count?)?)
}

/// Writes a value; nothing is written when it has no JSON form.
fn value(out: &mut Vec<u8>, form: Form, raw: &[u8], kind: &Type, show: Show) -> Option<()> {
    if !is_like(form, kind) {
        return unlike(kind);
    }
    match form {
        Form::Bool => encode::boolean(out, *raw.first()? != 0),
        Form::Int | Form::BigInt => encode::integer(out, whole(raw)?),
        Form::Float => match raw.len() {
            4 => encode::single(out, f32::from_be_bytes(raw.try_into().ok()?)),
            _ => encode::float(out, f64::from_be_bytes(raw.try_into().ok()?)),
        },
        Form::Decimal => {
            out.push(b'"');
            if numeric::append(out, raw).is_none() {
                out.pop();
                return None;
            }
            out.push(b'"');
        }
        Form::Text => encode::utf8(out, raw, show)?,
        Form::Uuid => encode::short(out, &query::value::uuid_text(raw.try_into().ok()?)),
        Form::Date => {
            let days = i32::from_be_bytes(raw.try_into().ok()?);
            // The ends of the range are PostgreSQL's infinities.
            if days == i32::MAX || days == i32::MIN {
                return None;
            }
            encode::date(out, i64::from(days) + i64::from(EPOCH_DAYS));
        }
        Form::Time => encode::time(out, i64::from_be_bytes(raw.try_into().ok()?)),
        Form::Timestamp => {
            let micros = i64::from_be_bytes(raw.try_into().ok()?);
            if micros == i64::MAX || micros == i64::MIN {
                return None;
            }
            encode::timestamp(out, micros.checked_add(EPOCH_MICROS)?);
        }
        // jsonb begins with a version byte, and is written on one line.
        Form::Json if *kind == Type::JSONB => out.extend_from_slice(raw.get(1..)?),
        Form::Json => encode::json(out, raw),
    }
    Some(())
}

fn whole(raw: &[u8]) -> Option<i64> {
    Some(match raw.len() {
        2 => i64::from(i16::from_be_bytes(raw.try_into().ok()?)),
        4 => i64::from(i32::from_be_bytes(raw.try_into().ok()?)),
        8 => i64::from_be_bytes(raw.try_into().ok()?),
        _ => return None,
    })
}

/// A sum's digits: `int8` for small integers, `numeric` for the rest.
fn exact(raw: &[u8], kind: &Type) -> Option<String> {
    match *kind {
        Type::NUMERIC => numeric::text(raw),
        Type::INT8 => whole(raw).map(|number| number.to_string()),
        _ => unlike(kind),
    }
}

/// An array of any number of dimensions as nested JSON arrays.
fn array(out: &mut Vec<u8>, form: Form, raw: &[u8], output: &Output) -> Option<()> {
    // The number of dimensions stands first; nearly every array has one.
    if raw.starts_with(&1_i32.to_be_bytes()) {
        let start = out.len();
        let written = row_of_elements(out, form, raw, output);
        if written.is_none() {
            out.truncate(start);
        }
        return written;
    }
    let array = array_from_sql(raw).ok()?;
    let kind = Type::from_oid(array.element_type())?;
    let mut sizes = Vec::new();
    let mut dimensions = array.dimensions();
    while let Ok(Some(dimension)) = dimensions.next() {
        sizes.push(usize::try_from(dimension.len).ok()?);
    }
    if sizes.is_empty() {
        out.extend_from_slice(b"[]");
        return Some(());
    }
    let mut values = array.values();
    nested(out, &sizes, &mut |out| match values.next() {
        Ok(Some(Some(raw))) if output.fits(raw) => {
            if value(out, form, raw, &kind, Show::Plain).is_none() {
                encode::null(out);
            }
        }
        _ => encode::null(out),
    });
    Some(())
}

/// One dimension: its number, flags, the type and the length of the dimension and where it begins, then each element behind its length.
fn row_of_elements(out: &mut Vec<u8>, form: Form, raw: &[u8], output: &Output) -> Option<()> {
    let number = |bytes: &[u8], at: usize| Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let kind = Type::from_oid(number(raw, 8)? as u32)?;
    let count = number(raw, 12)?;
    let mut rest = raw.get(20..)?;
    out.push(b'[');
    for index in 0..count {
        if index > 0 {
            out.push(b',');
        }
        let length = number(rest, 0)?;
        rest = &rest[4..];
        let Ok(length) = usize::try_from(length) else {
            encode::null(out);
            continue;
        };
        let (element, after) = rest.split_at_checked(length)?;
        rest = after;
        if !output.fits(element) || value(out, form, element, &kind, Show::Plain).is_none() {
            encode::null(out);
        }
    }
    out.push(b']');
    Some(())
}

fn nested(out: &mut Vec<u8>, sizes: &[usize], element: &mut dyn FnMut(&mut Vec<u8>)) {
    let [size, rest @ ..] = sizes else {
        return element(out);
    };
    out.push(b'[');
    for index in 0..*size {
        if index > 0 {
            out.push(b',');
        }
        nested(out, rest, element);
    }
    out.push(b']');
}
