//! Looks at rows of a SQLite database for what its columns hold: a declared type binds nobody there, and many columns have none.

use query::catalog::Stored;
use query::sql::Form;
use query::types::Scalar;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

use crate::schema::{Column, Schema, Table};
use crate::sqlite::readable;

use super::kind;

/// How many rows of a table are looked at.
const ROWS: u32 = 1_000;

/// A way to read a column.
type Reading = (Scalar, Stored);

/// Learns how columns can be read from the first rows of each table.
pub fn sample(connection: &Connection, schema: &mut Schema) {
    for table in &mut schema.tables {
        // A view that fails, or takes too long, tells nothing.
        if let Ok(read) = readings(connection, table) {
            for (column, seen) in table.columns.iter_mut().zip(read) {
                column.untold &= seen.is_none();
                column.seen = seen;
            }
        }
    }
}

/// For each column what all its values can be read as.
fn readings(connection: &Connection, table: &Table) -> Result<Vec<Option<Reading>>> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let mut statement = connection.prepare(&format!("SELECT {} FROM main.{} LIMIT {ROWS}", columns.join(", "), quoted(&table.name)))?;
    let mut possible: Vec<Vec<Reading>> = table.columns.iter().map(|column| candidates(column, table.is_view)).collect();
    let mut any = vec![false; columns.len()];
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (index, possible) in possible.iter_mut().enumerate() {
            let cell = row.get_ref(index)?;
            if cell != ValueRef::Null {
                any[index] = true;
                possible.retain(|(scalar, stored)| readable(Form::from(scalar), *stored, cell));
            }
        }
    }
    let defaults = defaults(connection, table)?;
    let columns = table.columns.iter().zip(&defaults).zip(possible).zip(any);
    Ok(columns
        .map(|(((column, default), possible), any)| if any { possible.into_iter().next() } else { unfilled(column, default) })
        .collect())
}

/// What a column may be, the likeliest first: what was declared, in each way to keep it, and then what values can be at all.
fn candidates(column: &Column, is_view: bool) -> Vec<Reading> {
    let declared = if column.native.is_empty() { None } else { kind::sqlite(&column.native) };
    let mut readings = match &declared {
        Some(Scalar::Timestamp) => timestamps(),
        Some(scalar) => vec![(scalar.clone(), Stored::Standard)],
        None => Vec::new(),
    };
    if declared == Some(Scalar::Date) {
        readings.extend(timestamps());
    }
    // A column that is declared to hold bytes holds no values of ours; of a view that word only says that nothing is known.
    if declared.is_some() || column.native.is_empty() || is_view {
        readings.extend([Scalar::BigInt, Scalar::Float, Scalar::Text].map(|scalar| (scalar, Stored::Standard)));
    }
    readings
}

fn timestamps() -> Vec<Reading> {
    [Stored::Standard, Stored::Datetime, Stored::Unix].map(|stored| (Scalar::Timestamp, stored)).into()
}

/// How a column without values will be filled, as far as its default tells.
fn unfilled(column: &Column, default: &str) -> Option<Reading> {
    let default = default.to_ascii_uppercase();
    let is_timestamp = kind::sqlite(&column.native) == Some(Scalar::Timestamp);
    let by_sqlite = default.contains("CURRENT_TIMESTAMP") || default.contains("DATETIME(");
    (is_timestamp && by_sqlite).then_some((Scalar::Timestamp, Stored::Datetime))
}

fn defaults(connection: &Connection, table: &Table) -> Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT dflt_value FROM pragma_table_xinfo(?1, 'main') WHERE name = ?2")?;
    let default = |column: &Column| statement.query_row([&table.name, &column.name], |row| row.get::<_, Option<String>>(0));
    table.columns.iter().map(default).map(|default| Ok(default?.unwrap_or_default())).collect()
}
