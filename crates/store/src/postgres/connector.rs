//! Opens connections to the hosts of a DSN, and cancels what runs on one.
//!
//! Hosts are tried in the order of the DSN. If one takes long, the next is tried beside it. Hosts that were silent lately come last.
//! A primary (`target_session_attrs=read-write`) stays the first choice while it answers: a host that answers again may be an earlier primary
//! that has not found out yet, and would answer from old rows.
//!
//! The driver closes its side right after it has sent a cancel request. A pooler may take that for a client that has gone and drop the request,
//! and PgBouncer before 1.21 even crashes. So the server closes first here, as with libpq.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_postgres::config::{Host, LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Client, Error as DriverError, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

use super::dsn::{Dsn, DsnHost};
use super::host::{ConnectAttempt, Endpoint, PROBE_TIMEOUT, PostgresHost, is_silence};
use super::{CONNECT_TIMEOUT, Manager, Postgres};

/// How long a host may take before the next one is tried beside it.
const NEXT_HOST_DELAY: Duration = Duration::from_secs(1);

/// How many addresses are remembered. A name may lead to others over time.
const MAX_HOSTS: usize = 64;

/// The only encoding that holds every string of a client.
const ACCEPTED_ENCODING: &str = "UTF8";

/// The oldest major version that the tests run on.
const MIN_VERSION: u32 = 13;

/// A host, and why it could not be reached.
type Failure = (String, String);

pub(super) struct Connector {
    dsn: Dsn,
    tls: MakeRustlsConnect,
    /// The state of each address.
    known: Mutex<HashMap<Endpoint, Arc<PostgresHost>>>,
    /// Which host is first, if the hosts take turns.
    turn: AtomicUsize,
    /// The host of the newest connection, if it has to be a primary.
    primary: Mutex<Option<Endpoint>>,
}

/// A new connection on which nothing is set.
pub(super) struct RawConnection {
    pub(super) client: Client,
    pub(super) host: Arc<PostgresHost>,
    /// The version and the encoding that the server reports. A pooler may report none.
    version: Option<String>,
    encoding: Option<String>,
}

impl RawConnection {
    /// Refuses a server that is too old, and a database in another encoding.
    pub(super) fn check_server(&self) -> Result<(), Error> {
        if let Some(version) = self.version.as_deref().filter(|version| major(version).is_some_and(|major| major < MIN_VERSION)) {
            return Err(Error::Setting(format!("the server is PostgreSQL {version}; accepted is PostgreSQL {MIN_VERSION} or newer")));
        }
        match self.encoding.as_deref() {
            None | Some(ACCEPTED_ENCODING) => Ok(()),
            Some(other) => Err(Error::Setting(format!(
                "the encoding of the database is {other}; accepted is {ACCEPTED_ENCODING}: make a new one (createdb -E UTF8 -T template0) and load the data into it"
            ))),
        }
    }
}

/// The major of a version such as `16.14 (Debian 16.14-1)` or `18beta1`.
fn major(version: &str) -> Option<u32> {
    let end = version.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(version.len());
    version[..end].parse().ok()
}

impl Postgres {
    /// Fails with [`Error::Unavailable`] if no server can be reached.
    pub(crate) async fn check_server(&self) -> Result<(), Error> {
        let Manager { connector, .. } = self.pool.manager();
        Box::pin(connector.connect()).await?.check_server()
    }
}

impl Connector {
    pub(super) fn new(dsn: Dsn, tls: MakeRustlsConnect) -> Self {
        // Processes that start together begin with different hosts.
        let turn = AtomicUsize::new(RandomState::new().hash_one(0) as usize);
        Connector { dsn, tls, known: Mutex::default(), turn, primary: Mutex::default() }
    }

    /// Connects to the first host that answers. Fails with [`Error::Unavailable`].
    pub(super) async fn connect(self: &Arc<Self>) -> Result<RawConnection, Error> {
        let (hosts, mut failures) = self.hosts().await;
        let (silent, mut hosts): (Vec<_>, Vec<_>) = hosts.into_iter().partition(|host| host.is_silent());
        if !hosts.is_empty() {
            // Probed beside this attempt, so that no request waits for a silent host.
            for host in &silent {
                self.probe(host);
            }
        }
        hosts.extend(silent);
        if let Some(primary) = &*self.primary() {
            // The others keep their order.
            hosts.sort_by_key(|host| host.is_silent() || host.endpoint != *primary);
        }
        let mut waiting = hosts.into_iter();
        let mut running = FuturesUnordered::new();
        loop {
            if let Some(host) = waiting.next() {
                let Some(attempt) = host.attempt() else {
                    failures.push((host.endpoint.to_string(), "it does not answer".to_owned()));
                    continue;
                };
                running.push(self.try_host(attempt));
            }
            tokio::select! {
                Some(result) = running.next() => match result {
                    Ok(connection) => {
                        if self.dsn.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite {
                            *self.primary() = Some(connection.host.endpoint.clone());
                        }
                        return Ok(connection);
                    }
                    Err(failure) => failures.push(failure),
                },
                () = tokio::time::sleep(NEXT_HOST_DELAY), if waiting.len() > 0 => {}
                else => return Err(self.unavailable(&failures)),
            }
        }
    }

    fn primary(&self) -> MutexGuard<'_, Option<Endpoint>> {
        self.primary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a host for a sign of life, unless that happens already or happened lately.
    pub(super) fn probe(self: &Arc<Self>, host: &Arc<PostgresHost>) {
        let Some(observation) = host.begin_probe() else { return };
        let (connector, host) = (self.clone(), host.clone());
        tokio::spawn(async move {
            let is_silent = match tokio::time::timeout(PROBE_TIMEOUT, connector.connect_to(&host)).await {
                Ok(Ok(_)) => false,
                Ok(Err(error)) => is_silence(&error),
                Err(_) => true,
            };
            host.end_probe(&observation, is_silent);
        });
    }

    /// The servers of the DSN with their ports, for messages. Nothing else of a DSN is in it.
    pub(super) fn servers(&self) -> String {
        self.dsn.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Says why no host could be reached. Nothing of the DSN but its hosts is in it.
    fn unavailable(&self, failures: &[Failure]) -> Error {
        let servers = self.servers();
        let reasons = match failures {
            [(_, reason)] => reason.clone(),
            several => several.iter().map(|(host, reason)| format!("{host}: {reason}")).collect::<Vec<_>>().join("; "),
        };
        Error::Unavailable(format!("no connection to {servers}: {reasons}"))
    }

    /// Tries a host, within one timeout for TCP, TLS and login.
    async fn try_host(&self, attempt: ConnectAttempt) -> Result<RawConnection, Failure> {
        let (host, timeout) = (attempt.host.clone(), self.timeout());
        match tokio::time::timeout(timeout, self.connect_to(&host)).await {
            Ok(Ok(connection)) => {
                attempt.answered();
                Ok(connection)
            }
            Ok(Err(error)) => {
                if is_silence(&error) {
                    attempt.had_no_answer();
                } else {
                    attempt.answered();
                }
                let reason = match Error::from(error) {
                    Error::Unavailable(reason) => reason,
                    other => other.to_string(),
                };
                Err((host.endpoint.to_string(), reason))
            }
            Err(_) => {
                attempt.had_no_answer();
                Err((host.endpoint.to_string(), format!("no answer within {} s", timeout.as_secs_f32())))
            }
        }
    }

    fn timeout(&self) -> Duration {
        self.dsn.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT)
    }

    /// The hosts at all their addresses, in the order in which they are tried, and the names that lead to none.
    async fn hosts(&self) -> (Vec<Arc<PostgresHost>>, Vec<Failure>) {
        let mut dsn_hosts: Vec<&DsnHost> = self.dsn.hosts.iter().collect();
        let takes_turns = self.dsn.config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let turn = if takes_turns { self.turn.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let start = turn % dsn_hosts.len().max(1);
        dsn_hosts.rotate_left(start);
        let (mut hosts, mut failures) = (Vec::new(), Vec::new());
        for resolved in join_all(dsn_hosts.into_iter().map(|host| self.endpoints(host))).await {
            match resolved {
                Ok(mut endpoints) => {
                    let start = turn % endpoints.len().max(1);
                    endpoints.rotate_left(start);
                    hosts.append(&mut endpoints);
                }
                Err(failure) => failures.push(failure),
            }
        }
        (hosts, failures)
    }

    /// A name may lead to several addresses, and to others later.
    async fn endpoints(&self, host: &DsnHost) -> Result<Vec<Arc<PostgresHost>>, Failure> {
        let (name, address) = match (&host.name, host.address) {
            (Some(Host::Unix(folder)), _) => {
                let socket = Endpoint::Local(folder.join(format!(".s.PGSQL.{}", host.port)));
                return Ok(vec![self.known(host, &socket)]);
            }
            (Some(Host::Tcp(name)), address) => (name.clone(), address),
            (None, Some(address)) => (address.to_string(), Some(address)),
            (None, None) => return Ok(Vec::new()),
        };
        let at = |address: SocketAddr| self.known(host, &Endpoint::Network(address, name.clone()));
        if let Some(address) = address {
            return Ok(vec![at((address, host.port).into())]);
        }
        // A name that is looked up in vain must not keep the others waiting.
        let timeout = if self.dsn.hosts.len() == 1 { self.timeout() } else { NEXT_HOST_DELAY };
        match tokio::time::timeout(timeout, lookup_host((name.as_str(), host.port))).await {
            Ok(Ok(addresses)) => Ok(addresses.map(at).collect()),
            Ok(Err(error)) => Err((host.to_string(), error.to_string())),
            Err(_) => Err((host.to_string(), "the name was not resolved in time".to_owned())),
        }
    }

    fn known(&self, host: &DsnHost, endpoint: &Endpoint) -> Arc<PostgresHost> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > MAX_HOSTS {
            known.retain(|_, host| Arc::strong_count(host) > 1);
        }
        let address = if let Endpoint::Network(address, _) = endpoint { Some(address.ip()) } else { None };
        let new = || Arc::new(PostgresHost::new(endpoint.clone(), self.dsn.config_for(host, address)));
        known.entry(endpoint.clone()).or_insert_with(new).clone()
    }

    pub(super) async fn connect_to(&self, host: &Arc<PostgresHost>) -> Result<RawConnection, DriverError> {
        let (client, connection) = host.config.connect(self.tls.clone()).await?;
        let [version, encoding] = ["server_version", "server_encoding"].map(|name| connection.parameter(name).map(str::to_owned));
        // Ends when the client is dropped or the server closes the connection.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a PostgreSQL connection ended");
            }
        });
        Ok(RawConnection { client, host: host.clone(), version, encoding })
    }

    pub(super) async fn cancel(&self, endpoint: &Endpoint, token: &CancelToken) -> Result<(), DriverError> {
        match endpoint {
            Endpoint::Local(socket) => {
                if let Ok(stream) = UnixStream::connect(socket).await {
                    return token.cancel_query_raw(CloseAfterPeer(stream), NoTls).await;
                }
            }
            Endpoint::Network(address, host) => {
                let tls = MakeTlsConnect::<CloseAfterPeer<TcpStream>>::make_tls_connect(&mut self.tls.clone(), host);
                if let (Ok(stream), Ok(tls)) = (TcpStream::connect(address).await, tls) {
                    return token.cancel_query_raw(CloseAfterPeer(stream), CloseAfterPeer(tls)).await;
                }
            }
        }
        token.cancel_query(self.tls.clone()).await
    }
}

/// A stream that closes only after the other side has.
struct CloseAfterPeer<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for CloseAfterPeer<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for CloseAfterPeer<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [0; 64];
        loop {
            let mut buffer = ReadBuf::new(&mut space);
            // However it ends, the server has received the request.
            let read = ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for CloseAfterPeer<S> {
    fn channel_binding(&self) -> ChannelBinding {
        // A cancel request has no login.
        ChannelBinding::none()
    }
}

impl<S, T> TlsConnect<S> for CloseAfterPeer<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
{
    type Stream = CloseAfterPeer<T::Stream>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, T::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.0.connect(stream);
        Box::pin(async move { connecting.await.map(CloseAfterPeer) })
    }
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_major_is_the_number_at_the_front_of_a_version() {
        let versions =
            [("9.6.24", 9), ("12.22", 12), ("13.23", 13), ("16.14 (Debian 16.14-1.pgdg12+1)", 16), ("18beta1", 18), ("20devel", 20)];
        for (version, expected) in versions {
            assert_eq!(major(version), Some(expected), "{version}");
        }
        for unknown in ["", "devel", "99999999999.1"] {
            assert_eq!(major(unknown), None, "{unknown}");
        }
    }
}
