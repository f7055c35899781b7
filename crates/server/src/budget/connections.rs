//! The limits of connections, in all and of one client address. A new connection beyond them replaces the one that has been idle longest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::mutex::lock;

use super::{CallerKey, Figures};

/// A connection that made progress less than this ago is not closed for another one.
const MIN_AGE: Duration = Duration::from_secs(1);
/// The connections beyond the limits that are accepted for a 503 and for `/health` and `/ready`.
const MAX_OVERFLOW: usize = 128;

#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    limit_per_address: usize,
    start: Instant,
    state: Mutex<State>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    open: HashMap<u64, (CallerKey, Arc<Activity>)>,
    addresses: HashMap<CallerKey, usize>,
    overflow: usize,
}

#[derive(Debug)]
pub struct Activity {
    start: Instant,
    /// When bytes were last read or written, in milliseconds since `start`.
    progress: AtomicU64,
    /// How many requests and streams the client waits for.
    working: AtomicUsize,
    close: Notify,
}

impl Activity {
    pub(crate) fn note_progress(&self) {
        self.progress.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// The client begins to wait for us.
    pub(crate) fn begin_work(&self) {
        self.working.fetch_add(1, Ordering::Relaxed);
    }

    /// We begin to wait for the client.
    pub(crate) fn end_work(&self) {
        self.working.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }

    fn idle_since(&self) -> Option<u64> {
        (self.working.load(Ordering::Relaxed) == 0).then(|| self.progress.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    connections: Connections,
    id: u64,
    pub(crate) kind: ConnectionSlotKind,
    pub(crate) activity: Arc<Activity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionSlotKind {
    Regular,
    /// Only `/health` and `/ready`; other requests get 503.
    Overflow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressLimit {
    On,
    /// A trusted proxy stands for many clients.
    Off,
}

impl Connections {
    pub(crate) fn new(limit: usize, limit_per_address: usize) -> Self {
        let (state, refused) = (Mutex::default(), AtomicU64::new(0));
        Connections(Arc::new(Shared { limit, limit_per_address, start: Instant::now(), state, refused }))
    }

    /// A slot for a new connection from this address; none if even the overflow is full.
    pub(crate) fn admit(&self, address: IpAddr, address_limit: AddressLimit) -> Option<ConnectionSlot> {
        let key = CallerKey::of_address(address);
        let mut state = lock(&self.0.state);
        let of_address = state.addresses.get(&key).copied().unwrap_or_default();
        let has_room = if address_limit == AddressLimit::On && of_address >= self.0.limit_per_address {
            self.make_room(&mut state, Some(key))
        } else if state.open.len() >= self.0.limit {
            self.make_room(&mut state, None)
        } else {
            true
        };
        let kind = if has_room { ConnectionSlotKind::Regular } else { ConnectionSlotKind::Overflow };
        if !has_room {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            if state.overflow >= MAX_OVERFLOW {
                return None;
            }
        }
        let activity = Arc::new(Activity {
            start: self.0.start,
            progress: AtomicU64::new(self.0.start.elapsed().as_millis() as u64),
            working: AtomicUsize::new(0),
            close: Notify::new(),
        });
        let id = state.next_id;
        state.next_id += 1;
        match kind {
            ConnectionSlotKind::Overflow => state.overflow += 1,
            ConnectionSlotKind::Regular => {
                state.open.insert(id, (key, activity.clone()));
                *state.addresses.entry(key).or_default() += 1;
            }
        }
        Some(ConnectionSlot { connections: self.clone(), id, kind, activity })
    }

    /// Closes the connection that has been idle longest: of this address, or of the address with the most connections.
    fn make_room(&self, state: &mut State, address: Option<CallerKey>) -> bool {
        let most = || state.addresses.iter().max_by_key(|(_, count)| **count).map(|(key, _)| *key);
        let Some(address) = address.or_else(most) else { return false };
        let idle = state.open.iter().filter(|(_, (key, _))| *key == address);
        let oldest = idle.filter_map(|(id, (_, activity))| Some((activity.idle_since()?, *id))).min();
        let now = self.0.start.elapsed().as_millis() as u64;
        match oldest {
            Some((since, id)) if since + MIN_AGE.as_millis() as u64 <= now => {
                if let Some((_, activity)) = state.remove(id) {
                    activity.close.notify_one();
                }
                true
            }
            _ => false,
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        let used = lock(&self.0.state).open.len();
        Figures { used, limit: self.0.limit, waiting: 0, refused: self.0.refused.load(Ordering::Relaxed) }
    }
}

impl State {
    fn remove(&mut self, id: u64) -> Option<(CallerKey, Arc<Activity>)> {
        let removed = self.open.remove(&id)?;
        if let Some(count) = self.addresses.get_mut(&removed.0) {
            *count -= 1;
            if *count == 0 {
                self.addresses.remove(&removed.0);
            }
        }
        Some(removed)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = lock(&self.connections.0.state);
        match self.kind {
            ConnectionSlotKind::Overflow => state.overflow -= 1,
            ConnectionSlotKind::Regular => _ = state.remove(self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::FutureExt;

    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, number))
    }

    /// Makes a connection look idle for long.
    fn age(slot: &ConnectionSlot) {
        let long_ago = Instant::now().checked_sub(MIN_AGE * 2).expect("a machine that has run for seconds");
        slot.activity.progress.store(0, Ordering::Relaxed);
        assert!(slot.activity.start <= long_ago, "the table is old enough");
    }

    fn old_table(limit: usize, limit_per_address: usize) -> Connections {
        let start = Instant::now().checked_sub(MIN_AGE * 10).expect("a machine that has run for seconds");
        Connections(Arc::new(Shared { limit, limit_per_address, start, state: Mutex::default(), refused: AtomicU64::new(0) }))
    }

    fn admit(connections: &Connections, number: u8) -> ConnectionSlot {
        connections.admit(address(number), AddressLimit::On).expect("a slot")
    }

    #[test]
    fn a_connection_without_progress_makes_room_for_a_new_one_of_its_address() {
        // attack 54
        let connections = old_table(10, 2);
        let (first, second, other) = (admit(&connections, 1), admit(&connections, 1), admit(&connections, 2));
        age(&first);
        age(&other);
        let third = admit(&connections, 1);
        assert_eq!(third.kind, ConnectionSlotKind::Regular);
        assert!(first.activity.closed().now_or_never().is_some(), "the oldest of this address is closed");
        assert!(other.activity.closed().now_or_never().is_none());
        assert_eq!(admit(&connections, 1).kind, ConnectionSlotKind::Overflow, "the others made progress a moment ago");
        drop((first, second, third, other));
        assert_eq!(connections.figures().used, 0);
        assert!(lock(&connections.0.state).addresses.is_empty());
    }

    #[test]
    fn a_connection_that_is_answered_makes_room_for_nobody() {
        // attack 54
        let connections = old_table(10, 1);
        let busy = admit(&connections, 1);
        busy.activity.begin_work();
        age(&busy);
        assert_eq!(admit(&connections, 1).kind, ConnectionSlotKind::Overflow);
        busy.activity.end_work();
        assert_eq!(admit(&connections, 1).kind, ConnectionSlotKind::Regular);
    }

    #[test]
    fn the_address_with_the_most_connections_makes_room_for_another_address() {
        // attack 54
        let connections = old_table(4, 3);
        let crowd: Vec<ConnectionSlot> = (0..3).map(|_| admit(&connections, 1)).collect();
        let lone = admit(&connections, 2);
        crowd.iter().chain([&lone]).for_each(age);
        assert_eq!(admit(&connections, 3).kind, ConnectionSlotKind::Regular);
        assert!(lone.activity.closed().now_or_never().is_none());
        assert_eq!(crowd.iter().filter(|slot| slot.activity.closed().now_or_never().is_some()).count(), 1);
    }

    #[test]
    fn a_trusted_proxy_has_no_limit_of_its_own_and_the_overflow_has_one() {
        // attack 54
        let connections = old_table(3, 1);
        let proxied: Vec<ConnectionSlot> = (0..3).filter_map(|_| connections.admit(address(1), AddressLimit::Off)).collect();
        assert!(proxied.iter().all(|slot| slot.kind == ConnectionSlotKind::Regular));
        let overflow: Vec<_> = (0..=MAX_OVERFLOW).map(|_| connections.admit(address(2), AddressLimit::On)).collect();
        assert_eq!(overflow.iter().flatten().filter(|slot| slot.kind == ConnectionSlotKind::Overflow).count(), MAX_OVERFLOW);
        assert!(overflow.last().is_some_and(Option::is_none));
        drop(overflow);
        assert_eq!(lock(&connections.0.state).overflow, 0);
    }
}
