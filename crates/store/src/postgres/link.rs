//! The host of a connection, for steps that wait for its answer.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::host::{PROBE_DELAY, PROBE_INTERVAL, PostgresHost};

/// What happened to a step on a connection.
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
}

impl HostLink {
    pub(super) fn new(host: Arc<PostgresHost>, connector: Arc<Connector>) -> Self {
        let silences = host.silences();
        HostLink { host, connector, silences }
    }

    /// Whether the host fell silent since the connection was made.
    pub(super) fn is_lost(&self) -> bool {
        self.host.silences() != self.silences
    }

    pub(super) fn probe(&self) {
        self.connector.probe(&self.host);
    }

    /// Waits for a step on the connection, as long as its host answers.
    pub(super) async fn wait<T>(&self, step: impl Future<Output = T>, timeout: Duration) -> Result<T, NoAnswer> {
        let mut step = pin!(step);
        let answer = match tokio::time::timeout(timeout.min(PROBE_DELAY), &mut step).await {
            Ok(answer) => answer,
            Err(_) if timeout <= PROBE_DELAY => return Err(NoAnswer::Timeout),
            // Boxed, since most steps end sooner.
            Err(_) => Box::pin(self.wait_longer(step, timeout.saturating_sub(PROBE_DELAY))).await?,
        };
        self.host.note_answer();
        Ok(answer)
    }

    async fn wait_longer<T>(&self, mut step: Pin<&mut impl Future<Output = T>>, timeout: Duration) -> Result<T, NoAnswer> {
        let started = Instant::now();
        let mut silences = self.host.watch();
        loop {
            self.probe();
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(NoAnswer::Timeout);
            }
            tokio::select! {
                biased;
                answer = &mut step => return Ok(answer),
                _ = silences.wait_for(|silences| *silences != self.silences) => return Err(NoAnswer::Silent),
                () = tokio::time::sleep(left.min(PROBE_INTERVAL)) => {}
            }
        }
    }
}
