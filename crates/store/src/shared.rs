//! What replicas of a process share for a while: values that are taken once, counters of a window, and word of what is no longer true.
//!
//! A single process keeps it in memory; several keep it in one Redis. Nothing here outlives its time, and losing all of it costs a
//! login that was under way, or a logout a moment.

mod memory;
mod redis;
mod subscription;

use uuid::Uuid;

pub use subscription::Subscription;

/// The largest value that is kept.
pub const MOST_BYTES: usize = 64 * 1024;

/// What is kept under: the digest of something that nobody else can guess or forge.
pub type Key = [u8; 32];

/// Where replicas share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Shared(Kept);

#[derive(Clone, Debug)]
enum Kept {
    Memory(memory::Memory),
    Redis(redis::Redis),
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An address that cannot be used.
    #[error("{0}")]
    Setting(String),
    /// Redis is out of reach, or does not answer in time.
    #[error("Redis is out of reach: {0}")]
    Unavailable(String),
    /// As many values are kept as there is room for, and nobody has more than one of them.
    #[error("there is no room for another shared value")]
    Full,
    /// The value is larger than any that is kept.
    #[error("a shared value holds at most {MOST_BYTES} bytes")]
    TooLarge,
}

/// A value to keep.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The value.
    pub value: &'a [u8],
    /// For how many seconds.
    pub seconds: u64,
    /// Whose it is. Where memory is short, who has the most values loses the first of them, so that nobody loses one to a flood of
    /// somebody else.
    pub owner: Option<Key>,
}

/// Word to all replicas that something they may have cached is no longer true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalidation {
    /// What is known of this account.
    Account(Uuid),
    /// What is known of the tokens of this family, the `sid` of an access token.
    Family(Uuid),
    /// All of it. Also what a subscriber hears who may have missed something.
    Everything,
}

/// Whether this is the address of a Redis; nobody is asked.
pub fn check_redis_address(url: &str) -> Result<(), Error> {
    redis::Redis::open(url).map(|_| ())
}

impl Shared {
    /// Shared with nobody: for a process without replicas.
    pub fn memory() -> Self {
        Shared(Kept::Memory(memory::Memory::new()))
    }

    /// Shared through the Redis at this address. One that is out of reach now is tried again with every call.
    pub async fn redis(url: &str) -> Result<Self, Error> {
        let redis = redis::Redis::open(url)?;
        if let Err(error) = redis.ping().await {
            tracing::warn!(%error, "what replicas share is not at hand yet; it is tried again when it is needed");
        }
        Ok(Shared(Kept::Redis(redis)))
    }

    /// Keeps a value, in place of any other under this key.
    pub async fn put(&self, kind: &'static str, key: &Key, entry: Entry<'_>) -> Result<(), Error> {
        if entry.value.len() > MOST_BYTES {
            return Err(Error::TooLarge);
        }
        match &self.0 {
            Kept::Memory(memory) => memory.put(kind, key, &entry),
            Kept::Redis(redis) => redis.put(kind, key, &entry).await,
        }
    }

    /// Takes a value away: of any number of takers, in any number of processes, one gets it.
    pub async fn take(&self, kind: &'static str, key: &Key) -> Result<Option<Vec<u8>>, Error> {
        match &self.0 {
            Kept::Memory(memory) => Ok(memory.take(kind, key)),
            Kept::Redis(redis) => redis.take(kind, key).await,
        }
    }

    /// Counts one more; says how many there were in this window, which begins with the first.
    pub async fn count(&self, kind: &'static str, key: &Key, window_seconds: u64) -> Result<u64, Error> {
        match &self.0 {
            Kept::Memory(memory) => Ok(memory.count(kind, key, window_seconds)),
            Kept::Redis(redis) => redis.count(kind, key, window_seconds).await,
        }
    }

    /// How many were counted in this window, without counting one more.
    pub async fn counted(&self, kind: &'static str, key: &Key) -> Result<u64, Error> {
        match &self.0 {
            Kept::Memory(memory) => Ok(memory.counted(kind, key)),
            Kept::Redis(redis) => redis.counted(kind, key).await,
        }
    }

    /// Whether it answers.
    pub async fn ping(&self) -> Result<(), Error> {
        match &self.0 {
            Kept::Memory(_) => Ok(()),
            Kept::Redis(redis) => redis.ping().await,
        }
    }

    /// Tells every subscriber, this process's own among them.
    pub async fn publish(&self, invalidation: Invalidation) -> Result<(), Error> {
        match &self.0 {
            Kept::Memory(memory) => memory.publish(invalidation),
            Kept::Redis(redis) => redis.publish(&invalidation.to_text()).await?,
        }
        Ok(())
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> Subscription {
        match &self.0 {
            Kept::Memory(memory) => Subscription::memory(memory.subscribe()),
            Kept::Redis(redis) => Subscription::redis(redis.clone()),
        }
    }
}

impl Invalidation {
    fn to_text(self) -> String {
        match self {
            Invalidation::Account(id) => format!("account:{id}"),
            Invalidation::Family(id) => format!("family:{id}"),
            Invalidation::Everything => "everything".to_owned(),
        }
    }

    /// What is not understood, the word of a newer version perhaps, may mean anything.
    fn of_text(text: &[u8]) -> Self {
        let parts = std::str::from_utf8(text).ok().and_then(|text| text.split_once(':'));
        match parts.map(|(kind, id)| (kind, id.parse())) {
            Some(("account", Ok(id))) => Invalidation::Account(id),
            Some(("family", Ok(id))) => Invalidation::Family(id),
            _ => Invalidation::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalidation_is_understood_by_replicas_and_never_taken_too_lightly() {
        let id = Uuid::from_u128(7);
        for invalidation in [Invalidation::Account(id), Invalidation::Family(id), Invalidation::Everything] {
            assert_eq!(Invalidation::of_text(invalidation.to_text().as_bytes()), invalidation);
        }
        for odd in ["", "account:", "account:x", "tenant:00000000-0000-0000-0000-000000000007", "\u{fffd}"] {
            assert_eq!(Invalidation::of_text(odd.as_bytes()), Invalidation::Everything, "{odd:?}");
        }
    }
}
