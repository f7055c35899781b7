//! What joins rows: columns of both sides, the parents' keys, a pivot's columns.

use crate::catalog::{Field, Native};
use crate::plan::predicate::Column;
use crate::types::{Scalar, Type};

use super::super::super::tree::{Operand, PivotColumn};
use super::super::super::{Arity, Kind, Source, Writer};
use super::super::shared::scalar_kind;
use super::{OWN_COLLATION, fits, fitting, has_index_equality, may_hold_others, own_type};

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
    writer.bind(key_kind(own), Arity::List, Source::Keys(index));
}

/// Whether values of both are equal exactly where their bytes are.
pub(in super::super) fn is_equal_by_bytes(own: &Field, other: &Field) -> bool {
    let is_plain = |field: &Field| matches!(field.native, Native::Standard | Native::Varchar);
    own.kind == other.kind
        && matches!(own.kind, Type::One(Scalar::Int | Scalar::BigInt | Scalar::Uuid | Scalar::Text))
        && is_plain(own)
        && is_plain(other)
}

/// The type that the keys of a field are bound as.
pub(in super::super) fn key_kind(field: &Field) -> Kind {
    match (field.kind.scalar(), &field.native) {
        (Scalar::Int, Native::Standard) => Kind::Int4,
        // As it is stored, so that a pivot's column of the same type compares with it in any time zone of the session.
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

/// Whether its strings compare as `text` only after a cast.
fn is_by_cast(field: &Field) -> bool {
    matches!(field.native, Native::Padded | Native::Caseless(_) | Native::TextByCast | Native::TextByCollation)
}

/// Two columns of the same native type need no cast, and an index serves.
pub(in super::super) fn join_column(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if column.field.native == other.native && !is_by_cast(other) {
        writer.column(column);
    } else {
        standard(writer, column);
    }
}

/// A pivot's column compares with a native enum as text.
pub(in super::super) fn join_column_to_pivot(writer: &mut Writer, column: Column<'_>) {
    match column.field.native {
        Native::Enum(..) => standard(writer, column),
        _ => join_column(writer, column, column.field),
    }
}

/// Bound keys are of the standard types, but for timestamps without a zone.
pub(in super::super) fn join_column_to_key(writer: &mut Writer, column: Column<'_>, own: &Field) {
    match (&own.native, &column.field.native) {
        (Native::TimestampWithoutZone, Native::TimestampWithoutZone) => writer.column(column),
        // This converts either type to the other.
        (Native::TimestampWithoutZone, _) => {
            writer.column(column);
            writer.raw(" AT TIME ZONE 'UTC'");
        }
        _ => standard(writer, column),
    }
}

pub(in super::super) fn and_equal_by_index(writer: &mut Writer, column: Column<'_>, other: Column<'_>) {
    if column.field.native == other.field.native && has_index_equality(column.field) {
        writer.raw(" AND ");
        writer.column(column);
        writer.raw(" = ");
        writer.column(other);
    }
}

/// A pivot's column is of the type of its field.
pub(in super::super) fn and_text_by_index(writer: &mut Writer, field: &Field, column: Operand<'_>, text: Operand<'_>) {
    if has_index_equality(field) {
        writer.raw(" AND ");
        writer.operand(column);
        writer.raw(" = ");
        writer.operand(text);
        own_type(writer, field);
    }
}

/// Its type makes sure of that.
pub(in super::super) fn and_pivot_fits(_: &mut Writer, _: PivotColumn<'_>) {}

/// Only a text column declared as enum, or an `int8` column declared as int, holds other values.
pub(in super::super) fn and_fits(writer: &mut Writer, column: Column<'_>) {
    if may_hold_others(column.field) {
        writer.raw(" AND ");
        fits(writer, column);
    }
}

pub(in super::super) fn and_other_fits(writer: &mut Writer, column: Column<'_>, other: &Field) {
    if column.field.kind != other.kind {
        and_fits(writer, column);
    }
}

/// Strings of a pivot compare as those of its field do, and those of a native enum as text.
pub(in super::super) fn pivot_column(writer: &mut Writer, pivot: PivotColumn<'_>) {
    writer.operand(Operand::Pivot(pivot));
    if is_by_cast(pivot.field) || matches!(pivot.field.native, Native::Enum(..)) {
        writer.raw(OWN_COLLATION);
    }
}

pub(in super::super) fn fitting_pivot_column(writer: &mut Writer, pivot: PivotColumn<'_>) {
    pivot_column(writer, pivot);
}

/// `pivot_column` writes it.
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
