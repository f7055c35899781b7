//! Opens connections to the hosts of a DSN.
//!
//! Hosts are tried in the order of the DSN. If one takes long, the next is tried beside it. Hosts that did not answer lately come last.
//! While one is awaited, those in another role are asked again: a standby may become the primary.
//! A primary (`target_session_attrs=read-write` or `primary`) stays the first choice while it answers: a host that answers again may be an
//! earlier primary that has not found out yet, and would answer from old rows.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::Instrument;

use crate::Error;
use crate::settings::{HostFigures, Reachability};

use super::connection_attempt::{AttemptRequest, FailureKind, RawConnection, connect};
use super::dsn::{Dsn, DsnHost};
use super::host::{Endpoint, HostAttempt, HostTimeouts, PROBE_INTERVAL, PostgresHost};
use super::host_state::{ATTEMPT_INTERVAL, AttemptEnd, Condition};
use super::resolver::{Found, Name};
use super::server_role::WantedRole;
use super::{CONNECT_TIMEOUT, Manager, Postgres};

/// How long a host may take before the next one is tried beside it, and a name before hosts with addresses are tried. Also the pause before
/// a host in another role is asked again.
const NEXT_HOST_DELAY: Duration = Duration::from_secs(1);

/// How often a request that waits for a connection looks whether all hosts fell silent, and how long it waits for one that may be back.
const SILENCE_INTERVAL: Duration = Duration::from_millis(200);

/// How many addresses are remembered. A name may lead to others over time.
const MAX_HOSTS: usize = 64;

pub(super) struct Connector {
    dsn: Dsn,
    pub(super) tls: MakeRustlsConnect,
    timeouts: HostTimeouts,
    /// The hosts of the DSN, those that are names with their lookups.
    dsn_hosts: Vec<(DsnHost, Option<Name>)>,
    /// The state of each address.
    known: Mutex<HashMap<Endpoint, Arc<PostgresHost>>>,
    /// Which host is first, if the hosts take turns.
    turn: AtomicUsize,
    /// The host of the newest connection, if it has to be a primary.
    primary: Mutex<Option<Endpoint>>,
    /// What the newest call of `connect` found.
    reachability: Mutex<Reachability>,
    /// When hosts were last tried while none answered.
    attempted_in_silence: Mutex<Option<Instant>>,
}

/// Why no host could be used.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(crate) struct ConnectError {
    pub(super) kind: FailureKind,
    pub(super) error: Error,
}

impl From<Error> for ConnectError {
    fn from(error: Error) -> Self {
        ConnectError { kind: FailureKind::Other, error }
    }
}

impl From<ConnectError> for Error {
    fn from(failure: ConnectError) -> Self {
        failure.error
    }
}

/// A host that could not be used, and why.
struct HostFailure {
    host: String,
    reason: String,
    kind: FailureKind,
}

impl HostFailure {
    fn new(host: String, reason: &str) -> Self {
        HostFailure { host, reason: reason.to_owned(), kind: FailureKind::Other }
    }
}

impl Postgres {
    /// Fails with [`Error::Unavailable`] if no server can be reached.
    pub(crate) async fn check_server(&self) -> Result<(), Error> {
        let Manager { connector, .. } = self.pool.manager();
        Box::pin(connector.connect("")).await?.check_server()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connector {
    pub(super) fn new(dsn: Dsn, tls: MakeRustlsConnect, timeouts: HostTimeouts) -> Self {
        let name = |host: &DsnHost| match (&host.name, host.address) {
            (Some(Host::Tcp(name)), None) => Some(Name::new(name, host.port)),
            _ => None,
        };
        let dsn_hosts = dsn.hosts.iter().map(|host| (host.clone(), name(host))).collect();
        // Processes that start together begin with different hosts.
        let turn = AtomicUsize::new(RandomState::new().hash_one(0) as usize);
        let (known, primary, reachability) = (Mutex::default(), Mutex::default(), Mutex::default());
        Connector { dsn, tls, timeouts, dsn_hosts, known, turn, primary, reachability, attempted_in_silence: Mutex::default() }
    }

    /// Connects to the first host that answers, and runs a statement there if there is one. Fails with [`Error::Unavailable`].
    pub(super) async fn connect(self: &Arc<Self>, setup: &str) -> Result<RawConnection, ConnectError> {
        let connected = self.try_hosts(setup).await;
        *lock(&self.reachability) = match &connected {
            // A server without room for another connection answers on those that are open.
            Ok(_) | Err(ConnectError { kind: FailureKind::TooManyConnections, .. }) => Reachability::Reachable,
            Err(ConnectError { kind: FailureKind::OtherRole, .. }) => Reachability::OtherRole,
            Err(ConnectError { kind: FailureKind::Other, .. }) => Reachability::Unreachable,
        };
        connected
    }

    async fn try_hosts(self: &Arc<Self>, setup: &str) -> Result<RawConnection, ConnectError> {
        let mut lookups: FuturesUnordered<_> = self.lookups().collect();
        let mut found = Vec::new();
        let prompt = async {
            while let Some(one) = lookups.next().await {
                found.push(one);
            }
        };
        _ = tokio::time::timeout(NEXT_HOST_DELAY, prompt).await;
        found.sort_by_key(|(place, _)| *place);
        let (mut hosts, mut failures) = (Vec::new(), Vec::new());
        for (_, resolved) in found {
            resolved.map_or_else(|failure| failures.push(failure), |mut resolved| hosts.append(&mut resolved));
        }
        let mut waiting = self.in_order(hosts);
        let mut running = FuturesUnordered::new();
        let (mut spare, mut in_other_role) = (None, Vec::new());
        let started = Instant::now();
        loop {
            if let Some(host) = waiting.pop_front() {
                // Of those that did not answer, none waits for another.
                let did_answer = host.condition() == Condition::Answering;
                let attempt = host.begin_attempt();
                running.push(async move { (host.clone(), self.try_host(host, attempt, setup).await) });
                if !did_answer {
                    continue;
                }
            }
            let may_change = !in_other_role.is_empty() && !running.is_empty() && started.elapsed() < self.timeout();
            tokio::select! {
                Some((host, result)) = running.next() => match result {
                    Ok(connection) if connection.is_spare => spare = Some(connection),
                    Ok(connection) => {
                        if self.dsn.role.is_primary() {
                            *lock(&self.primary) = Some(connection.host.endpoint.clone());
                        }
                        return Ok(connection);
                    }
                    Err(failure) => {
                        if failure.kind == FailureKind::OtherRole {
                            in_other_role.push(host);
                        }
                        failures.push(failure);
                    }
                },
                Some((_, resolved)) = lookups.next() => {
                    resolved.map_or_else(|failure| failures.push(failure), |hosts| waiting.extend(hosts));
                }
                () = tokio::time::sleep(NEXT_HOST_DELAY), if !waiting.is_empty() || may_change => {
                    if waiting.is_empty() {
                        failures.retain(|failure| failure.kind != FailureKind::OtherRole);
                        waiting.extend(in_other_role.drain(..));
                    }
                }
                else => return spare.ok_or_else(|| self.unavailable(&failures)),
            }
        }
    }

    /// Tries a host, within `connect_timeout`. While the attempt of another request goes on, its end decides.
    async fn try_host(&self, host: Arc<PostgresHost>, mut attempt: Option<HostAttempt>, setup: &str) -> Result<RawConnection, HostFailure> {
        if attempt.is_none() {
            host.end_of_attempt().await;
            attempt = Some(&host).filter(|host| host.condition() == Condition::Answering).and_then(PostgresHost::begin_attempt);
        }
        let Some(attempt) = attempt else { return Err(HostFailure::new(host.endpoint.to_string(), "it does not answer")) };
        // A pooler may log clients in while its database is silent.
        let needs_answer = !setup.is_empty() || host.condition() != Condition::Answering;
        let request = AttemptRequest { role: self.dsn.role, setup: needs_answer.then_some(setup), limit: self.timeout() };
        match connect(&host, &self.tls, request).await {
            Ok(connection) => {
                attempt.end(AttemptEnd::Connected);
                Ok(connection)
            }
            Err(failure) => {
                attempt.end(failure.end);
                Err(HostFailure { host: host.endpoint.to_string(), reason: failure.reason, kind: failure.kind })
            }
        }
    }

    /// Asks a host for a sign of life, unless that happens already or happened since then.
    pub(super) fn probe(self: &Arc<Self>, host: &Arc<PostgresHost>, since: Instant) {
        let Some(observation) = host.begin_probe(since) else { return };
        let (connector, host) = (self.clone(), host.clone());
        tokio::spawn(async move {
            let request = AttemptRequest { role: WantedRole::Any, setup: Some(""), limit: host.timeouts.probe_timeout };
            let end = connect(&host, &connector.tls, request).await.map_or_else(|failure| failure.end, |_| AttemptEnd::Connected);
            let was_silent = host.condition() == Condition::Silent;
            host.end_probe(&observation, end);
            if !was_silent && host.condition() == Condition::Silent {
                connector.probe_others();
            }
        });
    }

    /// After a host fell silent: asks the others, so that requests need not find out one by one that these are silent too.
    fn probe_others(self: &Arc<Self>) {
        let others: Vec<_> = lock(&self.known).values().filter(|host| host.condition() == Condition::Answering).cloned().collect();
        let since = Instant::now().checked_sub(PROBE_INTERVAL).unwrap_or_else(Instant::now);
        for host in &others {
            self.probe(host, since);
        }
    }

    /// The hosts in the order in which they are tried: those that answer, the present primary first.
    fn in_order(self: &Arc<Self>, mut hosts: Vec<Arc<PostgresHost>>) -> VecDeque<Arc<PostgresHost>> {
        let is_silent = |host: &Arc<PostgresHost>| host.condition() != Condition::Answering;
        if !hosts.iter().all(is_silent) {
            // Probed beside this attempt, so that no request waits for a silent host.
            let since = Instant::now().checked_sub(PROBE_INTERVAL).unwrap_or_else(Instant::now);
            hosts.iter().filter(|host| is_silent(host)).for_each(|host| self.probe(host, since));
        }
        let primary = lock(&self.primary).clone();
        // The others keep their order.
        hosts.sort_by_key(|host| (is_silent(host), primary.as_ref().is_some_and(|primary| host.endpoint != *primary)));
        hosts.into()
    }

    /// The servers of the DSN with their ports, for messages. Nothing else of a DSN is in it.
    pub(super) fn servers(&self) -> String {
        self.dsn.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The database, the servers and the user, for messages. Without a user the driver takes that of the process; without a database, the
    /// server takes the one with the user's name.
    pub(super) fn describe(&self) -> String {
        let user = self.dsn.config.get_user();
        let database = self.dsn.config.get_dbname().or(user).map_or(String::new(), |name| format!(" {name:?}"));
        let user = user.map_or(String::new(), |user| format!(" as user {user:?}"));
        format!("the database{database} at {}{user}", self.servers())
    }

    /// Whether nothing comes from any host.
    pub(super) fn is_silent(&self) -> bool {
        let known = lock(&self.known);
        !known.is_empty() && known.values().all(|host| host.condition() == Condition::Silent)
    }

    /// While nothing comes from any host: has all of them tried once a second, beside the requests, and fails unless one answers at once.
    pub(super) async fn attempt_in_silence(self: &Arc<Self>) -> Result<(), Error> {
        let now = Instant::now();
        let last = *lock(&self.attempted_in_silence);
        let going_on = last.filter(|last| now.saturating_duration_since(*last) < ATTEMPT_INTERVAL);
        let began = going_on.unwrap_or(now);
        if going_on.is_none() {
            *lock(&self.attempted_in_silence) = Some(now);
            let connector = self.clone();
            tokio::spawn(async move { connector.connect("").await.map(drop) }.in_current_span());
        }
        // The requests of this moment share the attempt.
        while began.elapsed() < SILENCE_INTERVAL && self.is_silent() {
            tokio::time::sleep(SILENCE_INTERVAL / 10).await;
        }
        if self.is_silent() { Err(self.silence()) } else { Ok(()) }
    }

    /// Waits until nothing comes from any host.
    pub(super) async fn silent(&self) {
        while !self.is_silent() {
            tokio::time::sleep(SILENCE_INTERVAL).await;
        }
    }

    /// Why there is no connection while nothing comes from any host.
    pub(super) fn silence(&self) -> Error {
        Error::Unavailable(format!("no connection to {}: no host answers", self.servers()))
    }

    /// Why there is no connection yet.
    pub(super) fn late(&self) -> Error {
        Error::Unavailable(format!("no connection to {} in time", self.servers()))
    }

    pub(super) fn reachability(&self) -> Reachability {
        *lock(&self.reachability)
    }

    /// What is known of each address that was tried.
    pub(super) fn figures(&self) -> Vec<HostFigures> {
        let primary = lock(&self.primary).clone();
        let mut figures: Vec<HostFigures> = lock(&self.known)
            .values()
            .map(|host| HostFigures {
                host: host.endpoint.to_string(),
                answers: host.condition() == Condition::Answering,
                is_primary: self.dsn.role.is_primary().then(|| primary.as_ref() == Some(&host.endpoint)),
            })
            .collect();
        figures.sort_by(|one, other| one.host.cmp(&other.host));
        figures
    }

    /// Says why no host could be used. Nothing of the DSN but its hosts is in it.
    fn unavailable(&self, failures: &[HostFailure]) -> ConnectError {
        let servers = self.servers();
        let reasons = match failures {
            [HostFailure { reason, .. }] => reason.clone(),
            several => several.iter().map(|failure| format!("{}: {}", failure.host, failure.reason)).collect::<Vec<_>>().join("; "),
        };
        let kind = if failures.iter().any(|failure| failure.kind == FailureKind::TooManyConnections) {
            FailureKind::TooManyConnections
        } else if !failures.is_empty() && failures.iter().all(|failure| failure.kind == FailureKind::OtherRole) {
            FailureKind::OtherRole
        } else {
            FailureKind::Other
        };
        ConnectError { kind, error: Error::Unavailable(format!("no connection to {servers}: {reasons}")) }
    }

    fn timeout(&self) -> Duration {
        self.dsn.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT)
    }

    /// The hosts of the DSN at all their addresses, each with its place in the order.
    fn lookups(&self) -> impl Iterator<Item = impl Future<Output = (usize, Result<Vec<Arc<PostgresHost>>, HostFailure>)>> {
        let takes_turns = self.dsn.config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let turn = if takes_turns { self.turn.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let start = turn % self.dsn_hosts.len().max(1);
        let dsn_hosts = self.dsn_hosts.iter().cycle().skip(start).take(self.dsn_hosts.len());
        dsn_hosts.enumerate().map(move |(place, (host, name))| async move {
            let mut found = self.endpoints(host, name.as_ref()).await;
            if let Ok(hosts) = &mut found {
                let start = turn % hosts.len().max(1);
                hosts.rotate_left(start);
            }
            (place, found)
        })
    }

    /// A name may lead to several addresses, and to others later.
    async fn endpoints(&self, host: &DsnHost, name: Option<&Name>) -> Result<Vec<Arc<PostgresHost>>, HostFailure> {
        let at = |address: SocketAddr, name: &str| self.known(host, &Endpoint::Network(address, name.to_owned()));
        match (&host.name, host.address, name) {
            (Some(Host::Unix(folder)), ..) => {
                let socket = Endpoint::Local(folder.join(format!(".s.PGSQL.{}", host.port)));
                Ok(vec![self.known(host, &socket)])
            }
            (Some(Host::Tcp(text)), None, Some(name)) => {
                let found: Found = name.addresses(self.timeout()).await;
                let addresses = found.map_err(|reason| HostFailure::new(host.to_string(), &reason))?;
                Ok(addresses.into_iter().map(|address| at(address, text)).collect())
            }
            (Some(Host::Tcp(text)), Some(address), _) => Ok(vec![at((address, host.port).into(), text)]),
            (None, Some(address), _) => Ok(vec![at((address, host.port).into(), &address.to_string())]),
            (Some(Host::Tcp(_)) | None, None, _) => Ok(Vec::new()),
        }
    }

    fn known(&self, host: &DsnHost, endpoint: &Endpoint) -> Arc<PostgresHost> {
        let mut known = lock(&self.known);
        if known.len() > MAX_HOSTS {
            known.retain(|_, host| Arc::strong_count(host) > 1);
        }
        let address = if let Endpoint::Network(address, _) = endpoint { Some(address.ip()) } else { None };
        let new = || Arc::new(PostgresHost::new(endpoint.clone(), self.dsn.config_for(host, address), self.timeouts));
        known.entry(endpoint.clone()).or_insert_with(new).clone()
    }
}
