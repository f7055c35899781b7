//! Maps the type of a PostgreSQL column to the type of a field.

use query::catalog::{Labels, Native, TypeName};
use query::types::{Scalar, Type};

use crate::schema::{Collation, Column};

use super::kind::text_form;

pub(crate) fn native(kind: &Type, column: &Column) -> Option<Native> {
    match kind {
        Type::One(Scalar::Text | Scalar::ReadAsText) if text_form(column).is_some() => text_form(column).map(Native::ReadAsText),
        Type::One(kind) if !column.array => scalar(kind, column).map(|native| match &column.collation {
            Some(Collation { deterministic: false, .. }) => Native::TextByCollation,
            _ => native,
        }),
        Type::Array(kind) if column.array => scalar(kind, column).map(|native| match native {
            // An array of a domain has no array operators until it is cast.
            Native::Standard | Native::TimestampWithoutZone | Native::Real if !column.domain => native,
            _ => Native::ArrayByCast,
        }),
        _ => None,
    }
}

/// Whether values of the field's type can be written into the column. An enum in a closed schema cannot be named in a cast, and `name` cuts
/// off what is too long.
pub(crate) fn takes_values(kind: &Type, column: &Column) -> bool {
    let is_named = column.enumeration.is_none() || !column.schema_forbidden;
    is_named && column.native != "name" && native(kind, column).is_some_and(|native| !matches!(native, Native::ReadAsText(_)))
}

fn scalar(kind: &Scalar, column: &Column) -> Option<Native> {
    if let Some(enumeration) = &column.enumeration {
        return match kind {
            // A domain over an enum has no operators, and a type in a closed schema cannot be named in a cast.
            Scalar::Enum(values) if !column.domain && !column.schema_forbidden => {
                let named = enumeration.labels.iter().all(|label| values.iter().any(|value| **value == **label));
                let labels = if named { Labels::Named } else { Labels::MoreThanNamed };
                Some(Native::Enum(TypeName::new(&enumeration.schema, &enumeration.name), labels))
            }
            // A string that is no label would fail the cast to the enum; as text it equals nothing.
            Scalar::Enum(_) | Scalar::Text => Some(Native::TextByCast),
            _ => None,
        };
    }
    match (kind, column.native.as_str()) {
        (Scalar::Bool, "bool")
        | (Scalar::Int, "int4")
        | (Scalar::BigInt, "int8")
        | (Scalar::Float, "float8")
        | (Scalar::Decimal, "numeric")
        | (Scalar::Text | Scalar::Enum(_), "text")
        | (Scalar::Uuid, "uuid")
        | (Scalar::Date, "date")
        | (Scalar::Time, "time")
        | (Scalar::Timestamp, "timestamptz")
        | (Scalar::Json, "jsonb") => Some(Native::Standard),
        (Scalar::Int, "int8") => Some(Native::WideInteger),
        (Scalar::Int | Scalar::BigInt, "int2" | "int4") => Some(Native::OtherInteger),
        (Scalar::Float, "float4") => Some(Native::Real),
        (Scalar::Text | Scalar::Enum(_), "varchar") => Some(Native::Varchar),
        (Scalar::Text | Scalar::Enum(_), "bpchar") => Some(Native::Padded),
        (Scalar::Text | Scalar::Enum(_), "citext") if column.schema_forbidden => Some(Native::TextByCast),
        (Scalar::Text | Scalar::Enum(_), "citext") => Some(Native::Caseless(TypeName::new(&column.native_schema, &column.native))),
        (Scalar::Text | Scalar::Enum(_), "name") => Some(Native::TextByCast),
        (Scalar::Timestamp, "timestamp") => Some(Native::TimestampWithoutZone),
        (Scalar::Json, "json") => Some(Native::JsonText),
        _ => None,
    }
}
