//! SQL functions and collations that PostgreSQL has built in, with the same meaning.
//!
//! `peristyle_<type>(x)` returns a stored value in its standard form, or NULL if it is invalid: an invalid value never fails a query.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use query::json::{self, Json};
use query::sql::{SCALE, SMALLEST_TERM};
use query::types::Scalar;
use query::value::{self, stored};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Result};

use crate::decimal;

use super::cell::{self, canonical};
use super::ilike::ilike;
use super::row_encoder::element;

pub(super) const PURE: FunctionFlags =
    FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DETERMINISTIC).union(FunctionFlags::SQLITE_INNOCUOUS);

pub(super) fn install(connection: &Connection) -> Result<()> {
    connection.create_collation("peristyle_decimal", decimal::compare)?;
    fit(connection, "peristyle_bool", |value| Fit::kept_if(matches!(value, ValueRef::Integer(0 | 1))))?;
    fit(connection, "peristyle_int", |value| Fit::kept_if(matches!(value, ValueRef::Integer(number) if i32::try_from(number).is_ok())))?;
    fit(connection, "peristyle_bigint", |value| Fit::kept_if(matches!(value, ValueRef::Integer(_))))?;
    fit(connection, "peristyle_float", |value| match value {
        ValueRef::Integer(number) => Fit::Made(Value::Real(number as f64)),
        _ => Fit::kept_if(matches!(value, ValueRef::Real(_))),
    })?;
    fit(connection, "peristyle_decimal", |value| match (value, cell::decimal(value)) {
        (ValueRef::Text(_), Some(Cow::Borrowed(_))) => Fit::Kept,
        (_, digits) => Fit::made(digits.map(Cow::into_owned)),
    })?;
    fit_text(connection, "peristyle_text", |_| Fit::Kept)?;
    fit_text(connection, "peristyle_uuid", |text| Fit::kept_if(stored::uuid_canonical(text)))?;
    fit_text(connection, "peristyle_date", |text| Fit::kept_if(stored::date(text).is_some()))?;
    fit_text(connection, "peristyle_time", |text| Fit::made(stored::time(text).map(value::time_text)))?;
    fit_text(connection, "peristyle_timestamp", |text| Fit::kept_if(stored::timestamp(text).is_some()))?;
    fit_text(connection, "peristyle_datetime", |text| Fit::made(stored::datetime(text).map(value::timestamp_fixed_text)))?;
    fit(connection, "peristyle_unix", |value| Fit::made(cell::unix(value).map(value::timestamp_fixed_text)))?;
    fit(connection, "peristyle_json", |value| Fit::made(cell::json(value).map(|json| canonical(&json))))?;
    fit_text(connection, "peristyle_array", |text| Fit::kept_if(matches!(json::data(text.as_bytes()), Some(Json::Array(_)))))?;
    connection.create_scalar_function("peristyle_ilike", 2, PURE, ilike)?;
    connection.create_scalar_function("peristyle_json_contains", 2, PURE, |context| held(context, Asked::All))?;
    connection.create_scalar_function("peristyle_json_overlap", 2, PURE, |context| held(context, Asked::Any))?;
    connection.create_scalar_function("peristyle_array_contains", 3, PURE, |context| listed(context, Asked::All))?;
    connection.create_scalar_function("peristyle_array_overlap", 3, PURE, |context| listed(context, Asked::Any))?;
    // A float as a whole number, which JSON holds exactly, and back.
    connection.create_scalar_function("peristyle_bits", 1, PURE, |context| {
        Ok(context.get::<Option<f64>>(0)?.map(|value| value.to_bits().cast_signed()))
    })?;
    connection.create_scalar_function("peristyle_double", 1, PURE, |context| {
        Ok(context.get::<Option<i64>>(0)?.map(|bits| f64::from_bits(bits.cast_unsigned())))
    })?;
    connection.create_scalar_function("peristyle_quotient", 2, PURE, |context| {
        let sum = context.get::<Option<String>>(0)?;
        Ok(sum.and_then(|sum| decimal::average(&sum, context.get(1).ok()?)))
    })?;
    connection.create_scalar_function("peristyle_float_quotient", 2, PURE, float_quotient)?;
    connection.create_aggregate_function("peristyle_float_sum", 1, PURE, FloatSum)?;
    connection.create_aggregate_function("peristyle_decimal_min", 1, PURE, DecimalExtreme(Ordering::Less))?;
    connection.create_aggregate_function("peristyle_decimal_max", 1, PURE, DecimalExtreme(Ordering::Greater))?;
    connection.create_aggregate_function("peristyle_sum", 1, PURE, ExactSum)
}

/// A scaled-down sum of doubles, divided by a count and scaled up. NULL where it leaves the range of doubles.
fn float_quotient(context: &Context<'_>) -> Result<Option<f64>> {
    let (sum, count) = (context.get::<Option<f64>>(0)?, context.get::<i64>(1)?);
    Ok(sum.map(|sum| sum / count as f64 * SCALE).filter(|value| value.is_finite()))
}

/// A stored value in its standard form.
enum Fit {
    Unfit,
    /// Already in that form, as nearly all values: no copy is needed.
    Kept,
    Made(Value),
}

impl Fit {
    fn kept_if(fits: bool) -> Self {
        if fits { Fit::Kept } else { Fit::Unfit }
    }

    fn made(text: Option<impl Into<String>>) -> Self {
        text.map_or(Fit::Unfit, |text| Fit::Made(Value::Text(text.into())))
    }

    fn output(self) -> ToSqlOutput<'static> {
        match self {
            Fit::Unfit => ToSqlOutput::Owned(Value::Null),
            Fit::Kept => ToSqlOutput::Arg(0),
            Fit::Made(value) => ToSqlOutput::Owned(value),
        }
    }
}

fn fit(connection: &Connection, name: &str, convert: fn(ValueRef<'_>) -> Fit) -> Result<()> {
    connection.create_scalar_function(name, 1, PURE, move |context| Ok(convert(context.get_raw(0)).output()))
}

fn fit_text(connection: &Connection, name: &str, convert: fn(&str) -> Fit) -> Result<()> {
    connection.create_scalar_function(name, 1, PURE, move |context| Ok(cell::text(context.get_raw(0)).map_or(Fit::Unfit, convert).output()))
}

/// The form in which a scalar of a json column is compared: null equals null, arrays and objects equal nothing.
fn json_canonical(json: &Json) -> Option<String> {
    (!matches!(json, Json::Array(_) | Json::Object(_))).then(|| canonical(json))
}

/// The form in which an element of an array column is compared: an invalid one is NULL, and NULL equals nothing.
fn array_canonical(scalar: &Scalar, json: &Json) -> Option<String> {
    match (scalar, json) {
        (_, Json::Null | Json::Array(_) | Json::Object(_)) => None,
        (Scalar::Json, value) => Some(canonical(value)),
        (Scalar::Decimal, Json::Text(text)) => value::normal_decimal(text),
        (Scalar::Decimal, Json::Number(text)) => value::normal_decimal(text),
        _ => {
            let mut out = Vec::new();
            element(&mut out, scalar, json)?;
            String::from_utf8(out).ok()
        }
    }
}

#[derive(Clone, Copy)]
enum Asked {
    All,
    Any,
}

fn held(context: &Context<'_>, asked: Asked) -> Result<Option<bool>> {
    match cell::json(context.get_raw(0)) {
        None => Ok(None),
        Some(Json::Array(items)) => compared(context, &items, json_canonical, asked),
        Some(_) => Ok(Some(false)),
    }
}

/// Whether an array column has the wanted elements; NULL if it is no array.
fn listed(context: &Context<'_>, asked: Asked) -> Result<Option<bool>> {
    let scalar = cell::text(context.get_raw(2)).and_then(Scalar::from_name).unwrap_or(Scalar::Text);
    match cell::text(context.get_raw(0)).and_then(|text| json::data(text.as_bytes())) {
        Some(Json::Array(items)) => compared(context, &items, |json| array_canonical(&scalar, json), asked),
        _ => Ok(None),
    }
}

struct Wanted {
    elements: HashSet<String>,
    /// Includes an element that equals nothing.
    impossible: bool,
}

fn compared(context: &Context<'_>, items: &[Json], canonical: impl Fn(&Json) -> Option<String>, asked: Asked) -> Result<Option<bool>> {
    // The list is the same for every row, so SQLite caches the parsed one.
    let wanted: Arc<Wanted> = context.get_or_create_aux(1, |value| -> std::result::Result<_, rusqlite::Error> {
        let elements: Vec<Option<String>> = match cell::text(value).and_then(|text| json::data(text.as_bytes())) {
            Some(Json::Array(items)) => items.iter().map(&canonical).collect(),
            _ => Vec::new(),
        };
        Ok(Wanted { impossible: elements.iter().any(Option::is_none), elements: elements.into_iter().flatten().collect() })
    })?;
    let mut held = items.iter().filter_map(&canonical).filter(|item| wanted.elements.contains(item));
    Ok(Some(match asked {
        Asked::All => !wanted.impossible && held.collect::<HashSet<_>>().len() == wanted.elements.len(),
        Asked::Any => held.next().is_some(),
    }))
}

struct ExactSum;

impl Aggregate<decimal::Sum, Option<String>> for ExactSum {
    fn init(&self, _: &mut Context<'_>) -> Result<decimal::Sum> {
        Ok(decimal::Sum::default())
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut decimal::Sum) -> Result<()> {
        match context.get_raw(0) {
            ValueRef::Integer(number) => sum.add_whole(number),
            value => cell::decimal(value).into_iter().for_each(|digits| sum.add(&digits)),
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<decimal::Sum>) -> Result<Option<String>> {
        Ok(sum.and_then(|sum| sum.text()))
    }
}

/// The smallest or largest decimal; of equal ones that with the largest scale.
struct DecimalExtreme(Ordering);

impl Aggregate<Option<String>, Option<String>> for DecimalExtreme {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, best: &mut Option<String>) -> Result<()> {
        let Some(digits) = cell::decimal(context.get_raw(0)) else { return Ok(()) };
        let scale = |digits: &str| digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let is_better = best.as_deref().is_none_or(|best| match decimal::compare(&digits, best) {
            Ordering::Equal => scale(&digits) > scale(best),
            order => order == self.0,
        });
        if is_better {
            *best = Some(digits.into_owned());
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, best: Option<Option<String>>) -> Result<Option<String>> {
        Ok(best.flatten())
    }
}

/// A scaled-down sum of doubles that adds in PostgreSQL's order.
struct FloatSum;

impl Aggregate<Option<f64>, Option<f64>> for FloatSum {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<f64>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Option<f64>) -> Result<()> {
        if let Some(term) = context.get::<Option<f64>>(0)? {
            let scaled = if term.abs() < SMALLEST_TERM { 0.0 } else { term / SCALE };
            *sum = Some(sum.map_or(scaled, |sum| sum + scaled));
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<Option<f64>>) -> Result<Option<f64>> {
        Ok(sum.flatten())
    }
}
