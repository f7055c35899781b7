//! Comparison of floats. A column may store them as integers with more digits than a double has, and SQLite compares those exactly; but the
//! double that the answer shows decides. So an index finds candidates at most one double away, and the double itself is compared.

use crate::plan::predicate::{Column, Comparison};
use crate::value::Value;

use super::super::super::{Arity, Writer};
use super::{bind, fitted, sign, stored};

fn before(value: &Value) -> Value {
    match value {
        Value::Float(number) => Value::Float(number.next_down()),
        _ => Value::Null,
    }
}

fn after(value: &Value) -> Value {
    match value {
        Value::Float(number) => Value::Float(number.next_up()),
        _ => Value::Null,
    }
}

/// A comparison where unknown may count as false.
pub(super) fn compare(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: &Value) {
    writer.raw("(");
    match comparison {
        Comparison::Eq => near(writer, column, before(value), after(value)),
        Comparison::Gte => side(writer, column, comparison, before(value)),
        Comparison::Lte => side(writer, column, comparison, after(value)),
        Comparison::Gt | Comparison::Lt | Comparison::Ne => side(writer, column, comparison, value.clone()),
    }
    writer.raw(" AND ");
    fitted(writer, column);
    writer.raw(sign(comparison));
    bind(writer, column.field, Arity::One, value.clone());
    writer.raw(")");
}

pub(super) fn between(writer: &mut Writer, column: Column<'_>, low: &Value, high: &Value) {
    writer.raw("(");
    near(writer, column, before(low), after(high));
    writer.raw(" AND ");
    fitted(writer, column);
    writer.raw(" BETWEEN ");
    bind(writer, column.field, Arity::One, low.clone());
    writer.raw(" AND ");
    bind(writer, column.field, Arity::One, high.clone());
    writer.raw(")");
}

/// One of a list, which `list` writes.
pub(super) fn among(writer: &mut Writer, column: Column<'_>, values: &[Value], list: impl FnOnce(&mut Writer)) {
    let numbers = || values.iter().filter_map(|value| if let Value::Float(number) = value { Some(*number) } else { None });
    let end = |number: Option<f64>| number.map_or(Value::Null, Value::Float);
    writer.raw("(");
    near(writer, column, before(&end(numbers().reduce(f64::min))), after(&end(numbers().reduce(f64::max))));
    writer.raw(" AND ");
    fitted(writer, column);
    list(writer);
    writer.raw(")");
}

fn near(writer: &mut Writer, column: Column<'_>, low: Value, high: Value) {
    stored(writer, column);
    writer.raw(" BETWEEN ");
    bind(writer, column.field, Arity::One, low);
    writer.raw(" AND ");
    bind(writer, column.field, Arity::One, high);
}

fn side(writer: &mut Writer, column: Column<'_>, comparison: Comparison, value: Value) {
    stored(writer, column);
    writer.raw(sign(comparison));
    bind(writer, column.field, Arity::One, value);
}
