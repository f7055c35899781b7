//! Exact arithmetic on decimal strings: comparison, sum, and the mean rounded half away from zero at sixteen decimals.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

const AVERAGE_DECIMALS: u32 = 16;

/// A sum of decimals that keeps the largest scale among its inputs.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    /// The part that fits a machine integer, nearly always all of it; the rest is in `units`.
    small: i128,
    units: BigInt,
    scale: u32,
    any: bool,
}

impl Sum {
    pub(crate) fn add(&mut self, text: &str) {
        if !small(text).is_some_and(|(units, scale)| self.add_small(units, scale)) {
            self.add_large(text);
        }
    }

    pub(crate) fn add_whole(&mut self, number: i64) {
        if !self.add_small(number.into(), 0) {
            self.add_large(&number.to_string());
        }
    }

    fn add_small(&mut self, units: i128, scale: u32) -> bool {
        let scaled = |units: i128, by: u32| 10_i128.checked_pow(by).and_then(|power| units.checked_mul(power));
        let sum = if scale > self.scale {
            // Large units would need scaling too.
            let small = scaled(self.small, scale - self.scale).filter(|_| self.units == BigInt::ZERO);
            small.and_then(|small| small.checked_add(units))
        } else {
            scaled(units, self.scale - scale).and_then(|units| self.small.checked_add(units))
        };
        let Some(sum) = sum else { return false };
        (self.small, self.scale, self.any) = (sum, self.scale.max(scale), true);
        true
    }

    fn add_large(&mut self, text: &str) {
        let Some((mut units, scale)) = parse(text) else { return };
        self.units += std::mem::take(&mut self.small);
        if scale > self.scale {
            self.units *= power(scale - self.scale);
            self.scale = scale;
        } else {
            units *= power(self.scale - scale);
        }
        self.units += units;
        self.any = true;
    }

    pub(crate) fn text(&self) -> Option<String> {
        self.any.then(|| format(&(&self.units + self.small), self.scale))
    }
}

fn small(text: &str) -> Option<(i128, u32)> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || digits.len() > 30 {
        return None;
    }
    let mut units = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        units = units * 10 + i128::from(byte - b'0');
    }
    Some((if negative { -units } else { units }, fraction.len() as u32))
}

fn power(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

fn parse(text: &str) -> Option<(BigInt, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = [whole, fraction].concat();
    Some((digits.parse().ok()?, fraction.len() as u32))
}

fn format(units: &BigInt, scale: u32) -> String {
    let mut digits = units.magnitude().to_string();
    let scale = scale as usize;
    if digits.len() <= scale {
        digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
    }
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    if units.sign() == Sign::Minus {
        digits.insert(0, '-');
    }
    digits
}

/// `sum / count`, rounded half away from zero at sixteen decimals, without trailing zeros.
pub(crate) fn average(sum: &str, count: i64) -> Option<String> {
    let (units, scale) = parse(sum)?;
    if count <= 0 {
        return None;
    }
    let numerator: BigInt = units * power(AVERAGE_DECIMALS);
    let denominator: BigInt = BigInt::from(count) * power(scale);
    let magnitude = BigInt::from(numerator.magnitude().clone());
    let rounded: BigInt = (magnitude * 2 + &denominator) / (denominator * 2);
    let signed = if numerator.sign() == Sign::Minus { -rounded } else { rounded };
    let text = format(&signed, AVERAGE_DECIMALS);
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    Some(if trimmed == "-0" { "0".to_owned() } else { trimmed.to_owned() })
}

/// Compares two plain decimals as numbers. Other strings come after all decimals, by their bytes.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    match (Digits::of(left), Digits::of(right)) {
        (Some(left), Some(right)) => left.compare(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

struct Digits<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
}

impl<'t> Digits<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        Some(Digits { negative: negative && !zero, whole, fraction })
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
        }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let whole = self.whole.len().cmp(&other.whole.len()).then_with(|| self.whole.cmp(other.whole));
        whole.then_with(|| self.fraction.cmp(other.fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_keeps_the_largest_scale() {
        let mut sum = Sum::default();
        for text in ["1.5", "-0.25", "9223372036854775807"] {
            sum.add(text);
        }
        assert_eq!(sum.text().as_deref(), Some("9223372036854775808.25"));
        // Too large for a machine's integer, and back again; and a scale that grows after it.
        let large = "9".repeat(45);
        for text in [large.as_str(), "0.5", &format!("-{large}"), "0.0625", "-9223372036854775808.25"] {
            sum.add(text);
        }
        assert_eq!(sum.text().as_deref(), Some("0.5625"));
        let mut sum = Sum::default();
        for _ in 0..200 {
            sum.add(&"9".repeat(30));
            sum.add("0.00000000000000000001");
        }
        assert_eq!(sum.text(), Some(format!("{}.00000000000000000200", num_bigint::BigInt::from(200) * (power(30) - 1))));
        assert_eq!(Sum::default().text(), None);
    }

    #[test]
    fn a_mean_is_rounded_half_away_from_zero_at_sixteen_decimals() {
        assert_eq!(average("1", 3).as_deref(), Some("0.3333333333333333"));
        assert_eq!(average("2", 3).as_deref(), Some("0.6666666666666667"));
        assert_eq!(average("-2", 3).as_deref(), Some("-0.6666666666666667"));
        assert_eq!(average("0.0000000000000001", 2).as_deref(), Some("0.0000000000000001"));
        assert_eq!(average("10.00", 4).as_deref(), Some("2.5"));
        assert_eq!(average("-0.00", 4).as_deref(), Some("0"));
        assert_eq!(average("100000000000000000000", 3).as_deref(), Some("33333333333333333333.3333333333333333"));
    }

    #[test]
    fn decimals_compare_as_numbers() {
        for (left, right, order) in [
            ("1.0", "1.00", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("10", "9.99", Ordering::Greater),
            ("-10", "-9.99", Ordering::Less),
            ("0.5", "0.25", Ordering::Greater),
            ("0", "-0.0", Ordering::Equal),
            ("5", "junk", Ordering::Less),
        ] {
            assert_eq!(compare(left, right), order, "{left} and {right}");
        }
    }
}
