//! Writes values as JSON. The row encoders of both databases use it.

use query::catalog::Mask;
use query::json::{write_text, write_utf8};
use query::plan::Show;
use query::value;

/// Opens an object of the members written since `start`: the comma of the first becomes the brace.
pub(crate) fn open(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
}

pub(crate) fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
}

pub(crate) fn boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

pub(crate) fn integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub(crate) fn float(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        return null(out);
    }
    whole_or_fraction(out, zmij::Buffer::new().format_finite(value));
}

pub(crate) fn single(out: &mut Vec<u8>, value: f32) {
    if !value.is_finite() {
        return null(out);
    }
    whole_or_fraction(out, zmij::Buffer::new().format_finite(value));
}

/// Writes `2.0` as `2`.
fn whole_or_fraction(out: &mut Vec<u8>, text: &str) {
    let text = text.strip_suffix(".0").unwrap_or(text);
    out.extend_from_slice(if text == "-0" { b"0" } else { text.as_bytes() });
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str, show: Show) {
    match show {
        Show::Plain => write_text(out, text),
        Show::Masked(mask) => write_text(out, &masked(text, mask)),
    }
}

/// The same for bytes of a database; nothing if they are not UTF-8.
pub(crate) fn utf8(out: &mut Vec<u8>, bytes: &[u8], show: Show) -> Option<()> {
    if show == Show::Plain {
        return write_utf8(out, bytes).then_some(());
    }
    text(out, std::str::from_utf8(bytes).ok()?, show);
    Some(())
}

/// A string that needs no escapes.
pub(crate) fn quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Quotes what `write` appends; null if it returns `None`.
pub(crate) fn quoted_by(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) {
    out.push(b'"');
    if write(out).is_some() {
        out.push(b'"');
    } else {
        out.pop();
        null(out);
    }
}

pub(crate) const REDACTED: &[u8] = b"\"***\"";

fn masked(text: &str, mask: Mask) -> String {
    match mask {
        Mask::Redact => "***".to_owned(),
        Mask::Email => match text.rsplit_once('@') {
            Some((local, domain)) => format!("{}***@{domain}", local.chars().take(1).collect::<String>()),
            None => "***".to_owned(),
        },
        Mask::Last4 => match text.char_indices().nth_back(3) {
            Some((start, _)) if start > 0 => format!("***{}", &text[start..]),
            _ => "***".to_owned(),
        },
    }
}

pub(crate) fn date(out: &mut Vec<u8>, days: i64) {
    quoted_by(out, |out| value::write_date(out, days));
}

pub(crate) fn uuid(out: &mut Vec<u8>, uuid: &[u8; 16]) {
    out.push(b'"');
    value::write_uuid(out, uuid);
    out.push(b'"');
}

pub(crate) fn time(out: &mut Vec<u8>, micros: i64) {
    out.push(b'"');
    value::write_time(out, micros);
    out.push(b'"');
}

pub(crate) fn timestamp(out: &mut Vec<u8>, micros: i64) {
    quoted_by(out, |out| value::write_timestamp(out, micros));
}

/// Stored JSON on one line: line breaks occur only between tokens.
pub(crate) fn json(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_show_only_the_permitted_part() {
        // contract P2.5, contract P2.6
        for (text, mask, shown) in [
            ("ana@example.com", Mask::Email, "a***@example.com"),
            ("é@b@example.com", Mask::Email, "é***@example.com"),
            ("nobody", Mask::Email, "***"),
            ("4111111111111234", Mask::Last4, "***1234"),
            ("é234", Mask::Last4, "***"),
            ("1é234", Mask::Last4, "***é234"),
            ("1234", Mask::Last4, "***"),
            ("", Mask::Last4, "***"),
            ("anything", Mask::Redact, "***"),
        ] {
            let mut out = Vec::new();
            super::text(&mut out, text, Show::Masked(mask));
            assert_eq!(String::from_utf8_lossy(&out), format!("\"{shown}\""));
        }
    }

    #[test]
    fn floats_have_their_shortest_form() {
        for (value, expected) in [(0.1, "0.1"), (2.0, "2"), (-0.0, "0"), (1e300, "1e+300"), (f64::NAN, "null"), (f64::INFINITY, "null")] {
            let mut out = Vec::new();
            float(&mut out, value);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        }
    }
}
