//! What goes on on a connection of HTTP/2. Its answers pass through windows that the client opens: one that opens none is written nothing,
//! and nothing that is written could take too long. So it is noted here since when a client lets each answer wait.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// How much of an answer is handed over at once: what is handed over is out of sight.
const PIECE: usize = 16 * 1024;

/// The requests of a connection that are not answered to their end.
#[derive(Clone, Debug)]
pub(crate) struct Traffic(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Since when each answer waits for the client, if it does.
    open: HashMap<u64, Option<Instant>>,
    next: u64,
    /// When the last one ended.
    quiet_since: Instant,
}

/// A request, until it is answered to its end or given up.
#[derive(Debug)]
pub(crate) struct Exchange {
    traffic: Traffic,
    number: u64,
}

/// What a connection comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Busy,
    /// Nothing was asked for long.
    Idle,
    /// An answer waited for the client for too long.
    Stalled,
}

impl Traffic {
    pub(crate) fn new() -> Self {
        Traffic(Arc::new(Mutex::new(State { open: HashMap::new(), next: 0, quiet_since: Instant::now() })))
    }

    pub(crate) fn begin(&self) -> Exchange {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, None);
        Exchange { traffic: self.clone(), number }
    }

    /// What it comes to by now.
    pub(crate) fn look(&self, now: Instant, patience: Duration, rest: Duration) -> Finding {
        let state = self.state();
        if state.open.values().flatten().any(|since| now.saturating_duration_since(*since) >= patience) {
            return Finding::Stalled;
        }
        let is_idle = state.open.is_empty() && now.saturating_duration_since(state.quiet_since) >= rest;
        if is_idle { Finding::Idle } else { Finding::Busy }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exchange {
    /// The answer's body, watched on its way.
    pub(crate) fn deliver(self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        self.waits(Some(Instant::now()));
        Body::new(Delivery { body, piece: Bytes::new(), exchange: self })
    }

    fn waits(&self, since: Option<Instant>) {
        if let Some(waiting) = self.traffic.state().open.get_mut(&self.number) {
            *waiting = since;
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let mut state = self.traffic.state();
        state.open.remove(&self.number);
        state.quiet_since = Instant::now();
    }
}

struct Delivery {
    body: Body,
    /// What of the body is not handed over yet.
    piece: Bytes,
    exchange: Exchange,
}

impl HttpBody for Delivery {
    type Data = Bytes;
    type Error = BoxError;

    /// Called only when the client has room.
    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.piece.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => {
                    self.exchange.waits(None);
                    return other.map_err(Into::into);
                }
            };
            match frame.into_data() {
                Ok(data) => self.piece = data,
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            }
        }
        self.exchange.waits(Some(Instant::now()));
        let length = self.piece.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.piece.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (held, mut hint) = (self.piece.len() as u64, self.body.size_hint());
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + held);
        }
        hint.set_lower(hint.lower() + held);
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use http_body_util::BodyExt;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);
    const REST: Duration = Duration::from_secs(15);

    /// What is found so long from now.
    fn after(traffic: &Traffic, time: Duration) -> Finding {
        traffic.look(Instant::now() + time, PATIENCE, REST)
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_found_and_one_that_waits_for_us_is_not() {
        let traffic = Traffic::new();
        let exchange = traffic.begin();
        assert_eq!(after(&traffic, PATIENCE * 2), Finding::Busy, "the answer is ours to give");
        let text = vec![b'x'; 3 * PIECE];
        let mut body = exchange.deliver(Body::from(text.clone()));
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        assert_eq!((after(&traffic, PATIENCE / 2), after(&traffic, PATIENCE)), (Finding::Busy, Finding::Stalled));
        let later = Instant::now() + PATIENCE;
        let first = body.frame().await.expect("a frame").expect("data").into_data().expect("data");
        assert_eq!(first.len(), PIECE);
        assert_eq!(body.size_hint().exact(), Some(2 * PIECE as u64));
        assert_eq!(traffic.look(later, PATIENCE, REST), Finding::Busy, "it took something");
        assert_eq!(after(&traffic, PATIENCE), Finding::Stalled);
        drop(body);
        assert_eq!((after(&traffic, REST / 2), after(&traffic, REST)), (Finding::Busy, Finding::Idle));
    }

    #[tokio::test]
    async fn a_body_that_is_not_ready_keeps_nobody_waiting() {
        let traffic = Traffic::new();
        let pending = http_body_util::StreamBody::new(futures_util::stream::pending::<Result<Frame<Bytes>, std::io::Error>>());
        let mut body = traffic.begin().deliver(Body::new(pending));
        poll_fn(|context| {
            assert!(Pin::new(&mut body).poll_frame(context).is_pending());
            Poll::Ready(())
        })
        .await;
        assert_eq!(after(&traffic, PATIENCE * 2), Finding::Busy);
    }

    #[tokio::test]
    async fn what_arrives_is_what_was_sent() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
        let body = Traffic::new().begin().deliver(Body::from(text.clone()));
        assert_eq!(body.collect().await.expect("a body").to_bytes(), text);
    }
}
