//! Cancels what runs on a connection.
//!
//! The driver closes its side right after it has sent a cancel request. A pooler may take that for a client that has gone and drop the request,
//! and PgBouncer before 1.21 even crashes. So the server closes first here, as with libpq.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Error as DriverError, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::host::Endpoint;

pub(super) async fn cancel(endpoint: &Endpoint, tls: &MakeRustlsConnect, token: &CancelToken) -> Result<(), DriverError> {
    match endpoint {
        Endpoint::Local(socket) => {
            if let Ok(stream) = UnixStream::connect(socket).await {
                return token.cancel_query_raw(CloseAfterPeer(stream), NoTls).await;
            }
        }
        Endpoint::Network(address, host) => {
            let connect = MakeTlsConnect::<CloseAfterPeer<TcpStream>>::make_tls_connect(&mut tls.clone(), host);
            if let (Ok(stream), Ok(connect)) = (TcpStream::connect(address).await, connect) {
                return token.cancel_query_raw(CloseAfterPeer(stream), CloseAfterPeer(connect)).await;
            }
        }
    }
    token.cancel_query(tls.clone()).await
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
