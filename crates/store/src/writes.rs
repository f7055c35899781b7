//! The steps of a write in its transaction, the same on both databases, and what a write answers.

mod diagnosis;
mod open_transaction;
mod transaction;

use bytes::Bytes;
use query::catalog::FieldId;

use crate::Error;

pub(crate) use diagnosis::diagnose;
pub(crate) use open_transaction::{DatabaseRefusal, RefusalKind, RetryReason, Savepoint, Statement, StepError, WriteTransaction};
pub(crate) use transaction::{TransactionError, write};

/// How often a write is tried if its tables change or its connection is lost, the first time included.
pub(crate) const MAX_TRIES: usize = 4;

/// What a write has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub count: usize,
    /// One object, or an array of them; none if the write asks for the number only.
    pub rows: Option<Bytes>,
}

/// Why a write has no answer. Except for one that is in doubt, it changed nothing.
#[derive(Debug)]
pub enum WriteFailure {
    Refused(WriteRefusal),
    /// The database or the rules refuse it; [`Writers::diagnose`] finds out why.
    Unexplained,
    /// The COMMIT was sent, and nobody knows whether the database received it.
    InDoubt(Error),
    Store(Error),
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        WriteFailure::Store(error)
    }
}

/// A refusal that names no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRefusal {
    /// A row is not in reach.
    NotFound,
    /// A row is in reach and outside `scope`.
    OutOfScope,
    /// A row is not as `expect`, its version or `If-Match` says.
    Stale,
    TooManyRows {
        /// `max-rows`
        max: u64,
    },
    /// The rows of the answer do not fit into memory.
    AnswerTooLarge,
}

/// A fault of one row that the database found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFault {
    pub kind: WriteFaultKind,
    /// The row of the payload; none if the write has one for all.
    pub item: Option<usize>,
    /// The fields at fault; none if the database does not say.
    pub fields: Vec<FieldId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFaultKind {
    /// A row with this unique key exists.
    Exists,
    /// A reference leads to no row in reach.
    NoSuchRow,
    /// Other rows refer to the row.
    InUse,
    /// A constraint of the database.
    Refused,
    /// An increment leaves the range.
    OutOfRange,
    /// The row would leave the caller's reach, or break `check`.
    CheckFailed,
}
