//! SQLite: our functions `peristyle_<type>(x)` give the value in its standard form, or NULL when it does not fit the type.

mod derived;
mod double;
mod stored;

use crate::catalog::{Field, Stored};
use crate::plan::predicate::{Column, Comparison, Membership};
use crate::statement::Function;
use crate::types::{Scalar, Type};
use crate::value::Value;

pub(super) use self::derived::{bucket, json_path, related};
pub(in crate::sql) use self::stored::{TargetColumn, referenced_value};
pub(super) use self::stored::{added, added as added_key, stored_value};
pub(super) use self::{fitted as grouped, fitted as measured};
use super::super::tree::{Logic, Operand, PivotColumn};
use super::super::{Arity, Kind, Source, Writer};
use super::NullTest;
use super::shared::{among_texts, enum_values, is_float, json_array, scalar_kind, sign};

/// The stored value in its standard form, or NULL.
fn fit(writer: &mut Writer, field: &Field, column: Operand<'_>) {
    let values = enum_values(field);
    if values.is_some() {
        writer.raw("CASE WHEN ");
    }
    writer.raw(function(field));
    writer.operand(column);
    writer.raw(")");
    if let Some(values) = values {
        among_texts(writer, values);
        writer.raw(" THEN ");
        writer.operand(column);
        writer.raw(" END");
    }
}

/// The function that brings a stored value to its standard form.
fn function(field: &Field) -> &'static str {
    function_of(&field.kind, field.stored)
}

fn function_of(kind: &Type, stored: Stored) -> &'static str {
    match (kind, stored) {
        (Type::Array(_), _) => "peristyle_array(",
        (Type::One(_), Stored::Datetime) => "peristyle_datetime(",
        (Type::One(_), Stored::Unix) => "peristyle_unix(",
        (Type::One(scalar), Stored::Standard) => match scalar {
            Scalar::Bool => "peristyle_bool(",
            Scalar::Int => "peristyle_int(",
            Scalar::BigInt => "peristyle_bigint(",
            Scalar::Float => "peristyle_float(",
            Scalar::Decimal => "peristyle_decimal(",
            Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) => "peristyle_text(",
            Scalar::Uuid => "peristyle_uuid(",
            Scalar::Date => "peristyle_date(",
            Scalar::Time => "peristyle_time(",
            Scalar::Timestamp => "peristyle_timestamp(",
            Scalar::Json => "peristyle_json(",
        },
    }
}

/// The collation of strings of this type.
fn collation(field: &Field) -> &'static str {
    match field.kind {
        Type::One(Scalar::Decimal) => " COLLATE peristyle_decimal",
        Type::One(Scalar::Text | Scalar::Enum(_) | Scalar::Uuid | Scalar::Date | Scalar::Time | Scalar::Timestamp) => " COLLATE BINARY",
        _ => "",
    }
}

/// The value in its standard form, or NULL, with its collation: exact, but no index serves it.
pub(super) fn fitted(writer: &mut Writer, column: Column<'_>) {
    fit(writer, column.field, Operand::Column(column));
    writer.raw(collation(column.field));
}

/// Whether stored values of this type compare as they are stored, so that an index serves.
fn comparable(field: &Field) -> bool {
    field.stored == Stored::Standard && !matches!(field.kind, Type::Array(_) | Type::One(Scalar::Decimal | Scalar::Json | Scalar::Time))
}

/// Whether equal values of this type may be stored in several forms.
pub(super) fn has_several_forms(field: &Field) -> bool {
    !comparable(field) && matches!(field.kind, Type::One(_))
}

/// The stored value with its collation.
fn stored(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    writer.raw(collation(column.field));
}

/// ` AND` the stored value fits its type: one that does not is NULL, which joins nothing.
pub(super) fn and_fits(writer: &mut Writer, column: Column<'_>) {
    writer.raw(" AND ");
    fits(writer, column);
}

/// The same for one that equals a fitting value. SQLite may take a number for its text, so the storage class is checked; no more is needed.
fn guard_equal(writer: &mut Writer, column: Column<'_>) {
    match class(column.field) {
        Some(class) => {
            writer.raw(" AND ");
            stored_as(writer, Operand::Column(column), class);
        }
        None => and_fits(writer, column),
    }
}

/// The storage class of all values of a type, where there is one.
fn class(field: &Field) -> Option<&'static str> {
    match field.kind.scalar() {
        _ if !comparable(field) => None,
        Scalar::Bool | Scalar::Int | Scalar::BigInt => Some("= 'integer'"),
        Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_) | Scalar::Uuid | Scalar::Date | Scalar::Timestamp => Some("= 'text'"),
        Scalar::Float | Scalar::Decimal | Scalar::Time | Scalar::Json => None,
    }
}

/// The value has this storage class.
fn stored_as(writer: &mut Writer, column: Operand<'_>, class: &'static str) {
    writer.raw("typeof(");
    writer.operand(column);
    writer.raw(") ");
    writer.raw(class);
}

/// The stored value fits its type.
fn fits(writer: &mut Writer, column: Column<'_>) {
    // Most keys are of this type, and this test is cheaper.
    if column.field.kind == Type::One(Scalar::BigInt) {
        return stored_as(writer, Operand::Column(column), "= 'integer'");
    }
    writer.raw(function(column.field));
    writer.column(column);
    writer.raw(")");
    match enum_values(column.field) {
        Some(values) => among_texts(writer, values),
        None => writer.raw(" IS NOT NULL"),
    }
}

fn bind(writer: &mut Writer, field: &Field, arity: Arity, value: Value) {
    writer.bind(scalar_kind(field.kind.scalar()), arity, Source::Value(value));
}

pub(super) fn compare(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: &Value, logic: Logic) {
    if logic == Logic::ThreeValued || comparison == Comparison::Ne || !comparable(column.field) {
        fitted(writer, column);
        writer.raw(sign(comparison));
        bind(writer, column.field, Arity::One, value.clone());
        return;
    }
    if is_float(column.field) {
        return double::compare(writer, column, comparison, value);
    }
    if logic == Logic::FitFollows {
        stored(writer, column);
        writer.raw(sign(comparison));
        return bind(writer, column.field, Arity::One, value.clone());
    }
    writer.raw("(");
    stored(writer, column);
    writer.raw(sign(comparison));
    bind(writer, column.field, Arity::One, value.clone());
    if comparison == Comparison::Eq {
        guard_equal(writer, column);
    } else {
        and_fits(writer, column);
    }
    writer.raw(")");
}

pub(super) fn among(writer: &mut Writer, column: Column<'_>, membership: Membership, values: &[Value], logic: Logic) {
    let list = |writer: &mut Writer| {
        writer.raw(match membership {
            Membership::In => " IN (SELECT value FROM rarray(",
            Membership::NotIn => " NOT IN (SELECT value FROM rarray(",
        });
        bind(writer, column.field, Arity::List, Value::List(values.to_vec()));
        writer.raw("))");
    };
    if logic == Logic::ThreeValued || membership == Membership::NotIn || !comparable(column.field) {
        fitted(writer, column);
        list(writer);
        return;
    }
    if is_float(column.field) {
        return double::among(writer, column, values, list);
    }
    writer.raw("(");
    stored(writer, column);
    list(writer);
    guard_equal(writer, column);
    writer.raw(")");
}

pub(super) fn between(writer: &mut Writer, column: Column<'_>, low: &Value, high: &Value, logic: Logic) {
    let indexed = logic == Logic::UnknownIsFalse && comparable(column.field);
    if indexed && is_float(column.field) {
        return double::between(writer, column, low, high);
    }
    writer.raw("(");
    if indexed {
        stored(writer, column);
    } else {
        fitted(writer, column);
    }
    writer.raw(" BETWEEN ");
    bind(writer, column.field, Arity::One, low.clone());
    writer.raw(" AND ");
    bind(writer, column.field, Arity::One, high.clone());
    if indexed {
        and_fits(writer, column);
    }
    writer.raw(")");
}

pub(super) fn is_null(writer: &mut Writer, column: Column<'_>, test: NullTest) {
    fit(writer, column.field, Operand::Column(column));
    writer.raw(test.as_sql());
}

pub(super) fn like(writer: &mut Writer, column: Column<'_>, pattern: &str) {
    writer.raw("peristyle_ilike(");
    if enum_values(column.field).is_some() {
        fit(writer, column.field, Operand::Column(column));
    } else {
        writer.column(column);
    }
    writer.raw(", ");
    writer.bind(Kind::Text, Arity::One, Source::Value(Value::Text(pattern.to_owned())));
    writer.raw(")");
}

pub(super) fn contains(writer: &mut Writer, column: Column<'_>, values: &[Value]) {
    collection(writer, column, values, ["peristyle_json_contains(", "peristyle_array_contains("]);
}

pub(super) fn overlap(writer: &mut Writer, column: Column<'_>, values: &[Value], _: Logic) {
    collection(writer, column, values, ["peristyle_json_overlap(", "peristyle_array_overlap("]);
}

/// By one function for json, and by one for arrays: their elements compare as their type does.
fn collection(writer: &mut Writer, column: Column<'_>, values: &[Value], [json, array]: [&'static str; 2]) {
    let elements = match &column.field.kind {
        Type::One(_) => None,
        Type::Array(scalar) => Some(scalar.name()),
    };
    writer.raw(if elements.is_some() { array } else { json });
    writer.column(column);
    writer.raw(", ");
    let texts: Vec<Value> = values.iter().map(element).collect();
    writer.bind(Kind::Text, Arity::One, Source::Value(Value::Text(json_array(&texts))));
    if let Some(elements) = elements {
        writer.raw(", '");
        writer.raw(elements);
        writer.raw("'");
    }
    writer.raw(")");
}

/// An element as the JSON that arrays are stored in.
fn element(value: &Value) -> Value {
    use crate::json::text;

    Value::Json(match value {
        Value::Null | Value::List(_) => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Decimal(digits) => text(digits),
        Value::Text(value) => text(value),
        Value::Uuid(uuid) => text(&crate::value::uuid_text(uuid)),
        Value::Date(days) => text(&crate::value::date_text(i64::from(*days)).unwrap_or_default()),
        Value::Time(micros) => text(&crate::value::time_text(*micros)),
        Value::Timestamp(micros) => text(&crate::value::timestamp_fixed_text(*micros)),
        Value::Json(json) => json.clone(),
    })
}

pub(super) fn shown(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
}

/// Whether equal values of this type are equal as stored, or by their collation, so that an index serves the join. Floats are not.
fn joins_as_stored(field: &Field) -> bool {
    (comparable(field) && !is_float(field)) || (field.stored == Stored::Standard && field.kind == Type::One(Scalar::Decimal))
}

/// All keys are one JSON text.
pub(super) fn keys(writer: &mut Writer, own: &[&Field]) {
    writer.raw("(SELECT key AS n");
    for index in 0..own.len() {
        if own.len() == 1 {
            writer.raw(", value AS v");
        } else {
            writer.raw(", value ->> ");
            writer.number(index);
            writer.raw(" AS v");
        }
        writer.number(index);
    }
    writer.raw(" FROM json_each(");
    writer.bind(Kind::Text, Arity::One, Source::KeysAsJson);
    writer.raw(")) AS k");
}

/// The stored value if it fits: NULL joins nothing.
pub(super) fn key(writer: &mut Writer, column: Column<'_>) {
    if !joins_as_stored(column.field) {
        return fitted(writer, column);
    }
    writer.raw("CASE WHEN ");
    fits(writer, column);
    writer.raw(" THEN ");
    writer.column(column);
    writer.raw(" END");
}

pub(super) fn join_column(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if joins_as_stored(column.field) && joins_as_stored(other) {
        stored(writer, column);
    } else {
        fitted(writer, column);
    }
}

pub(super) fn join_column_to_pivot(writer: &mut Writer, column: Column<'_>) {
    join_column(writer, column, column.field);
}

/// A key of a type that is stored in several forms is read in its standard form.
pub(super) fn join_column_to_key(writer: &mut Writer, column: Column<'_>, _: &Field) {
    join_column(writer, column, column.field);
}

/// A pivot stores its values as their field does.
pub(super) fn pivot_column(writer: &mut Writer, pivot: PivotColumn<'_>) {
    let column = Operand::Pivot(pivot);
    if joins_as_stored(pivot.field) { writer.operand(column) } else { fit(writer, pivot.field, column) }
}

/// The equality itself compares what indexes hold.
pub(super) fn and_equal_by_index(_: &mut Writer, _: Column<'_>, _: Column<'_>) {}

pub(super) fn and_text_by_index(_: &mut Writer, _: &Field, _: Operand<'_>, _: Operand<'_>) {}

/// A pivot's column may store numbers as text, or strings as numbers, which SQLite takes for equal in some places only.
pub(super) fn and_pivot_fits(writer: &mut Writer, pivot: PivotColumn<'_>) {
    if let Some(class) = class(pivot.field) {
        writer.raw(" AND ");
        stored_as(writer, Operand::Pivot(pivot), class);
    }
}

/// NULL comes before DISTINCT makes equal values one: `3` and `3.0` are equal.
pub(super) fn fitting_pivot_column(writer: &mut Writer, pivot: PivotColumn<'_>) {
    let Some(class) = class(pivot.field) else { return pivot_column(writer, pivot) };
    writer.raw("CASE WHEN ");
    stored_as(writer, Operand::Pivot(pivot), class);
    writer.raw(" THEN ");
    writer.operand(Operand::Pivot(pivot));
    writer.raw(" END");
}

/// Of two equal strings of one type both fit or neither. But the integer 3 equals the float 3.0, which does not fit.
pub(super) fn and_other_fits(writer: &mut Writer, column: Column<'_>, other: &Field) {
    let is_whole = matches!(column.field.kind.scalar(), Scalar::Bool | Scalar::Int | Scalar::BigInt);
    if is_whole || column.field.kind != other.kind {
        and_fits(writer, column);
    }
}

pub(super) fn pivot_collation(writer: &mut Writer, field: &Field) {
    writer.raw(collation(field));
}

/// Rows are sorted by the stored value, so that an index serves; a type whose texts do not sort as its values do is converted.
pub(super) fn sort_key(writer: &mut Writer, column: Column<'_>) {
    if sorts_as_stored(column.field) {
        stored(writer, column);
    } else {
        fitted(writer, column);
    }
}

pub(super) fn sorts_as_stored(field: &Field) -> bool {
    comparable(field) || field.stored == Stored::Unix
}

pub(super) fn position_value(writer: &mut Writer, field: &Field, value: &Value) {
    match value {
        Value::Timestamp(micros) if field.stored == Stored::Unix => {
            let (kind, seconds) = match (micros / 1_000_000, micros % 1_000_000) {
                (seconds, 0) => (Kind::Int8, Value::Int(seconds)),
                _ => (Kind::Float8, Value::Float(*micros as f64 / 1e6)),
            };
            writer.bind(kind, Arity::One, Source::Value(seconds));
        }
        value => bind(writer, field, Arity::One, value.clone()),
    }
}

pub(super) fn position(writer: &mut Writer, column: Column<'_>) {
    if sorts_as_stored(column.field) { writer.column(column) } else { fitted(writer, column) }
}

pub(super) fn counted(writer: &mut Writer, column: Column<'_>) {
    fit(writer, column.field, Operand::Column(column));
}

pub(super) fn sum(writer: &mut Writer, column: Column<'_>) {
    // SQLite's own sum of doubles compensates for rounding, and PostgreSQL's does not.
    writer.raw(if is_float(column.field) { "peristyle_float_sum(" } else { "peristyle_sum(" });
    if column.field.kind == Type::One(Scalar::Decimal) {
        // The function ignores values that are no decimal.
        writer.column(column);
    } else {
        fitted(writer, column);
    }
    writer.raw(")");
}

pub(super) fn extreme_decimal(writer: &mut Writer, function: Function, column: Column<'_>) {
    // The functions ignore values that are no decimal.
    writer.raw(if function == Function::Min { "peristyle_decimal_min(" } else { "peristyle_decimal_max(" });
    writer.column(column);
    writer.raw(")");
}

/// The values of a group are equal, and decimals may differ in their scale.
pub(super) fn grouped_shown(writer: &mut Writer, column: Column<'_>) {
    if column.field.kind == Type::One(Scalar::Decimal) {
        return extreme_decimal(writer, Function::Max, column);
    }
    fitted(writer, column);
}

pub(super) fn extreme_value(writer: &mut Writer, column: Column<'_>) {
    fitted(writer, column);
    writer.raw(")");
}
