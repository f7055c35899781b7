//! Functions for derived fields of one row: a value inside a json column, and the start of a period.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use query::catalog::TimeUnit;
use query::json::Json;
use query::types::Scalar;
use query::value::{self, stored};
use rusqlite::functions::Context;
use rusqlite::types::Value;
use rusqlite::{Connection, Error, Result};

use super::cell;
use super::functions::PURE;

pub(super) fn install(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("peristyle_json_path", -1, PURE, |context| Ok(json_path(context)))?;
    connection.create_scalar_function("peristyle_bucket", 3, PURE, bucket)?;
    connection.create_scalar_function("peristyle_date_bucket", 2, PURE, date_bucket)
}

/// `(json, type, name, …)`: the value at the path if it has the type, else NULL.
fn json_path(context: &Context<'_>) -> Option<Value> {
    let mut json = cell::json(context.get_raw(0))?;
    for index in 2..context.len() {
        json = member(json, cell::text(context.get_raw(index))?)?;
    }
    typed(&Scalar::from_name(cell::text(context.get_raw(1))?)?, json)
}

/// The member of an object, or the element of an array, from its end if negative.
fn member(json: Json, name: &str) -> Option<Json> {
    match json {
        Json::Object(entries) => entries.into_iter().find(|(key, _)| key == name).map(|(_, value)| value),
        Json::Array(mut items) => {
            // PostgreSQL ignores blanks before the number.
            let index: i64 = name.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']).parse().ok()?;
            let place = if index < 0 { index.checked_add(i64::try_from(items.len()).ok()?)? } else { index };
            let place = usize::try_from(place).ok().filter(|place| *place < items.len())?;
            Some(items.swap_remove(place))
        }
        _ => None,
    }
}

fn typed(scalar: &Scalar, json: Json) -> Option<Value> {
    match (scalar, json) {
        (Scalar::Bool, Json::Bool(value)) => Some(Value::Integer(i64::from(value))),
        (Scalar::Int, Json::Number(text)) => whole(&text).filter(|number| i32::try_from(*number).is_ok()).map(Value::Integer),
        (Scalar::BigInt, Json::Number(text)) => whole(&text).map(Value::Integer),
        // No negative zero: PostgreSQL has none in jsonb.
        (Scalar::Float, Json::Number(text)) => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| Value::Real(number + 0.0))
        }
        (Scalar::Decimal, Json::Number(text)) => stored::decimal(&text).map(|digits| Value::Text(digits.into_owned())),
        (Scalar::Text, Json::Text(text)) => Some(Value::Text(text)),
        (Scalar::Date, Json::Text(text)) => stored::date(&text).map(|_| Value::Text(text)),
        (Scalar::Time, Json::Text(text)) => stored::time(&text).map(|micros| Value::Text(value::time_text(micros))),
        (Scalar::Timestamp, Json::Text(text)) => stored::datetime(&text).map(|micros| Value::Text(value::timestamp_fixed_text(micros))),
        (Scalar::Uuid, Json::Text(text)) => {
            let lower = text.to_ascii_lowercase();
            stored::uuid_canonical(&lower).then_some(Value::Text(lower))
        }
        _ => None,
    }
}

/// A whole number, also written as `3.0` or `3e2`.
fn whole(text: &str) -> Option<i64> {
    value::normal_decimal(text)?.parse().ok()
}

fn unit(context: &Context<'_>) -> Result<TimeUnit> {
    let unit = cell::text(context.get_raw(1)).and_then(TimeUnit::from_word);
    unit.ok_or_else(|| Error::UserFunctionError("unknown unit of time".into()))
}

/// `(timestamp, unit, zone)`
fn bucket(context: &Context<'_>) -> Result<Option<String>> {
    let unit = unit(context)?;
    let Some(micros) = cell::text(context.get_raw(0)).and_then(stored::timestamp) else { return Ok(None) };
    let zone = context.get_or_create_aux(2, |name| -> std::result::Result<TimeZone, Box<dyn std::error::Error + Send + Sync>> {
        Ok(TimeZone::get(cell::text(name).unwrap_or_default())?)
    })?;
    Ok(start(micros, unit, &zone).filter(|start| *start >= FIRST_INSTANT).map(value::timestamp_fixed_text))
}

/// 0001-01-01, the first day of a timestamp.
const FIRST_INSTANT: i64 = -62_135_596_800_000_000;
/// 9999-01-01. The time zone library ends before the last day of this year.
const LAST_YEAR: i64 = 253_370_764_800_000_000;
/// The calendar and the rules of time zones repeat after 400 years.
const CYCLE: i64 = 146_097 * 86_400_000_000;

/// The instant at which the period of an instant starts.
fn start(micros: i64, unit: TimeUnit, zone: &TimeZone) -> Option<i64> {
    if micros >= LAST_YEAR {
        return Some(start(micros - CYCLE, unit, zone)? + CYCLE);
    }
    let instant = Timestamp::from_microsecond(micros).ok()?;
    let local = zone.to_datetime(instant);
    if unit == TimeUnit::Hour {
        // An hour that comes twice is two buckets: each row keeps its own offset.
        let full = local.with().minute(0).second(0).subsec_nanosecond(0).build().ok()?;
        return Some(instant.checked_sub(local.duration_since(full)).ok()?.as_microsecond());
    }
    // The earlier instant if the local start comes twice.
    let start = DateTime::from_parts(first_day(local.date(), unit)?, Time::midnight());
    Some(zone.to_ambiguous_timestamp(start).compatible().ok()?.as_microsecond())
}

/// `(date, unit)`
fn date_bucket(context: &Context<'_>) -> Result<Option<String>> {
    let unit = unit(context)?;
    let Some(date) = cell::text(context.get_raw(0)).and_then(|text| text.parse::<Date>().ok()) else { return Ok(None) };
    Ok(first_day(date, unit).map(|date| date.to_string()))
}

fn first_day(date: Date, unit: TimeUnit) -> Option<Date> {
    let month = |month: i8| Date::new(date.year(), month, 1).ok();
    match unit {
        TimeUnit::Hour | TimeUnit::Day => Some(date),
        TimeUnit::Week => date.checked_sub(SignedDuration::from_hours(24 * i64::from(date.weekday().since(Weekday::Monday)))).ok(),
        TimeUnit::Month => month(date.month()),
        TimeUnit::Quarter => month((date.month() - 1) / 3 * 3 + 1),
        TimeUnit::Year => month(1),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use query::catalog::TimeUnit;
    use query::value::{stored, timestamp_fixed_text};

    fn start(text: &str, unit: TimeUnit, zone: &str) -> String {
        let zone = TimeZone::get(zone).expect("a zone");
        timestamp_fixed_text(super::start(stored::datetime(text).expect("a timestamp"), unit, &zone).expect("a start"))
    }

    #[test]
    fn a_period_starts_at_its_first_instant() {
        // contract P5.4
        for (text, unit, zone, expected) in [
            ("2024-03-31T21:59:59Z", TimeUnit::Day, "Europe/Berlin", "2024-03-30T23:00:00.000000Z"),
            ("2024-03-31T22:00:00Z", TimeUnit::Month, "Europe/Berlin", "2024-03-31T22:00:00.000000Z"),
            ("2024-01-01T12:00:00Z", TimeUnit::Week, "UTC", "2024-01-01T00:00:00.000000Z"),
            ("2023-12-31T12:00:00Z", TimeUnit::Week, "UTC", "2023-12-25T00:00:00.000000Z"),
            ("2024-08-15T12:00:00Z", TimeUnit::Quarter, "UTC", "2024-07-01T00:00:00.000000Z"),
            // Midnight comes twice in Havana: 2024-11-03 starts at 04:00 UTC, not at 05:00.
            ("2024-11-03T04:30:00Z", TimeUnit::Day, "America/Havana", "2024-11-03T04:00:00.000000Z"),
            ("2024-11-03T05:30:00Z", TimeUnit::Day, "America/Havana", "2024-11-03T04:00:00.000000Z"),
            // Midnight is left out in Cairo: 2024-04-26 starts at one o'clock.
            ("2024-04-26T10:00:00Z", TimeUnit::Day, "Africa/Cairo", "2024-04-25T22:00:00.000000Z"),
            // The hour that comes twice in Berlin is two buckets.
            ("2024-10-27T00:30:00Z", TimeUnit::Hour, "Europe/Berlin", "2024-10-27T00:00:00.000000Z"),
            ("2024-10-27T01:30:00Z", TimeUnit::Hour, "Europe/Berlin", "2024-10-27T01:00:00.000000Z"),
            ("2024-06-01T10:20:00Z", TimeUnit::Hour, "Asia/Kolkata", "2024-06-01T09:30:00.000000Z"),
            ("9999-12-31T23:59:59.999999Z", TimeUnit::Year, "UTC", "9999-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:59.999999Z", TimeUnit::Week, "Asia/Tokyo", "9999-12-26T15:00:00.000000Z"),
        ] {
            assert_eq!(start(text, unit, zone), expected, "{text} {unit:?} {zone}");
        }
    }
}
