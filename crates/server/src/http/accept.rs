//! What a client would rather have, by its `Accept` (RFC 9110, 12.5.1), and what it takes, by its `Accept-Encoding`.

use std::cmp::Reverse;

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

/// What a client would rather have of all that is offered: what weighs most, then what it names more exactly, then what it names first,
/// and last what is offered first. Nothing if it takes none of it.
pub(crate) fn best<T: Copy>(headers: &HeaderMap, offered: &[(&str, T)]) -> Option<T> {
    if !headers.contains_key(ACCEPT) {
        return offered.first().map(|(_, answer)| *answer);
    }
    let ranked = offered.iter().enumerate().filter_map(|(index, (kind, answer))| {
        let fitting = items(headers).enumerate().filter_map(|(place, item)| fitting(item, kind).map(|found| (found, Reverse(place))));
        let ((fit, weight), place) = fitting.max()?;
        (weight > 0).then_some(((weight, fit, place, Reverse(index)), *answer))
    });
    ranked.max_by_key(|(rank, _)| *rank).map(|(_, answer)| answer)
}

/// How a media type is asked for, and how much. Nothing is asked of whoever says nothing, and all is taken.
fn wanted(headers: &HeaderMap, kind: &str) -> (Option<Fit>, u16) {
    if !headers.contains_key(ACCEPT) {
        return (None, WHOLE);
    }
    items(headers).filter_map(|item| fitting(item, kind)).max().map_or((None, 0), |(fit, weight)| (Some(fit), weight))
}

fn items(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','))
}

/// How one item of the header fits, and its weight. An item whose weight is none is passed over, and so is one that wants another charset:
/// what is answered is UTF-8. Other parameters count for nothing.
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
    if !is_in_utf8(parts.clone()) {
        return None;
    }
    Some((fit, weight(parts)?))
}

/// Whether the parameters of a media type name UTF-8 or no charset at all.
pub(crate) fn is_in_utf8<'h>(parameters: impl Iterator<Item = &'h str>) -> bool {
    let mut charsets = parameters.filter_map(|part| part.split_once('=')).filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charsets.all(|(_, value)| ["utf-8", "utf8"].contains(&value.trim().trim_matches('"').to_ascii_lowercase().as_str()))
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
