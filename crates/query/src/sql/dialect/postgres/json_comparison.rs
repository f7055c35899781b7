//! `json` columns where they are compared, which only `jsonb` can be. Without this a stored text that `jsonb` refuses fails the statement.

use super::Writer;

/// A `json` as `jsonb`, or NULL where `jsonb` refuses its text.
pub(super) fn comparable_json(writer: &mut Writer, json: &dyn Fn(&mut Writer)) {
    let text = |writer: &mut Writer| {
        json(writer);
        writer.raw("::text");
    };
    writer.raw("CASE WHEN (octet_length(");
    text(writer);
    // More digits in a row than a number may have behind its point.
    writer.raw(") < 15000 OR strpos(translate(");
    text(writer);
    writer.raw(", '123456789', '000000000'), repeat('0', 15000)) = 0) AND (");
    text(writer);
    // Most texts hold nothing that looks like an escape, an exponent or deep nesting. SQLite reads 256 levels.
    writer.raw(" !~ '\\\\u(0000|[dD][89a-fA-F])|[eE][+-]?[0-9]{4,}|(\\[{128}){2}\\[' OR (");
    without_escapes(writer, &text);
    writer.raw(" !~ '\\\\u(0000|[dD][89a-fA-F])' AND regexp_replace(");
    without_escapes(writer, &text);
    writer.raw(", '\"[^\"]*\"', '', 'g') !~ '[eE][+-]?[0-9]{4,}|(\\[{128}){2}\\[')) THEN ");
    json(writer);
    writer.raw("::jsonb END");
}

/// The text of a `json` without escaped characters and surrogate pairs: what still looks like an escape is one, and a quote ends a string.
fn without_escapes(writer: &mut Writer, text: &dyn Fn(&mut Writer)) {
    writer.raw("regexp_replace(");
    text(writer);
    writer.raw(", '\\\\[^u]|\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}', '', 'g')");
}
