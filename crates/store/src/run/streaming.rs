//! Streams the rows of a snapshot to the reader, batch by batch, from either database.
//!
//! Where the related rows of a batch do not fit into memory, the batch is split, down to a single row whose relations are read in
//! portions of their own.

use query::sql::{ChildLevel, Level};

use crate::Error;
use crate::assemble::{After, Batch, Gathered, Keys, Member, Portion};

use super::{AnswerContext, BatchSize, RunningStatement, Sink, StatementPart};

/// A statement for the rows with given keys.
#[derive(Clone, Copy)]
pub(crate) struct KeyedRows<'q> {
    pub(crate) child: &'q ChildLevel,
    pub(crate) keys: &'q Keys,
    pub(crate) part: StatementPart,
}

/// Reads the rows of relations.
pub(crate) trait RelatedRows: Sized {
    fn context(&self) -> &AnswerContext;

    /// The rows that are related to these keys, up to the bytes that are left. The answer's limit of related rows counts them.
    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error>;
}

pub(crate) trait Source: RelatedRows {
    /// Opens a cursor for the rows that are related to one row, and writes them by [`Streaming::drain`].
    async fn stream_relation(streaming: &mut Streaming<'_, Self>, rows: RowSet<'_>) -> Result<usize, Error>;
}

pub(crate) trait Cursor<S> {
    async fn next(&mut self, source: &mut S, rows: RowSet<'_>, size: &BatchSize) -> Result<Portion, Error>;
}

/// The rows of one cursor: those of the root, or those that are related to one row.
#[derive(Clone, Copy)]
pub(crate) struct RowSet<'q> {
    pub(crate) level: &'q Level,
    pub(crate) keys: Option<&'q Keys>,
    /// How many relations lead here. One cursor of each depth is open at most.
    pub(crate) depth: u32,
    pub(crate) many: bool,
}

impl<'q> RowSet<'q> {
    pub(crate) fn root(level: &'q Level) -> Self {
        RowSet { level, keys: None, depth: 0, many: true }
    }
}

pub(crate) struct Streaming<'a, S> {
    pub(crate) source: S,
    pub(crate) sink: &'a mut Sink,
    /// How many bytes of related rows are held at once.
    pub(crate) memory: usize,
}

impl<S: Source> Streaming<'_, S> {
    /// Writes all rows of a cursor with their relations; returns their size in bytes.
    pub(crate) async fn drain(
        &mut self,
        cursor: &mut impl Cursor<S>,
        rows: RowSet<'_>,
        mut size: BatchSize,
        running: &mut RunningStatement<'_>,
    ) -> Result<usize, Error> {
        let mut written = 0;
        loop {
            running.work();
            let Portion { mut batch, after } = self.sink.while_read(cursor.next(&mut self.source, rows, &size)).await?;
            let count = batch.len();
            size.count(count);
            running.pause(count);
            if rows.depth == 0 {
                batch.end_page(rows.level, self.sink.count());
                self.sink.note_position(&batch.position);
            }
            if rows.depth > 0 {
                self.source.context().take_related_rows(count)?;
            }
            let bytes = self.write(rows, batch).await?;
            written += bytes;
            if after == After::Nothing || !rows.many {
                return Ok(written);
            }
            size.learn(count, bytes, after);
            if rows.depth == 0 { self.sink.flush().await? } else { self.sink.flush_full().await? }
        }
    }

    pub(crate) async fn write(&mut self, rows: RowSet<'_>, mut batch: Batch) -> Result<usize, Error> {
        if !batch.is_heavy() {
            let mut left = self.memory;
            _ = self.sink.while_read(load(&mut self.source, rows.level, &mut batch, &mut left)).await?;
        }
        if !batch.is_heavy() {
            self.sink.rows(&batch).await?;
            return Ok(batch.size());
        }
        if batch.len() == 1 {
            return Box::pin(self.write_row(rows, &batch)).await;
        }
        let mut written = 0;
        for part in batch.parts(self.memory / 2) {
            written += Box::pin(self.write(rows, batch.part(part, self.memory))).await?;
        }
        Ok(written)
    }

    async fn write_row(&mut self, rows: RowSet<'_>, batch: &Batch) -> Result<usize, Error> {
        let mut written = batch.size();
        self.sink.open_row(batch.row(0));
        for (keys, child) in batch.pending.iter().zip(&rows.level.children) {
            self.sink.open_relation(child);
            if keys.len() > 0 {
                let related = RowSet { level: &child.level, keys: Some(keys), depth: rows.depth + 1, many: child.many };
                written += S::stream_relation(self, related).await?;
            }
            self.sink.close_relation(child);
        }
        self.sink.close_row();
        Ok(written)
    }
}

/// Loads the levels below a batch with one statement a level; returns how many rows. If they do not fit, loads nothing and marks the batch
/// as heavy.
pub(crate) async fn load<S: RelatedRows>(source: &mut S, level: &Level, batch: &mut Batch, left: &mut usize) -> Result<usize, Error> {
    // Most statements have no relations, and skip the allocation.
    if level.children.is_empty() { Ok(0) } else { Box::pin(load_children(source, level, batch, left)).await }
}

async fn load_children<S: RelatedRows>(source: &mut S, level: &Level, batch: &mut Batch, left: &mut usize) -> Result<usize, Error> {
    let pending = std::mem::take(&mut batch.pending);
    let mut loaded = Vec::with_capacity(pending.len());
    let mut count = 0;
    for (keys, child) in pending.iter().zip(&level.children) {
        if keys.len() == 0 {
            loaded.push((Vec::new(), Batch::default()));
            continue;
        }
        let weights = match source.related(child, keys, left).await? {
            Gathered::TooMuch(weights) => weights,
            Gathered::Whole(owners, mut rows) => {
                source.context().take_related_rows(rows.len())?;
                count += rows.len() + load(source, &child.level, &mut rows, left).await?;
                if !rows.is_heavy() {
                    loaded.push((owners, rows));
                    continue;
                }
                rows.weights_by_key(&owners, keys.len())
            }
        };
        batch.weigh(keys, &weights);
        batch.pending = pending;
        source.context().give_back_related_rows(count);
        return Ok(0);
    }
    for ((keys, child), (owners, rows)) in pending.into_iter().zip(&level.children).zip(loaded) {
        batch.attach(Member { key: child.key.clone(), many: child.many }, keys, &owners, rows);
    }
    Ok(count)
}
