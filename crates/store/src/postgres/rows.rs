//! Starts statements and collects their rows.

use std::pin::{Pin, pin};

use futures_util::{StreamExt, TryStreamExt};
use query::sql::{ChildLevel, Level, Owner, Sql};
use tokio_postgres::{Row, RowStream};

use crate::Error;
use crate::assemble::{After, Batch, Gathered, Gathering, Keys, Portion};
use crate::run::{BatchSize, KeyedRows, RunningStatement, StatementPart, is_cached};
use crate::settings::Prepare;

use super::row_encoder::{Encoder, column, position};
use super::{Connection, Lease, LeaseState, Postgres, bind, first_error, is_stale};

pub(super) async fn open(connection: &mut Connection, sql: &Sql, keys: Option<&Keys>) -> Result<RowStream, tokio_postgres::Error> {
    if connection.prepare == Prepare::Off || !is_cached(sql.text()) {
        return Box::pin(connection.client.query_typed_raw(sql.text(), bind::typed(sql, keys))).await;
    }
    let statement = connection.statement(sql).await?;
    match connection.client.query_raw(&statement, bind::params(sql, keys)).await {
        // A table changed under a prepared statement: prepare it again.
        Err(error) if is_stale(&error) => Box::pin(open_again(connection, sql, keys)).await.map_err(|again| first_error(error, again)),
        other => other,
    }
}

async fn open_again(connection: &mut Connection, sql: &Sql, keys: Option<&Keys>) -> Result<RowStream, tokio_postgres::Error> {
    connection.forget(sql.text());
    let statement = connection.statement(sql).await?;
    connection.client.query_raw(&statement, bind::params(sql, keys)).await
}

/// All rows of a running statement, up to a number of bytes, with the keys of the levels below.
pub(super) async fn collect(level: &Level, stream: RowStream, size: &BatchSize) -> Result<Portion, tokio_postgres::Error> {
    let mut stream = pin!(stream);
    let mut batch = Batch::with_capacity(0);
    let mut keys = Keys::of(level);
    let mut after = After::Nothing;
    let mut encoder = Encoder::new(&level.outputs);
    while let Some(row) = stream.next().await {
        let row = row?;
        if size.is_heavy(&batch) {
            after = After::Dropped;
            break;
        }
        encoder.row(batch.buffer(), &row);
        batch.end_row();
        if let Some(end) = level.page_end.as_ref().filter(|end| size.ends_page(&batch, end)) {
            batch.note_position(position(end, &row));
        }
        add_keys(&mut keys, level, &row);
    }
    batch.pending = keys;
    Ok(Portion { batch, after })
}

pub(super) async fn take_rows(rows: &mut Pin<Box<RowStream>>, level: &Level, size: &BatchSize) -> Result<Portion, tokio_postgres::Error> {
    let mut batch = Batch::with_capacity(0);
    let mut encoder = Encoder::new(&level.outputs);
    while !size.is_full(&batch) {
        let Some(row) = rows.next().await else { return Ok(Portion { batch, after: After::Nothing }) };
        let row = row?;
        encoder.row(batch.buffer(), &row);
        batch.end_row();
        if let Some(end) = level.page_end.as_ref().filter(|end| size.ends_page(&batch, end)) {
            batch.note_position(position(end, &row));
        }
    }
    Ok(Portion { batch, after: After::Perhaps })
}

pub(super) async fn related(lease: &mut Lease, postgres: &Postgres, rows: KeyedRows<'_>, left: &mut usize) -> Result<Gathered, Error> {
    let KeyedRows { child, keys, part } = rows;
    let running = postgres.context.begin(&child.level.sql, part);
    let max = postgres.context.rows_left(part);
    let read = async |connection: &mut Connection| {
        let stream = open(connection, &child.level.sql, Some(keys)).await?;
        gather(stream, child, keys, left, max).await
    };
    let related = lease.run(&child.level.sql, postgres.timeout, read).await?;
    gathered(related, lease, postgres, running)
}

/// What the rows of a running statement are, up to a number of rows.
pub(super) async fn gather(
    stream: RowStream,
    child: &ChildLevel,
    keys: &Keys,
    left: &mut usize,
    max: usize,
) -> Result<Related, tokio_postgres::Error> {
    let mut stream = pin!(stream);
    let mut count = 0;
    let mut gathering = Gathering::new(keys.len(), left);
    let mut key_sets = Keys::of(&child.level);
    let mut encoder = Encoder::new(&child.level.outputs);
    while let Some(row) = stream.next().await {
        let row = row?;
        count += 1;
        if count > max {
            return Ok(Related::TooMany);
        }
        let Some(owner) = owner(&row, child.owner, keys)? else { return Ok(Related::Changed) };
        encoder.row(gathering.buffer(), &row);
        if gathering.end_row(owner) {
            add_keys(&mut key_sets, &child.level, &row);
        }
    }
    Ok(Related::Gathered(count, gathering.end(key_sets)))
}

pub(super) fn gathered(related: Related, lease: &mut Lease, postgres: &Postgres, running: RunningStatement<'_>) -> Result<Gathered, Error> {
    match related {
        Related::Gathered(count, gathered) => {
            running.end(count);
            Ok(gathered)
        }
        Related::Changed => Err(Error::Unavailable(
            "a related row has a key that was not asked for: its column has another type now; start again".to_owned(),
        )),
        Related::TooMany => {
            // The statement still sends rows: cancel it.
            lease.enter(LeaseState::Running);
            Err(postgres.context.too_many_rows())
        }
    }
}

pub(super) enum Related {
    /// The rows and their number.
    Gathered(usize, Gathered),
    /// A column has become one of another type.
    Changed,
    /// More rows than the answer may have.
    TooMany,
}

/// The number of the parent's key that a row belongs to; none if the column has become one of another type, whose values look different.
fn owner(row: &Row, owner: Owner, keys: &Keys) -> Result<Option<u32>, tokio_postgres::Error> {
    match owner {
        Owner::Number => Ok(Some((row.try_get::<_, i64>(0)? - 1) as u32)),
        Owner::Key(index) => Ok(column(row, index).and_then(|key| keys.find(key))),
    }
}

pub(super) async fn total(postgres: &Postgres, lease: &mut Lease, sql: &Sql) -> Result<i64, Error> {
    let running = postgres.context.begin(sql, StatementPart::Total);
    let total = lease.run(sql, postgres.timeout, async |connection| count(open(connection, sql, None).await?).await).await?;
    running.end(1);
    Ok(total)
}

pub(super) async fn count(stream: RowStream) -> Result<i64, tokio_postgres::Error> {
    let row = pin!(stream).try_next().await?;
    Ok(row.and_then(|row| row.try_get::<_, i64>(0).ok()).unwrap_or(0))
}

fn add_keys(keys: &mut [Keys], level: &Level, row: &Row) {
    for (keys, child) in keys.iter_mut().zip(&level.children) {
        keys.add(child.parent_columns.iter().map(|index| column(row, *index)));
    }
}
