//! Attempts whose outcome is known and could not be stored, because the database did not answer. They are stored later. Otherwise they would
//! count as failures after a minute, and delay people with right passwords after an outage.

use std::time::Duration;

use store::hub_records::Records;
use store::hub_records::throttle::{self, Attempt, ThrottleKeys};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::clock;

use super::pending_attempts::PendingAttempt;

/// How many wait at most. Those beyond count as failures.
const MAX_WAITING: usize = 10_000;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    Succeeded,
    Failed,
}

/// An attempt with a known outcome. While it waits, attempts that it delays wait for it.
#[derive(Debug)]
pub(super) struct DecidedAttempt {
    pub(super) keys: ThrottleKeys,
    pub(super) attempt: Attempt,
    pub(super) outcome: AttemptOutcome,
    pub(super) pending: PendingAttempt,
}

#[derive(Debug)]
pub(super) struct UnsettledAttempts {
    sender: Sender<DecidedAttempt>,
    receiver: Mutex<Receiver<DecidedAttempt>>,
}

impl Default for UnsettledAttempts {
    fn default() -> Self {
        let (sender, receiver) = channel(MAX_WAITING);
        UnsettledAttempts { sender, receiver: Mutex::new(receiver) }
    }
}

impl DecidedAttempt {
    async fn store(&self, records: &Records) -> Result<(), store::Error> {
        match self.outcome {
            AttemptOutcome::Succeeded => throttle::succeeded(records, &self.keys, clock::now()).await,
            AttemptOutcome::Failed => throttle::failed(records, &self.keys, self.attempt).await,
        }
    }

    fn end(self) {
        match self.outcome {
            AttemptOutcome::Succeeded => self.pending.succeeded(),
            AttemptOutcome::Failed => drop(self.pending),
        }
    }
}

impl UnsettledAttempts {
    /// Stores the outcome of an attempt, now or later.
    pub(super) async fn settle(&self, records: &Records, decided: DecidedAttempt) -> Result<(), store::Error> {
        let result = decided.store(records).await;
        match &result {
            Err(error) if error.is_outage() => _ = self.sender.try_send(decided),
            _ => decided.end(),
        }
        result
    }

    /// Stores the outcomes that could not be stored, until the process ends.
    pub(super) async fn keep(&self, records: &Records) {
        let mut receiver = self.receiver.lock().await;
        while let Some(decided) = receiver.recv().await {
            while let Err(error) = decided.store(records).await {
                if !error.is_outage() {
                    tracing::warn!(%error, "could not store the outcome of a sign-in; it counts as a failure");
                    break;
                }
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            decided.end();
        }
    }
}
