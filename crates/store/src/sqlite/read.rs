//! Runs statements on SQLite: a page at once, or a snapshot in batches, children on the same connection.

use std::rc::Rc;

use query::json;
use query::sql::{ChildLevel, Kind, Level, Query, Source, Sql};
use query::value::{self, Value};
use rusqlite::types::{ToSqlOutput, Value as Cell, ValueRef};
use rusqlite::{Connection, Row, Statement, ToSql};
use tokio::runtime::Handle;

use crate::Error;
use crate::assemble::{Batch, Keys};
use crate::run::{BatchSize, Need, Sink, below, need_total};

use super::prepared::prepared;
use super::{Brake, Sqlite, encode, functions};

/// The rows of a page with everything loaded for them, and the total.
pub(crate) async fn page(sqlite: &Sqlite, query: Query) -> Result<(Batch, i64), Error> {
    sqlite
        .work(move |connection, _| {
            // One snapshot for the page, its relations and its total.
            let transaction = connection.unchecked_transaction()?;
            let mut statement = prepared(connection, &query.root.sql)?;
            bind(&mut statement, &query.root.sql, None)?;
            let mut rows = statement.raw_query();
            let mut batch = Batch::roomy(0);
            let mut keys = key_sets(&query.root);
            while let Some(row) = rows.next()? {
                add(&mut batch, &mut keys, &query.root, row);
            }
            batch.pending = keys;
            load(connection, &query.root, &mut batch)?;
            let total = total(connection, &query, batch.len())?;
            transaction.finish()?;
            Ok((batch, total))
        })
        .await
}

fn total(connection: &Connection, query: &Query, count: usize) -> Result<i64, Error> {
    match need_total(query, count) {
        Need::Known(total) => Ok(total),
        Need::Ask(sql) => {
            let mut statement = prepared(connection, sql)?;
            bind(&mut statement, sql, None)?;
            let mut rows = statement.raw_query();
            Ok(rows.next()?.map_or(Ok(0), |row| row.get(0))?)
        }
    }
}

/// Hands all rows to the sink, batch by batch, out of one snapshot.
pub(crate) async fn stream(sqlite: &Sqlite, query: Query, sink: Sink) -> Result<(), Error> {
    let timeout = sqlite.timeout;
    let runtime = Handle::current();
    let reader = sink.alarm();
    let work = sqlite.work(move |connection, brake| {
        let mut pump = Pump { connection, brake, sink, runtime, timeout };
        let transaction = connection.unchecked_transaction()?;
        pump.rows(&query)?;
        let total = total(connection, &query, pump.sink.count())?;
        transaction.finish()?;
        pump.runtime.block_on(pump.sink.finish(total))
    });
    // Dropping the work pulls its brake, wherever the statement is.
    tokio::select! {
        outcome = work => outcome,
        () = reader.gone() => Err(Error::Gone),
    }
}

/// Reads on a blocking thread and hands on to an asynchronous reader.
struct Pump<'c> {
    connection: &'c Connection,
    brake: &'c Brake,
    sink: Sink,
    runtime: Handle,
    timeout: std::time::Duration,
}

impl Pump<'_> {
    fn rows(&mut self, query: &Query) -> Result<(), Error> {
        let level = &query.root;
        let mut statement = prepared(self.connection, &level.sql)?;
        bind(&mut statement, &level.sql, None)?;
        let mut rows = statement.raw_query();
        let mut size = BatchSize::first();
        loop {
            let mut batch = Batch::default();
            let mut keys = key_sets(level);
            while batch.len() < size.rows() {
                let Some(row) = rows.next()? else { break };
                add(&mut batch, &mut keys, level, row);
            }
            let wanted = size.rows();
            batch.pending = keys;
            load(self.connection, level, &mut batch)?;
            size.learn(batch.len(), batch.size());
            self.runtime.block_on(self.sink.rows(&batch))?;
            // The reader's time is not the statement's.
            self.brake.renew(self.timeout);
            if batch.len() < wanted {
                return Ok(());
            }
            if self.sink.is_gone() {
                return Err(Error::Gone);
            }
            self.runtime.block_on(self.sink.flush())?;
            self.brake.renew(self.timeout);
        }
    }
}

/// The database's own plan of each level. SQLite plans without running, so no keys are needed.
pub(crate) async fn analyze(sqlite: &Sqlite, root: Level) -> Result<Vec<(String, Vec<String>)>, Error> {
    sqlite
        .work(move |connection, _| {
            let mut plans = Vec::new();
            explain(connection, "", &root, &mut plans)?;
            Ok(plans)
        })
        .await
}

fn explain(connection: &Connection, path: &str, level: &Level, plans: &mut Vec<(String, Vec<String>)>) -> Result<(), Error> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", level.sql.text))?;
    let lines =
        statement.query_map(rusqlite::params_from_iter(level.sql.params.iter().map(|_| rusqlite::types::Null)), |row| row.get(3))?;
    plans.push((path.to_owned(), lines.collect::<Result<_, _>>()?));
    for child in &level.children {
        explain(connection, &below(path, &child.key), &child.level, plans)?;
    }
    Ok(())
}

fn key_sets(level: &Level) -> Vec<Keys> {
    level.children.iter().map(|child| Keys::new(child.parent_columns.len())).collect()
}

fn add(batch: &mut Batch, keys: &mut [Keys], level: &Level, row: &Row<'_>) {
    encode::row(batch.buffer(), &level.outputs, row);
    batch.end_row();
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

/// A key's value as JSON, which is how the level below reads it.
fn key_part(cell: ValueRef<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(24);
    match cell {
        ValueRef::Integer(number) => crate::encode::integer(&mut out, number),
        ValueRef::Real(number) => crate::encode::float(&mut out, number),
        ValueRef::Text(bytes) => json::write_text(&mut out, std::str::from_utf8(bytes).ok()?),
        ValueRef::Null | ValueRef::Blob(_) => return None,
    }
    Some(out)
}

fn load(connection: &Connection, level: &Level, batch: &mut Batch) -> Result<(), Error> {
    let pending = std::mem::take(&mut batch.pending);
    for (keys, child) in pending.into_iter().zip(&level.children) {
        let mut owners = Vec::new();
        let mut rows = Batch::default();
        if keys.len() > 0 {
            (owners, rows) = related(connection, child, &keys)?;
            load(connection, &child.level, &mut rows)?;
        }
        batch.attach((child.key.clone(), child.many), keys, &owners, rows);
    }
    Ok(())
}

fn related(connection: &Connection, child: &ChildLevel, keys: &Keys) -> Result<(Vec<u32>, Batch), Error> {
    let mut statement = prepared(connection, &child.level.sql)?;
    bind(&mut statement, &child.level.sql, Some((keys, child.parent_columns.len())))?;
    let mut rows = statement.raw_query();
    let mut owners = Vec::with_capacity(2 * keys.len());
    let mut batch = Batch::roomy(2 * keys.len());
    let mut sets = key_sets(&child.level);
    while let Some(row) = rows.next()? {
        owners.push(row.get::<_, u32>(0)?);
        add(&mut batch, &mut sets, &child.level, row);
    }
    batch.pending = sets;
    Ok((owners, batch))
}

fn bind(statement: &mut Statement<'_>, sql: &Sql, keys: Option<(&Keys, usize)>) -> Result<(), Error> {
    for (index, param) in sql.params.iter().enumerate() {
        match (&param.source, keys) {
            (Source::Value(value), _) => statement.raw_bind_parameter(index + 1, &Bound { value, kind: param.kind })?,
            (Source::KeysAsJson, Some((keys, width))) => statement.raw_bind_parameter(index + 1, keys_as_json(keys, width))?,
            _ => return Err(Error::Unexpected("a level's keys are missing".to_owned())),
        }
    }
    Ok(())
}

/// `[k, …]`, or `[[a, b], …]` for keys of several parts.
fn keys_as_json(keys: &Keys, width: usize) -> String {
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

struct Bound<'v> {
    value: &'v Value,
    kind: Kind,
}

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.value {
            Value::List(values) => {
                let cells: Vec<Cell> = values.iter().map(cell).collect();
                ToSqlOutput::from_rc(Rc::new(cells), c"rarray")
            }
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Value::Json(text) if self.kind == Kind::Jsonb => functions::canonical_text(text),
            value => ToSqlOutput::Owned(cell(value)),
        })
    }
}

/// A value as SQLite keeps it.
fn cell(value: &Value) -> Cell {
    match value {
        Value::Null | Value::List(_) => Cell::Null,
        Value::Bool(value) => Cell::Integer(i64::from(*value)),
        Value::Int(number) => Cell::Integer(*number),
        Value::Float(number) => Cell::Real(*number),
        Value::Decimal(text) | Value::Text(text) => Cell::Text(text.clone()),
        Value::Uuid(uuid) => Cell::Text(value::uuid_text(uuid).into()),
        Value::Date(days) => Cell::Text(value::date_text(i64::from(*days)).unwrap_or_default().into()),
        Value::Time(micros) => Cell::Text(value::time_text(*micros).into()),
        Value::Timestamp(micros) => Cell::Text(value::timestamp_fixed_text(*micros).into()),
        Value::Json(text) => match functions::canonical_text(text) {
            ToSqlOutput::Owned(cell) => cell,
            _ => Cell::Null,
        },
    }
}
