//! Why a process does not start. Every room that takes part in booting can refuse, so it stands below all of them.

/// Why a process cannot start: one message, for the person who starts it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BootError(pub String);
