//! Asks the server to give a statement up, and lets it hang up first, as libpq does.
//!
//! The driver closes its side as soon as it has asked. PostgreSQL does not mind; a pooler may take that for somebody who has gone and drop
//! the request, and PgBouncer before 1.21 even falls over it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_postgres::config::Host;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::PORT;

/// Where a server is, and how one is sure of it.
pub(super) struct Way {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Way {
    /// Asks for what runs on the connection of this token to be given up.
    pub(super) async fn cancel(&self, token: &CancelToken) -> Result<(), Error> {
        match self.dial().await {
            Some(Line::Local(stream)) => token.cancel_query_raw(Patient(stream), NoTls).await,
            Some(Line::Network(stream, host)) => match MakeTlsConnect::<Patient<TcpStream>>::make_tls_connect(&mut self.tls.clone(), &host)
            {
                Ok(tls) => token.cancel_query_raw(Patient(stream), Patient(tls)).await,
                Err(_) => token.cancel_query(self.tls.clone()).await,
            },
            None => token.cancel_query(self.tls.clone()).await,
        }
    }

    /// A line to the server, where there is one only. Of several, nobody but the driver knows which of them it has reached.
    async fn dial(&self) -> Option<Line> {
        let (hosts, addresses) = (self.config.get_hosts(), self.config.get_hostaddrs());
        if hosts.len() > 1 || addresses.len() > 1 {
            return None;
        }
        let port = self.config.get_ports().first().copied().unwrap_or(PORT);
        match (hosts.first(), addresses.first()) {
            (Some(Host::Unix(folder)), None) => UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await.ok().map(Line::Local),
            (Some(Host::Tcp(name)), None) => {
                let found: Vec<SocketAddr> = lookup_host((name.as_str(), port)).await.ok()?.collect();
                let is_one = found.len() == 1 || found.iter().all(|address| address.ip().is_loopback());
                let stream = if is_one { TcpStream::connect(&found[..]).await.ok() } else { None };
                stream.map(|stream| Line::Network(stream, name.clone()))
            }
            (host, Some(address)) => {
                let stream = TcpStream::connect((*address, port)).await.ok()?;
                Some(Line::Network(stream, named(host, *address)))
            }
            (None, None) => None,
        }
    }
}

/// What the certificate is held against.
fn named(host: Option<&Host>, address: IpAddr) -> String {
    match host {
        Some(Host::Tcp(name)) => name.clone(),
        _ => address.to_string(),
    }
}

enum Line {
    Local(UnixStream),
    Network(TcpStream, String),
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
