//! The answer to a write, and the comparison of an expected with an actual one.

use super::dump::plain;
use serde_json::Value;

/// A fault: its code and its place in the body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriteFault {
    pub code: String,
    pub path: String,
}

impl WriteFault {
    pub fn new(code: &str, path: impl Into<String>) -> Self {
        Self { code: code.to_owned(), path: path.into() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum WriteOutcome {
    /// The operation does not exist.
    NoOperation,
    /// The viewer lacks a permission, or the account a variable.
    Forbidden,
    NotFound,
    OutOfScope,
    Stale,
    TooManyRows,
    /// The body is refused.
    Invalid(Vec<WriteFault>),
    /// The rows are refused.
    Refused {
        faults: Vec<WriteFault>,
        /// A database stops at the first constraint that a row breaks. For each such row, the faults of each of its broken constraints:
        /// one of them is reported, or more.
        broken: Vec<Vec<Vec<WriteFault>>>,
    },
    Done {
        count: usize,
        /// One row, or a list of rows; none if the request asks for the number only.
        rows: Option<Value>,
    },
}

impl WriteOutcome {
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Whether the actual outcome, which reports all its faults in one list, is this one.
    pub fn agrees_with(&self, actual: &Self) -> bool {
        match (self, actual) {
            (Self::Invalid(expected), Self::Invalid(actual)) => sorted(expected.clone()) == sorted(actual.clone()),
            (Self::Refused { faults, broken }, Self::Refused { faults: actual, .. }) => is_explained(faults, broken, actual),
            (Self::Done { count, rows }, Self::Done { count: actual_count, rows: actual_rows }) => {
                count == actual_count && rows.as_ref().map(plain) == actual_rows.as_ref().map(plain)
            }
            (expected, actual) => expected == actual,
        }
    }
}

fn is_explained(faults: &[WriteFault], broken: &[Vec<Vec<WriteFault>>], actual: &[WriteFault]) -> bool {
    let is_reported = |fault: &WriteFault| actual.contains(fault);
    let is_expected = |fault: &WriteFault| faults.contains(fault) || broken.iter().flatten().flatten().any(|other| other == fault);
    let is_row_reported = |row: &Vec<Vec<WriteFault>>| row.iter().any(|constraint| constraint.iter().all(is_reported));
    faults.iter().all(is_reported) && broken.iter().all(is_row_reported) && actual.iter().all(is_expected)
}

fn sorted(mut faults: Vec<WriteFault>) -> Vec<WriteFault> {
    faults.sort();
    faults
}
