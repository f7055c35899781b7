//! Children into parents: rows are encoded once, level by level, and then written out as one nested answer.

mod keys;
mod portion;
mod rows;

use std::sync::Arc;

pub(crate) use keys::Keys;
pub(crate) use portion::{After, Gathered, Gathering, Held, Portion};
pub(crate) use rows::{Rows, Written};

/// Room for a usual page, so that it is not moved while it grows.
const ROOM: usize = 64;
/// Room for more rows is made when they come.
const MOST_ROOM: usize = 1_024;

/// What stands around a row or a list: `{},`.
const BRACKETS: usize = 3;

/// Encoded rows of one level, each without its closing brace, and what was loaded for them.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    relations: Vec<Loaded>,
    /// The keys of relations that are still to be loaded, one set a relation.
    pub(crate) pending: Vec<Keys>,
    /// For each row what loading its relations would take, where that is too much at once; empty otherwise.
    weights: Vec<usize>,
}

/// The rows of one relation for all rows of a batch.
#[derive(Debug)]
struct Loaded {
    member: Member,
    keys: Keys,
    /// For each key, where its rows begin in `members`; one more entry at the end.
    starts: Vec<u32>,
    members: Vec<u32>,
    batch: Batch,
}

/// What related rows are in the row above them.
#[derive(Debug)]
pub(crate) struct Member {
    /// `,"name":`
    pub(crate) key: Arc<[u8]>,
    /// An array, or one object or null.
    pub(crate) many: bool,
}

impl Batch {
    /// A batch with room for so many rows, at least for a usual page.
    pub(crate) fn roomy(rows: usize) -> Self {
        let rows = rows.clamp(ROOM, MOST_ROOM);
        Batch { bytes: Vec::with_capacity(rows * 128), ends: Vec::with_capacity(rows), ..Batch::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes the rows take, relations included.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.relations.iter().map(|loaded| loaded.batch.size()).sum::<usize>()
    }

    /// About how many bytes they take once they are written, where a row that several others share is written for each of them: a few
    /// levels of crowds are more than there are numbers for.
    pub(crate) fn written_size(&self) -> usize {
        self.relations.iter().fold(self.bytes.len(), |size, loaded| {
            let written: usize = (0..self.len()).map(|row| loaded.members(row).len()).sum();
            let each = loaded.batch.written_size().checked_div(loaded.batch.len()).unwrap_or(0);
            let below = written.saturating_mul(each.saturating_add(BRACKETS));
            size.saturating_add(self.len() * (loaded.member.key.len() + BRACKETS)).saturating_add(below)
        })
    }

    /// Where the next row is written; [`Batch::end_row`] ends it.
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

    /// Adds a relation's rows; `owners` says for each of them the number of its parents' key.
    pub(crate) fn attach(&mut self, member: Member, keys: Keys, owners: &[u32], batch: Batch) {
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
        self.relations.push(Loaded { member, keys, starts, members, batch });
    }

    /// The rows, to be written piece by piece.
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows::of(self)
    }
}

impl Loaded {
    /// The rows of this relation that belong to a row above.
    fn members(&self, parent: usize) -> &[u32] {
        match self.keys.number(parent) {
            Some(number) => &self.members[self.starts[number] as usize..self.starts[number + 1] as usize],
            None => &[],
        }
    }
}
