//! How often a write is tried, and for what reasons again.

use std::time::Instant;

use crate::writes::{Again, MAX_TRIES};

/// How often a write was tried, and why again.
pub(super) struct Tries {
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    conflicts: usize,
    pub(super) stale: usize,
    lost: usize,
}

impl Tries {
    pub(super) fn begin(deadline: Instant) -> Self {
        Tries { began: Instant::now(), deadline, conflicts: 0, stale: 0, lost: 0 }
    }

    /// Whether the write is tried again for this reason.
    pub(super) fn count(&mut self, reason: &Again) -> bool {
        let count = match reason {
            Again::Conflict => &mut self.conflicts,
            Again::Stale => &mut self.stale,
            // The pool may hold many connections from before a server restarted or fell silent.
            Again::Lost { was_old: true, .. } => return Instant::now() < self.deadline,
            Again::Lost { was_old: false, .. } => &mut self.lost,
        };
        *count += 1;
        *count < MAX_TRIES && Instant::now() < self.deadline
    }
}
