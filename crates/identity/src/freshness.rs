//! How long a satellite may rely on what it last heard from its hub: an account, and the key set. A hub out of reach is bridged for a
//! while, never for ever.

use crate::moment::Moment;

/// How long an account is taken as current.
pub const ACCOUNT_SECONDS: i64 = 120;
/// How long a key set is taken as current.
pub const KEY_SET_SECONDS: i64 = 300;
/// How long either may bridge a hub that does not answer.
pub const BRIDGED_SECONDS: i64 = 900;
/// How often an unknown `kid` may make a satellite ask for the key set: a flood of them costs the hub one request in this time.
pub const REFETCH_SECONDS: i64 = 30;

/// What may be done with something that was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Use it.
    Current,
    /// Ask the hub; use it only if the hub does not answer.
    Bridging,
    /// Ask the hub; if it does not answer, the caller cannot be served (which is not the caller's fault).
    Over,
}

/// Of an account that was fetched with a token. Past the token's end nothing is served: the token itself is refused then.
pub fn account(fetched_at: Moment, token_expires_at: Moment, now: Moment) -> Freshness {
    if now >= token_expires_at {
        return Freshness::Over;
    }
    since(fetched_at, ACCOUNT_SECONDS, now)
}

/// Of the key set. Keys do not serve on for ever: one that was revoked while the hub was out of reach must stop to count.
pub fn key_set(fetched_at: Moment, now: Moment) -> Freshness {
    since(fetched_at, KEY_SET_SECONDS, now)
}

/// Whether an unknown `kid` may make the satellite ask again, given when it asked last, with or without an answer.
pub fn may_refetch(asked_at: Option<Moment>, now: Moment) -> bool {
    asked_at.is_none_or(|asked| now.since(asked) >= REFETCH_SECONDS)
}

fn since(fetched_at: Moment, current_seconds: i64, now: Moment) -> Freshness {
    match now.since(fetched_at) {
        age if age < current_seconds => Freshness::Current,
        age if age < BRIDGED_SECONDS => Freshness::Bridging,
        _ => Freshness::Over,
    }
}
