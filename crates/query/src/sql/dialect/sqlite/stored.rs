//! Values that are written into columns, in the stored form of their type.

use crate::catalog::{Field, Identifier, Stored, TableName};
use crate::plan::predicate::Column;
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

use super::super::super::tree::{Operand, PivotColumn};
use super::super::super::{Arity, Kind, Source, Writer};
use super::super::shared::json_array;
use super::{element, position_value};

pub(in super::super) fn stored_value(writer: &mut Writer, field: &Field, value: &Value) {
    match (value, field.stored) {
        (Value::List(items), _) => {
            let items: Vec<Value> = items.iter().map(element).collect();
            writer.bind(Kind::Text, Arity::One, Source::Value(Value::Text(json_array(&items))));
        }
        (Value::Timestamp(micros), Stored::Datetime) => {
            let text = value::timestamp_fixed_text(*micros).replace('T', " ");
            let text = text.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.').to_owned();
            writer.bind(Kind::Text, Arity::One, Source::Value(Value::Text(text)));
        }
        // Bound as JSON it would be in the form in which values are compared.
        (Value::Json(text), _) => {
            writer.bind(Kind::Text, Arity::One, Source::Value(Value::Text(text.clone())));
        }
        _ => position_value(writer, field, value),
    }
}

/// A column that a foreign key leads to, and the value that a row gives the field for it.
pub(in crate::sql) struct TargetColumn<'p> {
    pub(in crate::sql) column: &'p Identifier,
    pub(in crate::sql) field: &'p Field,
    pub(in crate::sql) value: &'p Value,
}

/// The value in the form in which the row that a foreign key leads to has it: SQLite compares what is stored. First a row that has it in
/// the same form is looked up, since an index finds that.
pub(in crate::sql) fn referenced_value(writer: &mut Writer, table: &TableName, set: &[TargetColumn<'_>], own: usize) {
    let TargetColumn { column, field, value } = set[own];
    writer.raw("coalesce(");
    for is_stored in [true, false] {
        writer.raw("(SELECT ");
        writer.identifier(column);
        writer.raw(" FROM ");
        writer.table_name(table);
        writer.raw(" WHERE ");
        writer.separated(" AND ", set, |writer, target| {
            if is_stored {
                writer.identifier(target.column);
                writer.raw(" = ");
                return stored_value(writer, target.field, target.value);
            }
            super::fit(writer, target.field, Operand::Pivot(PivotColumn { alias: None, column: target.column, field: target.field }));
            writer.raw(super::collation(target.field));
            writer.raw(" = ");
            super::bind(writer, target.field, Arity::One, target.value.clone());
        });
        writer.raw(" LIMIT 1), ");
    }
    stored_value(writer, field, value);
    writer.raw(")");
}

/// The function keeps the type's range: SQLite itself would turn a large integer into a float.
pub(in super::super) fn added(writer: &mut Writer, column: Column<'_>, value: &Value) {
    writer.raw(match column.field.kind {
        Type::One(Scalar::Int) => "peristyle_add_int(",
        Type::One(Scalar::BigInt) => "peristyle_add_bigint(",
        Type::One(Scalar::Float) => "peristyle_add_float(",
        _ => "peristyle_add_decimal(",
    });
    writer.column(column);
    writer.raw(", ");
    position_value(writer, column.field, value);
    writer.raw(")");
}
