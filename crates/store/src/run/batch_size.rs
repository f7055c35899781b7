//! How much is read at once.

use crate::assemble::{After, Batch};

/// How many rows the next batch has: few at first, so that the first byte comes soon; then as many as fit the target. And never more bytes
/// than are held at once, whatever the rows before were like; a row that is larger is a batch by itself.
#[derive(Clone, Debug)]
pub(crate) struct BatchSize {
    rows: usize,
    most: usize,
    bytes: usize,
}

impl BatchSize {
    const FIRST: usize = 256;
    const MOST: usize = 4_096;
    const TARGET_BYTES: usize = 64 * 1024;

    /// The first batch, where so many bytes are held at once.
    pub(crate) fn first(bytes: usize) -> Self {
        BatchSize { rows: Self::FIRST, most: Self::MOST, bytes }
    }

    /// The first batch of a relation, of which there may be one row or many.
    pub(crate) fn related(many: bool, bytes: usize) -> Self {
        if many { Self::first(bytes) } else { BatchSize { rows: 1, most: 1, bytes } }
    }

    /// All rows there are, if they are no more than so many bytes.
    pub(crate) fn whole(bytes: usize) -> Self {
        BatchSize { rows: usize::MAX, most: usize::MAX, bytes }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether no more row goes into a batch.
    pub(crate) fn is_full(&self, batch: &Batch) -> bool {
        batch.len() >= self.rows || self.is_heavy(batch)
    }

    /// Whether a batch is as heavy as one may be.
    pub(crate) fn is_heavy(&self, batch: &Batch) -> bool {
        batch.len() > 0 && batch.size() >= self.bytes
    }

    /// Learns from the batch before.
    pub(crate) fn learn(&mut self, rows: usize, bytes: usize, after: After) {
        if after == After::LetGo {
            // Rows of this table differ much. To let some go costs more than to ask for few.
            self.most = (self.most / 4).max(1);
        }
        if let Some(each) = bytes.checked_div(rows) {
            self.rows = (Self::TARGET_BYTES / each.max(1)).clamp(1, self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: usize, each: usize) -> Batch {
        let mut batch = Batch::default();
        for _ in 0..rows {
            batch.buffer().extend(std::iter::repeat_n(b'x', each));
            batch.end_row();
        }
        batch
    }

    #[test]
    fn a_batch_is_full_by_rows_or_by_bytes_and_never_without_a_row() {
        let size = BatchSize::first(1_000);
        for (rows, each, full) in [(0, 0, false), (255, 3, false), (256, 3, true), (2, 499, false), (2, 500, true), (1, 5_000, true)] {
            assert_eq!(size.is_full(&batch(rows, each)), full, "{rows} rows of {each}");
        }
        assert!(!BatchSize::first(0).is_full(&batch(0, 0)));
    }

    #[test]
    fn the_next_batch_is_as_many_rows_as_fit_and_fewer_where_some_were_let_go() {
        let mut size = BatchSize::first(1_000_000);
        size.learn(256, 256 * 64, After::Perhaps);
        assert_eq!(size.rows(), 1_024);
        size.learn(100, 100, After::Perhaps);
        assert_eq!(size.rows(), 4_096);
        size.learn(100, 100, After::LetGo);
        assert_eq!(size.rows(), 1_024);
        for _ in 0..9 {
            size.learn(100, 100, After::LetGo);
        }
        assert_eq!(size.rows(), 1);
        size.learn(0, 0, After::Nothing);
        assert_eq!(size.rows(), 1);
    }
}
