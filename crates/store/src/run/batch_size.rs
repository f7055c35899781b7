//! The size of the next batch.

use query::sql::PageEnd;

use crate::assemble::{After, Batch};

/// The rows of the next batch: few at first, so that the first byte is sent soon. A row larger than the limit is a batch of its own.
#[derive(Clone, Debug)]
pub(crate) struct BatchSize {
    pub(crate) rows: usize,
    max_rows: usize,
    max_bytes: usize,
    /// The rows of all batches before.
    read: usize,
}

impl BatchSize {
    const FIRST_ROWS: usize = 256;
    const MAX_ROWS: usize = 4_096;
    const TARGET_BYTES: usize = 64 * 1024;

    pub(crate) fn first(max_bytes: usize) -> Self {
        BatchSize { rows: Self::FIRST_ROWS, max_rows: Self::MAX_ROWS, max_bytes, read: 0 }
    }

    pub(crate) fn related(many: bool, max_bytes: usize) -> Self {
        if many { Self::first(max_bytes) } else { BatchSize { rows: 1, max_rows: 1, max_bytes, read: 0 } }
    }

    pub(crate) fn whole(max_bytes: usize) -> Self {
        BatchSize { rows: usize::MAX, max_rows: usize::MAX, max_bytes, read: 0 }
    }

    pub(crate) fn is_full(&self, batch: &Batch) -> bool {
        batch.len() >= self.rows || self.is_heavy(batch)
    }

    pub(crate) fn is_heavy(&self, batch: &Batch) -> bool {
        batch.len() > 0 && batch.size() >= self.max_bytes
    }

    /// Whether the row that was added last is the last one of a keyset page.
    pub(crate) fn ends_page(&self, batch: &Batch, end: &PageEnd) -> bool {
        self.read + batch.len() == end.rows
    }

    /// Counts the rows of a batch.
    pub(crate) fn count(&mut self, rows: usize) {
        self.read += rows;
    }

    pub(crate) fn learn(&mut self, rows: usize, bytes: usize, after: After) {
        if after == After::Dropped {
            // The rows differ much in size. Dropping rows costs more than asking for few.
            self.max_rows = (self.max_rows / 4).max(1);
        }
        if let Some(each) = bytes.checked_div(rows) {
            self.rows = (Self::TARGET_BYTES / each.max(1)).clamp(1, self.max_rows);
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
    fn a_batch_is_full_by_rows_or_by_bytes_but_never_empty() {
        let size = BatchSize::first(1_000);
        for (rows, each, full) in [(0, 0, false), (255, 3, false), (256, 3, true), (2, 499, false), (2, 500, true), (1, 5_000, true)] {
            assert_eq!(size.is_full(&batch(rows, each)), full, "{rows} rows of {each}");
        }
        assert!(!BatchSize::first(0).is_full(&batch(0, 0)));
    }

    #[test]
    fn the_next_batch_fits_the_target_and_shrinks_after_dropped_rows() {
        let mut size = BatchSize::first(1_000_000);
        size.learn(256, 256 * 64, After::Perhaps);
        assert_eq!(size.rows, 1_024);
        size.learn(100, 100, After::Perhaps);
        assert_eq!(size.rows, 4_096);
        size.learn(100, 100, After::Dropped);
        assert_eq!(size.rows, 1_024);
        for _ in 0..9 {
            size.learn(100, 100, After::Dropped);
        }
        assert_eq!(size.rows, 1);
        size.learn(0, 0, After::Nothing);
        assert_eq!(size.rows, 1);
    }
}
