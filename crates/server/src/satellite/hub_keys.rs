//! The hub's keys as a satellite keeps them: the last good set, fetched again by the clock and, now and then, for a key that it lacks.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use identity::freshness::{self, Freshness, KEY_SET_SECONDS, may_refetch};
use identity::keys::key_set::LONGEST_KEY_SET;
use identity::keys::{KeyId, KeySet};
use identity::moment::Moment;
use tokio::sync::Mutex;

use crate::clock;
use crate::random;

use super::hub_client::{Ask, Lane, Upstream};

const PATH: &str = "/.well-known/jwks.json";
/// How soon a fetch that failed is tried again, at first and at last: a satellite without keys can serve nobody and asks more often.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
const LONGEST_PAUSE_WITHOUT: Duration = Duration::from_secs(2);

/// How often a satellite makes sure of its keys for an unknown one while other requests to the hub fail.
const CHECK_SECONDS: i64 = 5;

/// The keys. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Keys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    upstream: Upstream,
    known: RwLock<Known>,
    /// Held while the hub is asked: one fetch at a time.
    turn: Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// The last good set, and when it came.
    set: Option<(Arc<KeySet>, Moment)>,
    /// How many other requests to the hub had failed when that was asked for.
    failed_requests: u64,
    /// Why a key of that set is not used, where one is not.
    unfit: Option<String>,
    /// How many fetches have failed since the last good one.
    failures: u32,
    /// When an unknown key last made us ask.
    sought_at: Option<Moment>,
    /// When we last asked, for an unknown key, whether the hub answers at all.
    checked_at: Option<Moment>,
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The hub has no such key.
    Unknown,
    /// Nobody can tell: the hub does not answer, or has not for too long.
    Unavailable,
}

impl Known {
    /// Whether the last fetch gave a good set.
    fn is_current(&self) -> bool {
        self.set.is_some() && self.failures == 0
    }

    /// The set, unless it is too old to go by.
    fn usable(&self, now: Moment) -> Option<&Arc<KeySet>> {
        let (set, fetched_at) = self.set.as_ref()?;
        (freshness::key_set(*fetched_at, now) != Freshness::Over).then_some(set)
    }
}

impl Keys {
    pub(super) fn of(upstream: Upstream) -> Self {
        Keys(Arc::new(Inner { upstream, known: RwLock::default(), turn: Mutex::default() }))
    }

    fn known(&self) -> Known {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.0.known.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether tokens can be verified now.
    pub(super) fn are_there(&self) -> bool {
        self.known().usable(clock::now()).is_some()
    }

    /// A set that holds this key. An unknown one makes us ask the hub, one request for all who wait, at most once in half a minute; the
    /// others are answered from what is known. In that time other requests to the hub may begin to fail. That alone says nothing of the
    /// keys, so they are asked for once more, to tell a bad token from a hub that is away.
    pub(super) async fn with(&self, id: &KeyId) -> Result<Arc<KeySet>, NoKey> {
        if let Some(answer) = self.at_hand(id) {
            return answer;
        }
        let _turn = self.0.turn.lock().await;
        // Whoever had the turn before may have asked for us.
        if let Some(answer) = self.at_hand(id) {
            return answer;
        }
        let now = clock::now();
        self.change(|known| {
            let asked_at = if may_refetch(known.sought_at, now) { &mut known.sought_at } else { &mut known.checked_at };
            *asked_at = Some(now);
        });
        self.fetch().await;
        self.at_hand(id).unwrap_or(Err(NoKey::Unavailable))
    }

    /// The answer, where the hub need not be asked for it.
    fn at_hand(&self, id: &KeyId) -> Option<Result<Arc<KeySet>, NoKey>> {
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
        let is_doubtful = known.failed_requests != self.0.upstream.failed_requests();
        if is_doubtful && !is_checked { None } else { Some(Err(NoKey::Unknown)) }
    }

    /// Fetches the set once. A set that is broken or poisoned changes nothing: the last good one serves on.
    async fn fetch(&self) {
        let ask = Ask { path: PATH, body: None, authorization: None, most_bytes: LONGEST_KEY_SET };
        let failed_requests = self.0.upstream.failed_requests();
        let fetched = match self.0.upstream.send(Lane::Keys, ask).await {
            Err(trouble) => Err(trouble.to_string()),
            Ok(answer) if answer.status != 200 => Err(format!("it answered {}", answer.status)),
            Ok(answer) => KeySet::read(&answer.body).map_err(|fault| format!("its key set {fault}")),
        };
        let before = self.known();
        match fetched {
            Ok((set, unfit)) => {
                let unfit = unfit.first().map(ToString::to_string);
                if unfit != before.unfit
                    && let Some(reason) = &unfit
                {
                    tracing::warn!(reason, "a key of the hub is not used; the others are");
                }
                if !before.is_current() {
                    tracing::info!(keys = set.keys().len(), "the hub's keys are there");
                }
                self.change(|known| {
                    known.set = Some((Arc::new(set), clock::now()));
                    known.failures = 0;
                    known.unfit = unfit;
                    known.failed_requests = failed_requests;
                });
            }
            Err(reason) => {
                if before.failures == 0 {
                    tracing::warn!(reason, "the hub's keys could not be fetched; it is tried again and again");
                } else {
                    tracing::debug!(reason, "the hub's keys could not be fetched");
                }
                self.change(|known| known.failures = known.failures.saturating_add(1));
            }
        }
    }

    /// Fetches the set by the clock; works until the process ends.
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
                let longest = if known.set.is_some() { LONGEST_PAUSE } else { LONGEST_PAUSE_WITHOUT };
                let wait = pause.min(longest);
                pause = (pause * 2).min(LONGEST_PAUSE);
                wait
            };
            tokio::time::sleep(wait).await;
        }
    }
}
