//! One connection: the minimum rate at which its client must take a response, and a reset where a response breaks off.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Response, Version};
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::budget::Activity;

/// The average rate at which a client must take a response, in bytes a second.
const MIN_RATE: u64 = 16 * 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Truncation(Arc<AtomicBool>);

impl Truncation {
    /// Watches the response to a request of this version. In HTTP/1.0 a response of unknown length ends with the connection, so a truncated
    /// one would look whole unless the connection is reset. Later versions mark the end.
    pub(super) fn watch(&self, version: Version, answer: Response<Body>) -> Response<Body> {
        if version >= Version::HTTP_11 {
            return answer;
        }
        let truncation = self.clone();
        answer.map(|body| {
            Body::new(body.map_err(move |error| {
                truncation.0.store(true, Ordering::Relaxed);
                error
            }))
        })
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    pub(super) truncation: Truncation,
    pace: Pace,
    activity: Arc<Activity>,
}

impl Connection {
    /// A connection whose client may take nothing for `timeout`.
    pub(super) fn new(stream: TcpStream, timeout: Duration, activity: Arc<Activity>) -> Self {
        Connection { stream, truncation: Truncation::default(), pace: Pace::new(timeout), activity }
    }

    fn wrote(&mut self, context: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.pace.took(bytes);
            self.activity.note_progress();
        }
        if written.is_pending() && self.pace.is_too_slow(context) {
            return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client takes the answer too slowly")));
        }
        written
    }
}

/// How long the client may let a response wait. Waiting uses up the time, and bytes that are taken give some back: a client may pause, but
/// must keep the minimum rate on average.
#[derive(Debug)]
struct Pace {
    timeout: Duration,
    left: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Pace {
    fn new(timeout: Duration) -> Self {
        Pace { timeout, left: timeout, waiting: None }
    }

    fn took(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waiting.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
        if self.left < self.timeout {
            let earned = Duration::from_micros(bytes as u64 * 1_000_000 / MIN_RATE);
            self.left = (self.left + earned).min(self.timeout);
        }
    }

    fn is_too_slow(&mut self, context: &mut Context<'_>) -> bool {
        let left = self.left;
        let (_, sleep) = self.waiting.get_or_insert_with(|| {
            let now = Instant::now();
            (now, Box::pin(sleep_until(now + left)))
        });
        sleep.as_mut().poll(context).is_ready()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.truncation.0.load(Ordering::Relaxed) {
            _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.activity.note_progress();
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // Half of a connection cannot be reset: the whole is, when it is dropped.
        if self.truncation.0.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn waits(pace: &mut Pace) -> bool {
        !pace.is_too_slow(&mut Context::from_waker(&noop_waker()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_may_pause_and_must_keep_the_least_rate_on_average() {
        // attack 52
        let mut pace = Pace::new(TIMEOUT);
        assert!(waits(&mut pace));
        tokio::time::advance(TIMEOUT / 2).await;
        assert!(waits(&mut pace), "half of the time is left");
        pace.took(1);
        assert!(waits(&mut pace));
        tokio::time::advance(TIMEOUT / 2 + Duration::from_secs(1)).await;
        assert!(!waits(&mut pace), "a byte now and then earns nothing");

        let mut pace = Pace::new(TIMEOUT);
        for _ in 0..100 {
            assert!(waits(&mut pace));
            tokio::time::advance(Duration::from_secs(10)).await;
            assert!(waits(&mut pace));
            pace.took(10 * MIN_RATE as usize + 1);
        }
    }
}
