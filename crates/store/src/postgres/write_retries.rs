//! Whether a write is retried: how often, and for which reasons.
//!
//! A conflict is retried until the deadline, as a write on plain PostgreSQL waits for the locks of its rows. The pauses before grow, and are
//! random, so that writes of the same row do not meet again and again.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use crate::writes::{MAX_TRIES, RetryReason};

/// The longest pause after the first conflict, and after many.
const CONFLICT_PAUSE: Duration = Duration::from_millis(5);
const MAX_CONFLICT_PAUSE: Duration = Duration::from_millis(250);

/// The retries of one write, by reason.
pub(super) struct WriteRetries {
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    conflicts: u32,
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
            RetryReason::Conflict => {
                self.conflicts += 1;
                return Instant::now() < self.deadline;
            }
            RetryReason::Stale => &mut self.stale,
            // The pool may hold many connections from before a server restarted or fell silent.
            RetryReason::ConnectionLost { was_old: true, .. } => return Instant::now() < self.deadline,
            RetryReason::ConnectionLost { was_old: false, .. } => &mut self.lost,
        };
        *count += 1;
        *count < MAX_TRIES && Instant::now() < self.deadline
    }

    /// Waits before a retry, without a connection.
    pub(super) async fn pause(&self, reason: &RetryReason) {
        if let RetryReason::Conflict = reason {
            let longest = (CONFLICT_PAUSE * 2_u32.saturating_pow(self.conflicts.min(8))).min(MAX_CONFLICT_PAUSE);
            let random = RandomState::new().hash_one(self.conflicts) % 1_000;
            let pause = longest.mul_f64(random as f64 / 1_000.0);
            tokio::time::sleep(pause.min(self.deadline.saturating_duration_since(Instant::now()))).await;
        }
    }
}
