//! Dates, times and timestamps in strings of json, in the forms that a statement takes. A cast of a string to these types depends on settings,
//! so no index could hold it, and it fails on other strings. A pattern and numbers do neither.

use super::super::super::Writer;

type Write<'w> = &'w dyn Fn(&mut Writer);

/// The instant before the first timestamp that an answer shows.
pub(super) const BEFORE_FIRST: &str = "'0001-12-31T23:59:59.999999Z BC'";

/// A real date of the years 0001 to 9999, at the beginning of a pattern.
const DATE: &str = " ~ '^(?!0000)([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)\
                    |02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";
const TIME: &str = " ~ '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?$' THEN make_time(";
/// The rest of a pattern after a date, to the end.
const REST_OF_TIMESTAMP: &str = "([Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?\
                                 ([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?$' THEN ";

pub(super) fn date(writer: &mut Writer, text: Write<'_>) {
    writer.raw("CASE WHEN ");
    text(writer);
    writer.raw(DATE);
    writer.raw("$' THEN make_date(");
    numbers(writer, text, &[", 1, 4)", ", 6, 2)", ", 9, 2)"]);
    writer.raw(") END");
}

pub(super) fn time(writer: &mut Writer, text: Write<'_>) {
    writer.raw("CASE WHEN ");
    text(writer);
    writer.raw(TIME);
    numbers(writer, text, &[", 1, 2)", ", 4, 2)"]);
    writer.raw(", substr(");
    text(writer);
    writer.raw(", 7)::float8) END");
}

/// The offset may lead out of the years that an answer shows.
pub(super) fn timestamp(writer: &mut Writer, text: Write<'_>) {
    writer.raw("CASE WHEN ");
    text(writer);
    writer.raw(DATE);
    writer.raw(REST_OF_TIMESTAMP);
    writer.raw("nullif(greatest(nullif(least((make_timestamp(");
    numbers(writer, text, &[", 1, 4)", ", 6, 2)", ", 9, 2)"]);
    for place in [", 12, 2)", ", 15, 2)"] {
        writer.raw(", coalesce(nullif(");
        part(writer, text, place);
        writer.raw(", ''), '0')::int");
    }
    let piece = |writer: &mut Writer, pattern: &'static str| {
        writer.raw("substring(");
        text(writer);
        writer.raw(pattern);
    };
    writer.raw(", round(coalesce(");
    piece(writer, " FROM '^.{17}([0-9]{2}(\\.[0-9]+)?)'), '0')::numeric, 6)::float8) - coalesce(");
    // Hours and minutes of the offset, both with its sign.
    piece(writer, " FROM '^.{19}.*([+-][0-9]{2})')::int * 60 + (");
    piece(writer, " FROM '^.{19}.*([+-])') || coalesce(");
    piece(writer, " FROM '^.{19}.*[+-][0-9]{2}:?([0-9]{2})$'), '0'))::int, 0) * interval '1 minute') AT TIME ZONE 'UTC'");
    writer.raw(", '10000-01-01T00:00:00Z'), '10000-01-01T00:00:00Z'), ");
    writer.raw(BEFORE_FIRST);
    writer.raw("), ");
    writer.raw(BEFORE_FIRST);
    writer.raw(") END");
}

/// Parts of the text as numbers.
fn numbers(writer: &mut Writer, text: Write<'_>, places: &[&'static str]) {
    writer.separated(", ", places, |writer, place| {
        part(writer, text, place);
        writer.raw("::int");
    });
}

/// `substr(text, 1, 4)`
fn part(writer: &mut Writer, text: Write<'_>, place: &'static str) {
    writer.raw("substr(");
    text(writer);
    writer.raw(place);
}
