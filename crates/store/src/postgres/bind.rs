//! Encodes values as PostgreSQL's binary parameters. Every statement casts its placeholders, so the types are known here.

use bytes::{BufMut, BytesMut};
use query::sql::{Kind, Many, Param, Source, Sql};
use query::value::Value;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::assemble::Keys;

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

/// A parameter of a statement, with the keys that it may stand for.
#[derive(Debug)]
pub(super) struct PgParam<'a> {
    param: &'a Param,
    keys: Option<&'a Keys>,
}

/// The parameters of a prepared statement.
pub(super) fn params<'a>(sql: &'a Sql, keys: Option<&'a Keys>) -> impl ExactSizeIterator<Item = PgParam<'a>> {
    sql.params().iter().map(move |param| PgParam { param, keys })
}

/// The parameters of an unprepared statement, with their types.
pub(super) fn typed<'a>(sql: &'a Sql, keys: Option<&'a Keys>) -> impl ExactSizeIterator<Item = (PgParam<'a>, Type)> {
    sql.params().iter().map(move |param| (PgParam { param, keys }, kind(param)))
}

/// The type that a parameter is sent as.
pub(super) fn kind(param: &Param) -> Type {
    match (param.kind, param.many) {
        (Kind::Bool, Many::One) => Type::BOOL,
        (Kind::Bool, Many::List) => Type::BOOL_ARRAY,
        (Kind::Int4, Many::One) => Type::INT4,
        (Kind::Int4, Many::List) => Type::INT4_ARRAY,
        (Kind::Int8, Many::One) => Type::INT8,
        (Kind::Int8, Many::List) => Type::INT8_ARRAY,
        (Kind::Float4, Many::One) => Type::FLOAT4,
        (Kind::Float4, Many::List) => Type::FLOAT4_ARRAY,
        (Kind::Float8, Many::One) => Type::FLOAT8,
        (Kind::Float8, Many::List) => Type::FLOAT8_ARRAY,
        (Kind::Numeric, Many::One) => Type::NUMERIC,
        (Kind::Numeric, Many::List) => Type::NUMERIC_ARRAY,
        (Kind::Text, Many::One) => Type::TEXT,
        (Kind::Text, Many::List) => Type::TEXT_ARRAY,
        (Kind::Uuid, Many::One) => Type::UUID,
        (Kind::Uuid, Many::List) => Type::UUID_ARRAY,
        (Kind::Date, Many::One) => Type::DATE,
        (Kind::Date, Many::List) => Type::DATE_ARRAY,
        (Kind::Time, Many::One) => Type::TIME,
        (Kind::Time, Many::List) => Type::TIME_ARRAY,
        (Kind::Timestamp, Many::One) => Type::TIMESTAMP,
        (Kind::Timestamp, Many::List) => Type::TIMESTAMP_ARRAY,
        (Kind::Timestamptz, Many::One) => Type::TIMESTAMPTZ,
        (Kind::Timestamptz, Many::List) => Type::TIMESTAMPTZ_ARRAY,
        (Kind::Jsonb, Many::One) => Type::JSONB,
        (Kind::Jsonb, Many::List) => Type::JSONB_ARRAY,
    }
}

fn element(kind: Kind) -> Type {
    self::kind(&Param { kind, many: Many::One, source: Source::KeysAsJson })
}

impl ToSql for PgParam<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let kind = self.param.kind;
        match &self.param.source {
            Source::Value(Value::Null) => return Ok(IsNull::Yes),
            Source::Value(Value::List(values)) => {
                array(
                    out,
                    &element(kind),
                    values.len(),
                    values.iter().map(|value| (*value != Value::Null).then_some(value)),
                    |out, value| {
                        let mut bytes = Vec::with_capacity(16);
                        scalar(&mut bytes, kind, value);
                        out.put_slice(&bytes);
                    },
                );
            }
            Source::Value(value) => {
                let mut bytes = Vec::with_capacity(16);
                scalar(&mut bytes, kind, value);
                out.put_slice(&bytes);
            }
            Source::Keys(part) => {
                let keys = self.keys.ok_or("a level's keys are missing")?;
                // The parents' columns have the same type, so their bytes pass through.
                array(out, &element(kind), keys.len(), keys.column(*part).map(Some), BufMut::put_slice);
            }
            Source::KeysAsJson => return Err("keys as JSON are SQLite's".into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Writes an array in PostgreSQL's binary form.
pub(crate) fn array<T>(
    out: &mut BytesMut,
    element: &Type,
    len: usize,
    items: impl Iterator<Item = Option<T>> + Clone,
    mut write: impl FnMut(&mut BytesMut, T),
) {
    let nulls = items.clone().any(|item| item.is_none());
    out.put_i32(i32::from(len > 0));
    out.put_i32(i32::from(nulls));
    out.put_u32(element.oid());
    if len == 0 {
        return;
    }
    out.put_i32(len as i32);
    out.put_i32(1);
    for item in items {
        match item {
            None => out.put_i32(-1),
            Some(item) => {
                let start = out.len();
                out.put_i32(0);
                write(out, item);
                let size = (out.len() - start - 4) as i32;
                out[start..start + 4].copy_from_slice(&size.to_be_bytes());
            }
        }
    }
}

/// Writes a value's binary form. The plan has checked that value and kind fit.
fn scalar(out: &mut Vec<u8>, kind: Kind, value: &Value) {
    match (kind, value) {
        (_, Value::Bool(value)) => out.push(u8::from(*value)),
        (Kind::Int4, Value::Int(value)) => out.extend_from_slice(&(*value as i32).to_be_bytes()),
        (_, Value::Int(value)) => out.extend_from_slice(&value.to_be_bytes()),
        // A value beyond the range becomes infinite, which compares the same way.
        (Kind::Float4, Value::Float(value)) => out.extend_from_slice(&(*value as f32).to_be_bytes()),
        (_, Value::Float(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (_, Value::Decimal(text)) => numeric::write(out, text),
        (_, Value::Text(text)) => out.extend_from_slice(text.as_bytes()),
        (_, Value::Uuid(uuid)) => out.extend_from_slice(uuid),
        (_, Value::Date(days)) => out.extend_from_slice(&(days - EPOCH_DAYS).to_be_bytes()),
        (_, Value::Time(micros)) => out.extend_from_slice(&micros.to_be_bytes()),
        (_, Value::Timestamp(micros)) => out.extend_from_slice(&(micros - EPOCH_MICROS).to_be_bytes()),
        (_, Value::Json(text)) => {
            out.push(1);
            out.extend_from_slice(text.as_bytes());
        }
        (_, Value::Null | Value::List(_)) => {}
    }
}
