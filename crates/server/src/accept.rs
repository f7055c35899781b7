//! What a client would rather have, by its `Accept` (RFC 9110, 12.5.1), and what it takes, by its `Accept-Encoding`.

use axum::http::header::{ACCEPT, ACCEPT_ENCODING};
use axum::http::{HeaderMap, HeaderValue};

/// A weight of 1, in thousandths.
const WHOLE: u16 = 1_000;

/// How well a range fits a media type; the best fit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Anything,
    Family,
    Named,
}

/// Whether a client would rather have one media type than the one it gets otherwise. It must want it more, or name it and want it no less:
/// who takes anything gets what is usual.
pub(crate) fn prefers(headers: &HeaderMap, kind: &str, usual: &str) -> bool {
    let (fit, weight) = wanted(headers, kind);
    let (_, other) = wanted(headers, usual);
    weight > other || (weight == other && weight > 0 && fit == Some(Fit::Named))
}

/// How a media type is asked for, and how much. Nothing is asked of whoever says nothing, and all is taken.
fn wanted(headers: &HeaderMap, kind: &str) -> (Option<Fit>, u16) {
    if !headers.contains_key(ACCEPT) {
        return (None, WHOLE);
    }
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let fitting = values.flat_map(|value| value.split(',')).filter_map(|item| fitting(item, kind));
    fitting.max().map_or((None, 0), |(fit, weight)| (Some(fit), weight))
}

/// How one item of the header fits, and its weight. Parameters other than the weight are passed over, and so is an item whose weight is none.
fn fitting(item: &str, kind: &str) -> Option<(Fit, u16)> {
    let mut parts = item.split(';').map(str::trim);
    let range = parts.next()?;
    let family = kind.split('/').next()?;
    let fit = match range.split_once('/')? {
        ("*", "*") => Fit::Anything,
        (other, "*") if other.eq_ignore_ascii_case(family) => Fit::Family,
        _ if range.eq_ignore_ascii_case(kind) => Fit::Named,
        _ => return None,
    };
    Some((fit, weight(parts)?))
}

/// The weight among the parameters of an item; all of it where none is said, nothing where it is none.
fn weight<'h>(parameters: impl Iterator<Item = &'h str>) -> Option<u16> {
    let said = parameters.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    said.map_or(Some(WHOLE), |(_, weight)| thousandths(weight.trim()))
}

/// Lets an answer go out as it is, whatever a client's `Accept-Encoding` says of that: refusing it would hide the answer behind another
/// status.
pub(crate) fn allow_plain(headers: &mut HeaderMap) {
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
        ("1", 0) => Some(WHOLE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(accept: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        prefers(&headers, "text/html", "application/json")
    }

    #[test]
    fn a_page_is_for_those_who_would_rather_have_one() {
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
            assert!(page(accept), "{accept:?}");
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
            assert!(!page(accept), "{accept:?}");
        }
    }
}
