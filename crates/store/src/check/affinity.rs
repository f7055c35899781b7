//! SQLite's column affinities. SQLite never refuses a value, so a contradiction is only a warning.

use query::catalog::{Field, Stored};
use query::types::{Scalar, Type};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Affinity {
    Integer,
    Text,
    None,
    Real,
    Numeric,
}

/// The rules of SQLite's documentation, in their order.
fn affinity(declared: &str) -> Affinity {
    let declared = declared.to_ascii_uppercase();
    let has = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    if has(&["INT"]) {
        Affinity::Integer
    } else if has(&["CHAR", "CLOB", "TEXT"]) {
        Affinity::Text
    } else if declared.is_empty() || has(&["BLOB"]) || declared == "ANY" {
        Affinity::None
    } else if has(&["REAL", "FLOA", "DOUB"]) {
        Affinity::Real
    } else {
        Affinity::Numeric
    }
}

/// Why this field may not read back the values that were stored.
pub(super) fn contradiction(field: &Field, declared: &str) -> Option<&'static str> {
    let affinity = affinity(declared);
    let scalar = match &field.kind {
        Type::Array(_) => &Scalar::Json,
        Type::One(scalar) => scalar,
    };
    match (scalar, affinity) {
        (Scalar::Bool | Scalar::Int | Scalar::BigInt, Affinity::Text) => {
            Some("the column turns whole numbers into strings, which read as null; declare the column INTEGER")
        }
        (Scalar::Bool | Scalar::Int | Scalar::BigInt, Affinity::Real) => {
            Some("it turns whole numbers into floats, which read as null; declare the column INTEGER")
        }
        (Scalar::Float, Affinity::Text) => Some("it turns numbers into strings, which read as null; declare the column REAL"),
        (Scalar::Float, Affinity::Integer) => Some("it is meant for whole numbers; declare the column REAL or the field bigint"),
        (Scalar::Decimal, Affinity::Integer | Affinity::Real | Affinity::Numeric) => {
            Some("it keeps decimals as floats, which lose digits and scale; declare the column TEXT")
        }
        (Scalar::Text | Scalar::Enum(_), Affinity::Integer | Affinity::Real | Affinity::Numeric) => {
            Some("it turns strings of digits into numbers, which read as null; declare the column TEXT")
        }
        (Scalar::Timestamp, _) if field.stored == Stored::Unix => {
            (affinity == Affinity::Text).then_some("it turns seconds into strings, which read as null; declare the column INTEGER")
        }
        (Scalar::Uuid | Scalar::Date | Scalar::Time | Scalar::Timestamp | Scalar::Json, Affinity::Integer | Affinity::Real) => {
            Some("it is meant for numbers, which read as null; declare the column TEXT")
        }
        _ => None,
    }
}

/// Whether a column of this declared type stores whole numbers as such.
pub(super) fn keeps_whole_numbers(declared: &str) -> bool {
    !matches!(affinity(declared), Affinity::Text | Affinity::Real)
}
