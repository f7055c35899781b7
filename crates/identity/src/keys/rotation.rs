//! The life of a signing key: announced so that every verifier knows it, then signing, then retired but published until the last token it
//! signed has expired. The states stand in the database, so that all replicas of a hub agree; only files hold private halves.

use crate::keys::{KeyId, KeySet, KeySetFault, PublicKey};
use crate::moment::Moment;
use crate::token::{LEEWAY_SECONDS, LONGEST_LIFE_SECONDS};

/// How long a key is published before it may sign, unless an operator knows better: longer than any cache of the key set.
pub const ANNOUNCED_SECONDS: i64 = 300;
/// How long another replica may still sign with the old key after a promotion: a hub reads its ring again at least this often.
pub const REPLICA_SECONDS: i64 = 60;
/// How long a key is published after it signed last. What clients are given today says nothing of the tokens of yesterday, so the bound is
/// the one that verifiers keep: no token lives longer.
pub const RETIRED_SECONDS: i64 = LONGEST_LIFE_SECONDS + REPLICA_SECONDS + LEEWAY_SECONDS;

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Published, does not sign yet.
    Announced {
        /// When it was first published.
        since: Moment,
    },
    /// The one that signs.
    Signing {
        /// When it began to.
        since: Moment,
    },
    /// Signs no more; published as long as a token of it may live.
    Retired {
        /// When its last token has expired.
        until: Moment,
    },
}

/// A key and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The public half.
    pub key: PublicKey,
    /// Its state.
    pub state: KeyState,
}

/// Why a step of a rotation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationFault {
    /// Another key is on its way already.
    #[error("a rotation is under way already: its key is announced and does not sign yet")]
    UnderWay,
    /// The key has been in use before.
    #[error("this key is or was in use: a rotation needs a new one")]
    Known,
    /// Nothing is announced.
    #[error("no key is announced")]
    NothingAnnounced,
    /// Verifiers may not know the key yet.
    #[error("the announced key may sign in {0} seconds, when every verifier knows it")]
    TooEarly(i64),
    /// The records contradict each other: two signing keys, or two announced.
    #[error("the records of the keys contradict each other")]
    Contradiction,
}

/// All keys of a hub: at most one signs, at most one is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRing(Vec<KeyRecord>);

impl KeyRing {
    /// The ring of a new hub: its first key signs at once, since nobody can hold an older key set.
    pub fn begin(key: PublicKey, now: Moment) -> Self {
        KeyRing(vec![KeyRecord { key, state: KeyState::Signing { since: now } }])
    }

    /// The ring as the database keeps it.
    pub fn load(records: Vec<KeyRecord>) -> Result<Self, RotationFault> {
        let signing = records.iter().filter(|record| matches!(record.state, KeyState::Signing { .. })).count();
        let announced = records.iter().filter(|record| matches!(record.state, KeyState::Announced { .. })).count();
        if signing != 1 || announced > 1 {
            return Err(RotationFault::Contradiction);
        }
        Ok(KeyRing(records))
    }

    /// What to save.
    pub fn records(&self) -> &[KeyRecord] {
        &self.0
    }

    /// The key that signs.
    pub fn signing(&self) -> Option<&PublicKey> {
        self.find(|state| matches!(state, KeyState::Signing { .. }))
    }

    /// The key that will sign next.
    pub fn announced(&self) -> Option<&PublicKey> {
        self.find(|state| matches!(state, KeyState::Announced { .. }))
    }

    fn find(&self, wanted: impl Fn(KeyState) -> bool) -> Option<&PublicKey> {
        self.0.iter().find(|record| wanted(record.state)).map(|record| &record.key)
    }

    /// Publishes the next key.
    pub fn announce(mut self, key: PublicKey, now: Moment) -> Result<Self, RotationFault> {
        if self.announced().is_some() {
            return Err(RotationFault::UnderWay);
        }
        if self.0.iter().any(|record| record.key.id() == key.id()) {
            return Err(RotationFault::Known);
        }
        self.0.push(KeyRecord { key, state: KeyState::Announced { since: now } });
        Ok(self)
    }

    /// Lets the announced key sign and retires the old one, which stays published for the longest life a token of it can have.
    ///
    /// `announced_seconds` is how long it must have been published by now: [`ANNOUNCED_SECONDS`] where nothing else was asked.
    pub fn promote(mut self, now: Moment, announced_seconds: i64) -> Result<Self, RotationFault> {
        let since = self.0.iter().find_map(|record| match record.state {
            KeyState::Announced { since } => Some(since),
            _ => None,
        });
        let waited = now.since(since.ok_or(RotationFault::NothingAnnounced)?);
        if waited < announced_seconds {
            return Err(RotationFault::TooEarly(announced_seconds - waited));
        }
        let until = now.plus(RETIRED_SECONDS);
        for record in &mut self.0 {
            record.state = match record.state {
                KeyState::Announced { .. } => KeyState::Signing { since: now },
                KeyState::Signing { .. } => KeyState::Retired { until },
                retired @ KeyState::Retired { .. } => retired,
            };
        }
        Ok(self)
    }

    /// Lets a key sign at once that was never announced, because the private half of the old one is lost or not to be trusted: verifiers
    /// fetch the key set again when they meet an unknown name. An announced key that never signed is dropped.
    pub fn replace(mut self, key: PublicKey, now: Moment) -> Result<Self, RotationFault> {
        self.0.retain(|record| !matches!(record.state, KeyState::Announced { .. }));
        self.announce(key, now)?.promote(now, 0)
    }

    /// Drops the retired keys of which no token can be alive; gives the names of those dropped.
    pub fn purge(&mut self, now: Moment) -> Vec<KeyId> {
        let over = |record: &KeyRecord| matches!(record.state, KeyState::Retired { until } if until < now);
        let dropped = self.0.iter().filter(|record| over(record)).map(|record| record.key.id().clone()).collect();
        self.0.retain(|record| !over(record));
        dropped
    }

    /// The key set to publish: announced, signing and retired keys.
    pub fn published(&self, now: Moment) -> Result<KeySet, KeySetFault> {
        let live = self.0.iter().filter(|record| !matches!(record.state, KeyState::Retired { until } if until < now));
        KeySet::new(live.map(|record| record.key.clone()).collect())
    }
}
