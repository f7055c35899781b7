//! A page of known size, with its total.
//!
//! A page that is not full tells the total by itself, so the total is asked after the page, in a trip of its own. Where the page of the
//! same statement was full the last time, both are sent together: most lists that are paged through are longer than a page.

use futures_util::future::try_join;
use query::sql::{Level, Query, Sql, Total};

use crate::Error;
use crate::assemble::{After, Batch, Portion};
use crate::run::{BatchSize, Need, is_kept, need_total};

use super::load::load;
use super::rows::{collected, counted, is_stale, open, total};
use super::{Connection, Lease, Postgres, State, bind};

/// The rows of a page with everything loaded for them, and the total where it is wanted; nothing where that is more than is held at once.
pub(crate) async fn page(postgres: &Postgres, query: &Query) -> Result<Option<(Batch, i64)>, Error> {
    let mut retried = false;
    loop {
        let mut lease = postgres.lease().await?;
        match root(postgres, &mut lease, query).await {
            Ok((Portion { after: After::LetGo, .. }, _)) => {
                // What is left of its rows need not be sent.
                lease.enter(State::Running);
                return Ok(None);
            }
            Ok((Portion { mut batch, .. }, asked)) => {
                let mut left = postgres.memory;
                load(&mut lease, postgres, &query.root, &mut batch, &mut left).await?;
                if batch.is_heavy() {
                    return Ok(None);
                }
                let total = match (need_total(query, batch.len()), asked) {
                    (Need::Known(total), _) | (Need::Ask(_), Some(total)) => total,
                    (Need::Ask(sql), None) => total(postgres, &mut lease, sql).await?,
                };
                return Ok(Some((batch, total)));
            }
            // The pool may hold connections that ended with the server they came from: one more try with another.
            Err(Error::Unavailable(_)) if !retried => retried = true,
            Err(error) => return Err(error),
        }
    }
}

/// The rows themselves, and the total if it was asked along with them.
async fn root(postgres: &Postgres, lease: &mut Lease, query: &Query) -> Result<(Portion, Option<i64>), Error> {
    let (level, whole) = (&query.root, BatchSize::whole(postgres.memory));
    if let Total::Count(count) = &query.total {
        let (portion, asked) = if lease.was_full(&level.sql) && is_kept(count.text()) {
            // Two statements, each with the time that one has.
            Box::pin(lease.step(postgres.timeout * 2, async |connection| together(connection, level, count, &whole).await)).await?
        } else {
            (alone(postgres, lease, level, &whole).await?, None)
        };
        lease.note_full(&level.sql, matches!(need_total(query, portion.batch.len()), Need::Ask(_)));
        return Ok((portion, asked));
    }
    Ok((alone(postgres, lease, level, &whole).await?, None))
}

async fn alone(postgres: &Postgres, lease: &mut Lease, level: &Level, whole: &BatchSize) -> Result<Portion, Error> {
    lease.step(postgres.timeout, async |connection| collected(level, open(connection, &level.sql, None).await?, whole).await).await
}

/// Page and total in one trip.
async fn together(
    connection: &mut Connection,
    level: &Level,
    count: &Sql,
    whole: &BatchSize,
) -> Result<(Portion, Option<i64>), tokio_postgres::Error> {
    let statements = (connection.statement(&level.sql).await?, connection.statement(count).await?);
    let client = &connection.client;
    let page = async { collected(level, client.query_raw(&statements.0, bound(&level.sql)).await?, whole).await };
    let total = async { counted(client.query_raw(&statements.1, bound(count)).await?).await };
    match try_join(page, total).await {
        Ok((portion, total)) => Ok((portion, Some(total))),
        // A table changed under the prepared statements: prepare them anew, and the page alone first.
        Err(error) if is_stale(&error) => {
            connection.forget(count.text());
            Ok((collected(level, open(connection, &level.sql, None).await?, whole).await?, None))
        }
        Err(error) => Err(error),
    }
}

fn bound(sql: &Sql) -> impl ExactSizeIterator<Item = bind::Bound<'_>> {
    sql.params().iter().map(|param| bind::Bound { param, keys: None })
}
