//! Statements begun, and rows taken from those that run.

use std::pin::{Pin, pin};

use futures_util::{StreamExt, TryStreamExt};
use query::sql::{Level, Sql};
use tokio_postgres::{Row, RowStream};

use crate::Error;
use crate::assemble::{After, Batch, Keys, Portion};
use crate::run::{BatchSize, is_kept};
use crate::settings::Prepare;

use super::encode::{Encoder, column};
use super::{Connection, Lease, Postgres, STALE, bind};

/// Starts a statement, prepared or not.
pub(super) async fn open(connection: &mut Connection, sql: &Sql, keys: Option<&Keys>) -> Result<RowStream, tokio_postgres::Error> {
    if connection.prepare == Prepare::Off || !is_kept(sql.text()) {
        let params = sql.params().iter().map(|param| (bind::Bound { param, keys }, bind::kind(param)));
        return Box::pin(connection.client.query_typed_raw(sql.text(), params)).await;
    }
    let statement = connection.statement(sql).await?;
    let bound = || sql.params().iter().map(|param| bind::Bound { param, keys });
    match connection.client.query_raw(&statement, bound()).await {
        // A table changed under a prepared statement: prepare it anew.
        Err(error) if is_stale(&error) => {
            connection.forget(sql.text());
            let statement = connection.statement(sql).await?;
            Box::pin(connection.client.query_raw(&statement, bound())).await
        }
        other => other,
    }
}

pub(super) fn is_stale(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| STALE.contains(&code.code()))
}

/// The rows of a running statement, with the keys that the levels below are looked up by, as long as they fit.
pub(super) async fn collected(level: &Level, stream: RowStream, size: &BatchSize) -> Result<Portion, tokio_postgres::Error> {
    let mut stream = pin!(stream);
    let mut batch = Batch::roomy(0);
    let mut keys = Keys::of(level);
    let mut after = After::Nothing;
    let mut encoder = Encoder::new(&level.outputs);
    while let Some(row) = stream.next().await {
        let row = row?;
        if size.is_heavy(&batch) {
            after = After::LetGo;
            break;
        }
        encoder.row(batch.buffer(), &row);
        batch.end_row();
        collect_keys(&mut keys, level, &row);
    }
    batch.pending = keys;
    Ok(Portion { batch, after })
}

/// The next rows of a running statement.
pub(super) async fn taken(rows: &mut Pin<Box<RowStream>>, level: &Level, size: &BatchSize) -> Result<Portion, tokio_postgres::Error> {
    let mut batch = Batch::roomy(0);
    let mut encoder = Encoder::new(&level.outputs);
    while !size.is_full(&batch) {
        let Some(row) = rows.next().await else { return Ok(Portion { batch, after: After::Nothing }) };
        encoder.row(batch.buffer(), &row?);
        batch.end_row();
    }
    Ok(Portion { batch, after: After::Perhaps })
}

/// How many rows there are without limit and offset.
pub(super) async fn total(postgres: &Postgres, lease: &mut Lease, sql: &Sql) -> Result<i64, Error> {
    lease.step(postgres.timeout, async |connection| counted(open(connection, sql, None).await?).await).await
}

/// The one number that a statement for a total gives.
pub(super) async fn counted(stream: RowStream) -> Result<i64, tokio_postgres::Error> {
    let row = pin!(stream).try_next().await?;
    Ok(row.and_then(|row| row.try_get::<_, i64>(0).ok()).unwrap_or(0))
}

pub(super) fn collect_keys(keys: &mut [Keys], level: &Level, row: &Row) {
    for (keys, child) in keys.iter_mut().zip(&level.children) {
        keys.add(child.parent_columns.iter().map(|index| column(row, *index)));
    }
}
