//! One host of a DSN: whether it answers.
//!
//! A host may accept connections and never answer, such as a frozen machine. The system reports no error then. So a statement that takes
//! long has its host asked for a sign of life, by one new connection at a time. If none comes, the host is silent: what waits for it fails,
//! its idle connections are not used again, and one connection at a time is tried until it answers.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_postgres::Config;

/// How long a statement runs before its host is asked for a sign of life.
pub(super) const PROBE_DELAY: Duration = Duration::from_secs(1);
/// How long the host has to give one.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a host that gave one is asked again.
pub(super) const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// How long a silent host is left alone after each attempt.
const SILENT_INTERVAL: Duration = Duration::from_secs(1);
/// How often the log says that a host is silent.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

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

pub(super) struct PostgresHost {
    pub(super) endpoint: Endpoint,
    pub(super) config: Config,
    state: Mutex<HostState>,
    /// How often it fell silent. A connection from before is not used again.
    silences: watch::Sender<u64>,
    /// How many wait for a sign of life. Answers are counted for them.
    observers: AtomicUsize,
    answers: AtomicU64,
}

#[derive(Debug, Default)]
struct HostState {
    /// When it last gave no answer; none if it answers.
    silent_at: Option<Instant>,
    /// Whether a connection to the silent host is being tried.
    is_tried: bool,
    is_probed: bool,
    probed_at: Option<Instant>,
    logged_at: Option<Instant>,
}

/// Waits for a sign of life. A host that is too busy for a new connection may still answer others.
pub(super) struct Observation {
    host: Arc<PostgresHost>,
    answers: u64,
}

/// An attempt to connect. If it is dropped without a result after a while, the host counts as silent for new connections.
pub(super) struct ConnectAttempt {
    pub(super) host: Arc<PostgresHost>,
    observation: Observation,
    started: Instant,
    /// Whether it is the only one.
    is_alone: bool,
    has_ended: bool,
}

impl PostgresHost {
    pub(super) fn new(endpoint: Endpoint, config: Config) -> Self {
        PostgresHost {
            endpoint,
            config,
            state: Mutex::default(),
            silences: watch::Sender::new(0),
            observers: AtomicUsize::new(0),
            answers: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, HostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn silences(&self) -> u64 {
        *self.silences.borrow()
    }

    pub(super) fn is_silent(&self) -> bool {
        self.state().silent_at.is_some()
    }

    /// Begins an attempt to connect; none if the host is silent and another attempt goes on or has just ended.
    pub(super) fn attempt(self: &Arc<Self>) -> Option<ConnectAttempt> {
        let mut state = self.state();
        let is_alone = state.silent_at.is_some();
        if state.is_tried || state.silent_at.is_some_and(|last| last.elapsed() < SILENT_INTERVAL) {
            return None;
        }
        state.is_tried = is_alone;
        drop(state);
        let observation = Observation::of(self);
        Some(ConnectAttempt { host: self.clone(), observation, started: Instant::now(), is_alone, has_ended: false })
    }

    fn answered(&self) {
        if self.state().silent_at.take().is_some() {
            tracing::info!(host = %self.endpoint, "the database host answers again");
        }
    }

    /// New connections go elsewhere. Nothing happens to those that exist.
    fn avoid(&self) {
        self.state().silent_at = Some(Instant::now());
    }

    fn fall_silent(&self) {
        self.avoid();
        let mut state = self.state();
        if state.logged_at.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            state.logged_at = Some(Instant::now());
            tracing::warn!(host = %self.endpoint, "the database host does not answer; its connections are closed");
        }
        drop(state);
        self.silences.send_modify(|silences| *silences += 1);
    }

    /// Begins to ask the host for a sign of life; none if that happens already or happened lately.
    pub(super) fn begin_probe(self: &Arc<Self>) -> Option<Observation> {
        let mut state = self.state();
        if state.is_probed || state.probed_at.is_some_and(|last| last.elapsed() < PROBE_INTERVAL) {
            return None;
        }
        state.is_probed = true;
        state.probed_at = Some(Instant::now());
        drop(state);
        Some(Observation::of(self))
    }

    pub(super) fn end_probe(&self, observation: &Observation, is_silent: bool) {
        self.state().is_probed = false;
        if !is_silent {
            self.answered();
        } else if !observation.had_answers() {
            self.fall_silent();
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.silences.subscribe()
    }

    /// Counts an answer, if a probe waits for one.
    pub(super) fn note_answer(&self) {
        if self.observers.load(Ordering::Relaxed) > 0 {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ConnectAttempt {
    pub(super) fn answered(mut self) {
        self.has_ended = true;
        self.host.answered();
    }

    pub(super) fn had_no_answer(mut self) {
        self.has_ended = true;
        if self.observation.had_answers() { self.host.avoid() } else { self.host.fall_silent() }
    }
}

impl Observation {
    fn of(host: &Arc<PostgresHost>) -> Self {
        host.observers.fetch_add(1, Ordering::Relaxed);
        Observation { host: host.clone(), answers: host.answers.load(Ordering::Relaxed) }
    }

    /// Whether any connection had an answer since.
    fn had_answers(&self) -> bool {
        self.host.answers.load(Ordering::Relaxed) != self.answers
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.host.observers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for ConnectAttempt {
    fn drop(&mut self) {
        if !self.has_ended && self.started.elapsed() >= PROBE_DELAY {
            self.host.avoid();
        }
        if self.is_alone {
            self.host.state().is_tried = false;
        }
    }
}

/// Whether the system gave up waiting for the host. A host that refuses a connection may still serve others.
pub(super) fn is_silence(error: &tokio_postgres::Error) -> bool {
    use std::io::ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| matches!(cause.kind(), TimedOut | HostUnreachable | NetworkUnreachable))
}
