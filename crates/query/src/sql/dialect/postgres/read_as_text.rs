//! Columns of types that no field type reads, as text.

use crate::catalog::TextForm;
use crate::plan::predicate::Column;

use super::Writer;

pub(super) fn text(writer: &mut Writer, column: Column<'_>, form: TextForm) {
    match form {
        TextForm::Text => {
            writer.column(column);
            writer.raw("::text");
        }
        // Shorter than the cast only: it is what the database writes.
        TextForm::Address => {
            writer.raw("abbrev(");
            writer.column(column);
            writer.raw("::inet)");
        }
        // `encode` breaks lines.
        TextForm::Base64 => {
            writer.raw("translate(encode(");
            writer.column(column);
            writer.raw("::bytea, 'base64'), E'\\n', '')");
        }
        TextForm::Duration => duration(writer, column),
    }
}

/// The parts of a duration: its letter, and the name that `extract` knows it by.
const DATE_PARTS: [(&str, &str); 3] = [("'Y'", "year"), ("'M'", "month"), ("'D'", "day")];
const TIME_PARTS: [(&str, &str); 3] = [("'H'", "hour"), ("'M'", "minute"), ("'S'", "second")];

/// `P1Y2M3DT4H5M6.5S`. The session's `intervalstyle` cannot change it. An infinite interval, which has no parts, keeps its own text.
fn duration(writer: &mut Writer, column: Column<'_>) {
    writer.raw("CASE WHEN isfinite(");
    writer.column(column);
    writer.raw("::interval) THEN coalesce(nullif('P'");
    for (letter, part) in DATE_PARTS {
        append_part(writer, column, letter, part);
    }
    writer.raw(" || coalesce('T' || nullif(''");
    for (letter, part) in TIME_PARTS {
        append_part(writer, column, letter, part);
    }
    writer.raw(", ''), ''), 'P'), 'PT0S') ELSE ");
    writer.column(column);
    writer.raw("::text END");
}

/// ` || ` the part with its letter, or nothing where it is zero.
fn append_part(writer: &mut Writer, column: Column<'_>, letter: &'static str, part: &'static str) {
    writer.raw(" || coalesce(trim_scale(nullif(extract(");
    writer.raw(part);
    writer.raw(" FROM ");
    writer.column(column);
    writer.raw("::interval)::numeric, 0))::text || ");
    writer.raw(letter);
    writer.raw(", '')");
}
