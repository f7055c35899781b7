//! Limits the rows in memory. Related rows beyond the limit are only weighed, and the caller loads them for fewer parents at once.

use std::ops::Range;

use super::{Batch, Keys};

/// The memory of a row beside its bytes: its end, its owner, its position and the keys of its relations.
const ROW_OVERHEAD: usize = 64;

pub(crate) struct Portion {
    pub(crate) batch: Batch,
    pub(crate) after: After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    Perhaps,
    /// More rows were read and dropped, since they do not fit.
    Dropped,
}

/// Collects the rows of a relation while they fit, and only weighs them from then on.
pub(crate) struct Gathering<'b> {
    batch: Batch,
    /// For each row the number of its parent's key.
    owners: Vec<u32>,
    /// For each key the bytes of its rows, once they do not fit.
    weights: Vec<usize>,
    keys: usize,
    left: &'b mut usize,
}

pub(crate) enum Gathered {
    /// The number of the parent's key for each row, and the rows.
    Whole(Vec<u32>, Batch),
    /// For each key the bytes of its rows, which do not fit together.
    TooMuch(Vec<usize>),
}

impl<'b> Gathering<'b> {
    pub(crate) fn new(keys: usize, left: &'b mut usize) -> Self {
        Gathering { batch: Batch::with_capacity(2 * keys), owners: Vec::with_capacity(2 * keys), weights: Vec::new(), keys, left }
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.batch.buffer()
    }

    /// Ends a row; returns whether it is held, and not only weighed.
    pub(crate) fn end_row(&mut self, owner: u32) -> bool {
        if !self.weights.is_empty() {
            self.weights[owner as usize] += self.batch.bytes.len() + ROW_OVERHEAD;
            self.batch.bytes.clear();
            return false;
        }
        self.batch.end_row();
        self.owners.push(owner);
        let size = self.batch.row(self.batch.len() - 1).len() + ROW_OVERHEAD;
        if let Some(left) = self.left.checked_sub(size) {
            *self.left = left;
            return true;
        }
        self.drop_rows();
        false
    }

    fn drop_rows(&mut self) {
        self.weights = vec![0; self.keys];
        for (row, owner) in self.owners.iter().enumerate() {
            self.weights[*owner as usize] += self.batch.row(row).len() + ROW_OVERHEAD;
        }
        self.batch = Batch::default();
        self.owners = Vec::new();
    }

    pub(crate) fn end(mut self, pending: Vec<Keys>) -> Gathered {
        if !self.weights.is_empty() {
            return Gathered::TooMuch(self.weights);
        }
        self.batch.pending = pending;
        Gathered::Whole(self.owners, self.batch)
    }
}

impl Batch {
    pub(crate) fn is_heavy(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Marks the batch as heavy, with the bytes of a relation for each key.
    pub(crate) fn weigh(&mut self, keys: &Keys, weights: &[usize]) {
        self.weights = (0..self.len()).map(|row| keys.number(row).map_or(0, |number| weights[number])).collect();
    }

    /// For each key the bytes of its rows with their relations.
    pub(crate) fn weights_by_key(&self, owners: &[u32], keys: usize) -> Vec<usize> {
        let mut weights = vec![0; keys];
        for (row, owner) in owners.iter().enumerate() {
            weights[*owner as usize] += self.row(row).len() + ROW_OVERHEAD + self.weights.get(row).copied().unwrap_or(0);
        }
        weights
    }

    pub(crate) fn parts(&self, max_bytes: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut sum) = (0, 0_usize);
        for (row, weight) in self.weights.iter().enumerate() {
            if row > start && sum.saturating_add(*weight) > max_bytes {
                parts.push(start..row);
                (start, sum) = (row, 0);
            }
            sum = sum.saturating_add(*weight);
        }
        parts.push(start..self.len());
        if parts.len() == 1 {
            // Not all relations were weighed.
            let middle = self.len() / 2;
            parts = vec![0..middle, middle..self.len()];
        }
        parts
    }

    /// Some of the rows, with the keys of their relations. A single row that does not fit stays heavy.
    pub(crate) fn part(&self, rows: Range<usize>, max_bytes: usize) -> Batch {
        let mut part = Batch::default();
        if let [weight] = self.weights[rows.clone()]
            && weight > max_bytes
        {
            part.weights.push(weight);
        }
        for row in rows.clone() {
            part.buffer().extend_from_slice(self.row(row));
            part.end_row();
        }
        part.pending = self.pending.iter().map(|keys| keys.part(rows.clone())).collect();
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(rows: &[(u32, &str)], mut left: usize) -> Gathered {
        let mut gathering = Gathering::new(3, &mut left);
        for (owner, row) in rows {
            gathering.buffer().extend_from_slice(row.as_bytes());
            gathering.end_row(*owner);
        }
        gathering.end(Vec::new())
    }

    #[test]
    fn rows_are_kept_while_they_fit_and_weighed_from_then_on() {
        let rows = [(0, "abc"), (2, "de"), (0, "f")];
        let Gathered::Whole(owners, batch) = gathered(&rows, 3 * ROW_OVERHEAD + 6) else { panic!("they fit") };
        assert_eq!((owners, batch.len(), batch.row(1)), (vec![0, 2, 0], 3, &b"de"[..]));
        for left in [0, ROW_OVERHEAD + 3, 3 * ROW_OVERHEAD + 5] {
            let Gathered::TooMuch(weights) = gathered(&rows, left) else { panic!("they do not fit in {left}") };
            assert_eq!(weights, [2 * ROW_OVERHEAD + 4, 0, ROW_OVERHEAD + 2]);
        }
    }

    #[test]
    fn rows_are_split_by_weight_into_at_least_two_parts() {
        let mut batch = Batch::default();
        let mut keys = Keys::new(1);
        for key in ["a", "b", "a", "c"] {
            batch.buffer().extend_from_slice(key.as_bytes());
            batch.end_row();
            keys.add(std::iter::once(Some(key.as_bytes())));
        }
        batch.weigh(&keys, &[5, 50, 1]);
        batch.pending = vec![keys];
        assert_eq!(batch.weights, [5, 50, 5, 1]);
        assert_eq!(batch.parts(10), [0..1, 1..2, 2..4]);
        assert_eq!(batch.parts(1_000), [0..2, 2..4]);
        assert!(batch.part(1..2, 49).is_heavy() && !batch.part(1..2, 50).is_heavy());
        let part = batch.part(1..3, 10);
        assert_eq!((part.row(0), part.row(1), part.is_heavy()), (&b"b"[..], &b"a"[..], false));
        assert_eq!(part.pending[0].column(0).collect::<Vec<_>>(), [b"b", b"a"]);
    }
}
