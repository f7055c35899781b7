//! The order of two values of one type.

use std::cmp::Ordering;

use super::Value;

/// Compares two values of one type. Equal values count as equal, however they are written: `1.50` and `1.5`, 0 and -0.
pub(crate) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        // No value is NaN.
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
        (Value::Decimal(left), Value::Decimal(right)) => decimals(left, right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) | (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) | (Value::Json(left), Value::Json(right)) => left.cmp(right),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::List(left), Value::List(right)) => {
            let items = left.iter().zip(right).map(|(left, right)| order(left, right)).find(|order| order.is_ne());
            items.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        _ => Ordering::Greater,
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
        assert_eq!(order(&Value::Float(0.0), &Value::Float(-0.0)), Ordering::Equal);
    }

    #[test]
    fn values_of_every_type_of_a_key_are_ordered() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (less, more) in [
            (Value::Bool(false), Value::Bool(true)),
            (text("a"), text("b")),
            (Value::Uuid([1; 16]), Value::Uuid([2; 16])),
            (Value::List(vec![text("a"), text("b")]), Value::List(vec![text("b")])),
            (Value::List(vec![text("a")]), Value::List(vec![text("a"), text("b")])),
            (Value::Null, text("a")),
        ] {
            assert_eq!((order(&less, &more), order(&more, &less)), (Ordering::Less, Ordering::Greater), "{less:?} {more:?}");
            assert_eq!(order(&less, &less), Ordering::Equal);
        }
    }
}
