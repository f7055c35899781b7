//! Runs statements on PostgreSQL level by level, and answers of any length in batches.

use std::pin::Pin;

use futures_util::TryStreamExt;
use query::sql::{Level, Query, Sql, Total};
use tokio_postgres::{Row, RowStream};

use crate::Error;
use crate::assemble::{After, Batch, Keys, Portion};
use crate::run::{BatchSize, Need, PlanDetail, Sink, below, need_total};

use super::cursor::{Cursor, SNAPSHOT};
use super::load::load;
use super::pour::Pump;
use super::rows::{collected, open, taken, total};
use super::{Connection, FAILED, Lease, Postgres, STALE, State, bind, told_plan};

/// How many parents' keys a level is explained with.
const EXPLAINED_ROWS: usize = 256;

/// The database's own plan of each level, run for real.
pub(crate) async fn analyze(postgres: &Postgres, root: &Level, detail: PlanDetail) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut lease = postgres.lease().await?;
    let document = explained(&mut lease, postgres, &root.sql, None).await?;
    let mut plans = vec![(String::new(), told_plan::lines(&document, detail))];
    let mut levels = Vec::new();
    if !root.children.is_empty() {
        let batch = lease.step(postgres.timeout, async |connection| few(connection, root, None, postgres.memory).await).await?;
        levels.push((String::new(), root, batch.pending));
    }
    while let Some((path, level, pending)) = levels.pop() {
        for (keys, child) in pending.into_iter().zip(&level.children) {
            let path = below(&path, &child.key);
            let document = explained(&mut lease, postgres, &child.level.sql, Some(&keys)).await?;
            plans.push((path.clone(), told_plan::lines(&document, detail)));
            let batch =
                lease.step(postgres.timeout, async |connection| few(connection, &child.level, Some(&keys), postgres.memory).await).await?;
            levels.push((path, &child.level, batch.pending));
        }
    }
    Ok(plans)
}

/// The first rows of a level, whose keys the levels below are explained with.
async fn few(connection: &mut Connection, level: &Level, keys: Option<&Keys>, bytes: usize) -> Result<Batch, tokio_postgres::Error> {
    let first = level.sql.first(EXPLAINED_ROWS);
    Ok(collected(level, open(connection, &first, keys).await?, &BatchSize::whole(bytes)).await?.batch)
}

/// The plan of a statement as PostgreSQL tells it, in JSON.
async fn explained(lease: &mut Lease, postgres: &Postgres, sql: &Sql, keys: Option<&Keys>) -> Result<serde_json::Value, Error> {
    let text = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}", sql.text());
    lease
        .step(postgres.timeout, async |connection| {
            let params = sql.params().iter().map(|param| (bind::Bound { param, keys }, bind::kind(param)));
            let rows: Vec<Row> = connection.client.query_typed_raw(&text, params).await?.try_collect().await?;
            let document = rows.first().and_then(|row| row.try_get::<_, serde_json::Value>(0).ok());
            Ok(document.unwrap_or_default())
        })
        .await
}

/// What there is after the first batch.
pub(crate) enum Begun {
    /// Nothing: this is the total.
    Whole(i64),
    More(Box<Rest>),
}

/// What is still to be read.
pub(crate) enum Rest {
    /// The rows of a statement that has no relations to load. It is a snapshot of its own.
    Flowing(Lease, Pin<Box<RowStream>>, BatchSize),
    /// A cursor in a read-only snapshot, which the relations are loaded from too.
    Cursor(Lease, Cursor, BatchSize),
}

/// The first batch of an answer that may have any number of rows.
pub(crate) async fn start(postgres: &Postgres, query: &Query) -> Result<(Batch, Begun), Error> {
    match first(postgres, query, Statements::Kept).await {
        // A table changed under a prepared statement, and a failed transaction cannot prepare it anew: begin again.
        Err(Error::Refused(refusal)) if STALE.contains(&refusal.code()) || refusal.code() == FAILED => {
            Box::pin(first(postgres, query, Statements::Forgotten)).await
        }
        other => other,
    }
}

/// What becomes of a connection's prepared statements before a snapshot is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statements {
    Kept,
    Forgotten,
}

async fn first(postgres: &Postgres, query: &Query, statements: Statements) -> Result<(Batch, Begun), Error> {
    let level = &query.root;
    let mut size = BatchSize::first(postgres.memory);
    if level.children.is_empty() && !may_be_counted(query) {
        let (mut lease, mut rows) = opened(postgres, &level.sql).await?;
        let Portion { batch, after } = lease.step(postgres.timeout, async |_| taken(&mut rows, level, &size).await).await?;
        if after == After::Nothing {
            lease.enter(State::Idle);
            let total = total_of(postgres, &mut lease, query, batch.len()).await?;
            return Ok((batch, Begun::Whole(total)));
        }
        size.learn(batch.len(), batch.size(), after);
        return Ok((batch, Begun::More(Box::new(Rest::Flowing(lease, rows, size)))));
    }
    let (mut lease, mut cursor) = Box::pin(declared(postgres, &level.sql, statements)).await?;
    let fetch = lease.step(postgres.timeout, async |connection| cursor.next(connection, level, None, &size).await);
    let Portion { mut batch, after } = fetch.await?;
    let mut left = postgres.memory;
    load(&mut lease, postgres, level, &mut batch, &mut left).await?;
    if after == After::Nothing && !batch.is_heavy() {
        let total = closed(postgres, lease, query, batch.len()).await?;
        return Ok((batch, Begun::Whole(total)));
    }
    size.learn(batch.len(), batch.size(), after);
    Ok((batch, Begun::More(Box::new(Rest::Cursor(lease, cursor, size)))))
}

/// Whether the total may have to be asked, which is to see the same rows. Without limit and offset the rows tell it.
fn may_be_counted(query: &Query) -> bool {
    matches!(query.total, Total::Count(_)) && (query.limit.is_some() || query.offset > 0)
}

/// Hands the first batch and the rest to the sink, batch by batch. A reader that goes away ends it.
pub(crate) async fn proceed(postgres: &Postgres, query: &Query, batch: Batch, rest: Rest, mut sink: Sink) -> Result<(), Error> {
    let level = &query.root;
    match rest {
        Rest::Flowing(mut lease, mut rows, mut size) => {
            sink.rows(&batch).await?;
            drop(batch);
            loop {
                let taken = lease.step(postgres.timeout, async |_| taken(&mut rows, level, &size).await);
                let Portion { batch, after } = sink.while_read(taken).await?;
                // Waiting for the reader happens between batches, where no time limit runs.
                sink.rows(&batch).await?;
                if after == After::Nothing {
                    lease.enter(State::Idle);
                    break;
                }
                size.learn(batch.len(), batch.size(), after);
                sink.flush().await?;
            }
            let total = sink.while_read(total_of(postgres, &mut lease, query, sink.count())).await?;
            sink.finish(total).await
        }
        Rest::Cursor(mut lease, cursor, size) => {
            Pump { postgres, lease: &mut lease, sink: &mut sink }.all(query, batch, cursor, size).await?;
            let total = sink.while_read(closed(postgres, lease, query, sink.count())).await?;
            sink.finish(total).await
        }
    }
}

/// The total, and the end of the snapshot.
async fn closed(postgres: &Postgres, mut lease: Lease, query: &Query, count: usize) -> Result<i64, Error> {
    let total = total_of(postgres, &mut lease, query, count).await?;
    lease.step(postgres.timeout, async |connection| connection.client.batch_execute("COMMIT").await).await?;
    lease.enter(State::Idle);
    Ok(total)
}

async fn total_of(postgres: &Postgres, lease: &mut Lease, query: &Query, count: usize) -> Result<i64, Error> {
    match need_total(query, count) {
        Need::Known(total) => Ok(total),
        Need::Ask(sql) => total(postgres, lease, sql).await,
    }
}

/// A connection with a statement running on it.
async fn opened(postgres: &Postgres, sql: &Sql) -> Result<(Lease, Pin<Box<RowStream>>), Error> {
    let mut retried = false;
    loop {
        let mut lease = postgres.lease().await?;
        match lease.step(postgres.timeout, async |connection| open(connection, sql, None).await).await {
            Ok(rows) => {
                // The statement runs on, and is cancelled if nobody comes back to it.
                lease.enter(State::Running);
                return Ok((lease, Box::pin(rows)));
            }
            // The pool may hold connections that ended with the server they came from: one more try with another.
            Err(Error::Unavailable(_)) if !retried => retried = true,
            Err(error) => return Err(error),
        }
    }
}

/// A connection with a cursor open on the statement, in a snapshot of its own.
async fn declared(postgres: &Postgres, sql: &Sql, statements: Statements) -> Result<(Lease, Cursor), Error> {
    let mut retried = false;
    loop {
        let mut lease = postgres.lease().await?;
        lease.enter(State::InTransaction);
        let declare = lease.step(postgres.timeout, async |connection| {
            if statements == Statements::Forgotten {
                connection.statements.clear();
            }
            connection.client.batch_execute(SNAPSHOT).await?;
            Cursor::root(connection, sql).await
        });
        match declare.await {
            Ok(cursor) => return Ok((lease, cursor)),
            Err(Error::Unavailable(_)) if !retried => retried = true,
            Err(error) => return Err(error),
        }
    }
}
