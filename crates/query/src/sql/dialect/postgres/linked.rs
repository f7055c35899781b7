//! What connects rows: columns of both sides, the parents' keys, a pivot's columns.

use crate::catalog::{Field, Native};
use crate::plan::predicate::Column;
use crate::types::{Scalar, Type};

use super::super::super::{Kind, Many, Source, Writer};
use super::super::alike::scalar_kind;
use super::{OWN_COLLATION, fits, fitting, is_found, may_hold_others, own_type};

/// One array a column.
pub(in super::super) fn keys(writer: &mut Writer, own: &[&Field]) {
    writer.raw("unnest(");
    writer.enumerated(", ", own, |writer, index, field| bind_keys(writer, index, field));
    writer.raw(") WITH ORDINALITY AS k(");
    for index in 0..own.len() {
        writer.raw("v");
        writer.number(index);
        writer.raw(", ");
    }
    writer.raw("n)");
}

/// One column of the keys, as a list.
pub(in super::super) fn bind_keys(writer: &mut Writer, index: usize, own: &Field) {
    writer.bind(key_kind(own), Many::List, Source::Keys(index));
}

/// Whether values of both are equal exactly where their bytes are, so that a row found by one tells it by the other.
pub(in super::super) fn tells_key(own: &Field, other: &Field) -> bool {
    let is_plain = |field: &Field| matches!(field.native, Native::Standard | Native::Varchar);
    own.kind == other.kind
        && matches!(own.kind, Type::One(Scalar::Int | Scalar::BigInt | Scalar::Uuid | Scalar::Text))
        && is_plain(own)
        && is_plain(other)
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

pub(in super::super) fn key(writer: &mut Writer, column: Column<'_>) {
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
pub(in super::super) fn linked(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if column.field.native == other.native && !is_by_cast(other) {
        writer.column(column);
    } else {
        standard(writer, column);
    }
}

/// A native enum is a text to a pivot.
pub(in super::super) fn linked_to_pivot(writer: &mut Writer, column: Column<'_>) {
    match column.field.native {
        Native::Enum(..) => standard(writer, column),
        _ => linked(writer, column, column.field),
    }
}

/// Bound keys are of the standard types, but for timestamps without a zone.
pub(in super::super) fn linked_to_key(writer: &mut Writer, column: Column<'_>, own: &Field) {
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
pub(in super::super) fn found_by(writer: &mut Writer, column: Column<'_>, other: Column<'_>) {
    if column.field.native == other.field.native && is_found(column.field) {
        writer.raw(" AND ");
        writer.column(column);
        writer.raw(" = ");
        writer.column(other);
    }
}

/// An index of the column finds what may equal a text.
pub(in super::super) fn found_by_text(writer: &mut Writer, column: Column<'_>, text: impl FnOnce(&mut Writer)) {
    pivot_found_by_text(writer, column.field, |writer| writer.column(column), text);
}

/// An index of a pivot's column does, where it is of the type of its field.
pub(in super::super) fn pivot_found_by_text(
    writer: &mut Writer,
    field: &Field,
    column: impl FnOnce(&mut Writer),
    text: impl FnOnce(&mut Writer),
) {
    if is_found(field) {
        writer.raw(" AND ");
        column(writer);
        writer.raw(" = ");
        text(writer);
        own_type(writer, field);
    }
}

/// Its type sees to that.
pub(in super::super) fn pivot_fits(_: &mut Writer, _: &Field, _: impl FnOnce(&mut Writer)) {}

/// PostgreSQL's types hold only what fits them, but for texts that are declared to be an enum and `int8` that is declared to be int.
pub(in super::super) fn connected(writer: &mut Writer, column: Column<'_>) {
    if may_hold_others(column.field) {
        writer.raw(" AND ");
        fits(writer, column);
    }
}

pub(in super::super) fn connected_to(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if column.field.kind != other.kind {
        connected(writer, column);
    }
}

/// Texts of a pivot are told apart as those of its field are, and those of a native enum as texts are.
pub(in super::super) fn pivot(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer)) {
    column(writer);
    if is_by_cast(field) || matches!(field.native, Native::Enum(..)) {
        writer.raw(OWN_COLLATION);
    }
}

pub(in super::super) fn pivot_read(writer: &mut Writer, field: &Field, column: impl FnOnce(&mut Writer)) {
    pivot(writer, field, column);
}

/// It was said with the column.
pub(in super::super) fn pivot_collation(_: &mut Writer, _: &Field) {}

/// A column as one of the types that keys are bound as.
pub(super) fn standard(writer: &mut Writer, column: Column<'_>) {
    writer.column(column);
    match column.field.native {
        Native::Enum(..) | Native::Padded | Native::Caseless(_) | Native::TextByCast => writer.raw("::text"),
        Native::TextByCollation => writer.raw(OWN_COLLATION),
        Native::TimestampWithoutZone => writer.raw(" AT TIME ZONE 'UTC'"),
        _ => {}
    }
}
