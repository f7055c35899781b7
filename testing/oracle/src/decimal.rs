//! Exact decimals: an unscaled whole number and the number of its decimals.

use num_bigint::BigInt;
use std::cmp::Ordering;

#[derive(Debug, Clone)]
pub struct Decimal {
    unscaled: BigInt,
    scale: u32,
}

impl Decimal {
    pub fn zero() -> Self {
        Self { unscaled: BigInt::from(0), scale: 0 }
    }

    pub fn whole(value: i64) -> Self {
        Self { unscaled: BigInt::from(value), scale: 0 }
    }

    /// Parses `-12.340`, also with an exponent.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (sign, digits) = match mantissa.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", mantissa),
        };
        let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{before}{after}");
        if before.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut unscaled: BigInt = format!("{sign}{all}").parse().ok()?;
        let mut scale = i32::try_from(after.len()).ok()? - exponent;
        if scale < 0 {
            unscaled *= BigInt::from(10).pow(scale.unsigned_abs());
            scale = 0;
        }
        Some(Self { unscaled, scale: u32::try_from(scale).ok()? })
    }

    fn at_scale(&self, scale: u32) -> BigInt {
        assert!(scale >= self.scale, "digits are never cut off");
        &self.unscaled * BigInt::from(10).pow(scale - self.scale)
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.at_scale(scale).cmp(&other.at_scale(scale))
    }

    /// Whether it has at most 300 digits before the point.
    pub fn is_storable(&self) -> bool {
        let whole = &self.unscaled / BigInt::from(10).pow(self.scale);
        whole.to_string().trim_start_matches('-').len() <= 300
    }

    /// The exact sum; it keeps the larger scale of the two.
    pub fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self { unscaled: self.at_scale(scale) + other.at_scale(scale), scale }
    }

    /// The quotient with 16 decimals, rounded half away from zero, without trailing zeros.
    pub fn divided_by(&self, count: u64) -> Self {
        let scale = self.scale.max(16);
        let divisor = BigInt::from(count) * BigInt::from(10).pow(scale - 16);
        let dividend = self.at_scale(scale);
        let negative = dividend < BigInt::from(0);
        let magnitude = if negative { -dividend } else { dividend };
        let rounded: BigInt = (magnitude * 2 + &divisor) / (divisor * 2);
        let unscaled = if negative { -rounded } else { rounded };
        Self { unscaled, scale: 16 }.without_trailing_zeros()
    }

    pub fn without_trailing_zeros(mut self) -> Self {
        let ten = BigInt::from(10);
        while self.scale > 0 && &self.unscaled % &ten == BigInt::from(0) {
            self.unscaled /= &ten;
            self.scale -= 1;
        }
        self
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.unscaled.to_string();
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.as_str()),
        };
        let scale = self.scale as usize;
        if scale == 0 {
            return write!(formatter, "{sign}{digits}");
        }
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (before, after) = padded.split_at(padded.len() - scale);
        write!(formatter, "{sign}{before}.{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn average(texts: &[&str]) -> String {
        let sum = texts.iter().fold(Decimal::zero(), |sum, text| sum.plus(&Decimal::parse(text).expect("a decimal")));
        sum.divided_by(texts.len() as u64).to_string()
    }

    #[test]
    fn averages_have_sixteen_decimals_at_most_and_round_half_away_from_zero() {
        assert_eq!(average(&["1", "2"]), "1.5");
        assert_eq!(average(&["2", "2"]), "2");
        assert_eq!(average(&["1", "0", "0"]), "0.3333333333333333");
        assert_eq!(average(&["2", "0", "0"]), "0.6666666666666667");
        assert_eq!(average(&["-2", "0", "0"]), "-0.6666666666666667");
        assert_eq!(average(&["0.0000000000000001", "0"]), "0.0000000000000001");
        assert_eq!(average(&["-0.0000000000000001", "0"]), "-0.0000000000000001");
        assert_eq!(average(&["-1", "1"]), "0");
        assert_eq!(average(&["9223372036854775807", "9223372036854775806"]), "9223372036854775806.5");
    }

    #[test]
    fn sums_keep_the_largest_scale() {
        let sum = Decimal::parse("1.50").expect("a decimal").plus(&Decimal::parse("2.5").expect("a decimal"));
        assert_eq!(sum.to_string(), "4.00");
        assert_eq!(Decimal::parse("-0.0500").expect("a decimal").to_string(), "-0.0500");
        assert_eq!(Decimal::parse("1.5e3").expect("a decimal").to_string(), "1500");
        assert!(Decimal::parse("1.").is_some_and(|value| value.to_string() == "1"));
        assert!(Decimal::parse("x").is_none() && Decimal::parse(".5").is_none() && Decimal::parse("").is_none());
    }
}
