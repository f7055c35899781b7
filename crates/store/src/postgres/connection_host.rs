//! A connection and its host: for steps that wait for an answer, and for connections that wait to be used again.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::host::{PROBE_INTERVAL, PostgresHost};

/// Why a step on a connection had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    Timeout,
    /// The host is silent.
    Silent,
}

/// The host of a connection.
pub(super) struct ConnectionHost {
    /// Its state, shared by all connections to it.
    pub(super) shared: Arc<PostgresHost>,
    pub(super) connector: Arc<Connector>,
    /// How often the host had been silent before.
    silences: u64,
    /// How many statements on the host had timed out at the last answer.
    timeouts_at_answer: AtomicU64,
}

impl ConnectionHost {
    pub(super) fn new(shared: Arc<PostgresHost>, connector: Arc<Connector>) -> Self {
        let (silences, timeouts_at_answer) = (shared.silences(), AtomicU64::new(shared.statement_timeouts()));
        ConnectionHost { shared, connector, silences, timeouts_at_answer }
    }

    fn timeouts_at_answer(&self) -> u64 {
        self.timeouts_at_answer.load(Ordering::Relaxed)
    }

    /// Whether the connection is not used again: its host fell silent since it was made, or another one that had no answer for as long was
    /// asked in vain.
    pub(super) fn is_lost(&self) -> bool {
        self.shared.silences() != self.silences || self.timeouts_at_answer() < self.shared.dead_since_timeout()
    }

    /// Whether a statement on the host timed out since the connection had an answer.
    pub(super) fn has_unanswered_timeout(&self) -> bool {
        self.timeouts_at_answer() < self.shared.statement_timeouts()
    }

    /// A statement on this connection timed out.
    pub(super) fn note_timeout(&self) {
        self.shared.note_timeout();
        self.connector.probe(&self.shared, Instant::now());
    }

    pub(super) fn note_answer(&self) {
        self.shared.note_answer();
        let timeouts = self.shared.statement_timeouts();
        if self.timeouts_at_answer() != timeouts {
            self.timeouts_at_answer.store(timeouts, Ordering::Relaxed);
            self.shared.note_answer_after(timeouts);
        }
    }

    /// The connection was asked after a timeout on its host, and did not answer.
    pub(super) fn note_silence(&self) {
        self.shared.note_dead_connections(self.shared.statement_timeouts());
    }

    /// Waits for a step on the connection, as long as its host answers.
    pub(super) async fn wait<T>(&self, step: impl Future<Output = T>, timeout: Duration) -> Result<T, NoAnswer> {
        let delay = self.shared.timeouts.probe_delay;
        let mut step = pin!(step);
        match tokio::time::timeout(timeout.min(delay), &mut step).await {
            Ok(answer) => Ok(answer),
            Err(_) if timeout <= delay => Err(NoAnswer::Timeout),
            // Boxed, since most steps end sooner.
            Err(_) => Box::pin(self.wait_longer(step, timeout.saturating_sub(delay))).await,
        }
    }

    async fn wait_longer<T>(&self, mut step: Pin<&mut impl Future<Output = T>>, timeout: Duration) -> Result<T, NoAnswer> {
        let started = Instant::now();
        let mut silences = self.shared.watch();
        // A host that was asked since the step began need not be asked again so soon.
        let mut since = started.checked_sub(self.shared.timeouts.probe_delay).unwrap_or(started);
        loop {
            self.connector.probe(&self.shared, since);
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(NoAnswer::Timeout);
            }
            let pause = PROBE_INTERVAL.saturating_sub(self.shared.since_probe()).max(self.shared.timeouts.probe_delay);
            tokio::select! {
                biased;
                answer = &mut step => return Ok(answer),
                _ = silences.wait_for(|silences| *silences != self.silences) => return Err(NoAnswer::Silent),
                () = tokio::time::sleep(left.min(pause)) => {}
            }
            since = Instant::now().checked_sub(PROBE_INTERVAL).unwrap_or(since);
        }
    }
}
