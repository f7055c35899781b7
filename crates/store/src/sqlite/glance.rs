//! A look at the first rows of a table, for what no declaration tells.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

/// How many rows are looked at.
const ROWS: u32 = 1_000;

/// Shows each value with the number of its column, NULL aside; says how many rows there were.
pub(crate) fn glance<'n>(
    connection: &Connection,
    table: &str,
    columns: impl Iterator<Item = &'n str>,
    mut see: impl FnMut(usize, ValueRef<'_>),
) -> Result<u32> {
    let columns: Vec<String> = columns.map(quoted).collect();
    let mut statement = connection.prepare(&format!("SELECT {} FROM main.{} LIMIT {ROWS}", columns.join(", "), quoted(table)))?;
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

/// How the file keeps texts: `UTF-8`, as a rule.
pub(crate) fn encoding_of(connection: &Connection) -> Result<String> {
    connection.query_row("PRAGMA main.encoding", [], |row| row.get(0))
}

/// Fails where an index of a table has a collation that is not known here.
pub(crate) fn know_collations(connection: &Connection, table: &str) -> Result<()> {
    const NAMES: &str =
        "SELECT DISTINCT part.coll FROM pragma_index_list(?1, 'main') AS list, pragma_index_xinfo(list.name, 'main') AS part";
    let mut names = connection.prepare(NAMES)?;
    for name in names.query_map([table], |row| row.get::<_, String>(0))? {
        connection.prepare(&format!("SELECT '' < '' COLLATE {}", quoted(&name?)))?;
    }
    Ok(())
}

/// A name as SQL wants it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
