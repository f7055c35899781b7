//! Drains what a handler leaves unread of a request body, within bounds. Closing the connection instead would reset it, and many clients
//! would lose the response.

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

const MAX_BYTES: usize = 32 * 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

struct Drained {
    body: Option<Body>,
    /// The connection, which counts as idle while the body waits for the client.
    activity: Option<Arc<Activity>>,
    is_waiting: bool,
    /// The client waits for `100 Continue` and has sent nothing.
    expects_continue: bool,
}

pub(crate) fn drained(request: Request) -> Request {
    let expects_continue = request.headers().contains_key(EXPECT);
    let activity = request.extensions().get::<Arc<Activity>>().cloned();
    request.map(|body| Body::new(Drained { body: Some(body), activity, is_waiting: false, expects_continue }))
}

impl Drained {
    fn note_waiting(&mut self, is_waiting: bool) {
        let was_waiting = std::mem::replace(&mut self.is_waiting, is_waiting);
        match &self.activity {
            Some(activity) if is_waiting && !was_waiting => activity.end_work(),
            Some(activity) if was_waiting && !is_waiting => activity.begin_work(),
            _ => {}
        }
    }
}

impl HttpBody for Drained {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.expects_continue = false;
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

impl Drop for Drained {
    fn drop(&mut self) {
        self.note_waiting(false);
        let Some(body) = self.body.take().filter(|body| !self.expects_continue && !body.is_end_stream()) else { return };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(tokio::time::timeout(DRAIN_TIMEOUT, drain(body)));
        }
    }
}

async fn drain(mut body: Body) {
    let mut size = 0;
    while let Some(Ok(frame)) = body.frame().await {
        size += frame.data_ref().map_or(0, Bytes::len);
        if size > MAX_BYTES {
            return;
        }
    }
}
