//! What the streams of this process tell: one look at the database for all of them, ten times a second while there are any, the changes
//! of the last while in memory, and each signed once for a client.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use identity::client::ClientId;
use identity::keys::KeyId;
use identity::token::SecurityEvent;
use identity::token::security_event::Subject;
use lru::LruCache;
use store::changes;
use store::records::Records;
use tokio::sync::watch;

use super::Hub;

/// How often the database is asked; what one replica of the hub changed is told by the others well within a quarter of a second.
const PAUSE: Duration = Duration::from_millis(100);
/// How long after a failure it is asked again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How many changes are read at once, how many are kept in memory, and how many signed texts.
const BATCH: i64 = 500;
const MOST_RECENT: usize = 4_096;
const MOST_SIGNED: NonZeroUsize = NonZeroUsize::new(4_096).unwrap();
/// How many streams there are at most, of one client and in all.
const MOST_OF_CLIENT: usize = 64;
const MOST_STREAMS: usize = 1_024;

/// A change, and who hears of it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) event: SecurityEvent,
    /// The clients that its account, or its family, was granted something through.
    clients: BTreeSet<ClientId>,
}

impl Told {
    /// Whether it concerns anybody who listens for these clients.
    pub(super) fn concerns(&self, listeners: &[ClientId]) -> bool {
        match &self.event.subject {
            Subject::Everybody => true,
            Subject::Client(client) => listeners.contains(client),
            Subject::Account(_) | Subject::Family { .. } => listeners.iter().any(|client| self.clients.contains(client)),
        }
    }
}

/// The changes that were seen last, without a gap.
#[derive(Debug, Default)]
struct Recent {
    /// The number before the first of them; unknown until the database was asked.
    after: Option<i64>,
    changes: VecDeque<Arc<Told>>,
}

impl Recent {
    fn last(&self) -> Option<i64> {
        self.changes.back().map(|told| told.event.sequence).or(self.after)
    }

    /// The changes after a number, if they are all here.
    fn since(&self, number: i64) -> Option<Vec<Arc<Told>>> {
        let skipped = usize::try_from(number - self.after?).ok()?;
        Some(self.changes.iter().skip(skipped).take(BATCH as usize).cloned().collect())
    }

    fn add(&mut self, changes: Vec<Told>) {
        self.changes.extend(changes.into_iter().map(Arc::new));
        while self.changes.len() > MOST_RECENT {
            self.after = self.changes.pop_front().map(|told| told.event.sequence);
        }
    }
}

/// What the streams of a process share.
#[derive(Debug)]
pub(super) struct Feed {
    recent: Mutex<Recent>,
    newest: watch::Sender<i64>,
    streams: watch::Sender<HashMap<ClientId, usize>>,
    /// By the key too: one that is long retired is not published any more.
    signed: Mutex<LruCache<(i64, ClientId, KeyId), Bytes>>,
    retired: watch::Sender<bool>,
}

impl Feed {
    pub(super) fn new() -> Self {
        Feed {
            recent: Mutex::default(),
            newest: watch::Sender::new(0),
            streams: watch::Sender::default(),
            signed: Mutex::new(LruCache::new(MOST_SIGNED)),
            retired: watch::Sender::new(false),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of the largest number that is known.
    pub(super) fn newest(&self) -> watch::Receiver<i64> {
        self.newest.subscribe()
    }

    /// Tells when the process is about to end.
    pub(super) fn retired(&self) -> watch::Receiver<bool> {
        self.retired.subscribe()
    }

    /// Ends all streams, so that the process can.
    pub(super) fn retire(&self) {
        self.retired.send_replace(true);
    }

    /// A place for one more stream, unless there are too many.
    pub(super) fn enter(hub: &Hub, client: &ClientId) -> Option<StreamPlace> {
        let mut entered = false;
        hub.feed().streams.send_if_modified(|streams| {
            let of_client = streams.get(client).copied().unwrap_or_default();
            entered = of_client < MOST_OF_CLIENT && streams.values().sum::<usize>() < MOST_STREAMS;
            if entered {
                streams.insert(client.clone(), of_client + 1);
            }
            entered
        });
        entered.then(|| StreamPlace { hub: hub.clone(), client: client.clone() })
    }

    /// The changes after a number, from memory or from the database; nothing if they are no longer kept.
    pub(super) async fn after(&self, records: &Records, number: i64) -> Result<Vec<Arc<Told>>, store::Error> {
        let found = self.recent().since(number);
        match found {
            Some(found) => Ok(found),
            None => Ok(read(records, number).await?.into_iter().map(Arc::new).collect()),
        }
    }

    /// The text by which a change is told to a client. It is the same for every stream of the client.
    pub(super) fn text(&self, hub: &Hub, event: &SecurityEvent, client: &ClientId) -> Option<Bytes> {
        let keys = hub.keys().current();
        let key = (event.sequence, client.clone(), keys.signing().clone());
        if let Some(text) = self.signed.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Some(text.clone());
        }
        let token = keys.sign_event(event, hub.issuer(), client)?;
        let text = Bytes::from(format!("id: {}\nevent: secevent\ndata: {token}\n\n", event.sequence));
        self.signed.lock().unwrap_or_else(PoisonError::into_inner).put(key, text.clone());
        Some(text)
    }
}

/// A stream's place among all; free again when it is dropped.
#[derive(Debug)]
pub(super) struct StreamPlace {
    hub: Hub,
    client: ClientId,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.hub.feed().streams.send_modify(|streams| {
            if let Some(count) = streams.get_mut(&self.client) {
                *count -= 1;
            }
            streams.retain(|_, count| *count > 0);
        });
    }
}

/// Reads changes with those who hear of them.
async fn read(records: &Records, after: i64) -> Result<Vec<Told>, store::Error> {
    let events = changes::after(records, after, BATCH).await?;
    let (mut accounts, mut families) = (Vec::new(), Vec::new());
    for event in &events {
        match event.subject {
            Subject::Account(account) => accounts.push(account),
            Subject::Family { family, .. } => families.push(family),
            Subject::Client(_) | Subject::Everybody => {}
        }
    }
    let clients = changes::clients_of(records, &accounts, &families).await?;
    let told = events.into_iter().map(|event| {
        let named = match event.subject {
            Subject::Account(id) | Subject::Family { family: id, .. } => clients.get(&id).cloned(),
            Subject::Client(_) | Subject::Everybody => None,
        };
        Told { event, clients: named.unwrap_or_default() }
    });
    Ok(told.collect())
}

/// Looks for changes while there are streams; works until the process ends.
pub(crate) async fn follow(hub: Hub) {
    let feed = hub.feed();
    let mut streams = feed.streams.subscribe();
    let mut failed = false;
    loop {
        if streams.borrow_and_update().is_empty() {
            // Nobody listens: what is in memory is not kept up, and those who come next begin anew.
            *feed.recent() = Recent::default();
            if streams.changed().await.is_err() {
                return;
            }
        }
        let looked = look(feed, hub.records()).await;
        match &looked {
            Ok(()) => failed = false,
            Err(error) if !failed => {
                failed = true;
                tracing::warn!(%error, "changes of accounts cannot be read, and satellites are not told of them; it is tried again");
            }
            Err(_) => {}
        }
        tokio::time::sleep(if looked.is_ok() { PAUSE } else { PAUSE_AFTER_FAILURE }).await;
    }
}

async fn look(feed: &Feed, records: &Records) -> Result<(), store::Error> {
    loop {
        let last = feed.recent().last();
        let Some(last) = last else {
            let newest = changes::numbers(records).await?.newest;
            feed.recent().after = Some(newest);
            feed.newest.send_replace(newest);
            continue;
        };
        let changes = read(records, last).await?;
        let Some(newest) = changes.last().map(|told| told.event.sequence) else { return Ok(()) };
        if changes[0].event.sequence != last + 1 {
            // Purged before it was read, after a long outage: those who listen find out by themselves.
            *feed.recent() = Recent::default();
            continue;
        }
        feed.recent().add(changes);
        feed.newest.send_replace(newest);
    }
}
