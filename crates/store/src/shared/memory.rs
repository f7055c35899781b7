//! What is shared with nobody: shelves in memory, one for each kind, so that a flood of one kind pushes out nothing of another.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::Instant;

use super::{Invalidation, Key};

/// How many values of a kind are kept, and how many bytes of them; beyond, what would be over first goes first.
const MOST_VALUES: usize = 100_000;
const MOST_BYTES: usize = 64 * 1024 * 1024;
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

    pub(super) fn put(&self, kind: &'static str, key: &Key, value: &[u8], seconds: u64) {
        self.shelves().entry(kind).or_default().put(*key, Value::Bytes(value.to_vec()), Times::from_now(seconds));
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
    values: HashMap<Key, (Value, Order)>,
    by_end: BTreeMap<Order, Key>,
    bytes: usize,
    next: u64,
}

/// When a value is over; the number tells apart those that are over together.
type Order = (Instant, u64);

impl Shelf {
    fn put(&mut self, key: Key, value: Value, times: Times) {
        self.remove(&key);
        let order = (times.until, self.next);
        self.next += 1;
        self.bytes += value.size();
        self.values.insert(key, (value, order));
        self.by_end.insert(order, key);
        while let Some((&(until, _), &first)) = self.by_end.first_key_value() {
            if until > times.now && self.values.len() <= MOST_VALUES && self.bytes <= MOST_BYTES {
                break;
            }
            self.remove(&first);
        }
    }

    fn remove(&mut self, key: &Key) -> Option<(Value, Order)> {
        let (value, order) = self.values.remove(key)?;
        self.by_end.remove(&order);
        self.bytes -= value.size();
        Some((value, order))
    }

    fn take(&mut self, key: &Key, now: Instant) -> Option<Value> {
        self.remove(key).filter(|(_, (until, _))| *until > now).map(|(value, _)| value)
    }

    fn count(&mut self, key: Key, times: Times) -> u64 {
        if let Some((Value::Count(count), (until, _))) = self.values.get_mut(&key)
            && *until > times.now
        {
            *count += 1;
            return *count;
        }
        self.put(key, Value::Count(1), times);
        1
    }

    fn counted(&self, key: &Key, now: Instant) -> u64 {
        match self.values.get(key) {
            Some((Value::Count(count), (until, _))) if *until > now => *count,
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
        shelf.put(key(1), bytes("a"), Times::at(start, 10));
        shelf.put(key(2), bytes("b"), Times::at(start, 10));
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
            shelf.put(key(number), bytes("x"), Times::at(start, 600));
        }
        assert_eq!((shelf.values.len(), shelf.by_end.len(), shelf.bytes), (MOST_VALUES, MOST_VALUES, MOST_VALUES));
        assert!(shelf.take(&key(9), start).is_none() && shelf.take(&key(10), start).is_some());
        let large = "x".repeat(MOST_BYTES / 4);
        for number in 0..10 {
            shelf.put(key(number), bytes(&large), Times::at(start, 600));
            assert!(shelf.bytes <= MOST_BYTES);
        }
        // What is over makes room by itself.
        shelf.put(key(1), bytes("x"), Times::at(start + Duration::from_secs(601), 600));
        assert_eq!((shelf.values.len(), shelf.bytes), (1, 1));
    }
}
