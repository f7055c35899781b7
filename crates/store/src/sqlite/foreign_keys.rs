//! Finds the foreign keys that values of a row break: SQLite does not name them in its error.

use query::value::Value;
use rusqlite::{Connection, Result};

use super::read::bind_one;

/// Values by column; none is the value of a column that a write adds to.
pub(super) type Values = [(String, Option<Value>)];

/// A foreign key: its table, and pairs of own and other columns.
type ForeignKey = (String, Vec<(String, String)>);

fn written<'v>(values: &'v Values, column: &str) -> Option<&'v Option<Value>> {
    values.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, value)| value)
}

/// The own columns of foreign keys that these values break.
pub(super) fn broken(connection: &Connection, table: &str, values: &Values) -> Result<Vec<Vec<String>>> {
    let mut broken = Vec::new();
    for (parent, pairs) in foreign_keys(connection, table)? {
        let given: Option<Vec<&Value>> = pairs.iter().map(|(own, _)| written(values, own)?.as_ref()).collect();
        let Some(given) = given.filter(|given| !given.contains(&&Value::Null)) else { continue };
        let equal: Vec<String> = pairs.iter().zip(&given).map(|((_, other), value)| equal(&quoted(other), value)).collect();
        let text = format!("SELECT 1 FROM {} WHERE {}", quoted(&parent), equal.join(" AND "));
        let mut statement = connection.prepare(&text)?;
        for (index, value) in given.into_iter().enumerate() {
            bind_one(&mut statement, index + 1, value)?;
        }
        if statement.raw_query().next()?.is_none() {
            broken.push(pairs.into_iter().map(|(own, _)| own).collect());
        }
    }
    Ok(broken)
}

/// The column has a value, in any form in which it may be stored.
fn equal(column: &str, value: &Value) -> String {
    match value {
        Value::Decimal(_) => format!("{column} COLLATE peristyle_decimal = ?"),
        Value::Time(_) => format!("peristyle_time({column}) = ?"),
        Value::Timestamp(_) => format!("coalesce(peristyle_unix({column}), peristyle_datetime({column})) = ?"),
        Value::Json(_) => format!("peristyle_json({column}) = ?"),
        _ => format!("{column} = ?"),
    }
}

/// The own columns, among those with values, of foreign keys that have others too. The stored row may make one of these break.
pub(super) fn partial(connection: &Connection, table: &str, values: &Values) -> Result<Vec<Vec<String>>> {
    let mut partial = Vec::new();
    for (_, pairs) in foreign_keys(connection, table)? {
        let found: Vec<Option<&Option<Value>>> = pairs.iter().map(|(own, _)| written(values, own)).collect();
        let is_whole = found.iter().all(|value| matches!(value, Some(Some(_))));
        let own: Vec<String> = pairs.iter().zip(&found).filter(|(_, value)| value.is_some()).map(|((own, _), _)| own.clone()).collect();
        if !is_whole && !own.is_empty() && !found.contains(&Some(&Some(Value::Null))) {
            partial.push(own);
        }
    }
    Ok(partial)
}

fn foreign_keys(connection: &Connection, table: &str) -> Result<Vec<ForeignKey>> {
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    let mut statement =
        connection.prepare("SELECT id, \"table\", \"from\", \"to\", seq FROM pragma_foreign_key_list(?) ORDER BY id, seq")?;
    let mut rows = statement.query([table])?;
    while let Some(row) = rows.next()? {
        let (id, parent, own): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let other = match row.get::<_, Option<String>>(3)? {
            Some(other) => other,
            // Without a name it is the key of the parent.
            None => connection.query_row(
                "SELECT name FROM pragma_table_info(?) WHERE pk = ?",
                rusqlite::params![parent, row.get::<_, i64>(4)? + 1],
                |row| row.get(0),
            )?,
        };
        match keys.iter_mut().find(|(known, _)| *known == id) {
            Some((_, (_, pairs))) => pairs.push((own, other)),
            None => keys.push((id, (parent, vec![(own, other)]))),
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
