//! Runs statements on SQLite: rows, related rows, totals and plans.

use std::ops::DerefMut;
use std::rc::Rc;

use query::json;
use query::sql::{Level, Query, Source, Sql};
use query::value::{self, Value};
use rusqlite::types::{ToSqlOutput, Value as Cell, ValueRef};
use rusqlite::{Connection, Row, Rows, Statement, ToSql};

use crate::Error;
use crate::assemble::{After, Batch, Gathered, Gathering, Keys, Portion};
use crate::run::{AnswerContext, BatchSize, KeyedRows, PageTotal, StatementPart, below, is_cached, page_total};

use super::{Sqlite, cell, row_encoder};

/// A prepared statement. Short ones return to the cache of their connection.
type Prepared<'c> = Box<dyn DerefMut<Target = Statement<'c>> + 'c>;

pub(super) fn prepared<'c>(connection: &'c Connection, text: &str) -> rusqlite::Result<Prepared<'c>> {
    Ok(if is_cached(text) { Box::new(connection.prepare_cached(text)?) } else { Box::new(Box::new(connection.prepare(text)?)) })
}

pub(super) fn total(connection: &Connection, context: &AnswerContext, query: &Query, count: usize) -> Result<i64, Error> {
    match page_total(query, count) {
        PageTotal::Known(total) => Ok(total),
        PageTotal::Ask(sql) => {
            let running = context.begin(sql, StatementPart::Total);
            let mut statement = prepared(connection, sql.text())?;
            bind(&mut statement, sql, None)?;
            let total = statement.raw_query().next()?.map_or(Ok(0), |row| row.get(0))?;
            running.end(1);
            Ok(total)
        }
    }
}

/// SQLite's plan of each level. SQLite plans without running, so no keys are needed.
pub(crate) async fn analyze(sqlite: &Sqlite, root: Level) -> Result<Vec<(String, Vec<String>)>, Error> {
    sqlite
        .run(move |connection, _| {
            let mut plans = Vec::new();
            explain(connection, "", &root, &mut plans)?;
            Ok(plans)
        })
        .await
}

fn explain(connection: &Connection, path: &str, level: &Level, plans: &mut Vec<(String, Vec<String>)>) -> Result<(), Error> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", level.sql.text()))?;
    let lines =
        statement.query_map(rusqlite::params_from_iter(level.sql.params().iter().map(|_| rusqlite::types::Null)), |row| row.get(3))?;
    plans.push((path.to_owned(), lines.collect::<Result<_, _>>()?));
    for child in &level.children {
        explain(connection, &below(path, &child.key), &child.level, plans)?;
    }
    Ok(())
}

fn add_keys(keys: &mut [Keys], level: &Level, row: &Row<'_>) {
    for (keys, child) in keys.iter_mut().zip(&level.children) {
        let part = |column: &usize| row.get_ref(*column).ok().and_then(key_part);
        match child.parent_columns.as_slice() {
            // Nearly all keys are one column.
            [column] => keys.add(std::iter::once(part(column).as_deref())),
            columns => {
                let parts: Vec<Option<Vec<u8>>> = columns.iter().map(part).collect();
                keys.add(parts.iter().map(Option::as_deref));
            }
        }
    }
}

/// A checked value as the part of a key.
pub(super) fn key_bytes(value: &Value) -> Vec<u8> {
    let cell = cell(value);
    key_part(ValueRef::from(&cell)).unwrap_or_default()
}

pub(super) fn bind_one(statement: &mut Statement<'_>, index: usize, value: &Value) -> rusqlite::Result<()> {
    statement.raw_bind_parameter(index, SqliteParam(value))
}

/// A key's value as JSON, as the level below reads it.
pub(super) fn key_part(cell: ValueRef<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(24);
    match cell {
        ValueRef::Integer(number) => crate::json_encoder::integer(&mut out, number),
        ValueRef::Real(number) => crate::json_encoder::float(&mut out, number),
        ValueRef::Text(bytes) => json::write_text(&mut out, std::str::from_utf8(bytes).ok()?),
        ValueRef::Null | ValueRef::Blob(_) => return None,
    }
    Some(out)
}

pub(super) fn take_rows(rows: &mut Rows<'_>, level: &Level, size: &BatchSize) -> Result<Portion, Error> {
    let mut batch = Batch::with_capacity(0);
    let mut keys = Keys::of(level);
    let mut after = After::Perhaps;
    while !size.is_full(&batch) {
        let Some(row) = rows.next()? else {
            after = After::Nothing;
            break;
        };
        row_encoder::row(batch.buffer(), &level.outputs, row);
        batch.end_row();
        if let Some(end) = level.page_end.as_ref().filter(|end| size.ends_page(&batch, end)) {
            batch.note_position(row_encoder::position(end, row));
        }
        add_keys(&mut keys, level, row);
    }
    batch.pending = keys;
    Ok(Portion { batch, after })
}

pub(super) fn related(connection: &Connection, context: &AnswerContext, rows: KeyedRows<'_>, left: &mut usize) -> Result<Gathered, Error> {
    let KeyedRows { child, keys, part } = rows;
    let running = context.begin(&child.level.sql, part);
    let (mut count, max) = (0, context.rows_left(part));
    let mut statement = prepared(connection, child.level.sql.text())?;
    bind(&mut statement, &child.level.sql, Some(keys))?;
    let mut rows = statement.raw_query();
    let mut gathering = Gathering::new(keys.len(), left);
    let mut sets = Keys::of(&child.level);
    while let Some(row) = rows.next()? {
        count += 1;
        if count > max {
            return Err(context.too_many_rows());
        }
        row_encoder::row(gathering.buffer(), &child.level.outputs, row);
        if gathering.end_row(row.get::<_, u32>(0)?) {
            add_keys(&mut sets, &child.level, row);
        } else if keys.len() == 1 {
            // There is nothing more to weigh.
            break;
        }
    }
    running.end(count);
    Ok(gathering.end(sets))
}

pub(super) fn bind(statement: &mut Statement<'_>, sql: &Sql, keys: Option<&Keys>) -> Result<(), Error> {
    for (index, param) in sql.params().iter().enumerate() {
        match (&param.source, keys) {
            (Source::Value(value), _) => statement.raw_bind_parameter(index + 1, SqliteParam(value))?,
            (Source::KeysAsJson, Some(keys)) => statement.raw_bind_parameter(index + 1, keys_as_json(keys))?,
            _ => return Err(Error::Unexpected("a level's keys are missing".to_owned())),
        }
    }
    Ok(())
}

/// `[k, …]`, or `[[a, b], …]` for keys of several parts.
pub(super) fn keys_as_json(keys: &Keys) -> String {
    let width = keys.width();
    let mut out = vec![b'['];
    let mut columns: Vec<_> = (0..width).map(|part| keys.column(part)).collect();
    for number in 0..keys.len() {
        if number > 0 {
            out.push(b',');
        }
        if width > 1 {
            out.push(b'[');
        }
        for (part, column) in columns.iter_mut().enumerate() {
            if part > 0 {
                out.push(b',');
            }
            out.extend_from_slice(column.next().unwrap_or(b"null"));
        }
        if width > 1 {
            out.push(b']');
        }
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}

struct SqliteParam<'v>(&'v Value);

impl ToSql for SqliteParam<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::List(values) => {
                let cells: Vec<Cell> = values.iter().map(cell).collect();
                ToSqlOutput::from_rc(Rc::new(cells), c"rarray")
            }
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            value => ToSqlOutput::Owned(cell(value)),
        })
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null | Value::List(_) => Cell::Null,
        Value::Bool(value) => Cell::Integer(i64::from(*value)),
        Value::Int(number) => Cell::Integer(*number),
        Value::Float(number) => Cell::Real(*number),
        Value::Decimal(text) | Value::Text(text) => Cell::Text(text.clone()),
        Value::Uuid(uuid) => Cell::Text(value::uuid_text(uuid)),
        Value::Date(days) => Cell::Text(value::date_text(i64::from(*days)).unwrap_or_default()),
        Value::Time(micros) => Cell::Text(value::time_text(*micros)),
        Value::Timestamp(micros) => Cell::Text(value::timestamp_fixed_text(*micros)),
        Value::Json(text) => Cell::Text(cell::canonical_text(text)),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// How often the cached statement was run before.
    fn earlier(connection: &Connection, text: &str) -> i32 {
        let mut statement = prepared(connection, text).expect("prepared");
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
