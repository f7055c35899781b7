//! Cursors of a snapshot. They give so many rows at a time; where these are more bytes than are held at once, the rest of them is let go,
//! and the cursor is opened again behind the last row that was kept.

use futures_util::TryStreamExt;
use query::sql::{Level, Sql};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::assemble::{After, Keys, Portion};
use crate::run::BatchSize;

use super::rows::collected;
use super::{Connection, bind};

/// A snapshot that only reads. To be opened again a cursor has to meet the same rows in the same order, where nothing sorts them too, so that
/// it must not begin where another reader of the table happens to be. How long it may be idle while a batch is read by the client is our own
/// affair: a batch may be of any size.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL synchronize_seqscans = off; \
                                   SET LOCAL idle_in_transaction_session_timeout = 0";

/// A cursor by how deep the rows that it reads are, and how many of them were read. There is never more than one of a depth.
#[derive(Debug)]
pub(crate) struct Cursor {
    depth: u32,
    read: usize,
}

impl Cursor {
    /// Opens the cursor of a root's statement.
    pub(super) async fn root(connection: &mut Connection, sql: &Sql) -> Result<Self, tokio_postgres::Error> {
        let cursor = Cursor { depth: 0, read: 0 };
        cursor.declare(connection, sql, None).await?;
        Ok(cursor)
    }

    /// Opens a cursor for what is related to one row.
    pub(super) async fn below(connection: &mut Connection, depth: u32, sql: &Sql, keys: &Keys) -> Result<Self, tokio_postgres::Error> {
        let cursor = Cursor { depth, read: 0 };
        cursor.declare(connection, sql, Some(keys)).await?;
        Ok(cursor)
    }

    async fn declare(&self, connection: &mut Connection, sql: &Sql, keys: Option<&Keys>) -> Result<(), tokio_postgres::Error> {
        let text = format!("DECLARE batch_{} NO SCROLL CURSOR FOR {}", self.depth, sql.text());
        let params = sql.params().iter().map(|param| (bind::Bound { param, keys }, bind::kind(param)));
        connection.client.query_typed_raw(&text, params).await?.try_collect::<Vec<Row>>().await.map(drop)
    }

    /// The next rows, with the keys that the levels below are looked up by.
    pub(super) async fn next(
        &mut self,
        connection: &mut Connection,
        level: &Level,
        keys: Option<&Keys>,
        size: &BatchSize,
    ) -> Result<Portion, tokio_postgres::Error> {
        let none: [(&str, Type); 0] = [];
        let text = format!("FETCH {} FROM batch_{}", size.rows(), self.depth);
        let stream = Box::pin(connection.client.query_typed_raw(&text, none)).await?;
        let mut portion = collected(level, stream, size).await?;
        self.read += portion.batch.len();
        match portion.after {
            After::LetGo => self.open_again(connection, &level.sql, keys).await?,
            After::Nothing if portion.batch.len() == size.rows() => portion.after = After::Perhaps,
            After::Nothing | After::Perhaps => {}
        }
        Ok(portion)
    }

    async fn open_again(&self, connection: &mut Connection, sql: &Sql, keys: Option<&Keys>) -> Result<(), tokio_postgres::Error> {
        self.close(connection).await?;
        self.declare(connection, sql, keys).await?;
        connection.client.batch_execute(&format!("MOVE FORWARD {} IN batch_{}", self.read, self.depth)).await
    }

    pub(super) async fn close(&self, connection: &mut Connection) -> Result<(), tokio_postgres::Error> {
        connection.client.batch_execute(&format!("CLOSE batch_{}", self.depth)).await
    }
}
