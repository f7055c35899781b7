//! Key rotation. A key is announced, so that every verifier knows it; then it signs; then it is retired, and published until its last token
//! has expired. The database has the states, so that all replicas agree; private keys are only in files.

use crate::keys::key_set::MAX_KEYS;
use crate::keys::{KeyId, KeySet, KeySetFault, PublicKey};
use crate::lifetime::{LEEWAY_SECONDS, MAX_TOKEN_SECONDS};
use crate::timestamp::Timestamp;

/// The default time of publication before a key may sign: longer than any cache of the key set.
pub const ANNOUNCED_SECONDS: i64 = 300;
/// How long another replica may still sign with the old key: each replica reads the key ring at least this often.
pub const REPLICA_SECONDS: i64 = 60;
/// How long a retired key is published: as long as any token can live, because lifetimes of clients may have been longer before.
pub const RETIRED_SECONDS: i64 = MAX_TOKEN_SECONDS + REPLICA_SECONDS + LEEWAY_SECONDS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    // Published; does not sign yet.
    Announced { since: Timestamp },
    Signing { since: Timestamp },
    // Signs no more; published until its last token expires.
    Retired { until: Timestamp },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: PublicKey,
    pub state: KeyState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationFault {
    #[error("a rotation is under way already: its key is announced and does not sign yet")]
    UnderWay,
    #[error("this key is or was in use: a rotation needs a new one")]
    Known,
    #[error("no key is announced")]
    NothingAnnounced,
    #[error("the announced key may sign in {0} seconds, when every verifier knows it")]
    TooEarly(i64),
    #[error("{MAX_KEYS} keys are published, and verifiers take no more: a new one can be announced in {0} seconds, when the first is over")]
    Full(i64),
    /// There are two signing keys, or two announced ones.
    #[error("the records of the keys contradict each other")]
    Contradiction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Dated {
    key: PublicKey,
    at: Timestamp,
}

impl Dated {
    fn record(&self, state: impl FnOnce(Timestamp) -> KeyState) -> KeyRecord {
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
    /// The key ring of a new hub. Its first key signs at once, since no verifier has an older key set.
    pub fn begin(key: PublicKey, now: Timestamp) -> Self {
        KeyRing { signing: Dated { key, at: now }, announced: None, retired: Vec::new() }
    }

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

    /// The records to store.
    pub fn records(&self) -> Vec<KeyRecord> {
        let retired = self.retired.iter().map(|key| key.record(|until| KeyState::Retired { until }));
        let signing = self.signing.record(|since| KeyState::Signing { since });
        let announced = self.announced.iter().map(|key| key.record(|since| KeyState::Announced { since }));
        retired.chain([signing]).chain(announced).collect()
    }

    pub fn signing(&self) -> &PublicKey {
        &self.signing.key
    }

    pub fn announced(&self) -> Option<&PublicKey> {
        self.announced.as_ref().map(|announced| &announced.key)
    }

    /// Whether a key with this `kid` is or was in use.
    pub fn knows(&self, id: &KeyId) -> bool {
        self.all().any(|held| held.key.id() == id)
    }

    fn all(&self) -> impl Iterator<Item = &Dated> {
        self.retired.iter().chain([&self.signing]).chain(&self.announced)
    }

    fn still_published(&self, now: Timestamp) -> impl Iterator<Item = &Dated> {
        self.retired.iter().filter(move |retired| retired.at >= now)
    }

    /// Announces the next key, unless the key set is full.
    pub fn announce(mut self, key: PublicKey, now: Timestamp) -> Result<Self, RotationFault> {
        if self.announced.is_some() {
            return Err(RotationFault::UnderWay);
        }
        if self.knows(key.id()) {
            return Err(RotationFault::Known);
        }
        let first_over = self.still_published(now).map(|retired| retired.at).min();
        // Two more: the signing one and this one.
        if let Some(over) = first_over.filter(|_| self.still_published(now).count() + 2 > MAX_KEYS) {
            return Err(RotationFault::Full(over.since(now) + 1));
        }
        self.announced = Some(Dated { key, at: now });
        Ok(self)
    }

    /// Lets the announced key sign, `announced_seconds` after it was published (by default [`ANNOUNCED_SECONDS`]), and retires the old one.
    pub fn promote(mut self, now: Timestamp, announced_seconds: i64) -> Result<Self, RotationFault> {
        let next = self.announced.take().ok_or(RotationFault::NothingAnnounced)?;
        let waited = now.since(next.at);
        if waited < announced_seconds {
            return Err(RotationFault::TooEarly(announced_seconds - waited));
        }
        self.retired.push(Dated { key: self.signing.key, at: now.plus(RETIRED_SECONDS) });
        self.signing = Dated { key: next.key, at: now };
        Ok(self)
    }

    /// Lets a new key sign at once, because the old one is lost or leaked: verifiers fetch the key set again for an unknown `kid`.
    pub fn replace(mut self, key: PublicKey, now: Timestamp) -> Result<Self, RotationFault> {
        self.announced = None;
        self.announce(key, now)?.promote(now, 0)
    }

    /// Drops the retired keys without live tokens; returns their ids.
    pub fn purge(&mut self, now: Timestamp) -> Vec<KeyId> {
        let (over, kept) = std::mem::take(&mut self.retired).into_iter().partition(|retired| retired.at < now);
        self.retired = kept;
        Vec::into_iter(over).map(|retired: Dated| retired.key.id().clone()).collect()
    }

    /// The key set to publish: retired keys, the one that signs and the announced one.
    pub fn published(&self, now: Timestamp) -> Result<KeySet, KeySetFault> {
        let live = self.still_published(now).chain([&self.signing]).chain(&self.announced);
        KeySet::new(live.map(|held| held.key.clone()).collect())
    }
}
