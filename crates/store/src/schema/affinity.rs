//! SQLite's column affinities: a column may turn a value into another one when it stores it.

use query::catalog::Stored;
use query::types::{Scalar, Type};

use super::Column;

/// Why a column does not suit the type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    pub(crate) reason: &'static str,
    /// Whether a value that is written reads as null afterwards, or as another one.
    pub(crate) loses_values: bool,
}

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

/// Why a field of this type may not read back the values that were stored in a column.
pub(crate) fn contradiction(kind: &Type, stored: Stored, column: &Column) -> Option<Contradiction> {
    let affinity = match column.native.to_ascii_uppercase().as_str() {
        // Only a STRICT table leaves the values of such a column as they are.
        "ANY" if !column.is_strict => Affinity::Numeric,
        _ => affinity(&column.native),
    };
    if column.is_strict && column.native.eq_ignore_ascii_case("BLOB") {
        return Some(Contradiction {
            reason: "a STRICT table holds only blobs there, which read as null; declare the column ANY",
            loses_values: true,
        });
    }
    let loses = |reason| Some(Contradiction { reason, loses_values: true });
    // A STRICT table refuses what another one stores as it is.
    let misleads = |reason| Some(Contradiction { reason, loses_values: column.is_strict });
    let scalar = match kind {
        Type::Array(_) => &Scalar::Json,
        Type::One(scalar) => scalar,
    };
    match (scalar, affinity) {
        (Scalar::Bool | Scalar::Int | Scalar::BigInt, Affinity::Text) => {
            loses("the column turns whole numbers into strings, which read as null; declare the column INTEGER")
        }
        (Scalar::Bool | Scalar::Int | Scalar::BigInt, Affinity::Real) => {
            loses("it turns whole numbers into floats, which read as null; declare the column INTEGER")
        }
        (Scalar::Float, Affinity::Text) => loses("it turns numbers into strings, which read as null; declare the column REAL"),
        (Scalar::Float, Affinity::Integer) => misleads("it is meant for whole numbers; declare the column REAL or the field bigint"),
        (Scalar::Decimal, Affinity::Integer | Affinity::Real | Affinity::Numeric) => {
            loses("it keeps decimals as floats, which lose digits and scale; declare the column TEXT")
        }
        (Scalar::Enum(values), Affinity::Integer | Affinity::Real | Affinity::Numeric) if !values.iter().any(|value| is_number(value)) => {
            misleads("it is meant for numbers; declare the column TEXT")
        }
        (Scalar::Text | Scalar::Enum(_), Affinity::Integer | Affinity::Real | Affinity::Numeric) => {
            loses("it turns strings of digits into numbers, which read as null; declare the column TEXT")
        }
        (Scalar::Timestamp, Affinity::Text) if stored == Stored::Unix => {
            loses("it turns seconds into strings, which read as null; declare the column INTEGER")
        }
        (Scalar::Timestamp, _) if stored == Stored::Unix => None,
        (Scalar::Json, Affinity::Integer | Affinity::Real) => misleads("it is meant for numbers; declare the column TEXT"),
        (Scalar::Uuid | Scalar::Date | Scalar::Time | Scalar::Timestamp, Affinity::Integer | Affinity::Real) => {
            misleads("it is meant for numbers, which read as null; declare the column TEXT")
        }
        _ => None,
    }
}

/// Whether a column with numeric affinity takes a string for a number.
fn is_number(text: &str) -> bool {
    let text = text.trim_ascii();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) && text.parse::<f64>().is_ok()
}

/// Whether a column of this declared type stores whole numbers as such.
pub(crate) fn keeps_whole_numbers(declared: &str) -> bool {
    !matches!(affinity(declared), Affinity::Text | Affinity::Real)
}
