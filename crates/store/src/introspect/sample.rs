//! Samples rows of a SQLite database for the types of its columns: a declared type does not bind values, and many columns have none.

use query::catalog::Stored;
use query::sql::Dialect;
use query::types::{Scalar, Type};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, Result};

use crate::schema::{Column, Schema, Table};
use crate::sqlite::{readable, sample_rows};

use super::kind;

type Reading = (Scalar, Stored);

/// Infers the types of columns from the first rows of each table, and then of each view. `begin` restarts the time before each.
pub fn sample(connection: &Connection, schema: &mut Schema, begin: impl Fn()) {
    // Views come last, since only they can take long.
    let (views, tables): (Vec<&mut Table>, Vec<&mut Table>) = schema.tables.iter_mut().partition(|table| table.is_view);
    for table in tables.into_iter().chain(views).filter(|table| table.unreadable.is_none()) {
        begin();
        match readings(connection, table) {
            Ok(read) => {
                for (column, seen) in table.columns.iter_mut().zip(read) {
                    column.unknown_type &= seen.is_none();
                    column.seen = seen;
                }
            }
            Err(error) => table.unseen = Some(reason(&error)),
        }
    }
    follow(schema);
}

/// A foreign key without a declared type and without values has the type of its target.
fn follow(schema: &mut Schema) {
    let mut found = Vec::new();
    for (place, table) in schema.tables.iter().enumerate() {
        for foreign_key in &table.foreign_keys {
            let target = schema.tables.iter().find(|target| target.name == foreign_key.table);
            for (column, other) in foreign_key.columns.iter().zip(&foreign_key.target_columns) {
                let is_blank = |column: &&Column| column.native.is_empty() && column.seen.is_none();
                let blank = table.columns.iter().position(|own| own.name == *column && is_blank(&own));
                let other = target.and_then(|target| target.column(other, Dialect::Sqlite)).filter(|other| !is_blank(other));
                found.extend(blank.zip(other.and_then(reading)).map(|(column, reading)| (place, column, reading)));
            }
        }
    }
    for (table, column, reading) in found {
        schema.tables[table].columns[column].seen = Some(reading);
    }
}

fn reading(column: &Column) -> Option<Reading> {
    column.seen.clone().or_else(|| kind::sqlite(&column.native).map(|scalar| (scalar, kind::stored(column))))
}

fn reason(error: &Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => "that takes too long".to_owned(),
        _ => error.to_string(),
    }
}

fn readings(connection: &Connection, table: &Table) -> Result<Vec<Option<Reading>>> {
    let mut possible: Vec<Vec<Reading>> = table.columns.iter().map(|column| candidates(column, table)).collect();
    let (mut any, mut any_seconds) = (vec![false; table.columns.len()], vec![false; table.columns.len()]);
    sample_rows(connection, &table.name, table.columns.iter().map(|column| column.name.as_str()), |index, cell| {
        any[index] = true;
        any_seconds[index] |= is_seconds(cell);
        possible[index].retain(|(scalar, stored)| readable(&Type::One(scalar.clone()), *stored, cell));
    })?;
    let columns = table.columns.iter().zip(possible).zip(any.into_iter().zip(any_seconds));
    let reading = |((column, possible), (any, any_seconds)): ((&Column, Vec<Reading>), (bool, bool))| {
        let likely = |reading: &Reading| any_seconds || reading.1 != Stored::Unix;
        if any { possible.into_iter().find(likely) } else { unfilled(column) }
    };
    Ok(columns.map(reading).collect())
}

/// Whether a number must be seconds since 1970: years, day counts and `YYYYMMDD` are all smaller.
fn is_seconds(cell: ValueRef<'_>) -> bool {
    match cell {
        ValueRef::Integer(number) => number.unsigned_abs() >= 100_000_000,
        ValueRef::Real(number) => number.abs() >= 100_000_000.0,
        _ => false,
    }
}

/// The possible types of a column, the likeliest first: the declared one in each stored format, then the general ones.
fn candidates(column: &Column, table: &Table) -> Vec<Reading> {
    let declared = if column.native.is_empty() { None } else { kind::sqlite(&column.native) };
    let mut readings = match &declared {
        Some(Scalar::Timestamp) => timestamps(),
        Some(scalar) => vec![(scalar.clone(), Stored::Standard)],
        None => Vec::new(),
    };
    if declared == Some(Scalar::Date) {
        readings.extend(timestamps());
    }
    // A column declared as BLOB holds no supported values; for a view that only means that nothing is known.
    if declared.is_some() || column.native.is_empty() || table.is_view {
        readings.extend([Scalar::BigInt, Scalar::Float, Scalar::Text].map(|scalar| (scalar, Stored::Standard)));
    }
    readings
}

fn timestamps() -> Vec<Reading> {
    [Stored::Standard, Stored::Datetime, Stored::Unix].map(|stored| (Scalar::Timestamp, stored)).into()
}

fn unfilled(column: &Column) -> Option<Reading> {
    let default = column.default.to_ascii_uppercase();
    let is_timestamp = kind::sqlite(&column.native) == Some(Scalar::Timestamp);
    let by_sqlite = default.contains("CURRENT_TIMESTAMP") || default.contains("DATETIME(");
    (is_timestamp && by_sqlite).then_some((Scalar::Timestamp, Stored::Datetime))
}
