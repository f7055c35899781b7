//! State that replicas share for a while: one-time values, counters with a window, and invalidations of caches.
//!
//! A single process holds it in memory; several share one Redis. Every entry expires. Losing all of it aborts logins that are under way
//! and delays logouts.

mod memory;
mod redis;
mod subscription;

use uuid::Uuid;

pub use subscription::Subscription;

pub const MAX_VALUE_BYTES: usize = 64 * 1024;

/// The SHA-256 digest of something that nobody can guess or forge.
pub type StateKey = [u8; 32];

/// A handle to the shared state. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReplicaState(Backend);

#[derive(Clone, Debug)]
enum Backend {
    Memory(memory::Memory),
    Redis(redis::Redis),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    #[error("{0}")]
    Setting(String),
    #[error("Redis is out of reach: {0}")]
    Unavailable(String),
    /// The store is full, and no owner has more than one value.
    #[error("there is no room for another shared value")]
    Full,
    #[error("a shared value holds at most {MAX_VALUE_BYTES} bytes")]
    TooLarge,
}

#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub value: &'a [u8],
    pub seconds: u64,
    /// Its owner. When memory is full, the owner with the most values loses the oldest, so a flood evicts only its own values.
    pub owner: Option<StateKey>,
}

/// Tells all replicas to drop an entry of their caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalidation {
    Account(Uuid),
    /// Everything cached of this token family, the `sid` of an access token.
    Family(Uuid),
    /// The whole cache. Subscribers also receive it when they may have missed a message.
    Everything,
}

pub fn check_redis_url(url: &str) -> Result<(), StateError> {
    redis::Redis::open(url).map(|_| ())
}

impl ReplicaState {
    pub fn memory() -> Self {
        ReplicaState(Backend::Memory(memory::Memory::new()))
    }

    /// State in the Redis at this URL. If it cannot be reached now, every later call tries again.
    pub async fn redis(url: &str) -> Result<Self, StateError> {
        let redis = redis::Redis::open(url)?;
        if let Err(error) = redis.ping().await {
            tracing::warn!(%error, "Redis is unavailable; the next use tries again");
        }
        Ok(ReplicaState(Backend::Redis(redis)))
    }

    /// Stores a value and replaces any other under this key.
    pub async fn put(&self, kind: &'static str, key: &StateKey, entry: Entry<'_>) -> Result<(), StateError> {
        if entry.value.len() > MAX_VALUE_BYTES {
            return Err(StateError::TooLarge);
        }
        match &self.0 {
            Backend::Memory(memory) => memory.put(kind, key, &entry),
            Backend::Redis(redis) => redis.put(kind, key, &entry).await,
        }
    }

    /// Removes and returns a value: of all callers in all processes, exactly one gets it.
    pub async fn take(&self, kind: &'static str, key: &StateKey) -> Result<Option<Vec<u8>>, StateError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.take(kind, key)),
            Backend::Redis(redis) => redis.take(kind, key).await,
        }
    }

    /// Returns a value and leaves it in place.
    pub async fn peek(&self, kind: &'static str, key: &StateKey) -> Result<Option<Vec<u8>>, StateError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.peek(kind, key)),
            Backend::Redis(redis) => redis.peek(kind, key).await,
        }
    }

    /// Increments a counter and returns its value. The window begins with the first increment.
    pub async fn count(&self, kind: &'static str, key: &StateKey, window_seconds: u64) -> Result<u64, StateError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.count(kind, key, window_seconds)),
            Backend::Redis(redis) => redis.count(kind, key, window_seconds).await,
        }
    }

    pub async fn counted(&self, kind: &'static str, key: &StateKey) -> Result<u64, StateError> {
        match &self.0 {
            Backend::Memory(memory) => Ok(memory.counted(kind, key)),
            Backend::Redis(redis) => redis.counted(kind, key).await,
        }
    }

    pub async fn ping(&self) -> Result<(), StateError> {
        match &self.0 {
            Backend::Memory(_) => Ok(()),
            Backend::Redis(redis) => redis.ping().await,
        }
    }

    pub async fn publish(&self, invalidation: Invalidation) -> Result<(), StateError> {
        match &self.0 {
            Backend::Memory(memory) => memory.publish(invalidation),
            Backend::Redis(redis) => redis.publish(&invalidation.to_text()).await?,
        }
        Ok(())
    }

    pub fn subscribe(&self) -> Subscription {
        match &self.0 {
            Backend::Memory(memory) => Subscription::memory(memory.subscribe()),
            Backend::Redis(redis) => Subscription::redis(redis.clone()),
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

    /// An unknown message, perhaps of a newer version, invalidates everything.
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
    fn an_unknown_invalidation_drops_everything() {
        let id = Uuid::from_u128(7);
        for invalidation in [Invalidation::Account(id), Invalidation::Family(id), Invalidation::Everything] {
            assert_eq!(Invalidation::of_text(invalidation.to_text().as_bytes()), invalidation);
        }
        for odd in ["", "account:", "account:x", "tenant:00000000-0000-0000-0000-000000000007", "\u{fffd}"] {
            assert_eq!(Invalidation::of_text(odd.as_bytes()), Invalidation::Everything, "{odd:?}");
        }
    }
}
