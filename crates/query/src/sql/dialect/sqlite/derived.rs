//! Values of related rows, values inside a json column, and the starts of periods, by our own functions.

use crate::catalog::{Bucket, Field, JsonPath};
use crate::plan::predicate::Column;
use crate::statement::Function;
use crate::types::{Scalar, Type};

use super::super::super::Writer;
use super::super::shared::among_texts;
use super::{counted, function_of, sum};

/// The value at a path, or NULL where it has another type.
pub(in super::super) fn json_path(writer: &mut Writer, column: Column<'_>, path: &JsonPath) {
    let Scalar::Enum(values) = column.field.kind.scalar() else { return value_at(writer, column, path) };
    writer.raw("(CASE WHEN ");
    value_at(writer, column, path);
    among_texts(writer, values);
    writer.raw(" THEN ");
    value_at(writer, column, path);
    writer.raw(" END)");
}

fn value_at(writer: &mut Writer, column: Column<'_>, path: &JsonPath) {
    writer.raw("peristyle_json_path(");
    writer.stored_column(column.alias, &path.source.column);
    writer.raw(", '");
    writer.raw(scalar_name(column.field));
    writer.raw("', ");
    writer.separated(", ", &path.path, Writer::literal);
    writer.raw(")");
}

fn scalar_name(field: &Field) -> &'static str {
    match field.kind.scalar() {
        Scalar::Enum(_) => Scalar::Text.name(),
        other => other.name(),
    }
}

/// The start of the period that a date or a timestamp is in.
pub(in super::super) fn bucket(writer: &mut Writer, column: Column<'_>, bucket: &Bucket) {
    let is_date = column.field.kind == Type::One(Scalar::Date);
    writer.raw(if is_date { "peristyle_date_bucket(" } else { "peristyle_bucket(" });
    writer.raw(function_of(&column.field.kind, bucket.source.stored));
    writer.stored_column(column.alias, &bucket.source.column);
    writer.raw("), '");
    writer.raw(bucket.unit.as_str());
    if let Some(zone) = &bucket.zone {
        writer.raw("', ");
        writer.literal(zone);
        return writer.raw(")");
    }
    writer.raw(if is_date { "')" } else { "', 'UTC')" });
}

/// What an aggregate function makes of a column, as a value of its type.
pub(in super::super) fn related(writer: &mut Writer, function: Function, column: Column<'_>) {
    let count = |writer: &mut Writer| {
        writer.raw(", count(");
        counted(writer, column);
        writer.raw("))");
    };
    match (function, column.field.kind.scalar()) {
        (Function::Count, _) => writer.raw("count(*)"),
        (Function::Min | Function::Max, _) => super::super::extreme(writer, function, column),
        (Function::Sum, Scalar::Float) => {
            writer.raw("peristyle_float_quotient(");
            sum(writer, column);
            writer.raw(", 1)");
        }
        (Function::Sum, Scalar::Int) => {
            writer.raw("CAST(");
            sum(writer, column);
            writer.raw(" AS INTEGER)");
        }
        (Function::Sum, _) => sum(writer, column),
        (Function::Avg, Scalar::Float) => {
            writer.raw("peristyle_float_quotient(");
            sum(writer, column);
            count(writer);
        }
        (Function::Avg, _) => {
            writer.raw("peristyle_quotient(");
            sum(writer, column);
            count(writer);
        }
    }
}
