//! What a column of PostgreSQL holds, where it is narrower than the type of its field. It tells which value a refusal means.

use crate::value::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnLimit {
    /// The characters of a `varchar(n)` or `char(n)`. Blanks at the end may be more.
    Characters(u32),
    /// An integer type.
    Whole { min: i64, max: i64 },
    /// `numeric(p, s)`: the digits before the point, and those after it, to which a number is rounded.
    Digits { whole: i32, scale: i32 },
    /// `real`
    Single,
    /// The labels of an enum type.
    Labels(Vec<String>),
}

impl ColumnLimit {
    /// Whether the column takes this value, or each element of this array.
    pub fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::List(items)) => items.iter().all(|item| self.takes(item)),
            (ColumnLimit::Characters(max), Value::Text(text)) => text.chars().skip(*max as usize).all(|character| character == ' '),
            (ColumnLimit::Whole { min, max }, Value::Int(number)) => (min..=max).contains(&number),
            (ColumnLimit::Digits { whole, scale }, Value::Decimal(digits)) => has_digits(digits, i64::from(*whole), i64::from(*scale)),
            (ColumnLimit::Single, Value::Float(number)) => {
                let single = *number as f32;
                single.is_finite() && (single != 0.0 || *number == 0.0)
            }
            (ColumnLimit::Labels(labels), Value::Text(text)) => labels.contains(text),
            _ => true,
        }
    }
}

/// Whether a decimal, rounded to so many digits after the point, has at most so many before it.
fn has_digits(text: &str, whole: i64, scale: i64) -> bool {
    let plain = text.trim_start_matches('-');
    let before = plain.find('.').unwrap_or(plain.len()) as i64;
    let digits: Vec<u8> = plain.bytes().filter(u8::is_ascii_digit).collect();
    let Some(first) = digits.iter().position(|digit| *digit != b'0') else { return true };
    let length = before - first as i64;
    let kept = usize::try_from(length + scale).unwrap_or(0);
    let significant = &digits[first..];
    let becomes_longer = significant.iter().take(kept).all(|digit| *digit == b'9')
        && significant.len() >= kept
        && significant.get(kept).is_some_and(|digit| *digit >= b'5');
    length + i64::from(becomes_longer) <= whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_that_is_rounded_up_to_more_digits_is_refused() {
        let limit = ColumnLimit::Digits { whole: 4, scale: 2 };
        for (digits, takes) in [
            ("9999.99", true),
            ("-9999.994", true),
            ("9999.995", false),
            ("-10000", false),
            ("0.001", true),
            ("0", true),
            ("9999.9", true),
            ("99999", false),
        ] {
            assert_eq!(limit.takes(&Value::Decimal(digits.to_owned())), takes, "{digits}");
        }
        let small = ColumnLimit::Digits { whole: -2, scale: 4 };
        for (digits, takes) in [("0.0099", true), ("0.01", false), ("0.00995", false), ("0.00994", true)] {
            assert_eq!(small.takes(&Value::Decimal(digits.to_owned())), takes, "{digits}");
        }
    }

    #[test]
    fn blanks_at_the_end_of_a_text_do_not_count() {
        let limit = ColumnLimit::Characters(3);
        for (text, takes) in [("äöü", true), ("abc  ", true), ("abcd", false), ("ab  x", false)] {
            assert_eq!(limit.takes(&Value::Text(text.to_owned())), takes, "{text}");
        }
        assert!(!limit.takes(&Value::List(vec![Value::Null, Value::Text("abcd".to_owned())])));
    }

    #[test]
    fn a_single_takes_no_number_beyond_its_range() {
        for (number, takes) in [(3.4e38, true), (3.5e38, false), (1e-50, false), (0.0, true), (-1e-45, true)] {
            assert_eq!(ColumnLimit::Single.takes(&Value::Float(number)), takes, "{number}");
        }
    }
}
