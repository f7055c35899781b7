//! Values inside a json column, and the starts of periods. All functions are immutable, so that an expression index can hold the values.

use crate::catalog::{Bucket, JsonPath, Native, TimeUnit};
use crate::plan::predicate::Column;
use crate::types::{Scalar, Type};

use super::super::super::Writer;
use super::super::shared::among_texts;
use super::json_comparison::comparable_json;
use super::json_dates::{self, BEFORE_FIRST};

type Write<'w> = &'w dyn Fn(&mut Writer);

/// The value at a path, or NULL where it has another type.
pub(in super::super) fn json_path(writer: &mut Writer, column: Column<'_>, path: &JsonPath) {
    let at_path = |writer: &mut Writer, operator: &'static str| {
        writer.raw("(");
        let source = |writer: &mut Writer| writer.stored_column(column.alias, &path.source.column);
        if path.source.native == Native::JsonText {
            comparable_json(writer, &source);
        } else {
            source(writer);
        }
        writer.raw(operator);
        writer.raw("ARRAY[");
        writer.separated(", ", &path.path, Writer::literal);
        writer.raw("])");
    };
    let json: Write<'_> = &|writer| at_path(writer, " #> ");
    let text: Write<'_> = &|writer| at_path(writer, " #>> ");
    let number: Write<'_> = &|writer| {
        json(writer);
        writer.raw("::numeric");
    };
    let (kind, value): (&'static str, Write<'_>) = match column.field.kind.scalar() {
        Scalar::Bool => ("boolean", &|writer| {
            json(writer);
            writer.raw("::bool");
        }),
        Scalar::Int => ("number", &|writer| whole(writer, number, " BETWEEN -2147483648 AND 2147483647", "::int4")),
        Scalar::BigInt => ("number", &|writer| whole(writer, number, " BETWEEN -9223372036854775808 AND 9223372036854775807", "::int8")),
        Scalar::Float => ("number", &|writer| float(writer, number)),
        Scalar::Decimal => ("number", &|writer| decimal(writer, number)),
        Scalar::Uuid => ("string", &|writer| {
            writer.raw("CASE WHEN ");
            text(writer);
            writer.raw(" ~ '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$' THEN ");
            text(writer);
            writer.raw("::uuid END");
        }),
        Scalar::Enum(values) => ("string", &|writer| {
            writer.raw("CASE WHEN ");
            text(writer);
            among_texts(writer, values);
            writer.raw(" THEN ");
            text(writer);
            writer.raw(" END");
        }),
        Scalar::Date => ("string", &|writer| json_dates::date(writer, text)),
        Scalar::Time => ("string", &|writer| json_dates::time(writer, text)),
        Scalar::Timestamp => ("string", &|writer| json_dates::timestamp(writer, text)),
        _ => ("string", text),
    };
    writer.raw("(CASE WHEN jsonb_typeof(");
    json(writer);
    writer.raw(") = '");
    writer.raw(kind);
    writer.raw("' THEN ");
    value(writer);
    writer.raw(" END)");
}

fn whole(writer: &mut Writer, number: Write<'_>, range: &'static str, cast: &'static str) {
    writer.raw("CASE WHEN ");
    number(writer);
    writer.raw(" % 1 = 0 AND ");
    number(writer);
    writer.raw(range);
    writer.raw(" THEN ");
    number(writer);
    writer.raw(cast);
    writer.raw(" END");
}

/// A number of more digits than a decimal may have is NULL.
fn decimal(writer: &mut Writer, number: Write<'_>) {
    writer.raw("CASE WHEN abs(");
    number(writer);
    writer.raw(") < 1e300 AND scale(");
    number(writer);
    writer.raw(") <= 300 THEN ");
    number(writer);
    writer.raw(" END");
}

/// A number that rounds to no double is NULL, one that rounds to zero is zero: a cast would fail.
fn float(writer: &mut Writer, number: Write<'_>) {
    writer.raw("CASE WHEN abs(");
    number(writer);
    writer.raw(") < 2.470328229206233e-324 THEN 0 WHEN abs(");
    number(writer);
    writer.raw(") < 1.797693134862315807e308 THEN ");
    number(writer);
    writer.raw("::float8 END");
}

/// The zone that a name is a link to in the time zone database, as a literal. For PostgreSQL these names are abbreviations of a fixed offset.
fn linked_zone(name: &str) -> Option<&'static str> {
    let links = [
        ("CET", "'Europe/Brussels'"),
        ("MET", "'Europe/Brussels'"),
        ("EET", "'Europe/Athens'"),
        ("WET", "'Europe/Lisbon'"),
        ("EST", "'America/Panama'"),
        ("MST", "'America/Phoenix'"),
        ("HST", "'Pacific/Honolulu'"),
    ];
    links.into_iter().find(|(link, _)| link.eq_ignore_ascii_case(name)).map(|(_, zone)| zone)
}

fn unit_text(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Hour => "date_trunc('hour', ",
        TimeUnit::Day => "date_trunc('day', ",
        TimeUnit::Week => "date_trunc('week', ",
        TimeUnit::Month => "date_trunc('month', ",
        TimeUnit::Quarter => "date_trunc('quarter', ",
        TimeUnit::Year => "date_trunc('year', ",
    }
}

/// The start of the period that a date or a timestamp is in.
pub(in super::super) fn bucket(writer: &mut Writer, column: Column<'_>, bucket: &Bucket) {
    let source: Write<'_> = &|writer| writer.stored_column(column.alias, &bucket.source.column);
    let unit = unit_text(bucket.unit);
    let is_date = column.field.kind == Type::One(Scalar::Date);
    // Functions fail on infinite values and at the ends of the range. No answer shows these.
    writer.raw("(CASE WHEN ");
    source(writer);
    writer.raw(if is_date {
        " BETWEEN '0001-01-01' AND '9999-12-31' THEN "
    } else {
        " BETWEEN '0001-01-01T00:00:00Z' AND '9999-12-31T23:59:59.999999Z' THEN "
    });
    let utc: Write<'_> = &|writer| {
        source(writer);
        if bucket.source.native != Native::TimestampWithoutZone {
            writer.raw(" AT TIME ZONE 'UTC'");
        }
    };
    match &bucket.zone {
        _ if is_date => {
            writer.raw(unit);
            source(writer);
            writer.raw("::timestamp)::date");
        }
        None => {
            writer.raw(unit);
            utc(writer);
            writer.raw(") AT TIME ZONE 'UTC'");
        }
        Some(zone) => {
            let at_zone: Write<'_> = &|writer| {
                writer.raw(" AT TIME ZONE ");
                match linked_zone(zone) {
                    Some(full) => writer.raw(full),
                    None => writer.literal(zone),
                }
            };
            // A period that starts before the first timestamp is none.
            writer.raw("nullif(greatest(");
            if bucket.unit == TimeUnit::Hour {
                hour_in_zone(writer, utc, at_zone, unit);
            } else {
                day_in_zone(writer, utc, at_zone, unit);
            }
            writer.raw(", ");
            writer.raw(BEFORE_FIRST);
            writer.raw("), ");
            writer.raw(BEFORE_FIRST);
            writer.raw(")");
        }
    }
    writer.raw(" END)");
}

/// A timestamp of UTC as one of the zone.
fn local(writer: &mut Writer, utc: Write<'_>, at_zone: Write<'_>) {
    writer.raw("((");
    utc(writer);
    writer.raw(") AT TIME ZONE 'UTC'");
    at_zone(writer);
    writer.raw(")");
}

/// An hour that comes twice is two buckets: each row keeps its own offset.
fn hour_in_zone(writer: &mut Writer, utc: Write<'_>, at_zone: Write<'_>, unit: &'static str) {
    writer.raw("((");
    utc(writer);
    writer.raw(" - (");
    local(writer, utc, at_zone);
    writer.raw(" - ");
    writer.raw(unit);
    local(writer, utc, at_zone);
    writer.raw("))) AT TIME ZONE 'UTC')");
}

/// A day or a longer period.
fn day_in_zone(writer: &mut Writer, utc: Write<'_>, at_zone: Write<'_>, unit: &'static str) {
    // The local start, then its instant: the later one if it comes twice.
    let start: Write<'_> = &|writer| {
        writer.raw(unit);
        local(writer, utc, at_zone);
        writer.raw(")");
    };
    let later: Write<'_> = &|writer| {
        writer.raw("(");
        start(writer);
        at_zone(writer);
        writer.raw(")");
    };
    // The instant by the offset of half a day before, which is the earlier one if the local start comes twice.
    let before: Write<'_> = &|writer| {
        writer.raw("(");
        later(writer);
        writer.raw(" AT TIME ZONE 'UTC' - interval '12 hours')");
    };
    let earlier: Write<'_> = &|writer| {
        writer.raw("((");
        start(writer);
        writer.raw(" - (");
        before(writer);
        writer.raw(" AT TIME ZONE 'UTC'");
        at_zone(writer);
        writer.raw(" - ");
        before(writer);
        writer.raw(")) AT TIME ZONE 'UTC')");
    };
    writer.raw("CASE WHEN (");
    earlier(writer);
    at_zone(writer);
    writer.raw(") = ");
    start(writer);
    writer.raw(" THEN least(");
    later(writer);
    writer.raw(", ");
    earlier(writer);
    writer.raw(") ELSE ");
    later(writer);
    writer.raw(" END");
}
