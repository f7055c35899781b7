//! What an error of SQLite means for a write.

use rusqlite::{Connection, ErrorCode, ffi};

use crate::writes::{DatabaseRefusal, RefusalKind, StepError};

use super::increment::OUT_OF_RANGE;

pub(super) fn step_error(error: rusqlite::Error) -> StepError {
    let refusal = match extended_code(&error) {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => match index(&error) {
            Some(name) => DatabaseRefusal::Constraint { name, kind: RefusalKind::Unique },
            None => DatabaseRefusal::Columns { columns: columns(&error), kind: RefusalKind::Unique },
        },
        ffi::SQLITE_CONSTRAINT_NOTNULL => DatabaseRefusal::Columns { columns: columns(&error), kind: RefusalKind::Other },
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => DatabaseRefusal::SomeReference,
        ffi::SQLITE_CONSTRAINT_CHECK => {
            DatabaseRefusal::Constraint { name: after_colon(&error).trim().to_owned(), kind: RefusalKind::Other }
        }
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => DatabaseRefusal::Other,
            _ if error.to_string().contains(OUT_OF_RANGE) => DatabaseRefusal::Range,
            _ => return StepError::Store(error.into()),
        },
    };
    refused(&error, refusal)
}

/// The same for a statement that ran. An expression of the table, such as one in a check or a trigger, may fail on a value; but if the
/// statement cannot be prepared any more, the table has changed.
pub(super) fn of_running(connection: &Connection, text: &str, error: rusqlite::Error) -> StepError {
    let is_range = || error.to_string().contains(OUT_OF_RANGE);
    if extended_code(&error) == ffi::SQLITE_ERROR && !is_range() && connection.prepare(text).is_ok() {
        return refused(&error, DatabaseRefusal::Other);
    }
    step_error(error)
}

/// The message may quote a value, so the log has the code and the names only.
fn refused(error: &rusqlite::Error, refusal: DatabaseRefusal) -> StepError {
    tracing::debug!(code = extended_code(error), ?refusal, "the database refused a write");
    StepError::Refused(refusal)
}

pub(super) fn extended_code(error: &rusqlite::Error) -> i32 {
    error.sqlite_error().map_or(0, |error| error.extended_code)
}

fn after_colon(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    };
    text.split_once(": ").map_or(String::new(), |(_, rest)| rest.to_owned())
}

/// The index of `UNIQUE constraint failed: index 'by_email'`, which is one on expressions.
fn index(error: &rusqlite::Error) -> Option<String> {
    after_colon(error).strip_prefix("index '")?.strip_suffix('\'').map(|name| name.replace("''", "'"))
}

/// The columns of `UNIQUE constraint failed: orders.number, orders.year`.
fn columns(error: &rusqlite::Error) -> Vec<String> {
    after_colon(error).split(", ").filter_map(|name| name.rsplit_once('.').map(|(_, column)| column.to_owned())).collect()
}
