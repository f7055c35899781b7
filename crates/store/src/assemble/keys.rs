//! The keys by which the rows of a relation are looked up.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::ROWS_CAPACITY;
use query::sql::Level;

/// No key: one of its columns is NULL, so that nothing can be related.
const NONE: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Keys {
    of_row: Vec<u32>,
    /// The numbers, found by what the keys hold.
    found: HashTable<u32>,
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
    pub(crate) fn of(level: &Level) -> Vec<Self> {
        level.children.iter().map(|child| Keys::new(child.parent_columns.len())).collect()
    }

    pub(crate) fn new(width: usize) -> Self {
        Keys {
            of_row: Vec::with_capacity(ROWS_CAPACITY),
            found: HashTable::with_capacity(ROWS_CAPACITY),
            hasher: DefaultHashBuilder::default(),
            parts: Parts { bytes: Vec::with_capacity(ROWS_CAPACITY * 8), ends: Vec::with_capacity(ROWS_CAPACITY), width },
        }
    }

    /// Adds the key of the next row; a part that is `None` is NULL.
    pub(crate) fn add<'a>(&mut self, mut parts: impl Iterator<Item = Option<&'a [u8]>> + Clone) {
        // Nearly all keys are one column.
        if self.parts.width == 1 {
            return match parts.next().flatten() {
                Some(key) => self.add_one(key),
                None => self.of_row.push(NONE),
            };
        }
        if parts.clone().any(|part| part.is_none()) {
            self.of_row.push(NONE);
            return;
        }
        let key = parts.flatten();
        let hash = hash(&self.hasher, key.clone());
        let number = if let Some(number) = self.found.find(hash, |number| self.parts.of(*number).eq(key.clone())) {
            *number
        } else {
            let next = self.found.len() as u32;
            self.parts.push(key);
            self.found.insert_unique(hash, next, |number| self::hash(&self.hasher, self.parts.of(*number)));
            next
        };
        self.of_row.push(number);
    }

    fn add_one(&mut self, key: &[u8]) {
        let Keys { of_row, found, hasher, parts } = self;
        let hash = hasher.hash_one(key);
        let number = if let Some(number) = found.find(hash, |number| parts.at(*number as usize) == key) {
            *number
        } else {
            let next = found.len() as u32;
            parts.push(std::iter::once(key));
            found.insert_unique(hash, next, |number| hasher.hash_one(parts.at(*number as usize)));
            next
        };
        of_row.push(number);
    }

    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.found.find(self.hasher.hash_one(key), |number| self.parts.at(*number as usize) == key).copied()
    }

    pub(crate) fn number(&self, row: usize) -> Option<usize> {
        let number = self.of_row[row];
        (number != NONE).then_some(number as usize)
    }

    pub(super) fn part(&self, rows: Range<usize>) -> Keys {
        let mut part = Keys::new(self.parts.width);
        for number in &self.of_row[rows] {
            if *number == NONE {
                part.of_row.push(NONE);
            } else {
                part.add(self.parts.of(*number).map(Some));
            }
        }
        part
    }

    /// How many rows were added.
    pub(crate) fn rows(&self) -> usize {
        self.of_row.len()
    }

    /// The parts of each key, in the order of their numbers.
    pub(crate) fn each(&self) -> impl Iterator<Item = Vec<Vec<u8>>> + '_ {
        (0..self.len() as u32).map(|number| self.parts.of(number).map(<[u8]>::to_vec).collect())
    }

    /// Whether both have the same keys in the same order.
    pub(crate) fn is_same(&self, other: &Keys) -> bool {
        self.parts.ends == other.parts.ends && self.parts.bytes == other.parts.bytes
    }

    pub(crate) fn width(&self) -> usize {
        self.parts.width
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_several_parts_are_distinct() {
        let mut keys = Keys::new(2);
        for (one, two) in [("a", "bc"), ("ab", "c"), ("a", "bc")] {
            keys.add([Some(one.as_bytes()), Some(two.as_bytes())].into_iter());
        }
        assert_eq!(keys.of_row, [0, 1, 0]);
        assert_eq!(keys.column(1).collect::<Vec<_>>(), [b"bc", &b"c"[..]]);
    }
}
