//! Encodes PostgreSQL's binary rows as JSON.

use fallible_iterator::FallibleIterator;
use postgres_protocol::types::array_from_sql;
use query::plan::Show;
use query::plan::keyset::PositionValue;
use query::sql::{Decode, Output, PageEnd, SCALE};
use tokio_postgres::types::{FromSql, Kind, Type};
use tokio_postgres::{Column, Row};

use crate::decimal;
use crate::json_encoder;

use super::numeric;
use super::value_encoder::{Wire, changed_type, whole};

pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

#[expect(clippy::inline_always, reason = "called for each value of an answer")]
#[inline(always)]
pub(super) fn column(row: &Row, index: usize) -> Option<&[u8]> {
    row.try_get::<_, Option<Raw<'_>>>(index).ok().flatten().map(|raw| raw.0)
}

/// Encodes the rows of one result. The column types are looked up once, with the first row.
pub(super) struct Encoder<'a> {
    outputs: &'a [Output],
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    key: Key<'a>,
    output: &'a Output,
    how: How,
}

enum How {
    /// A constant, whatever the column holds.
    Always(&'static [u8]),
    Value(Wire),
    /// A string that reads as null unless it is a declared value.
    Enum(Wire),
    Array(Wire),
    Aggregate,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(outputs: &'a [Output]) -> Self {
        Encoder { outputs, members: Vec::new() }
    }

    /// Appends a row as an object without its closing brace.
    pub(super) fn row(&mut self, out: &mut Vec<u8>, row: &Row) {
        if self.members.is_empty() {
            self.members.extend(self.outputs.iter().map(|output| Member::of(output, row.columns())));
        }
        let start = out.len();
        for member in &self.members {
            member.key.append(out);
            if member.write(out, row).is_none() {
                json_encoder::null(out);
            }
        }
        json_encoder::open(out, start);
    }
}

impl<'a> Member<'a> {
    fn of(output: &'a Output, columns: &[Column]) -> Self {
        let how = How::of(output, columns).unwrap_or(How::Always(b"null"));
        Member { key: Key::of(&output.key), output, how }
    }

    fn write(&self, out: &mut Vec<u8>, row: &Row) -> Option<()> {
        if let How::Always(text) = self.how {
            out.extend_from_slice(text);
            return Some(());
        }
        let raw = column(row, self.output.column)?;
        let wire = match self.how {
            How::Value(wire) => wire,
            How::Enum(wire) if self.output.fits(raw) => wire,
            How::Array(wire) => return array(out, wire, raw, self.output),
            How::Aggregate => return aggregate(out, raw, row, self.output),
            How::Enum(_) | How::Always(_) => return None,
        };
        wire.write(out, raw)
    }
}

impl How {
    fn of(output: &Output, columns: &[Column]) -> Option<Self> {
        Some(match &output.decode {
            Decode::Redacted => How::Always(json_encoder::REDACTED),
            Decode::RedactedNull => return None,
            Decode::Value(scalar, _) => {
                let wire = Wire::of(scalar, columns.get(output.column)?.type_(), output.show)?;
                if output.values.is_some() { How::Enum(wire) } else { How::Value(wire) }
            }
            Decode::Array(scalar) => match columns.get(output.column)?.type_() {
                kind if let Kind::Array(element) = kind.kind() => How::Array(Wire::of(scalar, element, Show::Plain)?),
                kind => return changed_type(kind),
            },
            _ => How::Aggregate,
        })
    }
}

/// The sort keys of a row of a keyset page.
pub(super) fn position(end: &PageEnd, row: &Row) -> Vec<PositionValue> {
    let value = |output: &Output| {
        if column(row, output.column).is_none() {
            return PositionValue::Null;
        }
        let mut out = Vec::new();
        match Member::of(output, row.columns()).write(&mut out, row) {
            Some(()) => PositionValue::Shown(out),
            None => PositionValue::Unreadable,
        }
    };
    end.position.iter().map(value).collect()
}

/// Most keys are shorter.
const SHORT: usize = 16;

/// `,"name":`. Copying a short one of a fixed size is cheaper than copying a slice.
struct Key<'a> {
    whole: &'a [u8],
    start: [u8; SHORT],
}

impl<'a> Key<'a> {
    fn of(whole: &'a [u8]) -> Self {
        let mut start = [0; SHORT];
        let copied = whole.len().min(SHORT);
        start[..copied].copy_from_slice(&whole[..copied]);
        Key { whole, start }
    }

    fn append(&self, out: &mut Vec<u8>) {
        if self.whole.len() > SHORT {
            return out.extend_from_slice(self.whole);
        }
        let end = out.len() + self.whole.len();
        out.extend_from_slice(&self.start);
        out.truncate(end);
    }
}

fn aggregate(out: &mut Vec<u8>, raw: &[u8], row: &Row, output: &Output) -> Option<()> {
    let kind = row.columns()[output.column].type_();
    let count = || column(row, output.column + 1).and_then(whole);
    match output.decode {
        Decode::Count => json_encoder::integer(out, whole(raw)?),
        Decode::SumNumber => out.extend_from_slice(exact(raw, kind)?.as_bytes()),
        Decode::SumText => json_encoder::quoted(out, &exact(raw, kind)?),
        Decode::Average => json_encoder::quoted(out, &decimal::average(&exact(raw, kind)?, count()?)?),
        Decode::FloatSum => json_encoder::float(out, double(raw, kind)? * SCALE),
        Decode::FloatAverage => json_encoder::float(out, double(raw, kind)? / count()? as f64 * SCALE),
        Decode::Value(..) | Decode::Array(_) | Decode::Redacted | Decode::RedactedNull => return None,
    }
    Some(())
}

fn double(raw: &[u8], kind: &Type) -> Option<f64> {
    if *kind == Type::FLOAT8 { raw.try_into().ok().map(f64::from_be_bytes) } else { changed_type(kind) }
}

/// A sum's digits: `int8` for small integers, `numeric` for the rest.
fn exact(raw: &[u8], kind: &Type) -> Option<String> {
    match *kind {
        Type::NUMERIC => numeric::text(raw),
        Type::INT8 => whole(raw).map(|number| number.to_string()),
        _ => changed_type(kind),
    }
}

fn array(out: &mut Vec<u8>, wire: Wire, raw: &[u8], output: &Output) -> Option<()> {
    // The number of dimensions comes first; nearly every array has one.
    if raw.starts_with(&1_i32.to_be_bytes()) {
        let start = out.len();
        let written = row_of_elements(out, wire, raw, output);
        if written.is_none() {
            out.truncate(start);
        }
        return written;
    }
    let array = array_from_sql(raw).ok()?;
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
    nested(out, &sizes, &mut |out| element(out, wire, values.next().ok().flatten().flatten(), output));
    Some(())
}

/// An array of one dimension: a header with its length, then each element with its length before it.
fn row_of_elements(out: &mut Vec<u8>, wire: Wire, raw: &[u8], output: &Output) -> Option<()> {
    let number = |bytes: &[u8], at: usize| Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
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
            json_encoder::null(out);
            continue;
        };
        let (value, after) = rest.split_at_checked(length)?;
        rest = after;
        element(out, wire, Some(value), output);
    }
    out.push(b']');
    Some(())
}

fn element(out: &mut Vec<u8>, wire: Wire, value: Option<&[u8]>, output: &Output) {
    if value.filter(|value| output.fits(value)).and_then(|value| wire.write(out, value)).is_none() {
        json_encoder::null(out);
    }
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
