//! Opens connections to the server, and cancels what runs on one.
//!
//! The driver closes its side right after it has sent a cancel request. A pooler may take that for a client that has gone and drop the request,
//! and PgBouncer before 1.21 even crashes. So the server closes first here, as with libpq.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Client, Config, Error as DriverError, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

use super::dsn::PORT;
use super::{Manager, Postgres};

/// The only encoding that holds every string of a client.
const ACCEPTED_ENCODING: &str = "UTF8";

/// The oldest major version that the tests run on.
const MIN_VERSION: u32 = 13;

pub(super) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
}

/// A new connection on which nothing is set.
pub(super) struct RawConnection {
    pub(super) client: Client,
    pub(super) endpoint: Endpoint,
    /// The version and the encoding that the server reports. A pooler may report none.
    version: Option<String>,
    encoding: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Network(SocketAddr, String),
    Local(PathBuf),
    /// One of several, and only the driver knows which.
    Unknown,
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
    pub(crate) async fn check_server(&self) -> Result<(), Error> {
        let Manager { connector, .. } = self.pool.manager();
        Box::pin(connector.connect()).await.map_or(Ok(()), |connection| connection.check_server())
    }
}

impl Connector {
    pub(super) fn new(config: Config, tls: MakeRustlsConnect) -> Self {
        Connector { config, tls }
    }

    pub(super) async fn connect(&self) -> Result<RawConnection, DriverError> {
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        let endpoint = match (self.config.get_hosts(), self.config.get_hostaddrs()) {
            ([Host::Unix(folder)], []) => Endpoint::Local(folder.join(format!(".s.PGSQL.{port}"))),
            ([Host::Tcp(name)], [address]) => Endpoint::Network((*address, port).into(), name.clone()),
            ([], [address]) => Endpoint::Network((*address, port).into(), address.to_string()),
            ([Host::Tcp(name)], []) if self.config.get_load_balance_hosts() == LoadBalanceHosts::Disable => {
                return self.connect_by_name(name, port).await;
            }
            _ => Endpoint::Unknown,
        };
        self.connect_to(&self.config, endpoint).await
    }

    /// Tries each address of the host. The name may resolve differently later, so the endpoint holds the address.
    async fn connect_by_name(&self, name: &str, port: u16) -> Result<RawConnection, DriverError> {
        let mut last = None;
        for address in lookup_host((name, port)).await.into_iter().flatten() {
            let mut config = self.config.clone();
            config.hostaddr(address.ip());
            match self.connect_to(&config, Endpoint::Network(address, name.to_owned())).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(error),
            // The driver resolves it again and reports why it cannot.
            None => self.connect_to(&self.config, Endpoint::Unknown).await,
        }
    }

    async fn connect_to(&self, config: &Config, endpoint: Endpoint) -> Result<RawConnection, DriverError> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let [version, encoding] = ["server_version", "server_encoding"].map(|name| connection.parameter(name).map(str::to_owned));
        // Ends when the client is dropped or the server closes the connection.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a PostgreSQL connection ended");
            }
        });
        Ok(RawConnection { client, endpoint, version, encoding })
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
            Endpoint::Unknown => {}
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
