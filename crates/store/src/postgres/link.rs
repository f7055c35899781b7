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
pub(super) struct HostLink {
    pub(super) host: Arc<PostgresHost>,
    pub(super) connector: Arc<Connector>,
    /// How often the host had been silent before.
    silences: u64,
    /// How many statements on the host had timed out at the last answer.
    timeouts_at_answer: AtomicU64,
}

impl HostLink {
    pub(super) fn new(host: Arc<PostgresHost>, connector: Arc<Connector>) -> Self {
        let (silences, timeouts_at_answer) = (host.silences(), AtomicU64::new(host.statement_timeouts()));
        HostLink { host, connector, silences, timeouts_at_answer }
    }

    fn timeouts_at_answer(&self) -> u64 {
        self.timeouts_at_answer.load(Ordering::Relaxed)
    }

    /// Whether the connection is not used again: its host fell silent since it was made, or another one that had no answer for as long was
    /// asked in vain.
    pub(super) fn is_lost(&self) -> bool {
        self.host.silences() != self.silences || self.timeouts_at_answer() < self.host.dead_since_timeout()
    }

    /// Whether a statement on the host timed out since the connection had an answer.
    pub(super) fn has_unanswered_timeout(&self) -> bool {
        self.timeouts_at_answer() < self.host.statement_timeouts()
    }

    /// A statement on this connection timed out.
    pub(super) fn note_timeout(&self) {
        self.host.note_timeout();
        self.connector.probe(&self.host, Instant::now());
    }

    pub(super) fn note_answer(&self) {
        self.host.note_answer();
        let timeouts = self.host.statement_timeouts();
        if self.timeouts_at_answer() != timeouts {
            self.timeouts_at_answer.store(timeouts, Ordering::Relaxed);
            self.host.note_answer_after(timeouts);
        }
    }

    /// The connection was asked after a timeout on its host, and did not answer.
    pub(super) fn note_silence(&self) {
        self.host.note_dead_connections(self.host.statement_timeouts());
    }

    /// Waits for a step on the connection, as long as its host answers.
    pub(super) async fn wait<T>(&self, step: impl Future<Output = T>, timeout: Duration) -> Result<T, NoAnswer> {
        let delay = self.host.timeouts.probe_delay;
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
        let mut silences = self.host.watch();
        // A host that was asked since the step began need not be asked again so soon.
        let mut since = started.checked_sub(self.host.timeouts.probe_delay).unwrap_or(started);
        loop {
            self.connector.probe(&self.host, since);
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(NoAnswer::Timeout);
            }
            let pause = PROBE_INTERVAL.saturating_sub(self.host.since_probe()).max(self.host.timeouts.probe_delay);
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
