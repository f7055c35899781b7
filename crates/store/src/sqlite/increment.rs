//! Functions that add to a stored number and keep to the range of its type.

use rusqlite::functions::Context;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, Result};

use query::value::stored;

use crate::decimal::Sum;

use super::cell;
use super::functions::PURE;

/// The message of a number that leaves its range.
pub(super) const OUT_OF_RANGE: &str = "peristyle: out of range";

/// A sum, or why there is none.
enum Added {
    Sum(Value),
    OutOfRange,
    /// What is stored is no number of this type. It stays.
    NoNumber,
}

impl Added {
    fn of<T: Into<Value>>(sum: Option<T>) -> Self {
        sum.map_or(Added::OutOfRange, |sum| Added::Sum(sum.into()))
    }
}

pub(super) fn install(connection: &Connection) -> Result<()> {
    function(connection, "peristyle_add_int", |left, right| {
        whole(left, right, |left, right| left.checked_add(right).filter(|sum| i32::try_from(*sum).is_ok()))
    })?;
    function(connection, "peristyle_add_bigint", |left, right| whole(left, right, i64::checked_add))?;
    function(connection, "peristyle_add_float", |left, right| match (cell::real(left), cell::real(right)) {
        (Some(left), Some(right)) => Added::of(Some(left + right).filter(|sum| sum.is_finite())),
        _ => Added::NoNumber,
    })?;
    function(connection, "peristyle_add_decimal", |left, right| match (cell::decimal(left), cell::decimal(right)) {
        (Some(left), Some(right)) => {
            let mut sum = Sum::default();
            sum.add(&left);
            sum.add(&right);
            Added::of(sum.text().filter(|sum| stored::decimal(sum).is_some()))
        }
        _ => Added::NoNumber,
    })
}

fn function(connection: &Connection, name: &str, add: fn(ValueRef<'_>, ValueRef<'_>) -> Added) -> Result<()> {
    connection.create_scalar_function(name, 2, PURE, move |context: &Context<'_>| match add(context.get_raw(0), context.get_raw(1)) {
        Added::Sum(sum) => Ok(ToSqlOutput::Owned(sum)),
        Added::OutOfRange => Err(Error::UserFunctionError(OUT_OF_RANGE.into())),
        Added::NoNumber => Ok(ToSqlOutput::Arg(0)),
    })
}

fn whole(left: ValueRef<'_>, right: ValueRef<'_>, add: fn(i64, i64) -> Option<i64>) -> Added {
    match (left, right) {
        (ValueRef::Integer(left), ValueRef::Integer(right)) => Added::of(add(left, right)),
        _ => Added::NoNumber,
    }
}
