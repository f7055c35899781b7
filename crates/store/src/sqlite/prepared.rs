//! Prepares statements, and caches the short ones.

use std::ops::DerefMut;

use query::sql::Sql;
use rusqlite::{Connection, Statement};

use crate::run::is_cached;

/// A prepared statement, which may return to the cache of its connection.
pub(super) type Prepared<'c> = Box<dyn DerefMut<Target = Statement<'c>> + 'c>;

pub(super) fn prepared<'c>(connection: &'c Connection, sql: &Sql) -> rusqlite::Result<Prepared<'c>> {
    of_text(connection, sql.text())
}

fn of_text<'c>(connection: &'c Connection, text: &str) -> rusqlite::Result<Prepared<'c>> {
    Ok(if is_cached(text) { Box::new(connection.prepare_cached(text)?) } else { Box::new(Box::new(connection.prepare(text)?)) })
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// How often the cached statement was run before.
    fn earlier(connection: &Connection, text: &str) -> i32 {
        let mut statement = of_text(connection, text).expect("prepared");
        let earlier = statement.get_status(StatementStatus::Run);
        statement.raw_query().next().expect("a step");
        earlier
    }

    #[test]
    fn a_long_statement_is_prepared_every_time() {
        let connection = Connection::open_in_memory().expect("a database");
        let long = format!("SELECT '{}'", "x".repeat(20_000));
        assert_eq!([earlier(&connection, "SELECT 1"), earlier(&connection, "SELECT 1")], [0, 1]);
        assert_eq!([earlier(&connection, &long), earlier(&connection, &long)], [0, 0]);
    }
}
