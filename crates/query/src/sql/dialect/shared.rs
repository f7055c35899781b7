//! What both dialects share.

use crate::catalog::Field;
use crate::plan::predicate::Comparison;
use crate::types::{EnumValue, Scalar, Type};
use crate::value::Value;

use super::super::{Kind, Writer};
use super::Dialect;

pub(in crate::sql) fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => " = ",
        Comparison::Ne => " <> ",
        Comparison::Gt => " > ",
        Comparison::Gte => " >= ",
        Comparison::Lt => " < ",
        Comparison::Lte => " <= ",
    }
}

pub(super) fn json_array(values: &[Value]) -> String {
    let mut text = String::from("[");
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match value {
            Value::Json(json) => text.push_str(json),
            _ => text.push_str("null"),
        }
    }
    text.push(']');
    text
}

/// The type that a scalar is bound as.
pub(super) fn scalar_kind(scalar: &Scalar) -> Kind {
    match scalar {
        Scalar::Bool => Kind::Bool,
        Scalar::Int | Scalar::BigInt => Kind::Int8,
        Scalar::Float => Kind::Float8,
        Scalar::Decimal => Kind::Numeric,
        Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) => Kind::Text,
        Scalar::Uuid => Kind::Uuid,
        Scalar::Date => Kind::Date,
        Scalar::Time => Kind::Time,
        Scalar::Timestamp => Kind::Timestamptz,
        Scalar::Json => Kind::Jsonb,
    }
}

/// The values of a field that is an enum, where its column may hold others.
pub(super) fn enum_values(field: &Field) -> Option<&[EnumValue]> {
    if matches!(field.kind, Type::One(_)) { field.fitting_values().map(AsRef::as_ref) } else { None }
}

/// ` IN ('lead', 'active')`
pub(super) fn among_texts(writer: &mut Writer, values: &[EnumValue]) {
    writer.raw(" IN (");
    writer.separated(", ", values, Writer::literal);
    writer.raw(")");
}

/// Whether equal values of the field may have different scales.
pub(super) fn has_scales(dialect: Dialect, field: &Field) -> bool {
    field.kind == Type::One(Scalar::Decimal) && !(dialect.is_postgres() && field.scale.is_some())
}

pub(super) fn is_float(field: &Field) -> bool {
    field.kind == Type::One(Scalar::Float)
}

pub(super) fn is_json(field: &Field) -> bool {
    field.kind == Type::One(Scalar::Json)
}
