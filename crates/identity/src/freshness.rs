//! How long a satellite may use a cached account or key set. While the hub does not answer, it may use them longer, but not for ever.

use crate::timestamp::Timestamp;

/// How long a cached account is current.
pub const ACCOUNT_SECONDS: i64 = 120;
/// How long a cached key set is current.
pub const KEY_SET_SECONDS: i64 = 300;
/// How long either may be used while the hub does not answer.
pub const BRIDGED_SECONDS: i64 = 900;
/// How often an unknown `kid` may make a satellite fetch the key set: a flood of them costs the hub one request in this time.
pub const REFETCH_SECONDS: i64 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Current,
    /// Ask the hub; use it only if the hub does not answer.
    Bridging,
    /// Ask the hub; if it does not answer, the request fails as unavailable.
    Over,
}

/// Of an account that was fetched with a token. It never outlives the token.
pub fn account(fetched_at: Timestamp, token_expires_at: Timestamp, now: Timestamp) -> Freshness {
    if now >= token_expires_at {
        return Freshness::Over;
    }
    since(fetched_at, ACCOUNT_SECONDS, now)
}

/// Of the key set. It expires, because a key may be revoked while the hub does not answer.
pub fn key_set(fetched_at: Timestamp, now: Timestamp) -> Freshness {
    since(fetched_at, KEY_SET_SECONDS, now)
}

/// Whether an unknown `kid` may make the satellite fetch the key set again, given its last try.
pub fn may_refetch(asked_at: Option<Timestamp>, now: Timestamp) -> bool {
    asked_at.is_none_or(|asked| now.since(asked) >= REFETCH_SECONDS)
}

fn since(fetched_at: Timestamp, current_seconds: i64, now: Timestamp) -> Freshness {
    match now.since(fetched_at) {
        age if age < current_seconds => Freshness::Current,
        age if age < BRIDGED_SECONDS => Freshness::Bridging,
        _ => Freshness::Over,
    }
}
