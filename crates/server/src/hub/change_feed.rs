//! The change feed: polls the database once for all streams of this process, holds recent changes, and signs each once for a client.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use identity::client::ClientId;
use identity::keys::KeyId;
use identity::token::AccountChange;
use identity::token::security_event::Subject;
use lru::LruCache;
use store::hub_records::Records;
use store::hub_records::account_changes;
use tokio::sync::watch;

use crate::mutex::lock;

use super::Hub;

/// How often the database is polled. A change at one replica is streamed by the others within a quarter of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Limits of one read, of the changes in memory, and of the signed events in memory.
const BATCH: i64 = 500;
const MAX_RECENT: usize = 4_096;
const MAX_SIGNED: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();
#[derive(Debug)]
pub(super) struct FeedEntry {
    pub(super) event: AccountChange,
    /// The clients that the account or the family has grants of.
    clients: BTreeSet<ClientId>,
}

impl FeedEntry {
    pub(super) fn concerns(&self, clients: &[ClientId]) -> bool {
        match &self.event.subject {
            Subject::Everybody => true,
            Subject::Client(client) => clients.contains(client),
            Subject::Account(_) | Subject::Family { .. } => clients.iter().any(|client| self.clients.contains(client)),
        }
    }
}

/// The most recent changes, without a gap.
#[derive(Debug, Default)]
struct Recent {
    /// The number before the first of them; unknown until the first poll.
    after: Option<i64>,
    changes: VecDeque<Arc<FeedEntry>>,
}

impl Recent {
    fn last(&self) -> Option<i64> {
        self.changes.back().map(|entry| entry.event.sequence).or(self.after)
    }

    /// The changes after a number, if all of them are in memory.
    fn since(&self, number: i64) -> Option<Vec<Arc<FeedEntry>>> {
        let skipped = usize::try_from(number - self.after?).ok()?;
        Some(self.changes.iter().skip(skipped).take(BATCH as usize).cloned().collect())
    }

    fn add(&mut self, changes: Vec<FeedEntry>) {
        self.changes.extend(changes.into_iter().map(Arc::new));
        while self.changes.len() > MAX_RECENT {
            self.after = self.changes.pop_front().map(|entry| entry.event.sequence);
        }
    }
}

#[derive(Debug)]
pub(super) struct ChangeFeed {
    recent: Mutex<Recent>,
    pub(super) newest: watch::Sender<i64>,
    /// By signing key too, since a retired key is no longer published.
    signed: Mutex<LruCache<(i64, ClientId, KeyId), Bytes>>,
    /// Becomes true when the process is about to stop, which ends all streams.
    pub(super) retired: watch::Sender<bool>,
}

impl ChangeFeed {
    pub(super) fn new() -> Self {
        ChangeFeed {
            recent: Mutex::default(),
            newest: watch::Sender::new(0),
            signed: Mutex::new(LruCache::new(MAX_SIGNED)),
            retired: watch::Sender::new(false),
        }
    }

    /// The changes after a number, from memory or from the database; none if they were purged.
    pub(super) async fn after(&self, records: &Records, number: i64) -> Result<Vec<Arc<FeedEntry>>, store::Error> {
        let found = lock(&self.recent).since(number);
        match found {
            Some(found) => Ok(found),
            None => Ok(read(records, number).await?.into_iter().map(Arc::new).collect()),
        }
    }

    /// The event of a change for a client, the same in every stream of the client.
    pub(super) fn text(&self, hub: &Hub, event: &AccountChange, client: &ClientId) -> Option<Bytes> {
        let keys = hub.0.keys.current();
        let key = (event.sequence, client.clone(), keys.signing().clone());
        if let Some(text) = lock(&self.signed).get(&key) {
            return Some(text.clone());
        }
        let token = keys.sign_event(event, hub.issuer(), client)?;
        let text = Bytes::from(format!("id: {}\nevent: secevent\ndata: {token}\n\n", event.sequence));
        lock(&self.signed).put(key, text.clone());
        Some(text)
    }
}

async fn read(records: &Records, after: i64) -> Result<Vec<FeedEntry>, store::Error> {
    let events = account_changes::after(records, after, BATCH).await?;
    let (mut accounts, mut families) = (Vec::new(), Vec::new());
    for event in &events {
        match event.subject {
            Subject::Account(account) => accounts.push(account),
            Subject::Family { family, .. } => families.push(family),
            Subject::Client(_) | Subject::Everybody => {}
        }
    }
    let clients = account_changes::clients_of(records, &accounts, &families).await?;
    let entries = events.into_iter().map(|event| {
        let named = match event.subject {
            Subject::Account(id) | Subject::Family { family: id, .. } => clients.get(&id).cloned(),
            Subject::Client(_) | Subject::Everybody => None,
        };
        FeedEntry { event, clients: named.unwrap_or_default() }
    });
    Ok(entries.collect())
}

/// Polls for changes while there are streams, until the process ends.
pub(crate) async fn follow(hub: Hub) {
    let feed = &hub.0.feed;
    let mut streams = hub.0.budgets.change_feed.subscribe();
    let mut failed = false;
    loop {
        if streams.borrow_and_update().is_empty() {
            // Without streams the memory is not kept up to date; the next stream begins anew.
            *lock(&feed.recent) = Recent::default();
            if streams.changed().await.is_err() {
                return;
            }
        }
        let polled = poll(feed, hub.records()).await;
        match &polled {
            Ok(()) => failed = false,
            Err(error) if !failed => {
                failed = true;
                tracing::warn!(%error, "could not read account changes; satellites do not hear of them until a retry succeeds");
            }
            Err(_) => {}
        }
        tokio::time::sleep(if polled.is_ok() { POLL_INTERVAL } else { RETRY_INTERVAL }).await;
    }
}

async fn poll(feed: &ChangeFeed, records: &Records) -> Result<(), store::Error> {
    loop {
        let last = lock(&feed.recent).last();
        let Some(last) = last else {
            let newest = account_changes::range(records).await?.newest;
            lock(&feed.recent).after = Some(newest);
            feed.newest.send_replace(newest);
            continue;
        };
        let changes = read(records, last).await?;
        let Some(newest) = changes.last().map(|entry| entry.event.sequence) else { return Ok(()) };
        if changes[0].event.sequence != last + 1 {
            // Purged before they were read, after a long outage. The streams notice the gap themselves.
            *lock(&feed.recent) = Recent::default();
            continue;
        }
        lock(&feed.recent).add(changes);
        feed.newest.send_replace(newest);
    }
}
