//! The key set of the hub: the last valid one, fetched regularly and, at a limited rate, for an unknown key.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use identity::freshness::{self, Freshness, KEY_SET_SECONDS, may_refetch};
use identity::keys::key_set::MAX_KEY_SET_BYTES;
use identity::keys::{KeyId, KeySet};
use identity::timestamp::Timestamp;
use tokio::sync::Mutex;

use crate::{clock, random};

use super::hub_client::{HubClient, HubRequest, Lane};

const PATH: &str = "/.well-known/jwks.json";
/// The pauses after failed fetches, first and longest. A satellite without keys cannot authenticate anybody and retries more often.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(20);
const MAX_PAUSE_WITHOUT_KEYS: Duration = Duration::from_secs(2);

/// How often an unknown key causes a fetch while other requests to the hub fail.
const CHECK_SECONDS: i64 = 5;

#[derive(Clone, Debug)]
pub(super) struct HubKeys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hub_client: HubClient,
    known: RwLock<Known>,
    /// Held during a fetch: one at a time.
    turn: Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// The last valid set, and when it was fetched.
    set: Option<(Arc<KeySet>, Timestamp)>,
    /// How many other requests to the hub had failed at the time of that fetch.
    failed_requests: u64,
    /// Why a key of that set is not used.
    unusable: Option<String>,
    failures: u32,
    /// When an unknown key last caused a fetch.
    sought_at: Option<Timestamp>,
    /// When an unknown key last caused a fetch because other requests failed.
    checked_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    Unknown,
    /// The hub does not answer, or the set is too old.
    Unavailable,
}

impl Known {
    fn is_current(&self) -> bool {
        self.set.is_some() && self.failures == 0
    }

    fn usable(&self, now: Timestamp) -> Option<&Arc<KeySet>> {
        let (set, fetched_at) = self.set.as_ref()?;
        (freshness::key_set(*fetched_at, now) != Freshness::Over).then_some(set)
    }
}

impl HubKeys {
    pub(super) fn of(hub_client: HubClient) -> Self {
        HubKeys(Arc::new(Inner { hub_client, known: RwLock::default(), turn: Mutex::default() }))
    }

    fn known(&self) -> Known {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.0.known.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn are_known(&self) -> bool {
        self.known().usable(clock::now()).is_some()
    }

    /// A set that holds this key. An unknown key causes a fetch, at most one in half a minute. If other requests to the hub fail in that
    /// time, it causes one more, to tell an invalid token from an unavailable hub.
    pub(super) async fn with(&self, id: &KeyId) -> Result<Arc<KeySet>, NoKey> {
        if let Some(answer) = self.known_answer(id) {
            return answer;
        }
        let _turn = self.0.turn.lock().await;
        // The previous fetch may have brought the key.
        if let Some(answer) = self.known_answer(id) {
            return answer;
        }
        let now = clock::now();
        self.change(|known| {
            let asked_at = if may_refetch(known.sought_at, now) { &mut known.sought_at } else { &mut known.checked_at };
            *asked_at = Some(now);
        });
        self.fetch().await;
        self.known_answer(id).unwrap_or(Err(NoKey::Unavailable))
    }

    /// The answer, if it needs no fetch.
    fn known_answer(&self, id: &KeyId) -> Option<Result<Arc<KeySet>, NoKey>> {
        let (known, now) = (self.known(), clock::now());
        let Some(set) = known.usable(now) else { return Some(Err(NoKey::Unavailable)) };
        if set.find(id).is_some() {
            return Some(Ok(set.clone()));
        }
        if may_refetch(known.sought_at, now) {
            return None;
        }
        if !known.is_current() {
            return Some(Err(NoKey::Unavailable));
        }
        let is_checked = known.checked_at.is_some_and(|at| now.since(at) < CHECK_SECONDS);
        let is_doubtful = known.failed_requests != self.0.hub_client.failed_requests();
        if is_doubtful && !is_checked { None } else { Some(Err(NoKey::Unknown)) }
    }

    /// Fetches the set once. An invalid set changes nothing: the last valid one stays in use.
    async fn fetch(&self) {
        let request = HubRequest { path: PATH, body: None, authorization: None, max_bytes: MAX_KEY_SET_BYTES };
        let failed_requests = self.0.hub_client.failed_requests();
        let fetched = match self.0.hub_client.send(Lane::Keys, request).await {
            Err(error) => Err(error.to_string()),
            Ok(answer) if answer.status != 200 => Err(format!("it answered {}", answer.status)),
            Ok(answer) => KeySet::read(&answer.body).map_err(|fault| format!("its key set {fault}")),
        };
        let before = self.known();
        match fetched {
            Ok((set, unusable)) => {
                let unusable = unusable.first().map(ToString::to_string);
                if unusable != before.unusable
                    && let Some(reason) = &unusable
                {
                    tracing::warn!(reason, "a key of the hub is unusable; the others are used");
                }
                if !before.is_current() {
                    tracing::info!(keys = set.keys().len(), "fetched the keys of the hub");
                }
                self.change(|known| {
                    known.set = Some((Arc::new(set), clock::now()));
                    known.failures = 0;
                    known.unusable = unusable;
                    known.failed_requests = failed_requests;
                });
            }
            Err(reason) => {
                if before.failures == 0 {
                    tracing::warn!(reason, "could not fetch the keys of the hub; retrying");
                } else {
                    tracing::debug!(reason, "could not fetch the keys of the hub");
                }
                self.change(|known| known.failures = known.failures.saturating_add(1));
            }
        }
    }

    pub(super) async fn keep(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            {
                let _turn = self.0.turn.lock().await;
                self.fetch().await;
            }
            let known = self.known();
            let wait = if known.is_current() {
                pause = FIRST_PAUSE;
                Duration::from_secs(KEY_SET_SECONDS as u64 / 2).mul_f64(0.8 + 0.2 * random::fraction())
            } else {
                let longest = if known.set.is_some() { MAX_PAUSE } else { MAX_PAUSE_WITHOUT_KEYS };
                let wait = pause.min(longest);
                pause = (pause * 2).min(MAX_PAUSE);
                wait
            };
            tokio::time::sleep(wait).await;
        }
    }
}
