//! Random bytes and ids. Below this crate they are arguments.

use uuid::Uuid;

/// The system's random generator failed. No secret can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandomness;

#[expect(clippy::disallowed_methods, reason = "the one place that asks for random bytes")]
pub fn bytes<const LENGTH: usize>() -> Result<[u8; LENGTH], NoRandomness> {
    let mut bytes = [0; LENGTH];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// A number from 0 to 1 that spreads work over time. No secret may depend on it.
pub fn fraction() -> f64 {
    f64::from(uuid().as_fields().0) / f64::from(u32::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks for random bytes")]
pub fn uuid() -> Uuid {
    Uuid::new_v4()
}
