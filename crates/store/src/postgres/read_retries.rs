//! Whether a read is retried: on another connection if its own is lost, until its deadline.

use std::time::Instant;

use crate::Error;

use super::{Lease, Postgres, lease_until};

/// The retries of one read, and their connections.
pub(super) struct ReadRetries {
    began: Instant,
    deadline: Instant,
    /// Whether a failure of a new connection may still be retried.
    can_repeat: bool,
}

impl ReadRetries {
    pub(super) fn begin(postgres: &Postgres) -> Self {
        ReadRetries { began: Instant::now(), deadline: postgres.deadline(), can_repeat: true }
    }

    /// A connection, for the rest of the time.
    pub(super) async fn lease(&self, postgres: &Postgres) -> Result<Lease, Error> {
        let mut lease = lease_until(&postgres.pool, self.deadline).await?;
        lease.set_deadline(Some(self.deadline));
        Ok(lease)
    }

    /// Whether the read may be retried after this error. The pool may hold many connections from before a server restarted or fell silent,
    /// so losing one of these does not count. Any other failure counts once.
    pub(super) fn may_retry(&mut self, error: &Error, lease: &Lease) -> bool {
        let is_outage = matches!(error, Error::Unavailable(_)) && Instant::now() < self.deadline;
        let was_lost = lease.is_gone() && lease.made_at() < self.began;
        is_outage && (was_lost || std::mem::take(&mut self.can_repeat))
    }
}
