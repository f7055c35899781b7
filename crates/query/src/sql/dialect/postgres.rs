//! PostgreSQL: its own operators, casts only where a column's type is not the usual one.

mod derived;
mod join_columns;
mod json_comparison;
mod json_dates;
mod read_as_text;
mod scales;
mod stored;
mod sums;

use crate::catalog::{Field, Native};
use crate::plan::predicate::{Column, Comparison, Membership};
use crate::types::{Scalar, Type};
use crate::value::Value;

use super::super::tree::Logic;
use super::super::{Arity, Kind, Source, Writer};
use super::NullTest;
use super::shared::{among_texts, enum_values, has_scales, is_json, json_array, scalar_kind, sign};
pub(super) use derived::{bucket, json_path};
use join_columns::standard;
pub(super) use join_columns::{
    and_equal_by_index, and_fits, and_other_fits, and_pivot_fits, and_text_by_index, bind_keys, fitting_pivot_column, is_equal_by_bytes,
    join_column, join_column_to_key, join_column_to_pivot, key, key_kind, keys, pivot_collation, pivot_column,
};
use json_comparison::comparable_json;
pub(super) use scales::extreme_decimal;
pub(in crate::sql) use stored::inserted_rows;
pub(super) use stored::{added, added_key, stored_value};
pub(super) use sums::{related, sum};

/// Columns of different collations do not compare, and a nondeterministic collation has no patterns and equates different strings.
const OWN_COLLATION: &str = "::text COLLATE \"default\"";

/// The operators for all arrays. The extension `intarray` has others of the same names for integers, which fail on NULL.
const CONTAINS: &str = " OPERATOR(pg_catalog.@>) ";
const OVERLAPS: &str = " OPERATOR(pg_catalog.&&) ";

/// A column where its value is compared: cast when its type lacks the operators.
fn operand(writer: &mut Writer, column: Column<'_>) {
    match &column.field.native {
        Native::JsonText => comparable_json(writer, &|writer| writer.column(column)),
        Native::ReadAsText(form) => read_as_text::text(writer, column, *form),
        Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation => {
            writer.column(column);
            writer.raw("::text");
        }
        _ => writer.column(column),
    }
}

/// Whether the column may hold values that do not fit its field: strings outside an enum, integers beyond 32 bits.
fn may_hold_others(field: &Field) -> bool {
    enum_values(field).is_some() || is_wide(field)
}

fn is_wide(field: &Field) -> bool {
    field.native == Native::WideInteger
}

/// The column's value fits its field.
fn fits(writer: &mut Writer, column: Column<'_>) {
    if let Some(values) = enum_values(column.field) {
        standard(writer, column);
        among_texts(writer, values);
    } else {
        writer.column(column);
        writer.raw(" BETWEEN -2147483648 AND 2147483647");
    }
}

/// What `write` makes of a column, or NULL where its value does not fit its field.
fn fitting(writer: &mut Writer, column: Column<'_>, write: impl FnOnce(&mut Writer)) {
    if !may_hold_others(column.field) {
        return write(writer);
    }
    writer.raw("CASE WHEN ");
    fits(writer, column);
    writer.raw(" THEN ");
    write(writer);
    writer.raw(" END");
}

fn value_kind(field: &Field) -> Kind {
    match field.native {
        Native::TimestampWithoutZone => Kind::Timestamp,
        // A column of singles holds the single nearest to 0.1, and shows it as 0.1.
        Native::Real => Kind::Float4,
        _ => scalar_kind(field.kind.scalar()),
    }
}

fn bind(writer: &mut Writer, field: &Field, arity: Arity, value: Value) {
    let kind = match arity {
        Arity::One => value_kind(field),
        // PostgreSQL hashes a list only if it has the column's own type.
        Arity::List => element_kind(field),
    };
    writer.bind(kind, arity, Source::Value(value));
    if let Native::Enum(name, _) = &field.native {
        writer.raw("::");
        writer.table_name(&name.0);
        if arity == Arity::List {
            writer.raw("[]");
        }
    }
}

/// Whether equal strings are equal by the column's own type too, which an index serves: `(equal by type AND equal)` means `equal`.
fn has_index_equality(field: &Field) -> bool {
    matches!(field.native, Native::Padded | Native::Caseless(_))
}

/// `::citext`, the column's own type.
fn own_type(writer: &mut Writer, field: &Field) {
    writer.raw("::");
    match &field.native {
        Native::Caseless(name) => writer.table_name(&name.0),
        _ => writer.raw("bpchar"),
    }
}

/// `(column = $1::text::citext AND column::text = $1::text)`, or ANY of a list.
fn equal_with_index(writer: &mut Writer, column: Column<'_>, arity: Arity, value: Value) {
    let (open, close) = if arity == Arity::List { ("ANY(", "[])") } else { ("", "") };
    writer.raw("(");
    writer.column(column);
    writer.raw(" = ");
    writer.raw(open);
    let number = writer.bind(Kind::Text, arity, Source::Value(value));
    own_type(writer, column.field);
    writer.raw(close);
    writer.raw(" AND ");
    operand(writer, column);
    writer.raw(" = ");
    writer.raw(open);
    writer.placeholder(number);
    writer.raw(if arity == Arity::List { "))" } else { ")" });
}

/// Whether an equality must check that the value fits. A value that equals a fitting one fits, unless the collation equates others; a
/// value that does not fit is unequal, and under a NOT it must be unknown.
fn must_check_fit(field: &Field, logic: Logic) -> bool {
    may_hold_others(field) && (logic == Logic::ThreeValued || field.native == Native::TextByCollation)
}

/// A column of wide integers compared with a value that fits. The other end of the range is written too, so that an index serves.
fn compare_wide(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: &Value) {
    writer.raw("(");
    writer.column(column);
    writer.raw(sign(comparison));
    bind(writer, column.field, Arity::One, value.clone());
    writer.raw(" AND ");
    match comparison {
        Comparison::Gt | Comparison::Gte => {
            writer.column(column);
            writer.raw(" <= 2147483647");
        }
        Comparison::Lt | Comparison::Lte => {
            writer.column(column);
            writer.raw(" >= -2147483648");
        }
        Comparison::Eq | Comparison::Ne => fits(writer, column),
    }
    writer.raw(")");
}

pub(super) fn compare(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: &Value, logic: Logic) {
    let fits = comparison == Comparison::Eq && !must_check_fit(column.field, logic);
    if fits && has_index_equality(column.field) {
        return equal_with_index(writer, column, Arity::One, value.clone());
    }
    if !fits && is_wide(column.field) && logic != Logic::ThreeValued {
        return compare_wide(writer, column, comparison, value);
    }
    if fits {
        operand(writer, column);
    } else {
        fitting(writer, column, |writer| operand(writer, column));
    }
    writer.raw(sign(comparison));
    bind(writer, column.field, Arity::One, value.clone());
}

pub(super) fn among(writer: &mut Writer, column: Column<'_>, membership: Membership, values: &[Value], logic: Logic) {
    let fits = membership == Membership::In && !must_check_fit(column.field, logic);
    if fits && has_index_equality(column.field) {
        return equal_with_index(writer, column, Arity::List, Value::List(values.to_vec()));
    }
    if fits {
        operand(writer, column);
    } else {
        fitting(writer, column, |writer| operand(writer, column));
    }
    writer.raw(match membership {
        Membership::In => " = ANY(",
        Membership::NotIn => " <> ALL(",
    });
    bind(writer, column.field, Arity::List, Value::List(values.to_vec()));
    writer.raw(")");
}

pub(super) fn between(writer: &mut Writer, column: Column<'_>, low: &Value, high: &Value, logic: Logic) {
    // A value between two that fit fits too.
    if is_wide(column.field) && logic != Logic::ThreeValued {
        writer.column(column);
    } else {
        fitting(writer, column, |writer| operand(writer, column));
    }
    writer.raw(" BETWEEN ");
    bind(writer, column.field, Arity::One, low.clone());
    writer.raw(" AND ");
    bind(writer, column.field, Arity::One, high.clone());
}

pub(super) fn is_null(writer: &mut Writer, column: Column<'_>, test: NullTest) {
    fitting(writer, column, |writer| writer.column(column));
    writer.raw(match (&column.field.native, test) {
        // Of a composite, `IS NULL` is true if all its fields are NULL, and `IS NOT NULL` if none is.
        (Native::ReadAsText(_), NullTest::Null) => " IS NOT DISTINCT FROM NULL",
        (Native::ReadAsText(_), NullTest::NotNull) => " IS DISTINCT FROM NULL",
        (_, test) => test.as_sql(),
    });
}

pub(super) fn like(writer: &mut Writer, column: Column<'_>, pattern: &str) {
    fitting(writer, column, |writer| writer.column(column));
    match column.field.native {
        Native::Enum(..) | Native::Padded | Native::Caseless(_) | Native::TextByCast => writer.raw("::text"),
        Native::TextByCollation => writer.raw(OWN_COLLATION),
        _ => {}
    }
    writer.raw(" ILIKE ");
    writer.bind(Kind::Text, Arity::One, Source::Value(Value::Text(pattern.to_owned())));
}

/// The elements' kind as the array operators want it.
fn element_kind(field: &Field) -> Kind {
    match (field.kind.scalar(), &field.native) {
        (Scalar::Int, Native::Standard) => Kind::Int4,
        (Scalar::Timestamp, Native::TimestampWithoutZone) => Kind::Timestamp,
        (Scalar::Float, Native::Real) => Kind::Float4,
        (scalar, _) => scalar_kind(scalar),
    }
}

fn array_operand(writer: &mut Writer, column: Column<'_>) {
    if *column.field.kind.scalar() == Scalar::Json && column.field.native == Native::ArrayByCast {
        writer.raw("CASE WHEN ");
        writer.column(column);
        writer.raw(" IS NOT NULL THEN ARRAY(SELECT ");
        comparable_json(writer, &|writer| writer.raw("e"));
        writer.raw(" FROM unnest(");
        writer.column(column);
        writer.raw(") AS e) END");
        return;
    }
    writer.column(column);
    if column.field.native == Native::ArrayByCast {
        writer.raw("::");
        writer.raw(element_kind(column.field).as_str());
        writer.raw("[]");
    }
}

pub(super) fn contains(writer: &mut Writer, column: Column<'_>, values: &[Value]) {
    if is_json(column.field) {
        operand(writer, column);
        writer.raw(" @> ");
        writer.bind(Kind::Jsonb, Arity::One, Source::Value(Value::Json(json_array(values))));
        return;
    }
    array_operand(writer, column);
    writer.raw(CONTAINS);
    writer.bind(element_kind(column.field), Arity::List, Source::Value(Value::List(values.to_vec())));
}

pub(super) fn overlap(writer: &mut Writer, column: Column<'_>, values: &[Value], logic: Logic) {
    if is_json(column.field) {
        // `ANY` of an empty list is false of NULL too. Under a NOT it must be unknown, and no index serves.
        let guarded = logic == Logic::ThreeValued;
        if guarded {
            writer.raw("CASE WHEN ");
            writer.column(column);
            writer.raw(" IS NOT NULL THEN ");
        }
        // An array has an element exactly when it contains the array of that one element.
        operand(writer, column);
        writer.raw(" @> ANY(");
        let wrapped = values.iter().map(|value| Value::Json(json_array(std::slice::from_ref(value)))).collect();
        writer.bind(Kind::Jsonb, Arity::List, Source::Value(Value::List(wrapped)));
        writer.raw(if guarded { ") END" } else { ")" });
        return;
    }
    array_operand(writer, column);
    writer.raw(OVERLAPS);
    writer.bind(element_kind(column.field), Arity::List, Source::Value(Value::List(values.to_vec())));
}

pub(super) fn shown(writer: &mut Writer, column: Column<'_>) {
    if let Native::ReadAsText(form) = column.field.native {
        return read_as_text::text(writer, column, form);
    }
    writer.column(column);
    cast_shown(writer, column.field);
}

/// The cast of a value that is read for an answer, where its type needs one.
pub(super) fn cast_shown(writer: &mut Writer, field: &Field) {
    match (&field.kind, &field.native) {
        (Type::One(_), Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation | Native::Enum(..)) => {
            writer.raw("::text");
        }
        // `jsonb` refuses some texts and rewrites others.
        (Type::Array(Scalar::Json), Native::ArrayByCast) => writer.raw("::json[]"),
        (Type::Array(_), Native::ArrayByCast) => {
            writer.raw("::");
            writer.raw(element_kind(field).as_str());
            writer.raw("[]");
        }
        _ => {}
    }
}

/// A column that is grouped by: `citext` would group strings that differ.
pub(super) fn grouped(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| sort_key(writer, column));
}

/// A column that rows are sorted by, in the order in which its values compare. Blanks at the end change no order.
pub(super) fn sort_key(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    if matches!(column.field.native, Native::Caseless(_) | Native::TextByCast) {
        writer.raw("::text");
    }
}

pub(super) fn position_value(writer: &mut Writer, field: &Field, value: &Value) {
    bind(writer, field, Arity::One, value.clone());
    if field.native == Native::Padded {
        own_type(writer, field);
    }
}

pub(super) fn position(writer: &mut Writer, column: Column<'_>) {
    shown(writer, column);
}

pub(super) fn grouped_shown(writer: &mut Writer, column: Column<'_>) {
    if has_scales(writer.dialect, column.field) {
        return scales::grouped_decimal(writer, column);
    }
    if !may_hold_others(column.field) {
        return shown(writer, column);
    }
    // PostgreSQL wants the grouped expression itself.
    grouped(writer, column);
    if enum_values(column.field).is_some() {
        writer.raw("::text");
    }
}

pub(super) fn measured(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| writer.column(column));
    if column.field.native == Native::Real {
        // The double with the digits that a single is shown with: 0.1, not 0.10000000149011612.
        writer.raw("::text::float8");
    }
}

pub(super) fn counted(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| writer.column(column));
}

pub(super) fn extreme_value(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| writer.column(column));
    match (column.field.kind.scalar(), &column.field.native) {
        // The digits of UUIDs sort as the UUIDs do.
        (Scalar::Uuid, _) => writer.raw("::text COLLATE \"C\")::uuid"),
        (_, Native::Enum(..)) => writer.raw(")::text"),
        (_, Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation) => writer.raw("::text)"),
        _ => writer.raw(")"),
    }
}
