//! Errors of a database. A client never sees the database's own message; the log does.

use rusqlite::{ErrorCode, ffi};
use tokio_postgres::error::DbError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the database is out of reach: {0}")]
    Unavailable(String),
    /// A table is missing, or a materialized view was never filled. A retry does not help.
    #[error("the table is not ready: {0}")]
    NotReady(String),
    #[error("no database connection became free in time")]
    Overloaded,
    #[error("the statement ran longer than DATABASE_TIMEOUT allows")]
    Timeout,
    #[error("the client disconnected")]
    Gone,
    #[error("the client stopped reading")]
    Stalled,
    #[error("the streamed answer took longer than STREAM_TIMEOUT allows")]
    StreamTimeout,
    #[error("the estimated cost of the statement is {cost:.0}, and at most {max:.0} is allowed")]
    TooExpensive {
        cost: f64,
        /// The limit (`QUERY_MAX_COST`).
        max: f64,
    },
    #[error("the answer has more related rows than {max}, and at most these are allowed")]
    TooManyRows {
        /// The limit (`QUERY_MAX_ROWS`).
        max: usize,
    },
    /// A keyset page ends where no statement can continue.
    #[error("{0}")]
    PageEnd(query::error::Error),
    /// A record with this name or id exists already.
    #[error("it exists already")]
    Exists,
    /// A record names another one that does not exist.
    #[error("it names something that does not exist")]
    Missing,
    #[error("the database refused a statement: {0}")]
    Refused(Refusal),
    /// The statement needs something that this database or a table in it does not support. A retry does not help.
    #[error("the database does not support a statement: {0}")]
    Unsupported(Refusal),
    /// A bug, or a record that was changed by hand.
    #[error("{0}")]
    Unexpected(String),
    #[error("{0}")]
    Setting(String),
}

/// Citus reports some of what it does not support as internal errors: rows that are too many to send between servers, `min` and `max` of
/// enum types, and a constant condition in an outer join. These are parts of its messages.
const CITUS_LIMITS: [&str; 3] = ["citus.max_intermediate_result_size", "no matching oid", "pseudoconstant quals"];

/// The files of Citus that plan a statement, and choose how it runs. Their internal errors say what it cannot plan, such as a join for which rows would have to be
/// distributed anew.
const CITUS_PLANNER: [&str; 12] = [
    "combine_query_planner.c",
    "distributed_planner.c",
    "insert_select_planner.c",
    "multi_join_order.c",
    "multi_logical_optimizer.c",
    "multi_logical_planner.c",
    "multi_physical_planner.c",
    "multi_router_planner.c",
    "multi_server_executor.c",
    "query_colocation_checker.c",
    "query_pushdown_planning.c",
    "recursive_planning.c",
];

/// How much of a statement's SQL the log shows.
const MAX_SQL_CHARS: usize = 1_000;

/// Why the database refused a statement, for the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    code: Option<String>,
    message: String,
    /// The SQL of the statement. It depends on the shape only; it holds no value.
    sql: Option<String>,
    /// The relations of the statement that lead to rows on other servers of Citus.
    distant_relations: Vec<String>,
    is_stale: bool,
}

impl Refusal {
    /// The SQLSTATE of PostgreSQL; empty for SQLite.
    pub fn code(&self) -> &str {
        self.code.as_deref().unwrap_or_default()
    }

    /// Whether a prepared statement is gone or its tables have changed, so that it must be prepared again.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The relations that may be why the database refused the statement.
    pub fn distant_relations(&self) -> &[String] {
        &self.distant_relations
    }

    fn of_postgres(error: &DbError) -> Self {
        let mut message = error.message().to_owned();
        let code = error.code().code();
        // These details quote rows.
        let quotes_rows = ["22", "23", "44"].iter().any(|class| code.starts_with(class));
        let detail = error.detail().filter(|_| !quotes_rows);
        for (name, text) in [("DETAIL", detail), ("HINT", error.hint())] {
            if let Some(text) = text {
                message = format!("{message}; {name}: {text}");
            }
        }
        // A prepared statement is missing or another one: perhaps another client uses the same session.
        if matches!(code, "42P05" | "26000") {
            message.push_str("; behind a pooler that shares sessions, set DATABASE_PREPARE=off");
        }
        Refusal { code: Some(code.to_owned()), message: one_line(&message), is_stale: is_stale(error), ..Refusal::default() }
    }
}

/// Whether a prepared statement is gone or its tables have changed. PostgreSQL has one code for a changed table and everything that it does
/// not support, and translates the message; the routine that raised it tells them apart.
pub(crate) fn is_stale(error: &DbError) -> bool {
    match error.code().code() {
        "26000" => true,
        "0A000" => error.routine() == Some("RevalidateCachedQuery") || error.message() == "cached plan must not change result type",
        _ => false,
    }
}

/// Whether a function of a statement may not write, such as `nextval()` in a view, rather than the statement itself.
fn writes_inside(error: &DbError) -> bool {
    error.where_().is_some() || error.message().contains("()")
}

/// Whether the statement needs something that the database does not support.
fn is_unsupported(error: &DbError) -> bool {
    match error.code().code() {
        "0A000" => !is_stale(error),
        "XX000" => {
            let file = error.file().unwrap_or_default();
            CITUS_LIMITS.iter().any(|part| error.message().contains(part)) || CITUS_PLANNER.contains(&file)
        }
        _ => false,
    }
}

impl Error {
    /// Whether the database did not answer, or not in time.
    pub fn is_outage(&self) -> bool {
        matches!(self, Error::Overloaded | Error::Unavailable(_) | Error::Timeout)
    }

    /// Adds the SQL of the statement that the database refused.
    pub(crate) fn in_statement(mut self, sql: &str) -> Self {
        if let Error::Refused(refusal) | Error::Unsupported(refusal) = &mut self {
            refusal.sql.get_or_insert_with(|| sql.chars().take(MAX_SQL_CHARS).collect());
        }
        self
    }

    /// Adds the relations of the statement that lead to rows on other servers.
    pub(crate) fn over_relations(mut self, relations: Vec<String>) -> Self {
        if let Error::Unsupported(refusal) = &mut self {
            refusal.distant_relations = relations;
        }
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.code {
            Some(code) => write!(out, "{code}: {}", self.message),
            None => out.write_str(&self.message),
        }?;
        self.sql.as_ref().map_or(Ok(()), |sql| write!(out, " in {sql}"))
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
            // Without a context it is the statement that names the table, and not a function or a trigger.
            "42P01" if refusal.where_().is_none() => Error::NotReady(chain(&error)),
            // The server ended the session, or a lock was not available in time.
            "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "55P03" | "25P03" => Error::Unavailable(chain(&error)),
            // A read of a view that writes fails on every server.
            "25006" if writes_inside(refusal) => Error::Unsupported(Refusal::of_postgres(refusal)),
            // Another server may accept writes.
            "25006" => Error::Unavailable(format!(
                "it takes no writes; name the primary in the URL, or all servers with target_session_attrs=read-write: {}",
                chain(&error)
            )),
            // Connection failures, rollbacks (deadlocks, conflicts on a read replica), out of memory or disk.
            _ if ["08", "40", "53"].iter().any(|class| code.starts_with(class)) => Error::Unavailable(chain(&error)),
            _ if is_unsupported(refusal) => Error::Unsupported(Refusal::of_postgres(refusal)),
            _ => Error::Refused(Refusal::of_postgres(refusal)),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let (code, message) = (error.sqlite_error_code(), error.to_string());
        match (error.sqlite_error().map_or(0, |error| error.extended_code), code) {
            (ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY, _) => Error::Exists,
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, _) => Error::Missing,
            (_, Some(ErrorCode::OperationInterrupted)) => Error::Timeout,
            (_, Some(ErrorCode::DatabaseBusy)) => Error::Unavailable("another process has locked the SQLite file".to_owned()),
            (_, Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull)) => Error::Unavailable(message),
            (code, Some(ErrorCode::ReadOnly)) if needs_folder(code) => Error::Unavailable(unwritable_folder("the SQLite file")),
            (_, Some(ErrorCode::ReadOnly)) => Error::Unavailable(read_only(&error)),
            (ffi::SQLITE_ERROR, _) if message.starts_with("no such table: ") => Error::NotReady(message),
            (_, Some(ErrorCode::DatabaseCorrupt)) => {
                Error::Refused(Refusal { message: format!("the SQLite file is damaged: {message}"), ..Refusal::default() })
            }
            _ => Error::Refused(Refusal { message, ..Refusal::default() }),
        }
    }
}

fn read_only(error: &dyn std::error::Error) -> String {
    format!("it is read-only, and a hub and resources with writes need one that accepts changes: {}", chain(error))
}

/// Whether SQLite could not create, recover or roll back a file beside the database. Readers need such a file too, in WAL mode.
pub(crate) fn needs_folder(extended_code: i32) -> bool {
    use ffi::{
        SQLITE_READONLY_CANTINIT, SQLITE_READONLY_CANTLOCK, SQLITE_READONLY_DIRECTORY, SQLITE_READONLY_RECOVERY, SQLITE_READONLY_ROLLBACK,
    };
    matches!(
        extended_code,
        SQLITE_READONLY_CANTINIT
            | SQLITE_READONLY_CANTLOCK
            | SQLITE_READONLY_DIRECTORY
            | SQLITE_READONLY_RECOVERY
            | SQLITE_READONLY_ROLLBACK
    )
}

/// `file` names the file.
pub(crate) fn unwritable_folder(file: &str) -> String {
    format!(
        "this user may not write to {file} or to its folder, and SQLite needs a file beside it, also to read a database in WAL mode; make both writable for this user, or let its owner run: sqlite3 FILE 'PRAGMA journal_mode = DELETE'"
    )
}

/// An error with its causes in one line: a driver keeps the details in them.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    one_line(&text)
}

/// PostgreSQL's details and hints have lines of their own.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_message_becomes_one_line() {
        let said = std::io::Error::other("ERROR: no\r\nDETAIL: none\n\n  INFO audit");
        assert_eq!(chain(&said), "ERROR: no; DETAIL: none; INFO audit");
    }

    #[test]
    fn the_error_of_a_read_only_file_says_that_it_takes_no_writes() {
        let connection = rusqlite::Connection::open_in_memory().expect("a database");
        connection.execute_batch("PRAGMA query_only = 1").expect("set");
        let error = connection.execute_batch("CREATE TABLE things (id)").expect_err("refused");
        let message = Error::from(error).to_string();
        assert!(message.contains("it is read-only, and a hub and resources with writes need one that accepts changes"), "{message}");
    }

    // contract B1.1
    #[test]
    fn the_error_of_a_wal_in_a_folder_that_is_not_writable_says_what_to_change() {
        for code in [ffi::SQLITE_READONLY_DIRECTORY, ffi::SQLITE_READONLY_CANTINIT, ffi::SQLITE_READONLY_RECOVERY] {
            let message = Error::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).to_string();
            assert!(message.contains("to its folder") && message.contains("journal_mode = DELETE"), "{message}");
            assert!(!message.contains("hub"), "{message}");
        }
    }
}
