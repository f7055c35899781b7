//! Batches of a snapshot on their way to the reader. Where what is loaded for them is more than is held at once, they are cut into parts,
//! down to a single row whose relations are read in portions, each of them a batch again.

use std::pin::Pin;

use query::sql::{ChildLevel, Level, Query};

use crate::Error;
use crate::assemble::{After, Batch, Keys, Portion};
use crate::run::{BatchSize, Sink};

use super::cursor::Cursor;
use super::load::load;
use super::{Lease, Postgres};

/// How deep the rows of a root are.
const ROOT: u32 = 0;

/// Reads from a snapshot and hands on to a reader.
pub(super) struct Pump<'a> {
    pub(super) postgres: &'a Postgres,
    pub(super) lease: &'a mut Lease,
    pub(super) sink: &'a mut Sink,
}

impl Pump<'_> {
    /// All that is left of the root's cursor, after the rows that were read already.
    pub(super) async fn all(&mut self, query: &Query, first: Batch, mut cursor: Cursor, mut size: BatchSize) -> Result<(), Error> {
        let level = &query.root;
        let count = first.len();
        let written = self.rows(level, first, ROOT).await?;
        size.learn(count, written, After::Perhaps);
        loop {
            let fetch = self.lease.step(self.postgres.timeout, async |connection| cursor.next(connection, level, None, &size).await);
            let Portion { batch, after } = self.sink.while_read(fetch).await?;
            let count = batch.len();
            let written = self.rows(level, batch, ROOT).await?;
            if after == After::Nothing {
                return Ok(());
            }
            size.learn(count, written, after);
            self.sink.flush().await?;
        }
    }

    /// Writes rows of some depth with everything below them; says how many bytes that were.
    fn rows<'s>(
        &'s mut self,
        level: &'s Level,
        mut batch: Batch,
        depth: u32,
    ) -> Pin<Box<dyn Future<Output = Result<usize, Error>> + Send + 's>> {
        Box::pin(async move {
            if !batch.is_heavy() {
                let mut left = self.postgres.memory;
                self.sink.while_read(load(self.lease, self.postgres, level, &mut batch, &mut left)).await?;
            }
            if !batch.is_heavy() {
                self.sink.rows(&batch).await?;
                return Ok(batch.size());
            }
            if batch.len() == 1 {
                return self.row(level, &batch, depth).await;
            }
            let mut written = 0;
            for part in batch.parts(self.postgres.memory / 2) {
                written += self.rows(level, batch.part(part, self.postgres.memory), depth).await?;
            }
            Ok(written)
        })
    }

    /// Writes a row whose relations are too much at once.
    async fn row(&mut self, level: &Level, batch: &Batch, depth: u32) -> Result<usize, Error> {
        let mut written = batch.size();
        self.sink.open_row(batch.row(0));
        for (keys, child) in batch.pending.iter().zip(&level.children) {
            self.sink.open_relation(child);
            if keys.len() > 0 {
                written += self.relation(child, keys, depth + 1).await?;
            }
            self.sink.close_relation(child);
        }
        self.sink.close_row();
        Ok(written)
    }

    /// Writes the rows of a relation of one row, portion by portion.
    async fn relation(&mut self, child: &ChildLevel, keys: &Keys, depth: u32) -> Result<usize, Error> {
        let (level, timeout) = (&child.level, self.postgres.timeout);
        let open = self.lease.step(timeout, async |connection| Cursor::below(connection, depth, &level.sql, keys).await);
        let mut cursor = self.sink.while_read(open).await?;
        let (mut size, mut written) = (BatchSize::related(child.many, self.postgres.memory), 0);
        loop {
            let fetch = self.lease.step(timeout, async |connection| cursor.next(connection, level, Some(keys), &size).await);
            let Portion { batch, after } = self.sink.while_read(fetch).await?;
            let count = batch.len();
            let bytes = self.rows(level, batch, depth).await?;
            written += bytes;
            if after == After::Nothing || !child.many {
                break;
            }
            size.learn(count, bytes, after);
            self.sink.spill().await?;
        }
        self.lease.step(timeout, async |connection| cursor.close(connection).await).await?;
        Ok(written)
    }
}
