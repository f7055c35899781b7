//! Encodes values as PostgreSQL's binary parameters. Every statement casts its placeholders, so the types are known here.

use bytes::{BufMut, BytesMut};
use query::sql::{Arity, Kind, Param, Source, Sql};
use query::value::Value;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::assemble::Keys;

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

#[derive(Debug)]
pub(super) struct PgParam<'a> {
    param: &'a Param,
    keys: Option<&'a Keys>,
}

pub(super) fn params<'a>(sql: &'a Sql, keys: Option<&'a Keys>) -> impl ExactSizeIterator<Item = PgParam<'a>> {
    sql.params().iter().map(move |param| PgParam { param, keys })
}

pub(super) fn typed<'a>(sql: &'a Sql, keys: Option<&'a Keys>) -> impl ExactSizeIterator<Item = (PgParam<'a>, Type)> {
    sql.params().iter().map(move |param| (PgParam { param, keys }, kind(param)))
}

/// The same for parameters without their statement.
pub(super) fn list<'a>(params: &'a [Param], keys: Option<&'a Keys>) -> impl ExactSizeIterator<Item = PgParam<'a>> {
    params.iter().map(move |param| PgParam { param, keys })
}

pub(super) fn typed_list<'a>(params: &'a [Param], keys: Option<&'a Keys>) -> impl ExactSizeIterator<Item = (PgParam<'a>, Type)> {
    params.iter().map(move |param| (PgParam { param, keys }, kind(param)))
}

pub(super) fn kind(param: &Param) -> Type {
    let (one, list) = types(param.kind);
    if param.arity == Arity::One { one } else { list }
}

fn types(kind: Kind) -> (Type, Type) {
    match kind {
        Kind::Bool => (Type::BOOL, Type::BOOL_ARRAY),
        Kind::Int4 => (Type::INT4, Type::INT4_ARRAY),
        Kind::Int8 => (Type::INT8, Type::INT8_ARRAY),
        Kind::Float4 => (Type::FLOAT4, Type::FLOAT4_ARRAY),
        Kind::Float8 => (Type::FLOAT8, Type::FLOAT8_ARRAY),
        Kind::Numeric => (Type::NUMERIC, Type::NUMERIC_ARRAY),
        Kind::Text => (Type::TEXT, Type::TEXT_ARRAY),
        Kind::Uuid => (Type::UUID, Type::UUID_ARRAY),
        Kind::Date => (Type::DATE, Type::DATE_ARRAY),
        Kind::Time => (Type::TIME, Type::TIME_ARRAY),
        Kind::Timestamp => (Type::TIMESTAMP, Type::TIMESTAMP_ARRAY),
        Kind::Timestamptz => (Type::TIMESTAMPTZ, Type::TIMESTAMPTZ_ARRAY),
        Kind::Jsonb => (Type::JSONB, Type::JSONB_ARRAY),
    }
}

impl ToSql for PgParam<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let kind = self.param.kind;
        match &self.param.source {
            Source::Value(Value::Null) => return Ok(IsNull::Yes),
            Source::Value(Value::List(values)) => {
                let items = values.iter().map(|value| (*value != Value::Null).then_some(value));
                array(out, &types(kind).0, values.len(), items, |out, value| scalar(out, kind, value));
            }
            Source::Value(value) => scalar(out, kind, value),
            Source::Keys(part) => {
                let keys = self.keys.ok_or("a level's keys are missing")?;
                // The parents' columns have the same type, so their bytes pass through.
                array(out, &types(kind).0, keys.len(), keys.column(*part).map(Some), BufMut::put_slice);
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
pub(super) fn scalar(out: &mut BytesMut, kind: Kind, value: &Value) {
    match (kind, value) {
        (_, Value::Bool(value)) => out.put_u8(u8::from(*value)),
        (Kind::Int4, Value::Int(value)) => out.extend_from_slice(&(*value as i32).to_be_bytes()),
        (_, Value::Int(value)) => out.extend_from_slice(&value.to_be_bytes()),
        // A value beyond the range becomes infinite, which compares the same way.
        (Kind::Float4, Value::Float(value)) => out.extend_from_slice(&(*value as f32).to_be_bytes()),
        (_, Value::Float(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (_, Value::Decimal(text)) => {
            let mut bytes = Vec::with_capacity(16);
            numeric::write(&mut bytes, text);
            out.put_slice(&bytes);
        }
        (_, Value::Text(text)) => out.extend_from_slice(text.as_bytes()),
        (_, Value::Uuid(uuid)) => out.extend_from_slice(uuid),
        (_, Value::Date(days)) => out.extend_from_slice(&(days - EPOCH_DAYS).to_be_bytes()),
        (_, Value::Time(micros)) => out.extend_from_slice(&micros.to_be_bytes()),
        (_, Value::Timestamp(micros)) => out.extend_from_slice(&(micros - EPOCH_MICROS).to_be_bytes()),
        (_, Value::Json(text)) => {
            out.put_u8(1);
            out.extend_from_slice(text.as_bytes());
        }
        (_, Value::Null | Value::List(_)) => {}
    }
}
