//! The way to the server: connections, and requests to give up what runs on one.
//!
//! The driver closes its side as soon as it has asked for that. PostgreSQL does not mind; a pooler may take it for somebody who has gone and
//! drop the request, and PgBouncer before 1.21 even falls over it. So the server hangs up first here, as libpq lets it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::PORT;
use super::driver::Driver;
use super::encoding::ServerEncoding;

/// Where a server is, and how one is sure of it.
pub(super) struct Way {
    config: Config,
    tls: MakeRustlsConnect,
}

/// A connection on which nothing is set.
pub(super) struct Line {
    pub(super) client: Client,
    pub(super) driver: Driver,
    pub(super) place: Place,
    pub(super) encoding: ServerEncoding,
}

/// Where a connection leads, as far as we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Network(SocketAddr, String),
    Local(PathBuf),
    /// To one of several: which of them, only the driver knows.
    OneOfSeveral,
}

impl Way {
    pub(super) fn new(config: Config, tls: MakeRustlsConnect) -> Self {
        Way { config, tls }
    }

    pub(super) async fn connect(&self) -> Result<Line, Error> {
        let (hosts, addresses) = (self.config.get_hosts(), self.config.get_hostaddrs());
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        match (hosts, addresses) {
            ([Host::Unix(folder)], []) => self.connect_by(&self.config, Place::Local(folder.join(format!(".s.PGSQL.{port}")))).await,
            ([Host::Tcp(name)], [address]) => self.connect_by(&self.config, Place::Network((*address, port).into(), name.clone())).await,
            ([], [address]) => self.connect_by(&self.config, Place::Network((*address, port).into(), address.to_string())).await,
            ([Host::Tcp(name)], []) if self.config.get_load_balance_hosts() == LoadBalanceHosts::Disable => {
                // A name may lead elsewhere the next time: what was reached is remembered.
                let Ok(found) = lookup_host((name.as_str(), port)).await else {
                    return self.connect_by(&self.config, Place::OneOfSeveral).await;
                };
                let mut last = None;
                for address in found {
                    let mut config = self.config.clone();
                    config.hostaddr(address.ip());
                    match self.connect_by(&config, Place::Network(address, name.clone())).await {
                        Ok(line) => return Ok(line),
                        Err(error) => last = Some(error),
                    }
                }
                match last {
                    Some(error) => Err(error),
                    None => self.connect_by(&self.config, Place::OneOfSeveral).await,
                }
            }
            _ => self.connect_by(&self.config, Place::OneOfSeveral).await,
        }
    }

    async fn connect_by(&self, config: &Config, place: Place) -> Result<Line, Error> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let encoding = ServerEncoding::new(connection.parameter("server_encoding"));
        let driver = Driver::new(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a PostgreSQL connection ended");
            }
        });
        Ok(Line { client, driver, place, encoding })
    }

    /// Asks for what runs on the connection of this token to be given up.
    pub(super) async fn cancel(&self, place: &Place, token: &CancelToken) -> Result<(), Error> {
        match place {
            Place::Local(socket) => {
                if let Ok(stream) = UnixStream::connect(socket).await {
                    return token.cancel_query_raw(Patient(stream), NoTls).await;
                }
            }
            Place::Network(address, host) => {
                let tls = MakeTlsConnect::<Patient<TcpStream>>::make_tls_connect(&mut self.tls.clone(), host);
                if let (Ok(stream), Ok(tls)) = (TcpStream::connect(address).await, tls) {
                    return token.cancel_query_raw(Patient(stream), Patient(tls)).await;
                }
            }
            Place::OneOfSeveral => {}
        }
        token.cancel_query(self.tls.clone()).await
    }
}

/// Hangs up when the other side has, and not before.
struct Patient<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
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
            // However it ends, the server has heard.
            let read = ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Patient<S> {
    fn channel_binding(&self) -> ChannelBinding {
        // Nobody signs in on this line.
        ChannelBinding::none()
    }
}

impl<S, T> TlsConnect<S> for Patient<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
{
    type Stream = Patient<T::Stream>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, T::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.0.connect(stream);
        Box::pin(async move { connecting.await.map(Patient) })
    }
}
