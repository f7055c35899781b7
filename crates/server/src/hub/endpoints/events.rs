//! `GET /events`: changes of accounts as they happen, to clients that show their secret. Server-sent events whose ids are the numbers
//! of the changes and whose data are security event tokens; `Last-Event-ID` goes on where a stream broke off.

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
use identity::token::security_event::{MOST_AUDIENCES, Subject};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::hub::change_feed::{Feed, StreamPlace};
use crate::hub::client_authentication::Presented;
use crate::hub::{Hub, form_request};
use crate::problem::oauth::OauthError;

/// How long a stream is silent at most: whoever hears nothing for longer knows that it broke.
const SILENCE: Duration = Duration::from_secs(10);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Proxies that gather answers would hold changes back.
const UNGATHERED: HeaderName = HeaderName::from_static("x-accel-buffering");

const AUDIENCE: Error = Error::new(ErrorCode::InvalidRequest, "audience is a comma list of up to 64 client ids");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response<Body>, OauthError> {
    let hub = &hub;
    if request.method() != Method::GET {
        return Err(OauthError::Method("GET"));
    }
    let sender = form_request::bare(hub, request);
    // Before the client is looked up: should it be closed from here on, the stream hears of it.
    let numbers = store::changes::numbers(hub.records()).await?;
    let presented = Presented::read(hub, &sender, &Parameters::read([])?).await?;
    let client = presented.prove(hub, &sender).await?.client().id.clone();
    let asked = sender.parameters()?;
    let mut listeners = vec![client];
    listeners.extend(audiences(asked.get("audience"))?);
    let place = Feed::enter(hub, &listeners[0]).ok_or(OauthError::Streams)?;
    let last = sender.headers().get(LAST_EVENT_ID).map_or_else(|| asked.get("after"), |value| value.to_str().ok());
    let resumed = last.and_then(|text| text.parse().ok()).filter(|after| numbers.reach(*after));
    let stream = Stream {
        hub: hub.clone(),
        listeners,
        position: resumed.unwrap_or(numbers.newest),
        pending: VecDeque::new(),
        silent_at: Instant::now() + SILENCE,
        newest: hub.feed().newest(),
        retired: hub.feed().retired(),
        state: StreamState::Open,
        _place: place,
    };
    Ok(stream.answer(if resumed.is_some() { "ready" } else { "reset" }))
}

/// The further clients whose tokens the client accepts.
fn audiences(text: Option<&str>) -> Result<Vec<ClientId>, OauthError> {
    let named: Result<Vec<ClientId>, _> = text.into_iter().flat_map(|text| text.split(',')).map(ClientId::parse).collect();
    match named {
        Ok(named) if named.len() <= MOST_AUDIENCES => Ok(named),
        _ => Err(AUDIENCE.into()),
    }
}

/// A stream to one client.
struct Stream {
    hub: Hub,
    /// The client itself, and the others that it wants to hear about.
    listeners: Vec<ClientId>,
    /// The last change that was looked at.
    position: i64,
    pending: VecDeque<Bytes>,
    /// When it has been silent for too long.
    silent_at: Instant,
    newest: watch::Receiver<i64>,
    retired: watch::Receiver<bool>,
    state: StreamState,
    _place: StreamPlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamState {
    Open,
    /// What is pending is the last.
    Closing,
}

impl Stream {
    fn answer(mut self, first: &'static str) -> Response<Body> {
        self.tell(first);
        let chunks = stream::unfold(self, |mut stream| async move {
            let chunk = stream.next().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), stream))
        });
        let mut response = Response::new(Body::from_stream(chunks));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(UNGATHERED, HeaderValue::from_static("no"));
        response
    }

    /// Says where the stream stands: everything after the number will be told. After `reset`, what came before may have been missed.
    fn tell(&mut self, event: &'static str) {
        self.pending.push_back(Bytes::from(format!("id: {0}\nevent: {event}\ndata: {0}\n\n", self.position)));
    }

    /// What to send next; nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.pending.pop_front() {
                self.silent_at = Instant::now() + SILENCE;
                return Some(chunk);
            }
            if self.state == StreamState::Closing || *self.retired.borrow() {
                return None;
            }
            // Changes that concern others are not heard, however many there are: whether it is time is asked before each.
            if Instant::now() >= self.silent_at {
                // The number goes along, so that a stream that was about others can still be taken up.
                self.pending.push_back(Bytes::from(format!("id: {}\n: still here\n\n", self.position)));
                continue;
            }
            if *self.newest.borrow_and_update() > self.position {
                if let Err(error) = self.advance().await {
                    tracing::debug!(%error, "a stream of changes ends: it can be taken up again where it broke off");
                    return None;
                }
                continue;
            }
            tokio::select! {
                _ = self.newest.changed() => {}
                _ = self.retired.changed() => {}
                () = tokio::time::sleep_until(self.silent_at) => {}
            }
        }
    }

    /// Looks at the changes that came since.
    async fn advance(&mut self) -> Result<(), store::Error> {
        let hub = self.hub.clone();
        let changes = hub.feed().after(hub.records(), self.position).await?;
        if changes.first().is_none_or(|first| first.event.sequence != self.position + 1) {
            // So far behind that what came next is no longer kept.
            self.position = store::changes::numbers(hub.records()).await?.newest;
            self.tell("reset");
            return Ok(());
        }
        for told in changes {
            self.position = told.event.sequence;
            if !told.concerns(&self.listeners) {
                continue;
            }
            let Some(text) = hub.feed().text(&hub, &told.event, &self.listeners[0]) else {
                self.state = StreamState::Closing;
                return Ok(());
            };
            self.pending.push_back(text);
            // Each may have cost a signature, and a satellite that was away asks for hundreds at once.
            tokio::task::yield_now().await;
            if told.event.subject == Subject::Client(self.listeners[0].clone()) {
                // It shows its secret again, if it still can.
                self.state = StreamState::Closing;
                return Ok(());
            }
        }
        Ok(())
    }
}
