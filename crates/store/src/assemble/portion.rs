//! Rows are held only up to a limit. Of a statement's own rows, those beyond it wait or are let go; of related ones, what is more is weighed,
//! so that whoever asked can ask again for fewer at once.

use std::ops::Range;

use super::{Batch, Keys};

/// What a row takes in memory beside its bytes: its end, its owner, its place and the keys of what is below it.
const ROW: usize = 64;

/// Some rows of a statement, and what comes after them.
pub(crate) struct Portion {
    pub(crate) batch: Batch,
    pub(crate) after: After,
}

/// What comes after the rows of a portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing: these were the last ones.
    Nothing,
    /// Perhaps more, which nobody has read yet.
    Perhaps,
    /// More, which was read and let go, since it is more than is held at once.
    LetGo,
}

/// The rows of a relation while they are read: held as long as they fit, and only weighed from there on.
pub(crate) struct Gathering<'b> {
    batch: Batch,
    /// For each row the number of its parents' key.
    owners: Vec<u32>,
    /// For each key what its rows take, once that is too much at once.
    weights: Vec<usize>,
    keys: usize,
    left: &'b mut usize,
}

/// What came of a relation.
pub(crate) enum Gathered {
    /// Its rows, and for each of them the number of its parents' key.
    Whole(Vec<u32>, Batch),
    /// For each key what its rows would take: too much at once.
    TooMuch(Vec<usize>),
}

/// Whether a row is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Yes,
    No,
}

impl<'b> Gathering<'b> {
    /// The rows for so many keys, of which there is so much room left.
    pub(crate) fn new(keys: usize, left: &'b mut usize) -> Self {
        Gathering { batch: Batch::with_capacity(2 * keys), owners: Vec::with_capacity(2 * keys), weights: Vec::new(), keys, left }
    }

    /// Where the next row is written; [`Gathering::end_row`] ends it.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.batch.buffer()
    }

    pub(crate) fn end_row(&mut self, owner: u32) -> Held {
        if !self.weights.is_empty() {
            self.weights[owner as usize] += self.batch.bytes.len() + ROW;
            self.batch.bytes.clear();
            return Held::No;
        }
        self.batch.end_row();
        self.owners.push(owner);
        let size = self.batch.row(self.batch.len() - 1).len() + ROW;
        if let Some(left) = self.left.checked_sub(size) {
            *self.left = left;
            return Held::Yes;
        }
        self.let_go();
        Held::No
    }

    fn let_go(&mut self) {
        self.weights = vec![0; self.keys];
        for (row, owner) in self.owners.iter().enumerate() {
            self.weights[*owner as usize] += self.batch.row(row).len() + ROW;
        }
        self.batch = Batch::default();
        self.owners = Vec::new();
    }

    /// What was gathered, with the keys of what is below the rows.
    pub(crate) fn end(mut self, pending: Vec<Keys>) -> Gathered {
        if !self.weights.is_empty() {
            return Gathered::TooMuch(self.weights);
        }
        self.batch.pending = pending;
        Gathered::Whole(self.owners, self.batch)
    }
}

impl Batch {
    /// Whether loading all that is below these rows was found to be too much at once.
    pub(crate) fn is_heavy(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Notes that what is below is too much at once: what it takes for each key of a relation, and the keys of all relations again.
    pub(crate) fn weigh(&mut self, keys: &Keys, weights: &[usize]) {
        self.weights = (0..self.len()).map(|row| keys.number(row).map_or(0, |number| weights[number])).collect();
    }

    /// For each of so many keys what its rows and all below them take.
    pub(crate) fn weights_by_key(&self, owners: &[u32], keys: usize) -> Vec<usize> {
        let mut weights = vec![0; keys];
        for (row, owner) in owners.iter().enumerate() {
            weights[*owner as usize] += self.row(row).len() + ROW + self.weights.get(row).copied().unwrap_or(0);
        }
        weights
    }

    /// The rows in parts, at least two, of which each should fit.
    pub(crate) fn parts(&self, most: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut sum) = (0, 0_usize);
        for (row, weight) in self.weights.iter().enumerate() {
            if row > start && sum.saturating_add(*weight) > most {
                parts.push(start..row);
                (start, sum) = (row, 0);
            }
            sum = sum.saturating_add(*weight);
        }
        parts.push(start..self.len());
        if parts.len() == 1 {
            // What was weighed is not all there is.
            let middle = self.len() / 2;
            parts = vec![0..middle, middle..self.len()];
        }
        parts
    }

    /// Some of the rows, with the keys of what is to be loaded for them. A single row that does not fit is known not to.
    pub(crate) fn part(&self, rows: Range<usize>, most: usize) -> Batch {
        let mut part = Batch::default();
        if let [weight] = self.weights[rows.clone()]
            && weight > most
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
    fn rows_are_held_while_they_fit_and_weighed_from_there_on() {
        let rows = [(0, "abc"), (2, "de"), (0, "f")];
        let Gathered::Whole(owners, batch) = gathered(&rows, 3 * ROW + 6) else { panic!("they fit") };
        assert_eq!((owners, batch.len(), batch.row(1)), (vec![0, 2, 0], 3, &b"de"[..]));
        for left in [0, ROW + 3, 3 * ROW + 5] {
            let Gathered::TooMuch(weights) = gathered(&rows, left) else { panic!("they do not fit in {left}") };
            assert_eq!(weights, [2 * ROW + 4, 0, ROW + 2]);
        }
    }

    #[test]
    fn parts_are_cut_by_weight_and_are_two_at_least() {
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
