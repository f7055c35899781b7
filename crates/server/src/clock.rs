//! The clock. Below this crate the time is an argument.

use identity::timestamp::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock for identity")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// The time of a span, in nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock for traces")]
pub(crate) fn unix_nanoseconds() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

pub fn rfc3339(time: Timestamp) -> String {
    query::value::timestamp_text(time.unix().saturating_mul(1_000_000)).map_or_else(String::new, Into::into)
}

/// The instant of a write, in microseconds since 1970.
pub(crate) fn unix_microseconds() -> i64 {
    i64::try_from(unix_nanoseconds() / 1_000).unwrap_or(i64::MAX)
}
