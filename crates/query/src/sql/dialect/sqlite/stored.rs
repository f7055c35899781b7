//! Values that are written into columns, in the stored form of their type.

use crate::catalog::Field;
use crate::catalog::Stored;
use crate::plan::predicate::Column;
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

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
