//! Joins related rows into their parents: rows are encoded once, level by level, and then written as one nested answer.

mod keys;
mod page_end;
mod portion;
mod rows;

use std::sync::Arc;

pub(crate) use keys::Keys;
pub(crate) use page_end::PagePosition;
pub(crate) use portion::{After, Gathered, Gathering, Portion};
pub(crate) use rows::Rows;

/// Capacity for a usual page, so that it does not grow.
const ROWS_CAPACITY: usize = 64;
const MAX_ROWS_CAPACITY: usize = 1_024;

/// The bytes around a row or a list: `{},`.
const BRACKETS: usize = 3;

/// Encoded rows of one level, each without its closing brace, and their loaded relations.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    relations: Vec<Loaded>,
    /// The keys of the relations to load, one set a relation.
    pub(crate) pending: Vec<Keys>,
    /// For each row the bytes of its relations, if all together do not fit into memory; empty otherwise.
    weights: Vec<usize>,
    /// Where the rows of a keyset page end.
    pub(crate) position: PagePosition,
}

#[derive(Debug)]
struct Loaded {
    member: Member,
    keys: Keys,
    /// For each key the start of its rows in `members`, and one more entry at the end.
    starts: Vec<u32>,
    members: Vec<u32>,
    batch: Batch,
}

/// The member of the parent's JSON object that holds the related rows.
#[derive(Debug)]
pub(crate) struct Member {
    /// `,"name":`
    pub(crate) key: Arc<[u8]>,
    /// An array, or one object or null.
    pub(crate) many: bool,
}

impl Batch {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        let rows = rows.clamp(ROWS_CAPACITY, MAX_ROWS_CAPACITY);
        Batch { bytes: Vec::with_capacity(rows * 128), ends: Vec::with_capacity(rows), ..Batch::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.relations.iter().map(|loaded| loaded.batch.size()).sum::<usize>()
    }

    /// About how many bytes the rows take when they are written. A related row is written once for each of its parents, so the sum saturates.
    pub(crate) fn written_size(&self) -> usize {
        self.relations.iter().fold(self.bytes.len(), |size, loaded| {
            let written: usize = (0..self.len()).map(|row| loaded.members(row).len()).sum();
            let each = loaded.batch.written_size().checked_div(loaded.batch.len()).unwrap_or(0);
            let below = written.saturating_mul(each.saturating_add(BRACKETS));
            size.saturating_add(self.len() * (loaded.member.key.len() + BRACKETS)).saturating_add(below)
        })
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn end_row(&mut self) {
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn row(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Adds a relation's rows; `owners` has the number of the parent's key for each.
    pub(crate) fn attach(&mut self, member: Member, keys: Keys, owners: &[u32], batch: Batch) {
        // A stable counting sort by key.
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
        self.relations.push(Loaded { member, keys, starts, members, batch });
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::of(self)
    }

    /// Writes one row with its relations.
    pub(crate) fn write_row(&self, index: usize, out: &mut Vec<u8>) {
        let mut rows = Rows::from(self, index);
        rows.begin();
        rows.write(out, usize::MAX);
    }
}

impl Loaded {
    fn members(&self, parent: usize) -> &[u32] {
        match self.keys.number(parent) {
            Some(number) => &self.members[self.starts[number] as usize..self.starts[number + 1] as usize],
            None => &[],
        }
    }
}
