//! Reads a page of known size, with its total.
//!
//! A page that is not full implies the total, so the total is asked after the page, in a round trip of its own. If the last page of the same
//! statement was full, both are sent together.

use futures_util::future::try_join;
use query::sql::{Level, Query, Sql, Total};

use crate::Error;
use crate::assemble::{After, Batch, Portion};
use crate::run::{BatchSize, PageTotal, StatementPart, is_cached, page_total};

use super::lease::LastPage;
use super::read_retries::ReadRetries;
use super::rows::{collect, count, open, total};
use super::stream::load;
use super::{Connection, Lease, LeaseState, Postgres, bind, is_stale};

/// The rows of a page with their relations, and the total; none if they do not fit into memory.
pub(crate) async fn page(postgres: &Postgres, query: &Query) -> Result<Option<(Batch, i64)>, Error> {
    let mut retries = ReadRetries::begin(postgres);
    loop {
        let mut lease = retries.lease(postgres).await?;
        match whole(postgres, &mut lease, query).await {
            Err(error) if retries.may_retry(&error, &lease) => postgres.context.forget_related_rows(),
            result => return result,
        }
    }
}

async fn whole(postgres: &Postgres, lease: &mut Lease, query: &Query) -> Result<Option<(Batch, i64)>, Error> {
    let (Portion { mut batch, after }, asked) = root(postgres, lease, query).await?;
    if after == After::Dropped {
        // The statement still sends rows: cancel it.
        lease.enter(LeaseState::Running);
        return Ok(None);
    }
    batch.end_page(&query.root, 0);
    let mut left = postgres.memory;
    load(postgres, lease, &query.root, &mut batch, &mut left).await?;
    if batch.is_heavy() {
        return Ok(None);
    }
    let total = match (page_total(query, batch.len()), asked) {
        (PageTotal::Known(total), _) | (PageTotal::Ask(_), Some(total)) => total,
        (PageTotal::Ask(sql), None) => total(postgres, lease, sql).await?,
    };
    Ok(Some((batch, total)))
}

async fn root(postgres: &Postgres, lease: &mut Lease, query: &Query) -> Result<(Portion, Option<i64>), Error> {
    let (level, whole) = (&query.root, BatchSize::whole(postgres.memory));
    let running = postgres.context.begin(&level.sql, StatementPart::Rows);
    if let Total::Count(total) = &query.total {
        let (portion, asked) = if lease.last_page_was_full(&level.sql) && is_cached(total.text()) {
            let counting = postgres.context.begin(total, StatementPart::Total);
            let both = async |connection: &mut Connection| together(connection, level, total, &whole).await;
            let both = Box::pin(lease.run(&level.sql, postgres.timeout, both)).await?;
            counting.end(1);
            both
        } else {
            (alone(postgres, lease, level, &whole).await?, None)
        };
        let last_page =
            if matches!(page_total(query, portion.batch.len()), PageTotal::Ask(_)) { LastPage::Full } else { LastPage::Partial };
        lease.note_last_page(&level.sql, last_page);
        running.end(portion.batch.len());
        return Ok((portion, asked));
    }
    let portion = alone(postgres, lease, level, &whole).await?;
    running.end(portion.batch.len());
    Ok((portion, None))
}

async fn alone(postgres: &Postgres, lease: &mut Lease, level: &Level, whole: &BatchSize) -> Result<Portion, Error> {
    let read = async |connection: &mut Connection| collect(level, open(connection, &level.sql, None).await?, whole).await;
    lease.run(&level.sql, postgres.timeout, read).await
}

async fn together(
    connection: &mut Connection,
    level: &Level,
    total: &Sql,
    whole: &BatchSize,
) -> Result<(Portion, Option<i64>), tokio_postgres::Error> {
    let statements = (connection.statement(&level.sql).await?, connection.statement(total).await?);
    let client = &connection.client;
    let page = async { collect(level, client.query_raw(&statements.0, bind::params(&level.sql, None)).await?, whole).await };
    let count = async { count(client.query_raw(&statements.1, bind::params(total, None)).await?).await };
    match try_join(page, count).await {
        Ok((portion, total)) => Ok((portion, Some(total))),
        // A table changed under the prepared statements: read the page alone, which prepares it again.
        Err(error) if is_stale(&error) => {
            connection.forget(total.text());
            Ok((collect(level, open(connection, &level.sql, None).await?, whole).await?, None))
        }
        Err(error) => Err(error),
    }
}
