//! Batches of a snapshot on their way to the reader. Where what is loaded for them is more than is held at once, they are cut into parts,
//! down to a single row whose relations are read in portions, each of them a batch again.

use std::pin::Pin;

use query::sql::{ChildLevel, Level, Query};

use crate::Error;
use crate::assemble::{Batch, Keys};
use crate::run::{BatchSize, Sink};

use super::read::{Cursor, Source, declare, load, rows};
use super::{Lease, Postgres};

/// Reads from a snapshot and hands on to a reader.
pub(super) struct Pump<'a> {
    pub(super) postgres: &'a Postgres,
    pub(super) lease: &'a mut Lease,
    pub(super) sink: &'a mut Sink,
}

impl Pump<'_> {
    /// All that is left of the root's cursor, after the rows that were read already.
    pub(super) async fn all(&mut self, query: &Query, first: Batch, mut size: BatchSize) -> Result<(), Error> {
        let level = &query.root;
        let count = first.len();
        let written = self.rows(level, first, Cursor::ROOT).await?;
        size.learn(count, written);
        loop {
            let wanted = size.rows();
            let fetch = self
                .lease
                .step(self.postgres.timeout, async |connection| rows(connection, level, Source::Fetch(Cursor::ROOT, wanted)).await);
            let batch = self.sink.while_read(fetch).await?;
            let count = batch.len();
            let written = self.rows(level, batch, Cursor::ROOT).await?;
            if count < wanted {
                return Ok(());
            }
            size.learn(count, written);
            self.sink.flush().await?;
        }
    }

    /// Writes rows that came from a cursor with everything below them; says how many bytes that were.
    fn rows<'s>(
        &'s mut self,
        level: &'s Level,
        mut batch: Batch,
        cursor: Cursor,
    ) -> Pin<Box<dyn Future<Output = Result<usize, Error>> + Send + 's>> {
        Box::pin(async move {
            if !batch.is_heavy() {
                let mut left = self.postgres.memory;
                self.sink.while_read(load(self.lease, self.postgres, (level, &mut batch), &mut left)).await?;
            }
            if !batch.is_heavy() {
                self.sink.rows(&batch).await?;
                return Ok(batch.size());
            }
            if batch.len() == 1 {
                return self.row(level, &batch, cursor).await;
            }
            let mut written = 0;
            for part in batch.parts(self.postgres.memory / 2) {
                written += self.rows(level, batch.part(part, self.postgres.memory), cursor).await?;
            }
            Ok(written)
        })
    }

    /// Writes a row whose relations are too much at once.
    async fn row(&mut self, level: &Level, batch: &Batch, cursor: Cursor) -> Result<usize, Error> {
        let mut written = batch.size();
        self.sink.open_row(batch.row(0));
        for (keys, child) in batch.pending.iter().zip(&level.children) {
            self.sink.open_relation(child);
            if keys.len() > 0 {
                written += self.relation(child, keys, cursor.below()).await?;
            }
            self.sink.close_relation(child);
        }
        self.sink.close_row();
        Ok(written)
    }

    /// Writes the rows of a relation of one row, portion by portion.
    async fn relation(&mut self, child: &ChildLevel, keys: &Keys, cursor: Cursor) -> Result<usize, Error> {
        let (level, timeout) = (&child.level, self.postgres.timeout);
        let open = self.lease.step(timeout, async |connection| declare(connection, cursor, (&level.sql, Some(keys))).await);
        self.sink.while_read(open).await?;
        let (mut size, mut written) = (BatchSize::first(), 0);
        loop {
            let wanted = if child.many { size.rows() } else { 1 };
            let fetch = self.lease.step(timeout, async |connection| rows(connection, level, Source::Fetch(cursor, wanted)).await);
            let portion = self.sink.while_read(fetch).await?;
            let count = portion.len();
            let bytes = self.rows(level, portion, cursor).await?;
            written += bytes;
            if count < wanted || !child.many {
                break;
            }
            size.learn(count, bytes);
            self.sink.spill().await?;
        }
        let close = cursor.close();
        self.lease.step(timeout, async |connection| connection.client.batch_execute(&close).await).await?;
        Ok(written)
    }
}
