//! The order of two values of one type.

use std::cmp::Ordering;

use super::Value;

/// Compares two values of one number or time type. Values of other types count as equal.
pub(crate) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => left.total_cmp(right),
        (Value::Decimal(left), Value::Decimal(right)) => decimals(left, right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) | (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        _ => Ordering::Equal,
    }
}

/// Compares two decimals in plain digits.
fn decimals(left: &str, right: &str) -> Ordering {
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (None, None) => magnitudes(left, right),
        (Some(left), Some(right)) => magnitudes(right, left),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}

fn magnitudes(left: &str, right: &str) -> Ordering {
    let parts =
        |text: &'_ str| text.split_once('.').map_or((text.to_owned(), String::new()), |(whole, part)| (whole.to_owned(), part.to_owned()));
    let ((left, left_part), (right, right_part)) = (parts(left), parts(right));
    // Plain digits have no leading zeros.
    left.len()
        .cmp(&right.len())
        .then_with(|| left.cmp(&right))
        .then_with(|| left_part.trim_end_matches('0').cmp(right_part.trim_end_matches('0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_ordered_by_their_value() {
        let sorted = ["-10", "-9.5", "-0.1", "-0.05", "0", "0.05", "0.1", "0.12", "9", "10", "10.01", "100"];
        for (place, left) in sorted.iter().enumerate() {
            for (other, right) in sorted.iter().enumerate() {
                assert_eq!(decimals(left, right), place.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(decimals("1.50", "1.5"), Ordering::Equal);
        assert_eq!(decimals("0", "0.00"), Ordering::Equal);
    }
}
