//! Reads the first rows of a table, since a declared type does not bind its values.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

const SAMPLE_ROWS: u32 = 1_000;

/// Calls `see` with each value that is not NULL and its column; returns the number of rows.
pub(crate) fn sample_rows<'n>(
    connection: &Connection,
    table: &str,
    columns: impl Iterator<Item = &'n str>,
    mut see: impl FnMut(usize, ValueRef<'_>),
) -> Result<u32> {
    let columns: Vec<String> = columns.map(quoted).collect();
    let mut statement = connection.prepare(&format!("SELECT {} FROM main.{} LIMIT {SAMPLE_ROWS}", columns.join(", "), quoted(table)))?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        for index in 0..columns.len() {
            let cell = row.get_ref(index)?;
            if cell != ValueRef::Null {
                see(index, cell);
            }
        }
    }
    Ok(count)
}

/// How many of the first rows have a key that an earlier one has. `form` gives the same string for equal values, and none for invalid ones.
pub(crate) fn repeated_keys<'n>(
    connection: &Connection,
    table: &str,
    columns: impl Iterator<Item = &'n str>,
    form: impl Fn(usize, ValueRef<'_>) -> Option<String>,
) -> Result<u32> {
    let columns: Vec<String> = columns.map(quoted).collect();
    let mut statement = connection.prepare(&format!("SELECT {} FROM main.{} LIMIT {SAMPLE_ROWS}", columns.join(", "), quoted(table)))?;
    let mut rows = statement.query([])?;
    let (mut seen, mut repeated) = (HashSet::new(), 0);
    while let Some(row) = rows.next()? {
        let parts = (0..columns.len()).map(|index| Ok(form(index, row.get_ref(index)?))).collect::<Result<Option<Vec<String>>>>()?;
        repeated += u32::from(parts.is_some_and(|key| !seen.insert(key)));
    }
    Ok(repeated)
}

pub(crate) fn encoding_of(connection: &Connection) -> Result<String> {
    connection.query_row("PRAGMA main.encoding", [], |row| row.get(0))
}

pub(crate) fn check_collations(connection: &Connection, table: &str) -> Result<()> {
    const NAMES: &str =
        "SELECT DISTINCT part.coll FROM pragma_index_list(?1, 'main') AS list, pragma_index_xinfo(list.name, 'main') AS part";
    let mut names = connection.prepare(NAMES)?;
    for name in names.query_map([table], |row| row.get::<_, String>(0))? {
        connection.prepare(&format!("SELECT '' < '' COLLATE {}", quoted(&name?)))?;
    }
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
