//! Time and randomness, which are arguments everywhere below this crate.

use identity::timestamp::Timestamp;
use uuid::Uuid;

/// The time.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock for identity")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// A moment as RFC 3339 in UTC.
pub fn rfc3339(moment: Timestamp) -> String {
    query::value::timestamp_text(moment.unix().saturating_mul(1_000_000)).unwrap_or_default()
}

/// The system's generator failed, and nothing that needs to be secret can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

/// Bytes that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for randomness")]
pub fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], NoRandomness> {
    let mut bytes = [0; LENGTH];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// Somewhere from 0 to 1, so that many who do the same do not do it at once. Nothing secret may depend on it.
pub fn fraction() -> f64 {
    f64::from(id().as_fields().0) / f64::from(u32::MAX)
}

/// A fresh id.
#[expect(clippy::disallowed_methods, reason = "the one place that asks for randomness")]
pub fn id() -> Uuid {
    Uuid::new_v4()
}
