//! PostgreSQL: its own operators, casts only where a column's type is not the usual one.

mod sound;

use crate::catalog::{Field, Native};
use crate::plan::predicate::{Column, Comparison, Membership};
use crate::types::{Scalar, Type};
use crate::value::Value;

use super::super::{Kind, Many, Source, Writer};
use super::alike::{Logic, among_texts, enum_values, is_float, is_json, json_array, scalar_kind, sign};
use sound::sound_jsonb;

/// A collation may take different texts for equal, which has no patterns, and two that differ do not compare at all.
const OWN_COLLATION: &str = "::text COLLATE \"default\"";

/// The operators of all arrays: the extension `intarray` has others of the same names for integers, which fail on NULL.
const CONTAINS: &str = " OPERATOR(pg_catalog.@>) ";
const OVERLAPS: &str = " OPERATOR(pg_catalog.&&) ";

/// A column where its value is compared: cast when the type has no operators of its own.
fn operand(writer: &mut Writer, column: Column<'_>) {
    match &column.field.native {
        Native::JsonText => sound_jsonb(writer, &|writer| writer.column(column)),
        Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation => {
            writer.column(column);
            writer.raw("::text");
        }
        _ => writer.column(column),
    }
}

/// What `write` says of a column, or NULL where the column holds none of an enum's values.
fn fitting(writer: &mut Writer, column: Column<'_>, write: impl FnOnce(&mut Writer)) {
    let Some(values) = enum_values(column.field) else { return write(writer) };
    writer.raw("CASE WHEN ");
    standard(writer, column);
    among_texts(writer, values);
    writer.raw(" THEN ");
    write(writer);
    writer.raw(" END");
}

fn value_kind(field: &Field) -> Kind {
    match field.native {
        Native::TimestampWithoutZone => Kind::Timestamp,
        // A column of singles holds no double in between: 0.1 is what it shows as 0.1.
        Native::Real => Kind::Float4,
        _ => scalar_kind(field.kind.scalar()),
    }
}

fn bind(writer: &mut Writer, field: &Field, many: Many, value: Value) {
    let kind = match many {
        Many::One => value_kind(field),
        // Of the column's own type, or the list is gone through for each row in place of being hashed.
        Many::List => element_kind(field),
    };
    writer.bind(kind, many, Source::Value(value));
    if let Native::Enum(name, _) = &field.native {
        writer.raw("::");
        writer.table_name(name.table_name());
        if many == Many::List {
            writer.raw("[]");
        }
    }
}

/// Texts that are equal are equal by the column's own type too, and that an index can find: `(found AND equal)` is true, false or unknown
/// exactly as `equal` is.
fn is_found(field: &Field) -> bool {
    matches!(field.native, Native::Padded | Native::Caseless(_))
}

/// `::citext`, the column's own type.
fn own_type(writer: &mut Writer, field: &Field) {
    writer.raw("::");
    match &field.native {
        Native::Caseless(name) => writer.table_name(name.table_name()),
        _ => writer.raw("bpchar"),
    }
}

/// `(column = $1::text::citext AND column::text = $1::text)`, or ANY of a list.
fn equal_and_found(writer: &mut Writer, column: Column<'_>, many: Many, value: Value) {
    let (open, close) = if many == Many::List { ("ANY(", "[])") } else { ("", "") };
    writer.raw("(");
    writer.column(column);
    writer.raw(" = ");
    writer.raw(open);
    let number = writer.bind(Kind::Text, many, Source::Value(value));
    own_type(writer, column.field);
    writer.raw(close);
    writer.raw(" AND ");
    operand(writer, column);
    writer.raw(" = ");
    writer.raw(open);
    writer.placeholder(number);
    writer.raw(if many == Many::List { "))" } else { ")" });
}

/// Whether it has to be asked if a value fits. What equals one of an enum does, but for collations that take others for equal; what does not
/// fit is unequal, where it should be unknown.
fn may_be_unfit(field: &Field, logic: Logic) -> bool {
    enum_values(field).is_some() && (logic == Logic::ThreeValued || field.native == Native::TextByCollation)
}

pub(super) fn compare(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: &Value, logic: Logic) {
    let fits = comparison == Comparison::Eq && !may_be_unfit(column.field, logic);
    if fits && is_found(column.field) {
        return equal_and_found(writer, column, Many::One, value.clone());
    }
    if fits {
        operand(writer, column);
    } else {
        fitting(writer, column, |writer| operand(writer, column));
    }
    writer.raw(sign(comparison));
    bind(writer, column.field, Many::One, value.clone());
}

pub(super) fn among(writer: &mut Writer, column: Column<'_>, membership: Membership, values: &[Value], logic: Logic) {
    let fits = membership == Membership::In && !may_be_unfit(column.field, logic);
    if fits && is_found(column.field) {
        return equal_and_found(writer, column, Many::List, Value::List(values.to_vec()));
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
    bind(writer, column.field, Many::List, Value::List(values.to_vec()));
    writer.raw(")");
}

pub(super) fn between(writer: &mut Writer, column: Column<'_>, low: &Value, high: &Value, _: Logic) {
    fitting(writer, column, |writer| operand(writer, column));
    writer.raw(" BETWEEN ");
    bind(writer, column.field, Many::One, low.clone());
    writer.raw(" AND ");
    bind(writer, column.field, Many::One, high.clone());
}

pub(super) fn is_null(writer: &mut Writer, column: Column<'_>, test: &'static str) {
    fitting(writer, column, |writer| writer.column(column));
    writer.raw(test);
}

pub(super) fn like(writer: &mut Writer, column: Column<'_>, pattern: &str) {
    fitting(writer, column, |writer| writer.column(column));
    match column.field.native {
        Native::Enum(..) | Native::Padded | Native::Caseless(_) | Native::TextByCast => writer.raw("::text"),
        Native::TextByCollation => writer.raw(OWN_COLLATION),
        _ => {}
    }
    writer.raw(" ILIKE ");
    writer.bind(Kind::Text, Many::One, Source::Value(Value::Text(pattern.to_owned())));
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
        sound_jsonb(writer, &|writer| writer.raw("e"));
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
        writer.bind(Kind::Jsonb, Many::One, Source::Value(Value::Json(json_array(values))));
        return;
    }
    array_operand(writer, column);
    writer.raw(CONTAINS);
    writer.bind(element_kind(column.field), Many::List, Source::Value(Value::List(values.to_vec())));
}

pub(super) fn overlap(writer: &mut Writer, column: Column<'_>, values: &[Value], logic: Logic) {
    if is_json(column.field) {
        // `ANY` of an empty list is false of NULL too. Where that makes a difference NULL is kept unknown, and an index is of no use.
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
        writer.bind(Kind::Jsonb, Many::List, Source::Value(Value::List(wrapped)));
        writer.raw(if guarded { ") END" } else { ")" });
        return;
    }
    array_operand(writer, column);
    writer.raw(OVERLAPS);
    writer.bind(element_kind(column.field), Many::List, Source::Value(Value::List(values.to_vec())));
}

pub(super) fn shown(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    match (&column.field.kind, &column.field.native) {
        (Type::One(_), Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation | Native::Enum(..)) => {
            writer.raw("::text");
        }
        // `jsonb` would refuse some, and write the others anew.
        (Type::Array(Scalar::Json), Native::ArrayByCast) => writer.raw("::json[]"),
        (Type::Array(_), Native::ArrayByCast) => {
            writer.raw("::");
            writer.raw(element_kind(column.field).as_str());
            writer.raw("[]");
        }
        _ => {}
    }
}

/// One array a column.
pub(super) fn keys(writer: &mut Writer, own: &[&Field]) {
    writer.raw("unnest(");
    writer.enumerated(", ", own, |writer, index, field| {
        writer.bind(key_kind(field), Many::List, Source::Keys(index));
    });
    writer.raw(") WITH ORDINALITY AS k(");
    for index in 0..own.len() {
        writer.raw("v");
        writer.number(index);
        writer.raw(", ");
    }
    writer.raw("n)");
}

/// What a field's key values are when they are bound.
fn key_kind(field: &Field) -> Kind {
    match (field.kind.scalar(), &field.native) {
        (Scalar::Int, Native::Standard) => Kind::Int4,
        // As it is kept, so that a pivot's column of the same type compares with it, whatever zone the session has.
        (Scalar::Timestamp, Native::TimestampWithoutZone) => Kind::Timestamp,
        (scalar, _) => scalar_kind(scalar),
    }
}

pub(super) fn key(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| writer.column(column));
    match &column.field.native {
        Native::Standard | Native::Varchar | Native::TimestampWithoutZone => {}
        _ => {
            writer.raw("::");
            writer.raw(key_kind(column.field).as_str());
        }
    }
}

/// Whether its texts are compared as text only after a cast.
fn is_by_cast(field: &Field) -> bool {
    matches!(field.native, Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation)
}

/// Two columns of the same native type need no cast, and an index serves.
pub(super) fn linked(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if column.field.native == other.native && !is_by_cast(other) {
        writer.column(column);
    } else {
        standard(writer, column);
    }
}

/// A native enum is a text to a pivot.
pub(super) fn linked_to_pivot(writer: &mut Writer, column: Column<'_>) {
    match column.field.native {
        Native::Enum(..) => standard(writer, column),
        _ => linked(writer, column, column.field),
    }
}

/// Bound keys are of the standard types, but for timestamps without a zone.
pub(super) fn linked_to_key(writer: &mut Writer, column: Column<'_>, own: &Field) {
    match (&own.native, &column.field.native) {
        (Native::TimestampWithoutZone, Native::TimestampWithoutZone) => writer.column(column),
        // Takes either to the other.
        (Native::TimestampWithoutZone, _) => {
            writer.column(column);
            writer.raw(" AT TIME ZONE 'UTC'");
        }
        _ => standard(writer, column),
    }
}

/// An index of one column finds what may equal the other.
pub(super) fn found_by(writer: &mut Writer, column: Column<'_>, other: Column<'_>) {
    if column.field.native == other.field.native && is_found(column.field) {
        writer.raw(" AND ");
        writer.column(column);
        writer.raw(" = ");
        writer.column(other);
    }
}

/// An index of the column finds what may equal a text.
pub(super) fn found_by_text(writer: &mut Writer, column: Column<'_>, text: impl FnOnce(&mut Writer)) {
    pivot_found_by_text(writer, column.field, |writer| writer.column(column), text);
}

/// An index of a pivot's column does, where it is of the type of its field.
pub(super) fn pivot_found_by_text(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer), text: impl FnOnce(&mut Writer)) {
    if is_found(field) {
        writer.raw(" AND ");
        column(writer);
        writer.raw(" = ");
        text(writer);
        own_type(writer, field);
    }
}

/// Its type sees to that.
pub(super) fn pivot_fits(_: &mut Writer, _: &Field, _: impl FnOnce(&mut Writer)) {}

/// PostgreSQL's types hold only what fits them, but for texts that are declared to be an enum.
pub(super) fn connected(writer: &mut Writer, column: Column<'_>) {
    if let Some(values) = enum_values(column.field) {
        writer.raw(" AND ");
        standard(writer, column);
        among_texts(writer, values);
    }
}

pub(super) fn connected_to(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if column.field.kind != other.kind {
        connected(writer, column);
    }
}

/// Texts of a pivot are told apart as those of its field are, and those of a native enum as texts are.
pub(super) fn pivot(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer)) {
    column(writer);
    if is_by_cast(field) || matches!(field.native, Native::Enum(..)) {
        writer.raw(OWN_COLLATION);
    }
}

pub(super) fn pivot_read(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer)) {
    pivot(writer, field, column);
}

/// It was said with the column.
pub(super) fn pivot_collation(_: &mut Writer, _: &Field) {}

/// A column as one of the types that keys are bound as.
fn standard(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    match column.field.native {
        Native::Enum(..) | Native::Padded | Native::Caseless(_) | Native::TextByCast => writer.raw("::text"),
        Native::TextByCollation => writer.raw(OWN_COLLATION),
        Native::TimestampWithoutZone => writer.raw(" AT TIME ZONE 'UTC'"),
        _ => {}
    }
}

/// A column where its values are told apart, which `citext` does not do as we compare.
pub(super) fn grouped(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| sort_key(writer, column));
}

/// A column where rows are sorted by it, in the order in which its values compare. Blanks at the end change no order.
pub(super) fn sort_key(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    if matches!(column.field.native, Native::Caseless(_) | Native::TextByCast) {
        writer.raw("::text");
    }
}

pub(super) fn grouped_shown(writer: &mut Writer, column: Column<'_>) {
    if enum_values(column.field).is_none() {
        return shown(writer, column);
    }
    // What is grouped by has to stand in what is shown.
    grouped(writer, column);
    writer.raw("::text");
}

pub(super) fn measured(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    if column.field.native == Native::Real {
        // The double that a single is shown as: 0.1, not 0.10000000149011612.
        writer.raw("::text::float8");
    }
}

pub(super) fn counted(writer: &mut Writer, column: Column<'_>) {
    fitting(writer, column, |writer| writer.column(column));
}

pub(super) fn sum(writer: &mut Writer, column: Column<'_>) {
    if !is_float(column.field) {
        writer.raw("sum(");
        measured(writer, column);
        return writer.raw(")");
    }
    // A sum of doubles may leave their range on its way, which PostgreSQL answers with an error. A power of two changes no digit, so the
    // terms are scaled down here and the sum is scaled up by `SCALE` when it is read. What would become too small for that, which is an
    // error too, is nothing beside it.
    writer.raw("sum(CASE WHEN abs(");
    measured(writer, column);
    writer.raw(") < 1e-288 THEN 0 ELSE ");
    measured(writer, column);
    writer.raw(" * 5.421010862427522e-20 END)");
}

/// The rest of `min(…`, since not every type has one.
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
