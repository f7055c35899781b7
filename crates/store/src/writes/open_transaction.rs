//! What a transaction of a write needs of a database.

use query::sql::{ChildLevel, Kind, Param, Sql};
use query::value::{Value, normal_decimal};

use crate::Error;
use crate::assemble::{Gathered, Keys};
use crate::run::{RelatedRows, StatementPart};

/// An open transaction.
pub(crate) trait WriteTransaction: RelatedRows {
    /// The rows that a statement returns, each part as a part of a key; none is NULL.
    async fn read(&mut self, statement: Statement<'_>, width: usize) -> Result<Vec<Vec<Option<Vec<u8>>>>, StepError>;

    /// The rows with these keys, which the write finds, checks or answers.
    async fn rows(&mut self, part: StatementPart, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error>;

    /// The keys that a statement returns, one a row. SQLite may hold NULL in a primary key: no write reaches such a row.
    async fn keys(&mut self, statement: Statement<'_>, width: usize) -> Result<Keys, StepError> {
        let mut keys = Keys::new(width);
        for row in self.read(statement, width).await? {
            if row.iter().all(Option::is_some) {
                keys.add(row.iter().map(Option::as_deref));
            }
        }
        Ok(keys)
    }

    /// Runs a statement that makes rows; returns their keys.
    async fn insert(&mut self, statement: Statement<'_>, width: usize) -> Result<Keys, StepError>;

    /// Runs a statement that changes rows; returns how many.
    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StepError>;

    /// Runs a statement that changes rows, and reads the rows with these keys after it. Returns also how many rows it changed.
    async fn execute_and_read(
        &mut self,
        statement: Statement<'_>,
        child: &ChildLevel,
        keys: &Keys,
        left: &mut usize,
    ) -> Result<(u64, Gathered), StepError> {
        let changed = self.execute(statement).await?;
        Ok((changed, self.rows(StatementPart::Rows, child, keys, left).await?))
    }

    /// The numbers of given keys that a statement returns, counted from zero.
    async fn numbers(&mut self, statement: Statement<'_>) -> Result<Vec<u32>, StepError>;

    /// Checks deferred constraints now. It is the last step: no change is kept after it.
    async fn check_deferred_constraints(&mut self) -> Result<(), StepError>;

    /// Checks them for a row that was written just now, with the values that it sets in its columns. Other steps may follow.
    async fn check_deferred_for_row(&mut self, table: &str, values: &[(String, Option<Value>)]) -> Result<(), StepError>;

    async fn savepoint(&mut self, savepoint: Savepoint) -> Result<(), StepError>;

    /// A value as the part of a key.
    fn key_part(kind: Kind, value: &Value) -> Vec<u8>;

    /// The digits of a decimal that is the part of a key; none if it is no decimal.
    fn decimal(part: &[u8]) -> Option<String>;

    /// The same bytes for equal parts of a key: `1.5` and `1.50` are one number.
    fn comparable(kind: Kind, part: Vec<u8>) -> Vec<u8> {
        let normal = || normal_decimal(&Self::decimal(&part)?);
        if kind == Kind::Numeric { normal().map_or(part, String::into_bytes) } else { part }
    }

    /// The foreign keys of a table that values of its columns break, as lists of columns; none is the value of a column that is added to.
    /// Only for a database that does not name them in its error.
    async fn broken_references(&mut self, table: &str, values: &[(String, Option<Value>)]) -> Result<Vec<Vec<String>>, StepError>;

    /// How many bytes of rows the answer may have.
    fn memory(&self) -> usize;
}

/// A statement with its parameters and the keys that it takes.
#[derive(Clone, Copy)]
pub(crate) struct Statement<'s> {
    pub(crate) sql: &'s Sql,
    pub(crate) params: &'s [Param],
    pub(crate) keys: Option<&'s Keys>,
}

impl<'s> Statement<'s> {
    pub(crate) fn of(sql: &'s Sql, keys: Option<&'s Keys>) -> Self {
        Statement { sql, params: sql.params(), keys }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Savepoint {
    Set,
    /// Keeps what was done since.
    Release,
    /// Undoes what was done since.
    Undo,
}

#[derive(Debug)]
pub(crate) enum StepError {
    /// The data is refused.
    Refused(DatabaseRefusal),
    /// The whole transaction is retried.
    Retry(RetryReason),
    Store(Error),
}

/// Why a transaction is retried. Nothing of it counts.
#[derive(Debug)]
pub(crate) enum RetryReason {
    /// A deadlock, or a conflict with other writes.
    Conflict,
    /// A table changed under a prepared statement.
    Stale,
    /// The connection was lost before the COMMIT.
    ConnectionLost {
        reason: String,
        /// Whether the connection was made before the write began.
        was_old: bool,
    },
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) if refusal.is_stale() => StepError::Retry(RetryReason::Stale),
            error => StepError::Store(error),
        }
    }
}

/// Why a database refused data. Its own message stays in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseRefusal {
    /// A constraint of this name.
    Constraint { name: String, kind: RefusalKind },
    /// A constraint of these columns.
    Columns { columns: Vec<String>, kind: RefusalKind },
    /// A foreign key that the database does not name.
    SomeReference,
    /// A number beyond the range of its column.
    Range,
    /// A value that does not fit its column.
    Value,
    /// Anything else.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    Unique,
    /// A foreign key, of this table or of one that refers to it.
    ForeignKey,
    Other,
}
