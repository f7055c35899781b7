//! `GET /events`: streams account changes to authenticated clients, as server-sent events. The id of an event is the number of the change,
//! its data a security event token; `Last-Event-ID` resumes a stream.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{Method, Response};
use futures_util::stream;
use identity::client::ClientId;
use identity::error::{Error, ErrorCode};
use identity::parameters::Parameters;
use identity::token::security_event::{MAX_AUDIENCES, Subject};
use store::hub_records::account_changes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::budget::FeedSlot;
use crate::hub::client_authentication::UnverifiedClient;
use crate::hub::{Hub, form_request};
use crate::problem::oauth::OauthError;

/// A stream sends something this often, so that a satellite notices a broken one.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Keeps proxies from buffering the stream.
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

const AUDIENCE: Error = Error::new(ErrorCode::InvalidRequest, "audience must be a comma-separated list of up to 64 client ids");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response<Body>, OauthError> {
    if request.method() != Method::GET {
        return Err(OauthError::Method("GET"));
    }
    let context = form_request::bare(&hub, request);
    // Read before the client is looked up, so that the stream sees a later change of the client.
    let numbers = account_changes::range(hub.records()).await?;
    let presented = UnverifiedClient::read(&hub, &context, &Parameters::read([])?).await?;
    let client = presented.authenticate(&hub, &context).await?.client().id.clone();
    let asked = context.parameters()?;
    let mut clients = vec![client];
    clients.extend(audiences(asked.get("audience"))?);
    let place = hub.0.budgets.change_feed.try_acquire(&clients[0]).map_err(|_| OauthError::Streams)?;
    let last = context.headers().get(LAST_EVENT_ID).map_or_else(|| asked.get("after"), |value| value.to_str().ok());
    let resumed = last.and_then(|text| text.parse().ok()).filter(|after| numbers.reach(*after));
    let stream = Stream {
        hub: hub.clone(),
        clients,
        position: resumed.unwrap_or(numbers.newest),
        pending: VecDeque::new(),
        keepalive_at: Instant::now() + KEEPALIVE_INTERVAL,
        newest: hub.0.feed.newest.subscribe(),
        retired: hub.0.feed.retired.subscribe(),
        is_closing: false,
        _place: place,
    };
    Ok(stream.answer(if resumed.is_some() { "ready" } else { "reset" }))
}

/// The other clients whose tokens this client accepts.
fn audiences(text: Option<&str>) -> Result<Vec<ClientId>, OauthError> {
    let named: Result<Vec<ClientId>, _> = text.into_iter().flat_map(|text| text.split(',')).map(ClientId::parse).collect();
    match named {
        Ok(named) if named.len() <= MAX_AUDIENCES => Ok(named),
        _ => Err(AUDIENCE.into()),
    }
}

struct Stream {
    hub: Hub,
    /// The client, and the others that it named.
    clients: Vec<ClientId>,
    position: i64,
    pending: VecDeque<Bytes>,
    keepalive_at: Instant,
    newest: watch::Receiver<i64>,
    retired: watch::Receiver<bool>,
    is_closing: bool,
    _place: FeedSlot,
}

impl Stream {
    fn answer(mut self, first: &'static str) -> Response<Body> {
        self.push_position(first);
        let chunks = stream::unfold(self, |mut stream| async move {
            let chunk = stream.next().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), stream))
        });
        let mut response = Response::new(Body::from_stream(chunks));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(NO_BUFFERING, HeaderValue::from_static("no"));
        response
    }

    /// Sends the position: every later change will follow. After `reset` the satellite may have missed earlier ones.
    fn push_position(&mut self, event: &'static str) {
        self.pending.push_back(Bytes::from(format!("id: {0}\nevent: {event}\ndata: {0}\n\n", self.position)));
    }

    /// The next bytes; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.pending.pop_front() {
                self.keepalive_at = Instant::now() + KEEPALIVE_INTERVAL;
                return Some(chunk);
            }
            if self.is_closing || *self.retired.borrow() {
                return None;
            }
            // Checked before each change, since changes of other clients send nothing.
            if Instant::now() >= self.keepalive_at {
                // With the position, so that the stream can be resumed after changes of other clients.
                self.pending.push_back(Bytes::from(format!("id: {}\n: still here\n\n", self.position)));
                continue;
            }
            if *self.newest.borrow_and_update() > self.position {
                if let Err(error) = self.advance().await {
                    tracing::debug!(%error, "a stream of account changes failed; the satellite resumes it");
                    return None;
                }
                continue;
            }
            tokio::select! {
                _ = self.newest.changed() => {}
                _ = self.retired.changed() => {}
                () = tokio::time::sleep_until(self.keepalive_at) => {}
            }
        }
    }

    async fn advance(&mut self) -> Result<(), store::Error> {
        let hub = self.hub.clone();
        let changes = hub.0.feed.after(hub.records(), self.position).await?;
        if changes.first().is_none_or(|first| first.event.sequence != self.position + 1) {
            // The next changes were purged.
            self.position = account_changes::range(hub.records()).await?.newest;
            self.push_position("reset");
            return Ok(());
        }
        for entry in changes {
            self.position = entry.event.sequence;
            if !entry.concerns(&self.clients) {
                continue;
            }
            let Some(text) = hub.0.feed.text(&hub, &entry.event, &self.clients[0]) else {
                self.is_closing = true;
                return Ok(());
            };
            self.pending.push_back(text);
            // Each may cost a signature, and a satellite that was away gets hundreds.
            tokio::task::yield_now().await;
            if entry.event.subject == Subject::Client(self.clients[0].clone()) {
                // The client itself changed: it must authenticate again.
                self.is_closing = true;
                return Ok(());
            }
        }
        Ok(())
    }
}
