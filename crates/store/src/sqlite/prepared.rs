//! Statements that a connection prepares, and which of them it keeps.

use std::ops::{Deref, DerefMut};

use query::sql::Sql;
use rusqlite::{CachedStatement, Connection, Statement};

use crate::run::is_kept;

/// A statement, on its way back to the connection that keeps it, or not.
pub(super) enum Prepared<'c> {
    Kept(CachedStatement<'c>),
    Passing(Box<Statement<'c>>),
}

/// The statement, prepared now or earlier.
pub(super) fn prepared<'c>(connection: &'c Connection, sql: &Sql) -> rusqlite::Result<Prepared<'c>> {
    of_text(connection, sql.text())
}

fn of_text<'c>(connection: &'c Connection, text: &str) -> rusqlite::Result<Prepared<'c>> {
    Ok(if is_kept(text) {
        Prepared::Kept(connection.prepare_cached(text)?)
    } else {
        Prepared::Passing(Box::new(connection.prepare(text)?))
    })
}

impl<'c> Deref for Prepared<'c> {
    type Target = Statement<'c>;

    fn deref(&self) -> &Statement<'c> {
        match self {
            Prepared::Kept(statement) => statement,
            Prepared::Passing(statement) => statement,
        }
    }
}

impl<'c> DerefMut for Prepared<'c> {
    fn deref_mut(&mut self) -> &mut Statement<'c> {
        match self {
            Prepared::Kept(statement) => statement,
            Prepared::Passing(statement) => statement,
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// How often the statement was run before, as far as the connection knows.
    fn earlier(connection: &Connection, text: &str) -> i32 {
        let mut statement = of_text(connection, text).expect("prepared");
        let earlier = statement.get_status(StatementStatus::Run);
        statement.raw_query().next().expect("a step");
        earlier
    }

    #[test]
    fn a_long_text_is_prepared_anew_every_time() {
        let connection = Connection::open_in_memory().expect("a database");
        let long = format!("SELECT '{}'", "x".repeat(20_000));
        assert_eq!([earlier(&connection, "SELECT 1"), earlier(&connection, "SELECT 1")], [0, 1]);
        assert_eq!([earlier(&connection, &long), earlier(&connection, &long)], [0, 0]);
    }
}
