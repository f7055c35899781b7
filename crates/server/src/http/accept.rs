//! Content negotiation: `Accept` (RFC 9110, 12.5.1) and `Accept-Encoding`.

use std::cmp::Reverse;

use axum::http::header::{ACCEPT, ACCEPT_ENCODING};
use axum::http::{HeaderMap, HeaderValue};

const MAX_WEIGHT: u16 = 1_000;

/// How exactly a media range matches a media type. The most exact match counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Any,
    Type,
    Exact,
}

/// Whether a client prefers a media type to the default one: its weight is higher, or it is equal and the client names the type. `*/*`
/// alone gets the default.
pub(crate) fn prefers(headers: &HeaderMap, kind: &str, usual: &str) -> bool {
    let (exactness, weight) = accepted(headers, kind);
    let (_, other) = accepted(headers, usual);
    weight > other || (weight == other && weight > 0 && exactness == Some(Match::Exact))
}

/// The best of the offered media types: the highest weight, then the most exact match, then the first in the header, then the first
/// offer. None if the client accepts none of them.
pub(crate) fn best<T: Copy>(headers: &HeaderMap, offered: &[(&str, T)]) -> Option<T> {
    if !headers.contains_key(ACCEPT) {
        return offered.first().map(|(_, answer)| *answer);
    }
    let ranked = offered.iter().enumerate().filter_map(|(index, (kind, answer))| {
        let matching = items(headers).enumerate().filter_map(|(place, item)| matching(item, kind).map(|found| (found, Reverse(place))));
        let ((exactness, weight), place) = matching.max()?;
        (weight > 0).then_some(((weight, exactness, place, Reverse(index)), *answer))
    });
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, answer)| answer)
}

/// The match and the weight of a media type. A client without `Accept` accepts everything.
fn accepted(headers: &HeaderMap, kind: &str) -> (Option<Match>, u16) {
    if !headers.contains_key(ACCEPT) {
        return (None, MAX_WEIGHT);
    }
    items(headers).filter_map(|item| matching(item, kind)).max().map_or((None, 0), |(exactness, weight)| (Some(exactness), weight))
}

fn items(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','))
}

/// The match and the weight of one item of the header. An item with a malformed weight or another charset than UTF-8 does not count.
/// Other parameters are ignored.
fn matching(item: &str, kind: &str) -> Option<(Match, u16)> {
    let mut parts = item.split(';').map(str::trim);
    let range = parts.next()?;
    let family = kind.split('/').next()?;
    let exactness = match range.split_once('/')? {
        ("*", "*") => Match::Any,
        (other, "*") if other.eq_ignore_ascii_case(family) => Match::Type,
        _ if range.eq_ignore_ascii_case(kind) => Match::Exact,
        _ => return None,
    };
    if !is_in_utf8(parts.clone()) {
        return None;
    }
    Some((exactness, weight(parts)?))
}

pub(crate) fn is_in_utf8<'h>(parameters: impl Iterator<Item = &'h str>) -> bool {
    let mut charsets = parameters.filter_map(|part| part.split_once('=')).filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charsets.all(|(_, value)| ["utf-8", "utf8"].contains(&value.trim().trim_matches('"').to_ascii_lowercase().as_str()))
}

/// The weight of an item: 1 without `q`, none for a malformed `q`.
fn weight<'h>(parameters: impl Iterator<Item = &'h str>) -> Option<u16> {
    let said = parameters.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    said.map_or(Some(MAX_WEIGHT), |(_, weight)| thousandths(weight.trim()))
}

/// Removes what forbids an uncompressed response from `Accept-Encoding`: a 406 would hide the response.
pub(crate) fn allow_uncompressed(headers: &mut HeaderMap) {
    let Some(accepted) = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()) else { return };
    let forbids = |item: &&str| {
        let mut parts = item.split(';').map(str::trim);
        parts.next().is_some_and(|coding| coding == "*" || coding.eq_ignore_ascii_case("identity")) && weight(parts) == Some(0)
    };
    let rest: Vec<&str> = accepted.split(',').filter(|item| !forbids(item)).collect();
    if rest.len() < accepted.split(',').count() {
        match HeaderValue::from_str(&rest.join(",")) {
            Ok(rest) => headers.insert(ACCEPT_ENCODING, rest),
            Err(_) => headers.remove(ACCEPT_ENCODING),
        };
    }
}

/// `0`, `1`, or with up to three decimals between them.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match (whole, format!("{decimals:0<3}").parse().ok()?) {
        ("0", part) => Some(part),
        ("1", 0) => Some(MAX_WEIGHT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers_page(accept: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        prefers(&headers, "text/html", "application/json")
    }

    #[test]
    fn a_page_is_for_clients_that_prefer_one() {
        // contract I21.2
        for accept in [
            &["text/html"][..],
            &["TEXT/HTML; charset=utf-8"],
            &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
            &["application/json;q=0.8", "text/html;q=0.9"],
            &["text/*"],
            &["text/html;q=0.001"],
            &["application/json, text/html"],
        ] {
            assert!(prefers_page(accept), "{accept:?}");
        }
        for accept in [
            &[][..],
            &["*/*"],
            &["application/json"],
            &["text/html;q=0"],
            &["text/html; Q=0.000, */*"],
            &["application/json, text/html;q=0.5"],
            &["text/html;q=0.5, */*"],
            &["text/html;q=2"],
            &["text/html;q=much"],
            &["text/htmlx"],
            &["image/*"],
            &[""],
        ] {
            assert!(!prefers_page(accept), "{accept:?}");
        }
    }
}
