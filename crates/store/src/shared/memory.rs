//! What is shared with nobody: shelves in memory, one for each kind, so that a flood of one kind pushes out nothing of another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::Instant;

use super::{Entry, Error, Invalidation, Key};

/// How many values of a kind are kept, and how many bytes of them. Beyond, whoever has the most of them loses what would be over first.
const MOST_VALUES: usize = 100_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The owner of what nobody in particular owns.
const NOBODY: Key = [0; 32];
/// How far a subscriber may fall behind before it hears that it missed something.
const BEHIND: usize = 1_024;

#[derive(Clone, Debug)]
pub(super) struct Memory {
    shelves: Arc<Mutex<HashMap<&'static str, Shelf>>>,
    told: broadcast::Sender<Invalidation>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Memory { shelves: Arc::default(), told: broadcast::Sender::new(BEHIND) }
    }

    fn shelves(&self) -> MutexGuard<'_, HashMap<&'static str, Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, kind: &'static str, key: &Key, entry: &Entry<'_>) -> Result<(), Error> {
        let value = Value::Bytes(entry.value.to_vec());
        self.shelves().entry(kind).or_default().put(*key, value, entry.owner.unwrap_or(NOBODY), Times::from_now(entry.seconds))
    }

    pub(super) fn take(&self, kind: &'static str, key: &Key) -> Option<Vec<u8>> {
        match self.shelves().get_mut(kind)?.take(key, Instant::now())? {
            Value::Bytes(bytes) => Some(bytes),
            Value::Count(_) => None,
        }
    }

    pub(super) fn count(&self, kind: &'static str, key: &Key, seconds: u64) -> u64 {
        self.shelves().entry(kind).or_default().count(*key, Times::from_now(seconds))
    }

    pub(super) fn counted(&self, kind: &'static str, key: &Key) -> u64 {
        self.shelves().get(kind).map_or(0, |shelf| shelf.counted(key, Instant::now()))
    }

    pub(super) fn publish(&self, invalidation: Invalidation) {
        // That nobody listens is no fault.
        _ = self.told.send(invalidation);
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Invalidation> {
        self.told.subscribe()
    }
}

#[derive(Clone, Copy)]
struct Times {
    now: Instant,
    until: Instant,
}

impl Times {
    fn from_now(seconds: u64) -> Self {
        Times::at(Instant::now(), seconds)
    }

    fn at(now: Instant, seconds: u64) -> Self {
        /// No clock reaches further than this; nothing is shared for longer.
        const LONGEST: u64 = 366 * 86_400;
        Times { now, until: now + Duration::from_secs(seconds.min(LONGEST)) }
    }
}

#[derive(Debug)]
enum Value {
    Bytes(Vec<u8>),
    Count(u64),
}

impl Value {
    fn size(&self) -> usize {
        match self {
            Value::Bytes(bytes) => bytes.len(),
            Value::Count(_) => 0,
        }
    }
}

/// The values of one kind, also in the order in which they are over.
#[derive(Debug, Default)]
struct Shelf {
    values: HashMap<Key, Slot>,
    by_end: BTreeMap<Order, Key>,
    owners: Owners,
    bytes: usize,
    next: u64,
}

#[derive(Debug)]
struct Slot {
    value: Value,
    order: Order,
    owner: Key,
}

/// When a value is over; the number tells apart those that are over together.
type Order = (Instant, u64);

/// Whose the values of a shelf are, and who has the most of them.
#[derive(Debug, Default)]
struct Owners {
    of: HashMap<Key, BTreeMap<Order, Key>>,
    by_count: BTreeSet<(usize, Key)>,
}

impl Owners {
    fn change(&mut self, owner: Key, change: impl FnOnce(&mut BTreeMap<Order, Key>)) {
        let values = self.of.entry(owner).or_default();
        self.by_count.remove(&(values.len(), owner));
        change(values);
        match values.len() {
            0 => _ = self.of.remove(&owner),
            count => _ = self.by_count.insert((count, owner)),
        }
    }

    /// The value that makes room for one of this owner: of those who have the most, who may be this owner, the one that is over first.
    /// None if nobody has more than one.
    fn oldest_of_the_largest(&self, newcomer: &Key) -> Option<Key> {
        let (most, largest) = self.by_count.last().filter(|(count, _)| *count > 1)?;
        let own = self.of.get(newcomer).filter(|values| values.len() == *most);
        own.or_else(|| self.of.get(largest))?.first_key_value().map(|(_, key)| *key)
    }
}

impl Shelf {
    fn put(&mut self, key: Key, value: Value, owner: Key, times: Times) -> Result<(), Error> {
        self.remove(&key);
        let order = (times.until, self.next);
        self.next += 1;
        self.bytes += value.size();
        self.owners.change(owner, |values| _ = values.insert(order, key));
        self.values.insert(key, Slot { value, order, owner });
        self.by_end.insert(order, key);
        while let Some((_, &first)) = self.by_end.first_key_value().filter(|((until, _), _)| *until <= times.now) {
            self.remove(&first);
        }
        while self.values.len() > MOST_VALUES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.owners.oldest_of_the_largest(&owner) else {
                self.remove(&key);
                return Err(Error::Full);
            };
            self.remove(&oldest);
        }
        Ok(())
    }

    fn remove(&mut self, key: &Key) -> Option<Slot> {
        let slot = self.values.remove(key)?;
        self.by_end.remove(&slot.order);
        self.owners.change(slot.owner, |values| _ = values.remove(&slot.order));
        self.bytes -= slot.value.size();
        Some(slot)
    }

    fn take(&mut self, key: &Key, now: Instant) -> Option<Value> {
        self.remove(key).filter(|slot| slot.order.0 > now).map(|slot| slot.value)
    }

    fn count(&mut self, key: Key, times: Times) -> u64 {
        if let Some(Slot { value: Value::Count(count), order: (until, _), .. }) = self.values.get_mut(&key)
            && *until > times.now
        {
            *count += 1;
            return *count;
        }
        // They all have one owner, whose oldest makes room.
        _ = self.put(key, Value::Count(1), NOBODY, times);
        1
    }

    fn counted(&self, key: &Key, now: Instant) -> u64 {
        match self.values.get(key) {
            Some(Slot { value: Value::Count(count), order: (until, _), .. }) if *until > now => *count,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn bytes(text: &str) -> Value {
        Value::Bytes(text.into())
    }

    #[test]
    fn a_value_is_over_at_its_time_and_a_window_begins_anew() {
        // contract I35.2
        let (mut shelf, start) = (Shelf::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        shelf.put(key(1), bytes("a"), NOBODY, Times::at(start, 10)).unwrap();
        shelf.put(key(2), bytes("b"), NOBODY, Times::at(start, 10)).unwrap();
        assert!(shelf.take(&key(1), later(9)).is_some());
        assert!(shelf.take(&key(1), later(9)).is_none(), "taken once");
        assert!(shelf.take(&key(2), later(10)).is_none(), "over");
        assert_eq!([1, 2, 9].map(|at| shelf.count(key(3), Times::at(later(at), 10))), [1, 2, 3]);
        assert_eq!((shelf.counted(&key(3), later(10)), shelf.counted(&key(3), later(11))), (3, 0));
        assert_eq!(shelf.count(key(3), Times::at(later(11), 10)), 1, "ten seconds after the first");
    }

    #[test]
    fn a_flood_pushes_out_what_would_be_over_first_and_memory_stays_bounded() {
        // contract I35.2
        let (mut shelf, start) = (Shelf::default(), Instant::now());
        for number in 0..MOST_VALUES + 10 {
            shelf.put(key(number), bytes("x"), NOBODY, Times::at(start, 600)).unwrap();
        }
        assert_eq!((shelf.values.len(), shelf.by_end.len(), shelf.bytes), (MOST_VALUES, MOST_VALUES, MOST_VALUES));
        assert!(shelf.take(&key(9), start).is_none() && shelf.take(&key(10), start).is_some());
        let large = "x".repeat(MOST_BYTES / 4);
        for number in 0..10 {
            shelf.put(key(number), bytes(&large), NOBODY, Times::at(start, 600)).unwrap();
            assert!(shelf.bytes <= MOST_BYTES);
        }
        // What is over makes room by itself.
        shelf.put(key(1), bytes("x"), NOBODY, Times::at(start + Duration::from_secs(601), 600)).unwrap();
        assert_eq!((shelf.values.len(), shelf.bytes), (1, 1));
        assert_eq!((shelf.owners.of.len(), shelf.owners.by_count.len()), (1, 1));
    }

    #[test]
    fn a_flood_pushes_out_its_own_and_nothing_of_those_who_have_less() {
        // contract I35.7, attack 65
        let (mut shelf, start) = (Shelf::default(), Instant::now());
        let put = |shelf: &mut Shelf, number: usize, owner: usize, size: usize| {
            shelf.put(key(number), Value::Bytes(vec![0; size]), key(owner), Times::at(start, 600))
        };
        put(&mut shelf, 0, 1, 1_000).unwrap();
        // Many owners with two each, small ones: the largest in bytes is not the largest.
        for number in 1..=MOST_VALUES + 1_000 {
            put(&mut shelf, number, 2 + number / 2, 10).unwrap();
        }
        assert_eq!(shelf.values.len(), MOST_VALUES);
        // And one who has far more.
        for number in 200_000..300_000 {
            put(&mut shelf, number, 7_000_000, 600).unwrap();
        }
        assert!(shelf.bytes <= MOST_BYTES);
        assert!(shelf.take(&key(0), start).is_some(), "who has one keeps it");
    }

    #[test]
    fn where_everybody_has_one_the_next_is_refused() {
        // contract I35.7, attack 65
        let (mut shelf, start) = (Shelf::default(), Instant::now());
        for number in 0..MOST_VALUES {
            shelf.put(key(number), bytes("x"), key(number), Times::at(start, 600)).unwrap();
        }
        let next = |shelf: &mut Shelf, at| shelf.put(key(MOST_VALUES), bytes("x"), key(MOST_VALUES), Times::at(at, 600));
        assert_eq!(next(&mut shelf, start), Err(Error::Full));
        assert_eq!(shelf.values.len(), MOST_VALUES);
        assert_eq!(next(&mut shelf, start + Duration::from_secs(600)), Ok(()), "what is over makes room");
    }
}
