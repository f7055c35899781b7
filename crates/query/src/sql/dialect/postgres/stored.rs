//! Values that are written into columns. PostgreSQL casts a value to the type of its column by itself, but for enums and json.

use crate::catalog::{Field, Native};
use crate::plan::predicate::Column;
use crate::types::{Scalar, Type};
use crate::value::Value;

use super::super::super::{Arity, Kind, Source, Writer};
use super::super::shared::scalar_kind;
use super::key_kind;

pub(in super::super) fn stored_value(writer: &mut Writer, field: &Field, value: &Value) {
    let arity = if matches!(field.kind, Type::Array(_)) { Arity::List } else { Arity::One };
    writer.bind(stored_kind(field), arity, Source::Value(value.clone()));
    column_type(writer, field);
}

/// The rows of an INSERT, from an array for each column, in the order of the arrays.
pub(in crate::sql) fn inserted_rows(writer: &mut Writer, columns: &[(&Field, Vec<&Value>)]) {
    writer.raw(" SELECT ");
    writer.enumerated(", ", columns, |writer, index, (field, _)| stored_element(writer, field, index));
    writer.raw(" FROM unnest(");
    writer.separated(", ", columns, |writer, (field, values)| stored_values(writer, field, values));
    writer.raw(") WITH ORDINALITY AS r(");
    writer.enumerated(", ", columns, |writer, index, _| {
        writer.raw("c");
        writer.number(index);
    });
    writer.raw(", n) ORDER BY r.n");
}

/// The values of one column for several rows, as one array. An array of arrays would be one of two dimensions, so each is a text.
fn stored_values(writer: &mut Writer, field: &Field, values: &[&Value]) {
    let (kind, list) = match field.kind {
        Type::One(_) => (stored_kind(field), values.iter().map(|value| (*value).clone()).collect()),
        Type::Array(_) => (Kind::Text, values.iter().map(|value| array_text(value)).collect()),
    };
    writer.bind(kind, Arity::List, Source::Value(Value::List(list)));
}

/// One of these values, `r.c0`, as its column stores it.
fn stored_element(writer: &mut Writer, field: &Field, index: usize) {
    writer.raw("r.c");
    writer.number(index);
    if matches!(field.kind, Type::Array(_)) {
        writer.raw("::");
        writer.raw(stored_kind(field).as_str());
        writer.raw("[]");
    }
    column_type(writer, field);
}

pub(in super::super) fn added(writer: &mut Writer, column: Column<'_>, value: &Value) {
    writer.column(column);
    writer.raw(" + ");
    writer.bind(stored_kind(column.field), Arity::One, Source::Value(value.clone()));
}

pub(in super::super) fn added_key(writer: &mut Writer, column: Column<'_>, value: &Value) {
    writer.raw("(");
    added(writer, column, value);
    writer.raw(")::");
    writer.raw(key_kind(column.field).as_str());
}

/// A single is bound as a double, so that one beyond its range is refused rather than stored as infinity.
fn stored_kind(field: &Field) -> Kind {
    match (field.kind.scalar(), &field.native) {
        (Scalar::Int, Native::Standard) => Kind::Int4,
        (Scalar::Timestamp, Native::TimestampWithoutZone) => Kind::Timestamp,
        (scalar, _) => scalar_kind(scalar),
    }
}

fn column_type(writer: &mut Writer, field: &Field) {
    let enum_type = match &field.native {
        Native::Enum(name, _) => Some(name),
        Native::JsonText => return writer.raw("::json"),
        _ => field.rules.enum_type.as_ref(),
    };
    if let Some(name) = enum_type {
        writer.raw("::");
        writer.table_name(&name.0);
        if matches!(field.kind, Type::Array(_)) {
            writer.raw("[]");
        }
    }
}

/// An array as PostgreSQL's own text: `{"a",NULL}`.
fn array_text(value: &Value) -> Value {
    let Value::List(items) = value else { return Value::Null };
    let element = |item: &Value| match item {
        Value::Null | Value::List(_) => "NULL".to_owned(),
        item => format!("\"{}\"", plain_text(item).replace('\\', "\\\\").replace('"', "\\\"")),
    };
    Value::Text(format!("{{{}}}", items.iter().map(element).collect::<Vec<_>>().join(",")))
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::Null | Value::List(_) => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Decimal(text) | Value::Text(text) | Value::Json(text) => text.clone(),
        Value::Uuid(uuid) => crate::value::uuid_text(uuid),
        Value::Date(days) => crate::value::date_text(i64::from(*days)).unwrap_or_default(),
        Value::Time(micros) => crate::value::time_text(*micros),
        Value::Timestamp(micros) => crate::value::timestamp_fixed_text(*micros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_written_with_its_quotes_and_nulls() {
        let items = vec![Value::Text("a\"b\\c,{d}".to_owned()), Value::Null, Value::Text("NULL".to_owned()), Value::Int(-7)];
        assert_eq!(array_text(&Value::List(items)), Value::Text(r#"{"a\"b\\c,{d}",NULL,"NULL","-7"}"#.to_owned()));
        assert_eq!(array_text(&Value::List(Vec::new())), Value::Text("{}".to_owned()));
        assert_eq!(array_text(&Value::Null), Value::Null);
    }
}
