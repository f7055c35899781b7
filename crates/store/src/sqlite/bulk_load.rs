//! Creates a SQLite file and loads the program's own rows into it in one transaction. No foreign SQL runs here.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql};

use crate::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkValue<'a> {
    Null,
    Number(i64),
    Text(&'a str),
}

impl ToSql for BulkValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            BulkValue::Null => ValueRef::Null,
            BulkValue::Number(number) => ValueRef::Integer(*number),
            BulkValue::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// A new file. It is empty until [`NewFile::finish`].
#[derive(Debug)]
pub struct NewFile(Connection);

impl NewFile {
    pub fn create(path: &Path, tables: &'static str) -> Result<Self, Error> {
        let taken = |error: std::io::Error| Error::Unavailable(format!("the SQLite file {} cannot be made: {error}", path.display()));
        std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(taken)?;
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // No other process uses the file yet, and an aborted load is repeated: durability is not needed.
        connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN")?;
        connection.execute_batch(tables)?;
        Ok(NewFile(connection))
    }

    /// Inserts one row. The statement is prepared once.
    pub fn insert(&self, statement: &'static str, row: &[BulkValue<'_>]) -> Result<(), Error> {
        self.0.prepare_cached(statement)?.execute(rusqlite::params_from_iter(row))?;
        Ok(())
    }

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
    fn an_existing_file_is_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.db");
        std::fs::write(&path, "mine").expect("a file");
        assert!(matches!(NewFile::create(&path, "CREATE TABLE a (b)"), Err(Error::Unavailable(_))));
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "mine");
    }

    #[test]
    fn inserted_rows_are_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.db");
        let file = NewFile::create(&path, "CREATE TABLE a (b INTEGER, c TEXT, d TEXT)").expect("a file");
        for number in 0..3 {
            file.insert("INSERT INTO a VALUES (?, ?, ?)", &[BulkValue::Number(number), BulkValue::Text("é"), BulkValue::Null])
                .expect("a row");
        }
        file.finish("CREATE INDEX i ON a (b)").expect("an end");
        let read = Connection::open(&path).expect("a file");
        let sum = read.query_row("SELECT sum(b) || c || count(d) FROM a", [], |row| row.get::<_, String>(0));
        assert_eq!(sum.expect("a row"), "3é0");
    }
}
