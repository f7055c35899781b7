//! What a handler leaves unread of a request's body.
//!
//! A refusal need not look at the body. But a connection that is closed while its client still sends is reset, and many clients then
//! lose the answer: so the rest is read and thrown away, within bounds.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;

use crate::budget::Activity;

/// How much is read for nobody.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// How long.
const PATIENCE: Duration = Duration::from_secs(10);

/// A body whose rest is read when it is dropped.
struct Watched {
    body: Option<Body>,
    /// The connection, which waits for the client while the body does.
    activity: Option<Arc<Activity>>,
    is_waiting: bool,
    /// The client waits to be told to send it, so that nothing of it is on its way.
    held_back: bool,
}

/// A request with its body watched.
pub(crate) fn watched(request: Request) -> Request {
    let held_back = request.headers().contains_key(EXPECT);
    let activity = request.extensions().get::<Arc<Activity>>().cloned();
    request.map(|body| Body::new(Watched { body: Some(body), activity, is_waiting: false, held_back }))
}

impl Watched {
    /// Notes whether the body waits for the client.
    fn note_waiting(&mut self, is_waiting: bool) {
        let was_waiting = std::mem::replace(&mut self.is_waiting, is_waiting);
        match &self.activity {
            Some(activity) if is_waiting && !was_waiting => activity.end_work(),
            Some(activity) if was_waiting && !is_waiting => activity.begin_work(),
            _ => {}
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.held_back = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        self.note_waiting(polled.is_pending());
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.note_waiting(false);
        let Some(body) = self.body.take().filter(|body| !self.held_back && !body.is_end_stream()) else { return };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(tokio::time::timeout(PATIENCE, drain(body)));
        }
    }
}

async fn drain(mut body: Body) {
    let mut size = 0;
    while let Some(Ok(frame)) = body.frame().await {
        size += frame.data_ref().map_or(0, Bytes::len);
        if size > MOST_BYTES {
            return;
        }
    }
}
