//! Reads a page of known size with its relations and its total, in one snapshot.

use query::sql::Query;
use tokio::runtime::Handle;

use crate::Error;
use crate::assemble::{After, Batch, Portion};
use crate::run::{BatchSize, load};

use super::Sqlite;
use super::prepared::prepared;
use super::read::{bind, take_rows, total};
use super::stream::SqliteSnapshot;

/// The rows of a page with their relations, and the total; none if they do not fit into memory.
pub(crate) async fn page(sqlite: &Sqlite, query: Query) -> Result<(Query, Option<(Batch, i64)>), Error> {
    let (mut left, timeout, runtime) = (sqlite.memory, sqlite.timeout, Handle::current());
    sqlite
        .run(move |connection, interrupt| {
            // One snapshot for the page, its relations and its total.
            let transaction = connection.unchecked_transaction()?;
            let mut statement = prepared(connection, &query.root.sql)?;
            bind(&mut statement, &query.root.sql, None)?;
            let Portion { mut batch, after } = take_rows(&mut statement.raw_query(), &query.root, &BatchSize::whole(left))?;
            drop(statement);
            if after == After::Nothing {
                let mut snapshot = SqliteSnapshot { connection, interrupt, timeout };
                runtime.block_on(load(&mut snapshot, &query.root, &mut batch, &mut left))?;
            }
            if after != After::Nothing || batch.is_heavy() {
                transaction.finish()?;
                return Ok((query, None));
            }
            let total = total(connection, &query, batch.len())?;
            transaction.finish()?;
            Ok((query, Some((batch, total))))
        })
        .await
}
