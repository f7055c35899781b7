//! The types a field can have, and which operators and functions go with each.

use std::sync::Arc;

use crate::statement::{Function, Operator};

/// A value that a manifest gives an enum, and one of the few texts that may stand in SQL: a client's text is never made one.
#[derive(Clone, PartialEq, Eq)]
pub struct EnumValue(Box<str>);

impl EnumValue {
    /// From a manifest, or from the labels of a native enum.
    pub fn new(text: &str) -> Self {
        EnumValue(text.into())
    }
}

/// As the text: messages show it so.
impl std::fmt::Debug for EnumValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.0, out)
    }
}

impl std::fmt::Display for EnumValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::ops::Deref for EnumValue {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A type of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `bool`
    Bool,
    /// `int`: 32 bits
    Int,
    /// `bigint`: 64 bits
    BigInt,
    /// `float`: a double
    Float,
    /// `decimal`: exact
    Decimal,
    /// `text`
    Text,
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `time` of day
    Time,
    /// `timestamp`: an instant
    Timestamp,
    /// `json`
    Json,
    /// `enum` with its values
    Enum(Arc<[EnumValue]>),
}

impl Scalar {
    /// The type of this name, `enum` without values.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Scalar::Bool,
            "int" => Scalar::Int,
            "bigint" => Scalar::BigInt,
            "float" => Scalar::Float,
            "decimal" => Scalar::Decimal,
            "text" => Scalar::Text,
            "uuid" => Scalar::Uuid,
            "date" => Scalar::Date,
            "time" => Scalar::Time,
            "timestamp" => Scalar::Timestamp,
            "json" => Scalar::Json,
            "enum" => Scalar::Enum(Arc::default()),
            _ => return None,
        })
    }

    /// The type's name in a manifest.
    pub fn name(&self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "int",
            Scalar::BigInt => "bigint",
            Scalar::Float => "float",
            Scalar::Decimal => "decimal",
            Scalar::Text => "text",
            Scalar::Uuid => "uuid",
            Scalar::Date => "date",
            Scalar::Time => "time",
            Scalar::Timestamp => "timestamp",
            Scalar::Json => "json",
            Scalar::Enum(_) => "enum",
        }
    }
}

/// The names of all types, for messages.
pub const TYPE_NAMES: [&str; 12] =
    ["bool", "int", "bigint", "float", "decimal", "text", "uuid", "date", "time", "timestamp", "json", "enum"];

/// A field's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// One value.
    One(Scalar),
    /// `T[]`
    Array(Scalar),
}

impl Type {
    /// The type as a manifest writes it.
    pub fn name(&self) -> String {
        match self {
            Type::One(scalar) => scalar.name().to_owned(),
            Type::Array(scalar) => format!("{}[]", scalar.name()),
        }
    }

    /// Types of one family can equal one another in a relation; those of none connect no rows.
    pub fn family(&self) -> Option<&'static str> {
        match self {
            Type::Array(_) | Type::One(Scalar::Json) => None,
            Type::One(Scalar::Int | Scalar::BigInt) => Some("integer"),
            Type::One(Scalar::Text | Scalar::Enum(_)) => Some("text"),
            Type::One(other) => Some(other.name()),
        }
    }

    /// The scalar itself or of the elements.
    pub fn scalar(&self) -> &Scalar {
        match self {
            Type::One(scalar) | Type::Array(scalar) => scalar,
        }
    }

    /// Whether it can be sorted, grouped, and compared by `gt` and its kind.
    pub fn is_sortable(&self) -> bool {
        !matches!(self, Type::Array(_) | Type::One(Scalar::Json))
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.is_sortable() && *self != Type::One(Scalar::Bool)
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Type::One(Scalar::Int | Scalar::BigInt | Scalar::Float | Scalar::Decimal))
    }

    pub(crate) fn admits(&self, operator: Operator) -> bool {
        match operator {
            Operator::IsNull => true,
            Operator::Eq | Operator::Ne | Operator::In | Operator::NotIn => matches!(self, Type::One(_)),
            Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte | Operator::Between => self.is_ordered(),
            Operator::ILike => matches!(self, Type::One(Scalar::Text | Scalar::Enum(_))),
            Operator::Contains | Operator::Overlap => matches!(self, Type::Array(_) | Type::One(Scalar::Json)),
        }
    }

    pub(crate) fn measures(&self, function: Function) -> bool {
        match function {
            Function::Count => true,
            Function::Sum | Function::Avg => self.is_number(),
            Function::Min | Function::Max => self.is_ordered(),
        }
    }

    /// The aggregate functions that go with this type, for descriptions.
    pub fn functions(&self) -> Vec<&'static str> {
        Function::ALL.into_iter().filter(|function| self.measures(*function)).map(Function::as_str).collect()
    }

    /// The operators that go with this type, for messages and descriptions.
    pub fn operators(&self) -> Vec<&'static str> {
        crate::statement::OPERATORS.iter().filter(|(_, operator)| self.admits(*operator)).map(|(name, _)| *name).collect()
    }
}
