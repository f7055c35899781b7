//! A stored value: parsed from JSON, compared and shown.

use crate::calendar;
use crate::decimal::Decimal;
use crate::schema::{Field, Kind};
use serde_json::Value;
use std::cmp::Ordering;

/// A value of a column. `Text` is for every type with canonical strings that sort as the type does: text, uuid, date, time, timestamp and
/// enum.
#[derive(Debug, Clone)]
pub enum Cell {
    Null,
    Bool(bool),
    Whole(i64),
    Float(f64),
    Decimal(Decimal),
    Text(String),
    Json(Value),
    List(Vec<Cell>),
}

impl Cell {
    /// The stored value of a field; absent is NULL. JSON null is a value of a json field.
    pub fn stored(field: &Field, value: Option<&Value>) -> Self {
        let Some(value) = value else {
            return Self::Null;
        };
        if field.array {
            let elements = value.as_array().expect("an array column holds a list");
            return Self::List(elements.iter().map(|element| Self::given_or_null(field, element)).collect());
        }
        Self::scalar(field, value).unwrap_or_else(|| panic!("{value} does not fit the field {}", field.name))
    }

    /// The value or element of an operator; JSON null is NULL.
    pub fn given_or_null(field: &Field, value: &Value) -> Self {
        if value.is_null() {
            return Self::Null;
        }
        Self::scalar(field, value).unwrap_or_else(|| panic!("{value} does not fit the field {}", field.name))
    }

    /// A scalar of the field's type, or of its elements' type; `None` if the value does not fit.
    pub fn scalar(field: &Field, value: &Value) -> Option<Self> {
        let text = value.as_str().filter(|text| !text.contains('\0'));
        match field.kind {
            Kind::Bool => value.as_bool().map(Self::Bool),
            Kind::Int => value.as_i64().filter(|number| i32::try_from(*number).is_ok()).map(Self::Whole),
            Kind::Bigint => value.as_i64().or_else(|| text?.parse().ok()).map(Self::Whole),
            Kind::Float => value.as_f64().filter(|number| number.is_finite()).map(Self::Float),
            Kind::Decimal => match value {
                Value::Number(number) => Decimal::parse(&number.to_string()).map(Self::Decimal),
                _ => text.and_then(Decimal::parse).map(Self::Decimal),
            },
            Kind::Text => text.map(|text| Self::Text(text.to_owned())),
            Kind::Uuid => text.filter(|text| is_uuid(text)).map(|text| Self::Text(text.to_ascii_lowercase())),
            Kind::Date => text.filter(|text| calendar::is_date(text)).map(|text| Self::Text(text.to_owned())),
            Kind::Time => text.and_then(calendar::time).map(Self::Text),
            Kind::Timestamp => text.and_then(calendar::timestamp).map(Self::Text),
            Kind::Json => Some(Self::Json(value.clone())),
            Kind::Enum => text.filter(|text| field.values.iter().any(|known| known == text)).map(|text| Self::Text(text.to_owned())),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The order of two values of one type; `None` if either is NULL.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => None,
            (Self::Bool(left), Self::Bool(right)) => Some(left.cmp(right)),
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Decimal(left), Self::Decimal(right)) => Some(left.compare(right)),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            (left, right) => panic!("{left:?} and {right:?} have no order"),
        }
    }

    /// SQL's equality: unknown if either is NULL.
    pub fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Json(left), Self::Json(right)) => Some(same_json(left, right)),
            _ => self.compare(other).map(Ordering::is_eq),
        }
    }

    /// The order of an ascending sort: NULL last.
    pub fn sort(&self, other: &Self) -> Ordering {
        match (self.is_null(), other.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.compare(other).expect("neither is NULL"),
        }
    }

    /// The value in an answer.
    pub fn show(&self, kind: Kind) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::from(*flag),
            Self::Whole(number) => Value::from(*number),
            Self::Float(number) => Value::from(*number),
            Self::Decimal(decimal) => Value::from(decimal.to_string()),
            Self::Text(text) => Value::from(match kind {
                Kind::Time => calendar::short_time(text),
                Kind::Timestamp => calendar::short_timestamp(text),
                _ => text.clone(),
            }),
            Self::Json(value) => value.clone(),
            Self::List(cells) => cells.iter().map(|cell| cell.show(kind)).collect(),
        }
    }
}

/// Whether two JSON values are equal, numbers by their value (1 is 1.0).
pub(crate) fn same_json(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (Decimal::parse(&left.to_string()), Decimal::parse(&right.to_string())) {
            (Some(left), Some(right)) => left.compare(&right).is_eq(),
            _ => false,
        },
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_json(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same_json(value, other)))
        }
        _ => left == right,
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
