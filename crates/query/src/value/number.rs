//! Exact numbers, kept as text.

use std::borrow::Cow;

use super::Value;

/// The bound for digits on either side of the decimal point.
const MAX_DIGITS: i64 = 300;

/// The numbers between which all decimals are.
pub(crate) fn decimal_ends() -> [String; 2] {
    let end = format!("1{}", "0".repeat(MAX_DIGITS as usize));
    [format!("-{end}"), end]
}

/// The parts of a JSON number or a numeric string.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: i64,
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(index) => (&rest[..index], exponent(&rest[index + 1..])?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let pointless = whole.is_empty() || (mantissa.contains('.') && fraction.is_empty());
    (digits(whole) && digits(fraction) && !pointless).then_some(Parts { negative, whole, fraction, exponent })
}

fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // An exponent that does not fit is beyond every bound.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(1 << 40);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Whether [`decimal`] would return the text unchanged.
fn is_plain(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |part: &str| !part.is_empty() && part.len() as i64 <= MAX_DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && are_digits(fraction)
        && (whole == "0" || !whole.starts_with('0'))
        && (digits.len() == text.len() || digits.bytes().any(|byte| matches!(byte, b'1'..=b'9')))
}

/// The number as plain digits: no exponent, no sign on zero, no leading zeros; the scale is kept.
pub fn decimal(text: &str) -> Option<Cow<'_, str>> {
    if is_plain(text) { Some(Cow::Borrowed(text)) } else { rewritten(text).map(Cow::Owned) }
}

fn rewritten(text: &str) -> Option<String> {
    let parts = parts(text)?;
    let digits: String = [parts.whole, parts.fraction].concat();
    let point = parts.whole.len() as i64 + parts.exponent;
    let scale = (digits.len() as i64 - point).max(0);
    let leading = digits.bytes().take_while(|byte| *byte == b'0').count() as i64;
    if digits.bytes().all(|byte| byte == b'0') {
        let scale = scale.min(MAX_DIGITS) as usize;
        return Some(if scale == 0 { "0".to_owned() } else { format!("0.{}", "0".repeat(scale)) });
    }
    if point - leading > MAX_DIGITS || scale > MAX_DIGITS {
        return None;
    }
    let mut out = String::with_capacity(digits.len() + 3);
    if parts.negative {
        out.push('-');
    }
    if point <= 0 {
        out.push_str("0.");
        out.push_str(&"0".repeat((-point) as usize));
        out.push_str(&digits);
        return Some(out);
    }
    let before = point as usize;
    let mut whole: String = digits.chars().take(before).collect();
    whole.push_str(&"0".repeat(before.saturating_sub(digits.len())));
    let trimmed = whole.trim_start_matches('0');
    out.push_str(if trimmed.is_empty() { "0" } else { trimmed });
    if before < digits.len() {
        out.push('.');
        out.push_str(&digits[before..]);
    }
    Some(out)
}

/// A decimal without trailing zeros, so that equal numbers are equal strings.
pub fn normal_decimal(text: &str) -> Option<String> {
    let plain = decimal(text)?;
    if !plain.contains('.') {
        return Some(plain.into_owned());
    }
    let trimmed = plain.trim_end_matches('0').trim_end_matches('.');
    Some(if trimmed.is_empty() || trimmed == "-0" { "0".to_owned() } else { trimmed.to_owned() })
}

/// Parses a whole number (`3`, `3.0`, `3e2`) of at most 30 digits.
pub(crate) fn whole(text: &str) -> Option<i128> {
    // The common case first: plain digits.
    if let Ok(number) = text.parse::<i64>() {
        return Some(i128::from(number));
    }
    let plain = normal_decimal(text)?;
    if plain.contains('.') || plain.len() > 30 {
        return None;
    }
    plain.parse().ok()
}

/// Whether the number is whole, positive and too large for [`whole`].
pub(crate) fn is_huge_whole(text: &str) -> bool {
    parts(text).is_some_and(|parts| {
        let fraction = parts.fraction.trim_end_matches('0').len() as i64;
        !parts.negative && parts.whole.len() as i64 + parts.exponent > 19 && fraction <= parts.exponent.max(0)
    })
}

pub(super) fn big(text: &str) -> Option<Value> {
    whole(text).and_then(|number| i64::try_from(number).ok()).map(Value::Int)
}
