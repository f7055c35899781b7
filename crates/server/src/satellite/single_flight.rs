//! Single flight: many callers wait for one lookup of a key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;

use crate::mutex::lock;

#[derive(Debug)]
pub(super) struct SingleFlight<K, V>(Mutex<HashMap<K, Arc<OnceCell<V>>>>);

impl<K: Eq + Hash + Copy, V: Clone> SingleFlight<K, V> {
    pub(super) fn new() -> Self {
        SingleFlight(Mutex::default())
    }

    /// The result of the lookup in flight, or of a new one. If the caller that runs it disconnects, a waiting one runs it instead.
    pub(super) async fn join<A: Future<Output = V>>(&self, key: K, look_up: impl FnOnce() -> A) -> V {
        let waiter = Waiter { flights: self, key, flight: lock(&self.0).entry(key).or_default().clone() };
        waiter.flight.get_or_init(look_up).await.clone()
    }
}

/// A caller of a lookup. The last one removes the lookup.
struct Waiter<'f, K: Eq + Hash + Copy, V: Clone> {
    flights: &'f SingleFlight<K, V>,
    key: K,
    flight: Arc<OnceCell<V>>,
}

impl<K: Eq + Hash + Copy, V: Clone> Drop for Waiter<'_, K, V> {
    fn drop(&mut self) {
        let mut open = lock(&self.flights.0);
        // A result is only for the callers that waited for it; a later caller starts anew.
        let over = self.flight.initialized() || Arc::strong_count(&self.flight) <= 2;
        if over && open.get(&self.key).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            open.remove(&self.key);
        }
    }
}
