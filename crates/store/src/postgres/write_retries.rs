//! Whether a write is retried: how often, and for which reasons.

use std::time::Instant;

use crate::writes::{MAX_TRIES, RetryReason};

/// The retries of one write, by reason.
pub(super) struct WriteRetries {
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    conflicts: usize,
    pub(super) stale: usize,
    lost: usize,
}

impl WriteRetries {
    pub(super) fn begin(deadline: Instant) -> Self {
        WriteRetries { began: Instant::now(), deadline, conflicts: 0, stale: 0, lost: 0 }
    }

    /// Whether the write may be retried for this reason. Counts the failure.
    pub(super) fn may_retry(&mut self, reason: &RetryReason) -> bool {
        let count = match reason {
            RetryReason::Conflict => &mut self.conflicts,
            RetryReason::Stale => &mut self.stale,
            // The pool may hold many connections from before a server restarted or fell silent.
            RetryReason::ConnectionLost { was_old: true, .. } => return Instant::now() < self.deadline,
            RetryReason::ConnectionLost { was_old: false, .. } => &mut self.lost,
        };
        *count += 1;
        *count < MAX_TRIES && Instant::now() < self.deadline
    }
}
