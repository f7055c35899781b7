//! Functions that add to a stored number and keep to the range of its type.

use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use crate::decimal::Sum;

use super::cell;
use super::functions::PURE;

/// The message of a number that leaves its range.
pub(super) const OUT_OF_RANGE: &str = "peristyle: out of range";

pub(super) fn install(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("peristyle_add_int", 2, PURE, |context| {
        let sum = whole(context)?;
        if sum.is_none_or(|sum| i32::try_from(sum).is_ok()) { Ok(sum) } else { Err(out_of_range()) }
    })?;
    connection.create_scalar_function("peristyle_add_bigint", 2, PURE, whole)?;
    connection.create_scalar_function("peristyle_add_float", 2, PURE, |context| {
        let sum = cell::real(context.get_raw(0)).zip(cell::real(context.get_raw(1))).map(|(left, right)| left + right);
        if sum.is_none_or(f64::is_finite) { Ok(sum) } else { Err(out_of_range()) }
    })?;
    connection.create_scalar_function("peristyle_add_decimal", 2, PURE, |context| {
        let (Some(left), Some(right)) = (cell::decimal(context.get_raw(0)), cell::decimal(context.get_raw(1))) else {
            return Ok(Value::Null);
        };
        let mut sum = Sum::default();
        sum.add(&left);
        sum.add(&right);
        sum.text().map(Value::Text).ok_or_else(out_of_range)
    })
}

/// The sum of two whole numbers; NULL if one is none.
fn whole(context: &Context<'_>) -> Result<Option<i64>> {
    match (context.get_raw(0), context.get_raw(1)) {
        (ValueRef::Integer(left), ValueRef::Integer(right)) => left.checked_add(right).map(Some).ok_or_else(out_of_range),
        _ => Ok(None),
    }
}

fn out_of_range() -> Error {
    Error::UserFunctionError(OUT_OF_RANGE.into())
}
