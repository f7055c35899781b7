//! One question in flight for a thing, however many ask it: the others wait for its answer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

/// Questions under way.
#[derive(Debug)]
pub(super) struct Flights<K, V>(Mutex<HashMap<K, Arc<OnceCell<V>>>>);

impl<K: Eq + Hash + Copy, V: Clone> Flights<K, V> {
    pub(super) fn new() -> Self {
        Flights(Mutex::default())
    }

    fn open(&self) -> MutexGuard<'_, HashMap<K, Arc<OnceCell<V>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to the question that is under way, or that this makes. If whoever asks goes away, the next who waits asks instead.
    pub(super) async fn join<A: Future<Output = V>>(&self, key: K, ask: impl FnOnce() -> A) -> V {
        let seat = Seat { flights: self, key, flight: self.open().entry(key).or_default().clone() };
        seat.flight.get_or_init(ask).await.clone()
    }
}

/// A place in a flight; the last who leaves, with or without an answer, takes the flight away.
struct Seat<'f, K: Eq + Hash + Copy, V: Clone> {
    flights: &'f Flights<K, V>,
    key: K,
    flight: Arc<OnceCell<V>>,
}

impl<K: Eq + Hash + Copy, V: Clone> Drop for Seat<'_, K, V> {
    fn drop(&mut self) {
        let mut open = self.flights.open();
        // An answer is for those who waited; who comes later asks anew. And a flight nobody is left in ends without one.
        let over = self.flight.initialized() || Arc::strong_count(&self.flight) <= 2;
        if over && open.get(&self.key).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            open.remove(&self.key);
        }
    }
}
