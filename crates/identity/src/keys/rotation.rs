//! The life of a signing key: announced so that every verifier knows it, then signing, then retired but published until the last token it
//! signed has expired. The states stand in the database, so that all replicas of a hub agree; only files hold private halves.

use crate::keys::key_set::MOST_KEYS;
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
    /// As many keys are published as a verifier takes.
    #[error(
        "{MOST_KEYS} keys are published, and verifiers take no more: a new one can be announced in {0} seconds, when the first is over"
    )]
    Full(i64),
    /// The records contradict each other: two signing keys, or two announced.
    #[error("the records of the keys contradict each other")]
    Contradiction,
}

/// A key and the time that its state is about.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dated {
    key: PublicKey,
    at: Moment,
}

impl Dated {
    fn record(&self, state: impl FnOnce(Moment) -> KeyState) -> KeyRecord {
        KeyRecord { key: self.key.clone(), state: state(self.at) }
    }
}

/// All keys of a hub: one signs, at most one is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRing {
    signing: Dated,
    announced: Option<Dated>,
    retired: Vec<Dated>,
}

impl KeyRing {
    /// The ring of a new hub: its first key signs at once, since nobody can hold an older key set.
    pub fn begin(key: PublicKey, now: Moment) -> Self {
        KeyRing { signing: Dated { key, at: now }, announced: None, retired: Vec::new() }
    }

    /// The ring as the database keeps it.
    pub fn load(records: Vec<KeyRecord>) -> Result<Self, RotationFault> {
        let (mut signing, mut announced, mut retired) = (Vec::new(), Vec::new(), Vec::new());
        for KeyRecord { key, state } in records {
            match state {
                KeyState::Signing { since: at } => signing.push(Dated { key, at }),
                KeyState::Announced { since: at } => announced.push(Dated { key, at }),
                KeyState::Retired { until: at } => retired.push(Dated { key, at }),
            }
        }
        match (signing.pop(), announced.pop()) {
            (Some(one), next) if signing.is_empty() && announced.is_empty() => Ok(KeyRing { signing: one, announced: next, retired }),
            _ => Err(RotationFault::Contradiction),
        }
    }

    /// What to save.
    pub fn records(&self) -> Vec<KeyRecord> {
        let retired = self.retired.iter().map(|key| key.record(|until| KeyState::Retired { until }));
        let signing = self.signing.record(|since| KeyState::Signing { since });
        let announced = self.announced.iter().map(|key| key.record(|since| KeyState::Announced { since }));
        retired.chain([signing]).chain(announced).collect()
    }

    /// The key that signs.
    pub fn signing(&self) -> &PublicKey {
        &self.signing.key
    }

    /// The key that will sign next.
    pub fn announced(&self) -> Option<&PublicKey> {
        self.announced.as_ref().map(|announced| &announced.key)
    }

    /// Whether a key of this name is or was in use.
    pub fn knows(&self, id: &KeyId) -> bool {
        self.all().any(|held| held.key.id() == id)
    }

    fn all(&self) -> impl Iterator<Item = &Dated> {
        self.retired.iter().chain([&self.signing]).chain(&self.announced)
    }

    fn still_published(&self, now: Moment) -> impl Iterator<Item = &Dated> {
        self.retired.iter().filter(move |retired| retired.at >= now)
    }

    /// Publishes the next key, unless the key set would then hold more than a verifier takes.
    pub fn announce(mut self, key: PublicKey, now: Moment) -> Result<Self, RotationFault> {
        if self.announced.is_some() {
            return Err(RotationFault::UnderWay);
        }
        if self.knows(key.id()) {
            return Err(RotationFault::Known);
        }
        let first_over = self.still_published(now).map(|retired| retired.at).min();
        // Beside the retired ones there are the one that signs and this one.
        if let Some(over) = first_over.filter(|_| self.still_published(now).count() + 2 > MOST_KEYS) {
            return Err(RotationFault::Full(over.since(now) + 1));
        }
        self.announced = Some(Dated { key, at: now });
        Ok(self)
    }

    /// Lets the announced key sign and retires the old one, which stays published for the longest life a token of it can have.
    ///
    /// `announced_seconds` is how long it must have been published by now: [`ANNOUNCED_SECONDS`] where nothing else was asked.
    pub fn promote(mut self, now: Moment, announced_seconds: i64) -> Result<Self, RotationFault> {
        let next = self.announced.take().ok_or(RotationFault::NothingAnnounced)?;
        let waited = now.since(next.at);
        if waited < announced_seconds {
            return Err(RotationFault::TooEarly(announced_seconds - waited));
        }
        self.retired.push(Dated { key: self.signing.key, at: now.plus(RETIRED_SECONDS) });
        self.signing = Dated { key: next.key, at: now };
        Ok(self)
    }

    /// Lets a key sign at once that was never announced, because the private half of the old one is lost or not to be trusted: verifiers
    /// fetch the key set again when they meet an unknown name. An announced key that never signed is dropped.
    pub fn replace(mut self, key: PublicKey, now: Moment) -> Result<Self, RotationFault> {
        self.announced = None;
        self.announce(key, now)?.promote(now, 0)
    }

    /// Drops the retired keys of which no token can be alive; gives the names of those dropped.
    pub fn purge(&mut self, now: Moment) -> Vec<KeyId> {
        let (over, kept) = std::mem::take(&mut self.retired).into_iter().partition(|retired| retired.at < now);
        self.retired = kept;
        Vec::into_iter(over).map(|retired: Dated| retired.key.id().clone()).collect()
    }

    /// The key set to publish: retired keys, the one that signs and the announced one.
    pub fn published(&self, now: Moment) -> Result<KeySet, KeySetFault> {
        let live = self.still_published(now).chain([&self.signing]).chain(&self.announced);
        KeySet::new(live.map(|held| held.key.clone()).collect())
    }
}
