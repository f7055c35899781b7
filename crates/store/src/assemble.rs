//! Children into parents: rows are encoded once, level by level, and then written out as one nested answer.

mod keys;
mod rows;

use std::sync::Arc;

pub(crate) use keys::Keys;
pub(crate) use rows::{Rows, Written};

/// Room for a usual page, so that it is not moved while it grows.
const ROOM: usize = 64;

/// Encoded rows of one level, each without its closing brace, and what was loaded for them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    relations: Vec<Loaded>,
    /// The keys of relations that are still to be loaded, one set a relation.
    pub(crate) pending: Vec<Keys>,
}

/// The rows of one relation for all rows of a batch.
#[derive(Debug)]
struct Loaded {
    key: Arc<[u8]>,
    many: bool,
    keys: Keys,
    /// For each key, where its rows begin in `members`; one more entry at the end.
    starts: Vec<u32>,
    members: Vec<u32>,
    batch: Batch,
}

impl Batch {
    pub(crate) fn roomy() -> Self {
        Batch { bytes: Vec::with_capacity(ROOM * 128), ends: Vec::with_capacity(ROOM), ..Batch::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes the rows take, relations included.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.relations.iter().map(|loaded| loaded.batch.size()).sum::<usize>()
    }

    /// Where the next row is written; [`Batch::end_row`] ends it.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn end_row(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn row(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Adds a relation's rows; `owners` says for each of them the number of its parents' key.
    pub(crate) fn attach(&mut self, relation: (Arc<[u8]>, bool), keys: Keys, owners: &[u32], batch: Batch) {
        // A counting sort: rows of one key together, in the order they came.
        let count = keys.len();
        let mut starts = vec![0_u32; count + 1];
        for owner in owners {
            starts[*owner as usize + 1] += 1;
        }
        for index in 1..=count {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut members = vec![0_u32; owners.len()];
        for (row, owner) in owners.iter().enumerate() {
            let place = &mut next[*owner as usize];
            members[*place as usize] = row as u32;
            *place += 1;
        }
        self.relations.push(Loaded { key: relation.0, many: relation.1, keys, starts, members, batch });
    }

    /// How many bytes the rows take when all that is shared is written out for each parent: an answer can be far larger than what was
    /// loaded for it.
    pub(crate) fn written_size(&self) -> u64 {
        if self.relations.is_empty() {
            return (self.bytes.len() + 2 * self.len()) as u64;
        }
        self.row_sizes().iter().fold(0, |sum, size| size.saturating_add(1).saturating_add(sum))
    }

    /// How many bytes each row takes when it is written.
    fn row_sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = (0..self.len()).map(|index| self.row(index).len() as u64 + 1).collect();
        for loaded in &self.relations {
            let of_keys = loaded.key_sizes();
            for (size, number) in sizes.iter_mut().zip(loaded.keys.numbers()) {
                let value = number.map_or(NOTHING, |number| of_keys[number]);
                *size = size.saturating_add(loaded.key.len() as u64 + 1).saturating_add(value);
            }
        }
        sizes
    }

    /// The rows, to be written piece by piece.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::of(self)
    }
}

/// How long `null` is, and more than `[]`.
const NOTHING: u64 = 4;

impl Loaded {
    fn members(&self, parent: usize) -> &[u32] {
        self.keys.number(parent).map_or(&[], |number| self.of_key(number))
    }

    fn of_key(&self, number: usize) -> &[u32] {
        &self.members[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// How many bytes are written for each key.
    fn key_sizes(&self) -> Vec<u64> {
        let rows = self.batch.row_sizes();
        let of_key =
            |number| self.of_key(number).iter().fold(NOTHING, |sum, row| sum.saturating_add(rows[*row as usize]).saturating_add(1));
        (0..self.keys.len()).map(of_key).collect()
    }
}
