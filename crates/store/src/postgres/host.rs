//! One host of a DSN: whether it answers, shared by all connections to it.
//!
//! A host may accept connections and never answer, such as a frozen machine. The system reports no error then. So a statement that takes
//! long has its host asked for a sign of life, by one new connection at a time. `host_state` decides what follows from its end.
//!
//! New connections may work while those from before pass nothing on, such as behind a proxy after a failover. So each timeout of a statement
//! is counted: a connection that had no answer since then is asked before it is used again. If one does not answer, the others are lost.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_postgres::Config;

use super::host_state::{AttemptEnd, Condition, Consequence, EndedAttempt, HostState};

/// How long a request waits for the end of an attempt that another request began. A host that is back answers within milliseconds.
const ATTEMPT_WAIT: Duration = Duration::from_millis(500);

/// How often a host that gave a sign of life is asked again, while a statement runs on it.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Endpoint {
    /// An address, and the name that leads to it.
    Network(SocketAddr, String),
    Local(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Network(address, name) if address.ip().to_string() == *name => write!(out, "{address}"),
            Endpoint::Network(address, name) => write!(out, "{name} ({address})"),
            Endpoint::Local(socket) => write!(out, "{}", socket.display()),
        }
    }
}

/// How long a host may take: a share of the timeout of a request, so that it can still use another host.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostTimeouts {
    /// How long a statement runs before its host is asked for a sign of life, and how long an idle connection may take to give one.
    pub(super) probe_delay: Duration,
    /// How long the host has to give one.
    pub(super) probe_timeout: Duration,
}

impl HostTimeouts {
    pub(super) fn of(timeout: Duration) -> Self {
        let (max_delay, max_timeout) = (Duration::from_secs(1), Duration::from_secs(2));
        HostTimeouts {
            probe_delay: (timeout / 6).clamp(Duration::from_millis(250), max_delay),
            probe_timeout: (timeout / 3).clamp(Duration::from_millis(500), max_timeout),
        }
    }
}

pub(super) struct PostgresHost {
    pub(super) endpoint: Endpoint,
    pub(super) config: Config,
    pub(super) timeouts: HostTimeouts,
    state: Mutex<HostState>,
    /// How often it fell silent. A connection from before is not used again.
    silences: watch::Sender<u64>,
    /// How many attempts wait for a sign of life. Answers are counted for them.
    observers: AtomicUsize,
    /// How many attempts have ended.
    ended: watch::Sender<u64>,
    answers: AtomicU64,
    /// How many statements timed out.
    statement_timeouts: AtomicU64,
    /// The number of the newest timeout after which an answer came.
    answered_timeouts: AtomicU64,
    /// The number of the newest timeout since which a connection is dead: it was asked, and did not answer. Those that had no answer since
    /// this timeout are not used again.
    dead_since_timeout: AtomicU64,
}

/// Counts the answers of all connections to a host while an attempt waits. A host that is too busy for a new connection may still answer
/// others.
pub(super) struct Observation {
    host: Arc<PostgresHost>,
    began: Instant,
    answers: u64,
}

/// A new connection for a request. If it is dropped without an end after a while, other hosts come first.
pub(super) struct HostAttempt {
    observation: Observation,
    has_ended: bool,
}

impl PostgresHost {
    pub(super) fn new(endpoint: Endpoint, config: Config, timeouts: HostTimeouts) -> Self {
        PostgresHost {
            endpoint,
            config,
            timeouts,
            state: Mutex::default(),
            silences: watch::Sender::new(0),
            observers: AtomicUsize::new(0),
            ended: watch::Sender::new(0),
            answers: AtomicU64::new(0),
            statement_timeouts: AtomicU64::new(0),
            answered_timeouts: AtomicU64::new(0),
            dead_since_timeout: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn condition(&self) -> Condition {
        self.state().condition()
    }

    pub(super) fn silences(&self) -> u64 {
        *self.silences.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.silences.subscribe()
    }

    /// Waits a moment while an attempt goes on and the host does not answer, such as after all hosts fell silent and one is back.
    pub(super) async fn end_of_attempt(&self) {
        let mut ended = self.ended.subscribe();
        let is_known = |_: &u64| self.observers.load(Ordering::Relaxed) == 0 || self.condition() == Condition::Answering;
        _ = tokio::time::timeout(ATTEMPT_WAIT, ended.wait_for(is_known)).await;
    }

    /// Begins a new connection for a request; none if the host did not answer the last one, which began just now.
    pub(super) fn begin_attempt(self: &Arc<Self>) -> Option<HostAttempt> {
        let may_begin = self.state().begin_attempt(Instant::now());
        may_begin.then(|| HostAttempt { observation: Observation::of(self), has_ended: false })
    }

    /// Begins to ask the host for a sign of life; none if that happens already or happened since then.
    pub(super) fn begin_probe(self: &Arc<Self>, since: Instant) -> Option<Observation> {
        let may_begin = self.state().begin_probe(since, Instant::now());
        may_begin.then(|| Observation::of(self))
    }

    pub(super) fn end_probe(&self, observation: &Observation, end: AttemptEnd) {
        let consequence = self.state().end_probe(observation.ended(end), Instant::now());
        self.follow(consequence);
    }

    /// How long ago it was last asked.
    pub(super) fn since_probe(&self) -> Duration {
        self.state().probed_at().map_or(Duration::MAX, |last| last.elapsed())
    }

    fn follow(&self, consequence: Consequence) {
        match consequence {
            Consequence::Nothing => {}
            Consequence::AnswersAgain => tracing::info!(host = %self.endpoint, "the database host answers again"),
            Consequence::RefusesNow => tracing::info!(host = %self.endpoint, "the database host refuses connections now"),
            Consequence::Lost { is_logged } => {
                if is_logged {
                    tracing::warn!(host = %self.endpoint, "the database host does not answer; its connections are closed");
                }
                self.silences.send_modify(|silences| *silences += 1);
            }
        }
    }

    /// Counts an answer, if an attempt waits for one.
    pub(super) fn note_answer(&self) {
        if self.observers.load(Ordering::Relaxed) > 0 {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn statement_timeouts(&self) -> u64 {
        self.statement_timeouts.load(Ordering::Relaxed)
    }

    pub(super) fn dead_since_timeout(&self) -> u64 {
        self.dead_since_timeout.load(Ordering::Relaxed)
    }

    /// A statement timed out.
    pub(super) fn note_timeout(&self) {
        self.statement_timeouts.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer came after the timeout of this number.
    pub(super) fn note_answer_after(&self, timeout: u64) {
        self.answered_timeouts.fetch_max(timeout, Ordering::Relaxed);
    }

    /// A connection without an answer since the timeout of this number was asked, and did not answer.
    pub(super) fn note_dead_connections(&self, timeout: u64) {
        self.dead_since_timeout.fetch_max(timeout, Ordering::Relaxed);
    }

    fn has_unanswered_timeout(&self) -> bool {
        self.answered_timeouts.load(Ordering::Relaxed) < self.statement_timeouts()
    }
}

impl HostAttempt {
    pub(super) fn end(mut self, end: AttemptEnd) {
        self.has_ended = true;
        let host = &self.observation.host;
        let consequence = host.state().end_attempt(self.observation.ended(end), Instant::now());
        host.follow(consequence);
    }
}

impl Drop for HostAttempt {
    fn drop(&mut self) {
        let Observation { host, began, .. } = &self.observation;
        let is_late = !self.has_ended && began.elapsed() >= host.timeouts.probe_delay;
        if is_late && host.state().abandon_attempt(*began, Instant::now()) {
            tracing::info!(host = %host.endpoint, "the database host takes long to answer; others come first until it does");
        }
    }
}

impl Observation {
    fn of(host: &Arc<PostgresHost>) -> Self {
        host.observers.fetch_add(1, Ordering::Relaxed);
        Observation { host: host.clone(), began: Instant::now(), answers: host.answers.load(Ordering::Relaxed) }
    }

    fn ended(&self, end: AttemptEnd) -> EndedAttempt {
        let others_answered = self.host.answers.load(Ordering::Relaxed) != self.answers;
        EndedAttempt { began: self.began, end, others_answered, has_unanswered_timeout: self.host.has_unanswered_timeout() }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.host.observers.fetch_sub(1, Ordering::Relaxed);
        self.host.ended.send_modify(|ended| *ended = ended.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_share_of_a_short_timeout() {
        let of = |timeout: u64| {
            let HostTimeouts { probe_delay, probe_timeout } = HostTimeouts::of(Duration::from_millis(timeout));
            (probe_delay.as_millis(), probe_timeout.as_millis())
        };
        assert_eq!(of(30_000), (1_000, 2_000));
        assert_eq!(of(3_000), (500, 1_000));
        assert_eq!(of(100), (250, 500), "a login takes a moment too");
    }
}
