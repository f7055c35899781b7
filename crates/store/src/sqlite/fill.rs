//! A new SQLite file, filled in one transaction by texts and rows of the program's own. No text of anybody else's is run here.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql};

use crate::Error;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// NULL
    Null,
    /// A whole number.
    Number(i64),
    /// A text.
    Text(&'a str),
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Number(number) => ValueRef::Integer(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// A file that was not there before. Nothing is in it until it is finished.
#[derive(Debug)]
pub struct NewFile(Connection);

impl NewFile {
    /// Makes the file and its tables.
    pub fn create(path: &Path, tables: &'static str) -> Result<Self, Error> {
        let taken = |error: std::io::Error| Error::Unavailable(format!("the SQLite file {} cannot be made: {error}", path.display()));
        std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(taken)?;
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // Nobody else knows the file yet, and whoever is cut off makes another one: there is nothing to be careful about.
        connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN")?;
        connection.execute_batch(tables)?;
        Ok(NewFile(connection))
    }

    /// Adds one row; the statement is prepared once, however often it comes.
    pub fn insert(&self, statement: &'static str, row: &[Cell<'_>]) -> Result<(), Error> {
        self.0.prepare_cached(statement)?.execute(rusqlite::params_from_iter(row))?;
        Ok(())
    }

    /// Makes what is quicker made once the rows are there, and lets the file count.
    pub fn finish(self, indexes: &'static str) -> Result<(), Error> {
        self.0.execute_batch(indexes)?;
        self.0.execute_batch("COMMIT; ANALYZE")?;
        self.0.close().map_err(|(_, error)| error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.db");
        std::fs::write(&path, "mine").expect("a file");
        assert!(matches!(NewFile::create(&path, "CREATE TABLE a (b)"), Err(Error::Unavailable(_))));
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "mine");
    }

    #[test]
    fn rows_come_back_as_they_were_given() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.db");
        let file = NewFile::create(&path, "CREATE TABLE a (b INTEGER, c TEXT, d TEXT)").expect("a file");
        for number in 0..3 {
            file.insert("INSERT INTO a VALUES (?, ?, ?)", &[Cell::Number(number), Cell::Text("é"), Cell::Null]).expect("a row");
        }
        file.finish("CREATE INDEX i ON a (b)").expect("an end");
        let read = Connection::open(&path).expect("a file");
        let sum = read.query_row("SELECT sum(b) || c || count(d) FROM a", [], |row| row.get::<_, String>(0));
        assert_eq!(sum.expect("a row"), "3é0");
    }
}
