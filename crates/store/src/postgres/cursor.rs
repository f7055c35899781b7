//! Cursors of a snapshot. If the rows of a fetch exceed the memory, the cursor is opened again behind the last row that was kept.

use futures_util::TryStreamExt;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::assemble::{After, Portion};
use crate::run::{BatchSize, RowSet};

use super::rows::collect;
use super::{Connection, bind};

/// A reopened cursor must meet the same rows in the same order, so scans are not synchronized. The reader may take any time.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL synchronize_seqscans = off; \
                                   SET LOCAL idle_in_transaction_session_timeout = 0";

/// An open cursor. One of each depth is open at most, and the depth is its name.
#[derive(Debug)]
pub(super) struct NamedCursor {
    depth: u32,
    read: usize,
}

impl NamedCursor {
    pub(super) async fn open(connection: &mut Connection, rows: RowSet<'_>) -> Result<Self, tokio_postgres::Error> {
        let cursor = NamedCursor { depth: rows.depth, read: 0 };
        cursor.declare(connection, rows).await?;
        Ok(cursor)
    }

    async fn declare(&self, connection: &mut Connection, rows: RowSet<'_>) -> Result<(), tokio_postgres::Error> {
        let text = format!("DECLARE batch_{} NO SCROLL CURSOR FOR {}", self.depth, rows.level.sql.text());
        let params = bind::typed(&rows.level.sql, rows.keys);
        connection.client.query_typed_raw(&text, params).await?.try_collect::<Vec<Row>>().await.map(drop)
    }

    pub(super) async fn fetch(
        &mut self,
        connection: &mut Connection,
        rows: RowSet<'_>,
        size: &BatchSize,
    ) -> Result<Portion, tokio_postgres::Error> {
        let none: [(&str, Type); 0] = [];
        let text = format!("FETCH {} FROM batch_{}", size.rows, self.depth);
        let stream = Box::pin(connection.client.query_typed_raw(&text, none)).await?;
        let mut portion = collect(rows.level, stream, size).await?;
        self.read += portion.batch.len();
        match portion.after {
            After::Dropped => self.reopen(connection, rows).await?,
            After::Nothing if portion.batch.len() == size.rows => portion.after = After::Perhaps,
            After::Nothing | After::Perhaps => {}
        }
        Ok(portion)
    }

    async fn reopen(&self, connection: &mut Connection, rows: RowSet<'_>) -> Result<(), tokio_postgres::Error> {
        self.close(connection).await?;
        self.declare(connection, rows).await?;
        connection.client.batch_execute(&format!("MOVE FORWARD {} IN batch_{}", self.read, self.depth)).await
    }

    pub(super) async fn close(&self, connection: &mut Connection) -> Result<(), tokio_postgres::Error> {
        connection.client.batch_execute(&format!("CLOSE batch_{}", self.depth)).await
    }
}
