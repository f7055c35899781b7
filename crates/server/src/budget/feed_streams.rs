//! The streams of the change feed that clients hold: a limit for the process, and one for each client.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use identity::client::ClientId;
use tokio::sync::watch;

use super::{Figures, Overloaded};

/// Every process of a satellite holds one.
const MAX_OF_CLIENT: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct FeedStreams(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    held: watch::Sender<HashMap<ClientId, usize>>,
    refused: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct FeedSlot {
    streams: Arc<Shared>,
    client: ClientId,
}

impl FeedStreams {
    pub(super) fn new(limit: usize) -> Self {
        FeedStreams(Arc::new(Shared { limit, held: watch::Sender::default(), refused: AtomicU64::new(0) }))
    }

    pub(crate) fn try_acquire(&self, client: &ClientId) -> Result<FeedSlot, Overloaded> {
        let is_taken = self.0.held.send_if_modified(|held| {
            let of_client = held.get(client).copied().unwrap_or_default();
            let has_room = of_client < MAX_OF_CLIENT && held.values().sum::<usize>() < self.0.limit;
            if has_room {
                held.insert(client.clone(), of_client + 1);
            }
            has_room
        });
        if !is_taken {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Overloaded::Busy);
        }
        Ok(FeedSlot { streams: self.0.clone(), client: client.clone() })
    }

    /// The number of streams of each client that has any. It changes when a stream begins or ends.
    pub(crate) fn subscribe(&self) -> watch::Receiver<HashMap<ClientId, usize>> {
        self.0.held.subscribe()
    }

    pub(crate) fn figures(&self) -> Figures {
        let used = self.0.held.borrow().values().sum();
        Figures { used, limit: self.0.limit, waiting: 0, refused: self.0.refused.load(Ordering::Relaxed) }
    }
}

impl Drop for FeedSlot {
    fn drop(&mut self) {
        self.streams.held.send_modify(|held| {
            if let Some(count) = held.get_mut(&self.client) {
                *count -= 1;
            }
            held.retain(|_, count| *count > 0);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_and_the_process_have_a_limit() {
        // contract I37.5
        let client = |name: &str| ClientId::parse(name).expect("a client id");
        let streams = FeedStreams::new(MAX_OF_CLIENT + 2);
        let mut held: Vec<FeedSlot> = (0..MAX_OF_CLIENT).map(|_| streams.try_acquire(&client("web")).expect("a slot")).collect();
        assert!(streams.try_acquire(&client("web")).is_err());
        held.extend((0..2).map(|_| streams.try_acquire(&client("phone")).expect("a slot")));
        assert!(streams.try_acquire(&client("phone")).is_err());
        let limit = MAX_OF_CLIENT + 2;
        assert_eq!(streams.figures(), Figures { used: limit, limit, waiting: 0, refused: 2 });
        drop(held);
        assert_eq!(streams.figures().used, 0);
        assert!(streams.subscribe().borrow().is_empty());
    }
}
