//! State in memory: one bounded store for each kind of value, so that a flood of one kind evicts nothing of another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::Instant;

use super::{Entry, Invalidation, StateError, StateKey};

/// Bounds of one kind. Beyond them, the owner with the most values loses the one that expires first.
const MAX_VALUES: usize = 100_000;
const MAX_BYTES: usize = 64 * 1024 * 1024;
const NO_OWNER: StateKey = [0; 32];
/// How many invalidations wait for a slow subscriber before it must drop everything.
const MAX_QUEUED: usize = 1_024;
const MAX_LIFETIME_SECONDS: u64 = 366 * 86_400;

#[derive(Clone, Debug)]
pub(super) struct Memory {
    stores: Arc<Mutex<HashMap<&'static str, Store>>>,
    invalidations: broadcast::Sender<Invalidation>,
}

impl Memory {
    pub(super) fn new() -> Self {
        Memory { stores: Arc::default(), invalidations: broadcast::Sender::new(MAX_QUEUED) }
    }

    fn stores(&self) -> MutexGuard<'_, HashMap<&'static str, Store>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, kind: &'static str, key: &StateKey, entry: &Entry<'_>) -> Result<(), StateError> {
        let value = Value::Bytes(entry.value.to_vec());
        self.stores().entry(kind).or_default().put(*key, value, entry.owner.unwrap_or(NO_OWNER), Times::from_now(entry.seconds))
    }

    pub(super) fn take(&self, kind: &'static str, key: &StateKey) -> Option<Vec<u8>> {
        match self.stores().get_mut(kind)?.take(key, Instant::now())? {
            Value::Bytes(bytes) => Some(bytes),
            Value::Count(_) => None,
        }
    }

    pub(super) fn peek(&self, kind: &'static str, key: &StateKey) -> Option<Vec<u8>> {
        match self.stores().get(kind)?.values.get(key)? {
            Slot { value: Value::Bytes(bytes), order: (until, _), .. } if *until > Instant::now() => Some(bytes.clone()),
            _ => None,
        }
    }

    pub(super) fn count(&self, kind: &'static str, key: &StateKey, seconds: u64) -> u64 {
        self.stores().entry(kind).or_default().count(*key, Times::from_now(seconds))
    }

    pub(super) fn counted(&self, kind: &'static str, key: &StateKey) -> u64 {
        self.stores().get(kind).map_or(0, |store| store.counted(key, Instant::now()))
    }

    pub(super) fn publish(&self, invalidation: Invalidation) {
        // An error only says that there is no subscriber.
        _ = self.invalidations.send(invalidation);
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Invalidation> {
        self.invalidations.subscribe()
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
        Times { now, until: now + Duration::from_secs(seconds.min(MAX_LIFETIME_SECONDS)) }
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

/// The values of one kind, also in the order in which they expire.
#[derive(Debug, Default)]
struct Store {
    values: HashMap<StateKey, Slot>,
    by_expiry: BTreeMap<Order, StateKey>,
    owners: Owners,
    bytes: usize,
    next: u64,
}

#[derive(Debug)]
struct Slot {
    value: Value,
    order: Order,
    owner: StateKey,
}

/// When a value expires, and a number for those that expire together.
type Order = (Instant, u64);

/// The values of each owner, and the owners by how many they have.
#[derive(Debug, Default)]
struct Owners {
    of: HashMap<StateKey, BTreeMap<Order, StateKey>>,
    by_count: BTreeSet<(usize, StateKey)>,
}

impl Owners {
    fn change(&mut self, owner: StateKey, change: impl FnOnce(&mut BTreeMap<Order, StateKey>)) {
        let values = self.of.entry(owner).or_default();
        self.by_count.remove(&(values.len(), owner));
        change(values);
        match values.len() {
            0 => _ = self.of.remove(&owner),
            count => _ = self.by_count.insert((count, owner)),
        }
    }

    /// The first value to expire of an owner with the most values, if that is more than one; of the newcomer if it is such an owner.
    fn eviction_candidate(&self, newcomer: &StateKey) -> Option<StateKey> {
        let (most, largest) = self.by_count.last().filter(|(count, _)| *count > 1)?;
        let own = self.of.get(newcomer).filter(|values| values.len() == *most);
        own.or_else(|| self.of.get(largest))?.first_key_value().map(|(_, key)| *key)
    }
}

impl Store {
    fn put(&mut self, key: StateKey, value: Value, owner: StateKey, times: Times) -> Result<(), StateError> {
        self.remove(&key);
        let order = (times.until, self.next);
        self.next += 1;
        self.bytes += value.size();
        self.owners.change(owner, |values| _ = values.insert(order, key));
        self.values.insert(key, Slot { value, order, owner });
        self.by_expiry.insert(order, key);
        while let Some((_, &first)) = self.by_expiry.first_key_value().filter(|((until, _), _)| *until <= times.now) {
            self.remove(&first);
        }
        while self.values.len() > MAX_VALUES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.owners.eviction_candidate(&owner) else {
                self.remove(&key);
                return Err(StateError::Full);
            };
            self.remove(&oldest);
        }
        Ok(())
    }

    fn remove(&mut self, key: &StateKey) -> Option<Slot> {
        let slot = self.values.remove(key)?;
        self.by_expiry.remove(&slot.order);
        self.owners.change(slot.owner, |values| _ = values.remove(&slot.order));
        self.bytes -= slot.value.size();
        Some(slot)
    }

    fn take(&mut self, key: &StateKey, now: Instant) -> Option<Value> {
        self.remove(key).filter(|slot| slot.order.0 > now).map(|slot| slot.value)
    }

    fn count(&mut self, key: StateKey, times: Times) -> u64 {
        if let Some(Slot { value: Value::Count(count), order: (until, _), .. }) = self.values.get_mut(&key)
            && *until > times.now
        {
            *count += 1;
            return *count;
        }
        // All counters have one owner, so the oldest counter makes room.
        _ = self.put(key, Value::Count(1), NO_OWNER, times);
        1
    }

    fn counted(&self, key: &StateKey, now: Instant) -> u64 {
        match self.values.get(key) {
            Some(Slot { value: Value::Count(count), order: (until, _), .. }) if *until > now => *count,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> StateKey {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    fn bytes(text: &str) -> Value {
        Value::Bytes(text.into())
    }

    #[test]
    fn a_value_expires_and_a_window_begins_anew() {
        // contract I35.2
        let (mut store, start) = (Store::default(), Instant::now());
        let later = |seconds| start + Duration::from_secs(seconds);
        store.put(key(1), bytes("a"), NO_OWNER, Times::at(start, 10)).unwrap();
        store.put(key(2), bytes("b"), NO_OWNER, Times::at(start, 10)).unwrap();
        assert!(store.take(&key(1), later(9)).is_some());
        assert!(store.take(&key(1), later(9)).is_none(), "taken once");
        assert!(store.take(&key(2), later(10)).is_none(), "expired");
        assert_eq!([1, 2, 9].map(|at| store.count(key(3), Times::at(later(at), 10))), [1, 2, 3]);
        assert_eq!((store.counted(&key(3), later(10)), store.counted(&key(3), later(11))), (3, 0));
        assert_eq!(store.count(key(3), Times::at(later(11), 10)), 1, "ten seconds after the first");
    }

    #[test]
    fn a_flood_evicts_what_expires_first_and_memory_stays_bounded() {
        // contract I35.2
        let (mut store, start) = (Store::default(), Instant::now());
        for number in 0..MAX_VALUES + 10 {
            store.put(key(number), bytes("x"), NO_OWNER, Times::at(start, 600)).unwrap();
        }
        assert_eq!((store.values.len(), store.by_expiry.len(), store.bytes), (MAX_VALUES, MAX_VALUES, MAX_VALUES));
        assert!(store.take(&key(9), start).is_none() && store.take(&key(10), start).is_some());
        let large = "x".repeat(MAX_BYTES / 4);
        for number in 0..10 {
            store.put(key(number), bytes(&large), NO_OWNER, Times::at(start, 600)).unwrap();
            assert!(store.bytes <= MAX_BYTES);
        }
        // Expired values make room.
        store.put(key(1), bytes("x"), NO_OWNER, Times::at(start + Duration::from_secs(601), 600)).unwrap();
        assert_eq!((store.values.len(), store.bytes), (1, 1));
        assert_eq!((store.owners.of.len(), store.owners.by_count.len()), (1, 1));
    }

    #[test]
    fn a_flood_evicts_only_values_of_its_own_owner() {
        // contract I35.7, attack 65
        let (mut store, start) = (Store::default(), Instant::now());
        let put = |store: &mut Store, number: usize, owner: usize, size: usize| {
            store.put(key(number), Value::Bytes(vec![0; size]), key(owner), Times::at(start, 600))
        };
        put(&mut store, 0, 1, 1_000).unwrap();
        // Many owners with two small values each: the count decides, not the bytes.
        for number in 1..=MAX_VALUES + 1_000 {
            put(&mut store, number, 2 + number / 2, 10).unwrap();
        }
        assert_eq!(store.values.len(), MAX_VALUES);
        // One owner with far more.
        for number in 200_000..300_000 {
            put(&mut store, number, 7_000_000, 600).unwrap();
        }
        assert!(store.bytes <= MAX_BYTES);
        assert!(store.take(&key(0), start).is_some(), "an owner with one value keeps it");
    }

    #[test]
    fn a_new_value_is_refused_when_every_owner_has_one() {
        // contract I35.7, attack 65
        let (mut store, start) = (Store::default(), Instant::now());
        for number in 0..MAX_VALUES {
            store.put(key(number), bytes("x"), key(number), Times::at(start, 600)).unwrap();
        }
        let next = |store: &mut Store, at| store.put(key(MAX_VALUES), bytes("x"), key(MAX_VALUES), Times::at(at, 600));
        assert_eq!(next(&mut store, start), Err(StateError::Full));
        assert_eq!(store.values.len(), MAX_VALUES);
        assert_eq!(next(&mut store, start + Duration::from_secs(600)), Ok(()), "expired values make room");
    }
}
