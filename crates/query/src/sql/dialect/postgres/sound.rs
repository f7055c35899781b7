//! `json` columns where they are compared, which only `jsonb` can be.

use super::Writer;

/// A `json` as `jsonb`. The former keeps texts that the latter refuses; they compare with nothing, rather than fail the statement.
pub(super) fn sound_jsonb(writer: &mut Writer, json: &dyn Fn(&mut Writer)) {
    let text = |writer: &mut Writer| {
        json(writer);
        writer.raw("::text");
    };
    writer.raw("CASE WHEN (octet_length(");
    text(writer);
    // Digits in a row, more than a number may have behind its point.
    writer.raw(") < 15000 OR strpos(translate(");
    text(writer);
    writer.raw(", '123456789', '000000000'), repeat('0', 15000)) = 0) AND (");
    text(writer);
    // Most have nothing that looks like one of the others.
    writer.raw(" !~ '\\\\u(0000|[dD][89a-fA-F])|[eE][+-]?[0-9]{4,}|\\[{200,}' OR (");
    without_escapes(writer, &text);
    writer.raw(" !~ '\\\\u(0000|[dD][89a-fA-F])' AND regexp_replace(");
    without_escapes(writer, &text);
    writer.raw(", '\"[^\"]*\"', '', 'g') !~ '[eE][+-]?[0-9]{4,}|\\[{200,}')) THEN ");
    json(writer);
    writer.raw("::jsonb END");
}

/// The text of a `json` without escaped characters and whole surrogate pairs: what still looks like an escape is one, and a quote ends a
/// text.
fn without_escapes(writer: &mut Writer, text: &dyn Fn(&mut Writer)) {
    writer.raw("regexp_replace(");
    text(writer);
    writer.raw(", '\\\\[^u]|\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}', '', 'g')");
}
