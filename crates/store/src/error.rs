//! What can go wrong between us and a database. A client never sees a database's own words; the log does.

/// A failed run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database is out of reach.
    #[error("the database is out of reach: {0}")]
    Unavailable(String),
    /// What is read is there and not ready: a materialized view that was never filled. A repeat does not help.
    #[error("what is read is not ready: {0}")]
    NotReady(String),
    /// Every connection was busy for too long.
    #[error("no database connection became free in time")]
    Overloaded,
    /// The statement ran longer than allowed and was cancelled.
    #[error("the statement ran longer than allowed")]
    Timeout,
    /// The one who asked went away.
    #[error("the reader went away")]
    Gone,
    /// The reader took nothing for too long.
    #[error("the reader stalled")]
    Stalled,
    /// The streamed answer took longer than allowed in all.
    #[error("the streamed answer took longer than STREAM_TIMEOUT allows")]
    StreamTimeout,
    /// The statement is too expensive by the database's own estimate.
    #[error("the estimated cost of the statement is {cost:.0}, and at most {max:.0} is allowed")]
    TooExpensive {
        /// What PostgreSQL expects the statement to cost.
        cost: f64,
        /// What may be spent (`QUERY_MAX_COST`).
        max: f64,
    },
    /// Something with this name or id is there already.
    #[error("it exists already")]
    Exists,
    /// Something that a record names is not there.
    #[error("it names something that does not exist")]
    Missing,
    /// The database refused a statement that should have worked: a fault of ours or of the schema.
    #[error("the database refused a statement: {0}")]
    Refused(Refusal),
    /// Something of our own is not as it has to be: a fault of ours, or of whoever changed a record by hand.
    #[error("{0}")]
    Unexpected(String),
    /// A setting that cannot be used.
    #[error("{0}")]
    Setting(String),
}

/// What a database said when it refused a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    code: Option<String>,
    message: String,
}

impl Refusal {
    /// PostgreSQL's code for it (SQLSTATE); SQLite has none that tells more than its words.
    pub fn code(&self) -> &str {
        self.code.as_deref().unwrap_or_default()
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.code {
            Some(code) => write!(out, "{code}: {}", self.message),
            None => out.write_str(&self.message),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            return Error::Unavailable(chain(&error));
        };
        let code = refusal.code().code();
        match code {
            "57014" => Error::Timeout,
            "23505" => Error::Exists,
            "23503" => Error::Missing,
            "55000" => Error::NotReady(chain(&error)),
            // Ended by somebody, or not to be had just now: a lock that is waited for too long.
            "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "55P03" | "25P03" => Error::Unavailable(chain(&error)),
            // Perhaps another server does now.
            "25006" => Error::Unavailable(read_only(&error)),
            // No connection, rolled back for the sake of others (a deadlock, a replica that has to go on), out of memory or disk.
            _ if ["08", "40", "53"].iter().any(|class| code.starts_with(class)) => Error::Unavailable(chain(&error)),
            // A statement that is not the one of this name, or not there: nobody but another client of the same session does that.
            "42P05" | "26000" => {
                let hint = "behind a pooler that shares its connections out, set DATABASE_PREPARE=off";
                Error::Refused(Refusal { code: Some(code.to_owned()), message: format!("{}; {hint}", refusal.message()) })
            }
            _ => Error::Refused(Refusal { code: Some(code.to_owned()), message: refusal.message().to_owned() }),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error().map(|error| error.extended_code) {
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => return Error::Exists,
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => return Error::Missing,
            _ => {}
        }
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Error::Timeout,
            Some(
                rusqlite::ErrorCode::CannotOpen
                | rusqlite::ErrorCode::DatabaseBusy
                | rusqlite::ErrorCode::SystemIoFailure
                | rusqlite::ErrorCode::DiskFull,
            ) => Error::Unavailable(error.to_string()),
            Some(rusqlite::ErrorCode::ReadOnly) => Error::Unavailable(read_only(&error)),
            _ => Error::Refused(Refusal { code: None, message: error.to_string() }),
        }
    }
}

/// Only a hub writes.
fn read_only(error: &dyn std::error::Error) -> String {
    format!("it takes no writes, and a hub needs one that does: {}", chain(error))
}

/// An error with the causes below it, which is where a driver keeps what matters, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    // PostgreSQL gives details and hints lines of their own, and its functions say what they like.
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_database_says_is_told_in_one_line() {
        let said = std::io::Error::other("ERROR: no\r\nDETAIL: none\n\n  INFO audit");
        assert_eq!(chain(&said), "ERROR: no; DETAIL: none; INFO audit");
    }

    #[test]
    fn a_database_that_takes_no_writes_is_told_as_such() {
        let connection = rusqlite::Connection::open_in_memory().expect("a database");
        connection.execute_batch("PRAGMA query_only = 1").expect("set");
        let error = connection.execute_batch("CREATE TABLE things (id)").expect_err("refused");
        let told = Error::from(error).to_string();
        assert!(told.contains("it takes no writes, and a hub needs one that does"), "{told}");
    }
}
