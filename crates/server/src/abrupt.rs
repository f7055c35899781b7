//! Connections that can end abruptly. By HTTP/1.0 an answer of unknown length ends where the connection does, so that one which breaks off
//! has to be torn down: closed in good order, it would look whole.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{Response, Version};
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

/// Whether an answer on the connection broke off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breach(Arc<AtomicBool>);

impl Breach {
    /// An answer to a request of this version, of which is noted if it breaks off.
    pub(crate) fn watch(&self, version: Version, answer: Response<Body>) -> Response<Body> {
        // Later versions say by themselves where an answer ends.
        if version >= Version::HTTP_11 {
            return answer;
        }
        let breach = self.clone();
        answer.map(|body| {
            Body::new(body.map_err(move |error| {
                breach.0.store(true, Ordering::Relaxed);
                error
            }))
        })
    }
}

/// A connection whose writes end when the other side takes nothing for too long.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    breach: Breach,
}

impl Connection {
    pub(crate) fn new(stream: TimeoutStream<TcpStream>) -> Self {
        Connection { stream: Box::pin(stream), breach: Breach::default() }
    }

    pub(crate) fn breach(&self) -> Breach {
        self.breach.clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.breach.0.load(Ordering::Relaxed) {
            _ = self.stream.get_ref().set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        self.stream.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // Half of a connection cannot be torn down: the whole is, when it is dropped.
        if self.breach.0.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.stream.as_mut().poll_shutdown(context)
    }
}
