//! The types of fields, and the operators and functions that each type accepts.

use std::sync::Arc;

use crate::statement::{Comparison, Function, Operator};

/// A value of an enum, from the manifest or the database. It may appear in SQL text, so it is never made from a request.
#[derive(Clone, PartialEq, Eq)]
pub struct EnumValue(Box<str>);

impl EnumValue {
    /// From a manifest, or from the labels of a native enum.
    pub fn new(text: &str) -> Self {
        EnumValue(text.into())
    }
}

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    Bool,
    /// `int`: 32 bits
    Int,
    /// `bigint`: 64 bits
    BigInt,
    /// `float`: a double
    Float,
    /// `decimal`: exact
    Decimal,
    Text,
    /// The text of a PostgreSQL column of a type that no other scalar reads. A manifest says `text`; boot finds out.
    ReadAsText,
    Uuid,
    Date,
    Time,
    /// `timestamp`: an instant
    Timestamp,
    Json,
    Enum(Arc<[EnumValue]>),
}

impl Scalar {
    /// The type of this name, `enum` without values.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = [Scalar::Bool, Scalar::Int, Scalar::BigInt, Scalar::Float, Scalar::Decimal, Scalar::Text, Scalar::Uuid];
        let others = [Scalar::Date, Scalar::Time, Scalar::Timestamp, Scalar::Json, Scalar::Enum(Arc::default())];
        plain.into_iter().chain(others).find(|scalar| scalar.name() == name)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "int",
            Scalar::BigInt => "bigint",
            Scalar::Float => "float",
            Scalar::Decimal => "decimal",
            Scalar::Text | Scalar::ReadAsText => "text",
            Scalar::Uuid => "uuid",
            Scalar::Date => "date",
            Scalar::Time => "time",
            Scalar::Timestamp => "timestamp",
            Scalar::Json => "json",
            Scalar::Enum(_) => "enum",
        }
    }
}

pub const TYPE_NAMES: [&str; 12] =
    ["bool", "int", "bigint", "float", "decimal", "text", "uuid", "date", "time", "timestamp", "json", "enum"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    One(Scalar),
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

    /// Join columns must be of one family. Types without a family cannot be join columns.
    pub fn family(&self) -> Option<&'static str> {
        match self {
            Type::Array(_) | Type::One(Scalar::Json | Scalar::ReadAsText) => None,
            Type::One(Scalar::Int | Scalar::BigInt) => Some("integer"),
            Type::One(Scalar::Text | Scalar::Enum(_)) => Some("text"),
            Type::One(other) => Some(other.name()),
        }
    }

    /// The type of the value, or of the elements of an array.
    pub fn scalar(&self) -> &Scalar {
        match self {
            Type::One(scalar) | Type::Array(scalar) => scalar,
        }
    }

    /// Whether `order` and `groupBy` accept it.
    pub fn is_sortable(&self) -> bool {
        !matches!(self, Type::Array(_) | Type::One(Scalar::Json | Scalar::ReadAsText))
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
            Operator::Compare(Comparison::Eq | Comparison::Ne) | Operator::In | Operator::NotIn => matches!(self, Type::One(_)),
            Operator::Compare(_) | Operator::Between => self.is_ordered(),
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

    pub fn functions(&self) -> Vec<&'static str> {
        Function::ALL.into_iter().filter(|function| self.measures(*function)).map(Function::as_str).collect()
    }

    pub fn operators(&self) -> Vec<&'static str> {
        crate::statement::OPERATORS.iter().filter(|(_, operator)| self.admits(*operator)).map(|(name, _)| *name).collect()
    }
}
