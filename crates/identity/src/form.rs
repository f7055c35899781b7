//! `application/x-www-form-urlencoded`, read strictly and written for redirects; also how HTTP Basic spells a client's id and secret.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::error::Error;

pub const MAX_PARAMETERS: usize = 64;

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const MALFORMED: Error = Error::request("the parameters must be percent-encoded UTF-8");

/// The pairs of a query string or a form body, in their order, repeated names included.
pub fn pairs(text: &str) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    for piece in text.split('&').filter(|piece| !piece.is_empty()) {
        if found.len() == MAX_PARAMETERS {
            return Err(Error::request("there are too many parameters"));
        }
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        found.push((decode(name).ok_or(MALFORMED)?, decode(value).ok_or(MALFORMED)?));
    }
    Ok(found)
}

/// One decoded component: `+` is a space, `%` must be followed by two hexadecimal digits, and the bytes must be UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => hexadecimal(rest.next()?)? << 4 | hexadecimal(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// One encoded component; everything but letters, digits and `-._~` is escaped, so that it is safe in any part of a URL.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Pairs as one query string.
pub fn write<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(&encode(name));
        out.push('=');
        out.push_str(&encode(value));
    }
    out
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}
