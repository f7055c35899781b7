//! Maps the type of a column to a type of the manifest.

use std::sync::Arc;

use query::catalog::{Stored, TextForm};
use query::sql::Dialect;
use query::types::{EnumValue, Scalar, Type};

use crate::schema::Column;

pub(crate) fn kind_of(column: &Column, dialect: Dialect) -> Option<Type> {
    if dialect.is_postgres() && text_form(column).is_some() {
        return Some(Type::One(Scalar::ReadAsText));
    }
    if column.nested || column.unknown_type {
        return None;
    }
    let scalar = match (dialect, &column.seen) {
        (Dialect::Postgres | Dialect::Citus, _) => postgres(column)?,
        (Dialect::Sqlite, Some((scalar, _))) => scalar.clone(),
        (Dialect::Sqlite, None) => sqlite(&column.native)?,
    };
    Some(if column.array { Type::Array(scalar) } else { Type::One(scalar) })
}

/// How a column of PostgreSQL is read as text; none if a type of the manifest reads it, or its elements.
pub(crate) fn text_form(column: &Column) -> Option<TextForm> {
    if column.enumeration.is_some() || postgres_scalar(&column.native).is_some() {
        return None;
    }
    Some(match column.native.as_str() {
        "bytea" if !column.array => TextForm::Base64,
        "interval" if !column.array => TextForm::Duration,
        "inet" if !column.array => TextForm::Address,
        _ => TextForm::Text,
    })
}

fn postgres(column: &Column) -> Option<Scalar> {
    if let Some(enumeration) = &column.enumeration {
        // PostgreSQL allows an enum without labels, a manifest does not.
        let labels: Arc<[EnumValue]> = enumeration.labels.iter().map(|label| EnumValue::new(label)).collect();
        return Some(if labels.is_empty() { Scalar::Text } else { Scalar::Enum(labels) });
    }
    postgres_scalar(&column.native)
}

fn postgres_scalar(native: &str) -> Option<Scalar> {
    Some(match native {
        "bool" => Scalar::Bool,
        "int2" | "int4" => Scalar::Int,
        "int8" => Scalar::BigInt,
        "float4" | "float8" => Scalar::Float,
        "numeric" => Scalar::Decimal,
        "text" | "varchar" | "bpchar" | "citext" | "name" => Scalar::Text,
        "uuid" => Scalar::Uuid,
        "date" => Scalar::Date,
        "time" => Scalar::Time,
        "timestamp" | "timestamptz" => Scalar::Timestamp,
        "json" | "jsonb" => Scalar::Json,
        _ => return None,
    })
}

/// SQLite stores the declared type as it was written; its meaning is a convention.
pub(super) fn sqlite(declared: &str) -> Option<Scalar> {
    let declared: String = declared.to_ascii_uppercase().split_whitespace().collect::<Vec<_>>().join(" ");
    if declared.replace(' ', "").starts_with("TINYINT(1)") {
        return Some(Scalar::Bool);
    }
    let word = declared.split(['(', ' ']).next().unwrap_or_default();
    let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    Some(match word {
        "BOOLEAN" | "BOOL" => Scalar::Bool,
        "TINYINT" | "SMALLINT" | "MEDIUMINT" => Scalar::Int,
        "DATE" => Scalar::Date,
        "TIME" => Scalar::Time,
        "DATETIME" | "TIMESTAMP" | "TIMESTAMPTZ" => Scalar::Timestamp,
        "JSON" | "JSONB" => Scalar::Json,
        "UUID" | "GUID" => Scalar::Uuid,
        "DECIMAL" | "NUMERIC" | "MONEY" | "CURRENCY" => Scalar::Decimal,
        _ if has(&["CHAR", "CLOB", "TEXT"]) => Scalar::Text,
        _ if has(&["INT"]) => Scalar::BigInt,
        _ if has(&["REAL", "FLOA", "DOUB"]) => Scalar::Float,
        _ if has(&["BLOB", "BINARY"]) => return None,
        _ => Scalar::Text,
    })
}

pub(super) fn stored(column: &Column) -> Stored {
    match column.seen {
        Some((_, stored)) => stored,
        None if column.native.trim_start().to_ascii_uppercase().starts_with("DATETIME") => Stored::Datetime,
        None => Stored::Standard,
    }
}

/// Whether a SQLite column is declared as a time but holds numbers that no type reads as one.
pub(super) fn is_other_time(column: &Column) -> bool {
    let of_time = matches!(sqlite(&column.native), Some(Scalar::Date | Scalar::Time | Scalar::Timestamp));
    of_time && matches!(column.seen, Some((Scalar::BigInt | Scalar::Float, _)))
}

pub(super) fn offered(column: &Column, dialect: Dialect) -> Option<Type> {
    let readable = !column.forbidden && !column.name.is_empty() && !column.name.contains('\0');
    kind_of(column, dialect).filter(|_| readable)
}
