//! The time and the randomness that the rules of identity are given: the one place of the hub that asks for either.

use std::time::SystemTime;

use identity::moment::Moment;

use crate::error::oauth::Fault;

/// Now, in whole seconds.
#[expect(clippy::disallowed_methods, reason = "the hub's clock; below the server, time is an argument")]
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Fault::Internal("the system gives no random bytes"))?;
    Ok(bytes)
}
