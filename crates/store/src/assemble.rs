//! Children into parents: rows are encoded once, level by level, and then written out as one nested answer.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Room for a usual page, so that it is not moved while it grows.
const ROOM: usize = 64;
/// No key: one of its columns is NULL, so that nothing can be related.
const NONE: u32 = u32::MAX;

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

/// The distinct keys of a batch's rows.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// For each row, the number of its key.
    of_row: Vec<u32>,
    /// The numbers, found by what the keys hold.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    parts: Parts,
}

/// The parts of each key one after the other, and where each part ends.
#[derive(Debug, Default)]
struct Parts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    width: usize,
}

impl Keys {
    pub(crate) fn new(width: usize) -> Self {
        Keys {
            of_row: Vec::with_capacity(ROOM),
            numbers: HashTable::with_capacity(ROOM),
            hasher: DefaultHashBuilder::default(),
            parts: Parts { bytes: Vec::with_capacity(ROOM * 8), ends: Vec::with_capacity(ROOM), width },
        }
    }

    /// Adds the key of the next row; a part that is `None` is NULL.
    pub(crate) fn add<'a>(&mut self, parts: impl Iterator<Item = Option<&'a [u8]>> + Clone) {
        if parts.clone().any(|part| part.is_none()) {
            self.of_row.push(NONE);
            return;
        }
        // Nearly all keys are one column.
        if self.parts.width == 1 {
            let mut parts = parts;
            return self.add_one(parts.next().flatten().unwrap_or_default());
        }
        let key = parts.flatten();
        let hash = hash(&self.hasher, key.clone());
        let number = if let Some(number) = self.numbers.find(hash, |number| self.parts.of(*number).eq(key.clone())) {
            *number
        } else {
            let next = self.numbers.len() as u32;
            self.parts.push(key);
            self.numbers.insert_unique(hash, next, |number| self::hash(&self.hasher, self.parts.of(*number)));
            next
        };
        self.of_row.push(number);
    }

    fn add_one(&mut self, key: &[u8]) {
        let Keys { of_row, numbers, hasher, parts } = self;
        let hash = hasher.hash_one(key);
        let number = if let Some(number) = numbers.find(hash, |number| parts.at(*number as usize) == key) {
            *number
        } else {
            let next = numbers.len() as u32;
            parts.push(std::iter::once(key));
            numbers.insert_unique(hash, next, |number| hasher.hash_one(parts.at(*number as usize)));
            next
        };
        of_row.push(number);
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Part number `part` of every key, in the order of their numbers.
    pub(crate) fn column(&self, part: usize) -> impl Iterator<Item = &[u8]> + Clone {
        (part..self.parts.ends.len()).step_by(self.parts.width.max(1)).map(|index| self.parts.at(index))
    }
}

impl Parts {
    fn push<'a>(&mut self, key: impl Iterator<Item = &'a [u8]>) {
        for part in key {
            self.bytes.extend_from_slice(part);
            self.ends.push(self.bytes.len());
        }
    }

    fn at(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    fn of(&self, number: u32) -> impl Iterator<Item = &[u8]> + Clone {
        let first = number as usize * self.width;
        (first..first + self.width).map(|index| self.at(index))
    }
}

/// The lengths keep ("a", "bc") and ("ab", "c") apart.
fn hash<'a>(hasher: &DefaultHashBuilder, key: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = hasher.build_hasher();
    for part in key {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    hasher.finish()
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

    /// Writes row `index` as a whole object.
    pub(crate) fn write_row(&self, index: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(self.row(index));
        for loaded in &self.relations {
            if out.len() > start + 1 {
                out.push(b',');
            }
            out.extend_from_slice(&loaded.key);
            loaded.write(index, out);
        }
        out.push(b'}');
    }

    /// Writes all rows with commas between.
    pub(crate) fn write_rows(&self, out: &mut Vec<u8>) {
        for index in 0..self.len() {
            if index > 0 {
                out.push(b',');
            }
            self.write_row(index, out);
        }
    }
}

impl Loaded {
    fn write(&self, parent: usize, out: &mut Vec<u8>) {
        let number = self.keys.of_row[parent];
        let members = if number == NONE {
            &[]
        } else {
            let number = number as usize;
            &self.members[self.starts[number] as usize..self.starts[number + 1] as usize]
        };
        if !self.many {
            match members.first() {
                Some(row) => self.batch.write_row(*row as usize, out),
                None => out.extend_from_slice(b"null"),
            }
            return;
        }
        out.push(b'[');
        for (index, row) in members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            self.batch.write_row(*row as usize, out);
        }
        out.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for row in rows {
            batch.buffer().extend_from_slice(row.as_bytes());
            batch.end_row();
        }
        batch
    }

    #[test]
    fn children_keep_their_order_and_may_be_shared() {
        let mut parents = batch(&["{\"id\":1", "{\"id\":2", "{\"id\":3", "{"]);
        let mut keys = Keys::new(1);
        for key in [Some(&b"a"[..]), Some(b"b"), None, Some(b"a")] {
            keys.add([key].into_iter());
        }
        let children = batch(&["{\"n\":1", "{\"n\":2", "{\"n\":3"]);
        parents.attach((br#""c":"#[..].into(), true), keys, &[0, 1, 0], children);
        let mut out = Vec::new();
        parents.write_rows(&mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"id":1,"c":[{"n":1},{"n":3}]},{"id":2,"c":[{"n":2}]},{"id":3,"c":[]},{"c":[{"n":1},{"n":3}]}"#
        );
    }

    #[test]
    fn keys_of_several_parts_are_told_apart() {
        let mut keys = Keys::new(2);
        for (one, two) in [("a", "bc"), ("ab", "c"), ("a", "bc")] {
            keys.add([Some(one.as_bytes()), Some(two.as_bytes())].into_iter());
        }
        assert_eq!(keys.of_row, [0, 1, 0]);
        assert_eq!(keys.column(1).collect::<Vec<_>>(), [b"bc", &b"c"[..]]);
    }
}
