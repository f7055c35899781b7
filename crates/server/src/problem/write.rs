//! Refusals of writes to resources.

use axum::http::StatusCode;
use store::writes::WriteFaultKind;

use super::{InputFault, Problem, ProblemHead, fault_summary};

/// Why a write has no answer. Except for one that is in doubt, it changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum WriteProblem {
    #[error("{}", fault_summary("input", .0.faults.iter().map(|fault| fault.message.as_str())))]
    Input(query::error::Error),
    #[error("there is no such row")]
    NotFound,
    #[error("this row cannot be changed as it is now")]
    OutOfScope,
    #[error("the row has changed, or is not as the request expects; read it again")]
    Stale,
    #[error("more than {max} rows match, and one request may change at most {max}; narrow `query.where`, or give it a `limit`")]
    TooManyRows {
        /// `max-rows` of the manifest.
        max: u64,
    },
    #[error("the rows of the answer are too large to be sent; ask for `\"returning\": false`. Nothing was changed")]
    AnswerTooLarge,
    #[error(
        "the write ran longer than `DATABASE_TIMEOUT` allows, for example because another transaction holds its rows. Nothing was changed"
    )]
    Timeout,
    #[error("the account lacks a value that this write needs")]
    NoVariable,
    /// Holds why the database did not say whether it committed.
    #[error("the outcome of the write is unknown: the database did not confirm its COMMIT; read the rows before you repeat the write")]
    InDoubt(store::Error),
    #[error("{}", fault_summary("write", .0.iter().map(|fault| fault.message.as_str())))]
    Faults(Vec<WriteFaultCode>),
}

/// A fault that the database found, with its place in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFaultCode {
    pub kind: WriteFaultKind,
    pub path: String,
    pub message: String,
}

impl WriteProblem {
    pub(super) fn head(&self) -> ProblemHead {
        match self {
            WriteProblem::Input(_) => (StatusCode::BAD_REQUEST, "INVALID_INPUT", "The input is not valid"),
            WriteProblem::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND", "Not found"),
            WriteProblem::OutOfScope => (StatusCode::FORBIDDEN, "OUT_OF_SCOPE", "Row may not be changed"),
            WriteProblem::Stale => (StatusCode::PRECONDITION_FAILED, "STALE", "Row has changed"),
            WriteProblem::TooManyRows { .. } => (StatusCode::CONFLICT, "TOO_MANY_ROWS", "Too many rows"),
            WriteProblem::AnswerTooLarge => (StatusCode::UNPROCESSABLE_ENTITY, "ANSWER_TOO_LARGE", "Answer too large"),
            WriteProblem::Timeout => (StatusCode::GATEWAY_TIMEOUT, "TIMEOUT", "Write timed out"),
            WriteProblem::NoVariable => (StatusCode::FORBIDDEN, "FORBIDDEN", "Not allowed"),
            WriteProblem::InDoubt(_) => (StatusCode::SERVICE_UNAVAILABLE, "OUTCOME_UNKNOWN", "Outcome unknown"),
            WriteProblem::Faults(faults) => fault_head(faults.first().map_or(WriteFaultKind::Refused, |fault| fault.kind)),
        }
    }

    pub(super) fn errors(&self) -> Option<Vec<InputFault>> {
        match self {
            WriteProblem::Input(error) => {
                let fault = |fault: &query::error::Fault| InputFault {
                    code: fault.code.as_str(),
                    path: fault.path.clone(),
                    message: fault.message.clone(),
                };
                Some(error.faults.iter().map(fault).collect())
            }
            WriteProblem::Faults(faults) => {
                let fault = |fault: &WriteFaultCode| InputFault {
                    code: fault_head(fault.kind).1,
                    path: fault.path.clone(),
                    message: fault.message.clone(),
                };
                Some(faults.iter().map(fault).collect())
            }
            _ => None,
        }
    }
}

fn fault_head(kind: WriteFaultKind) -> ProblemHead {
    match kind {
        WriteFaultKind::Exists => (StatusCode::CONFLICT, "EXISTS", "Exists already"),
        WriteFaultKind::NoSuchRow => (StatusCode::UNPROCESSABLE_ENTITY, "NO_SUCH_ROW", "No such row"),
        WriteFaultKind::InUse => (StatusCode::CONFLICT, "IN_USE", "Row is in use"),
        WriteFaultKind::Refused => (StatusCode::UNPROCESSABLE_ENTITY, "REFUSED", "Refused by the database"),
        WriteFaultKind::OutOfRange => (StatusCode::UNPROCESSABLE_ENTITY, "OUT_OF_RANGE", "Value out of range"),
        WriteFaultKind::CheckFailed => (StatusCode::FORBIDDEN, "CHECK_FAILED", "Row not allowed"),
    }
}

const FAULT_KINDS: [WriteFaultKind; 6] = [
    WriteFaultKind::CheckFailed,
    WriteFaultKind::Exists,
    WriteFaultKind::InUse,
    WriteFaultKind::NoSuchRow,
    WriteFaultKind::Refused,
    WriteFaultKind::OutOfRange,
];

/// The codes of faults that the database finds.
pub(crate) fn write_fault_codes() -> impl Iterator<Item = &'static str> {
    FAULT_KINDS.into_iter().map(|kind| fault_head(kind).1)
}

/// Every problem that only writes have.
pub(crate) fn write_problems() -> Vec<super::ProblemKind> {
    let of = |kind| WriteProblem::Faults(vec![WriteFaultCode { kind, path: String::new(), message: String::new() }]);
    let others = [
        WriteProblem::Input(query::error::Error { faults: Vec::new() }),
        WriteProblem::OutOfScope,
        WriteProblem::TooManyRows { max: 0 },
        WriteProblem::Stale,
        WriteProblem::AnswerTooLarge,
        WriteProblem::InDoubt(store::Error::Timeout),
    ];
    FAULT_KINDS.into_iter().map(of).chain(others).map(|problem| Problem::Write(problem).kind()).collect()
}
