//! Follows the change feed of the hub and drops changed accounts from the cache. Without the feed, cached accounts expire by time.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::RETRY_AFTER;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use identity::client::ClientId;
use identity::form;
use identity::token::security_event::{AccountChange, MAX_AUDIENCES, Subject};
use identity::token::{Expectation, ExpiryClock, Unverified};
use store::replica_state::Invalidation;
use tokio::time::Instant;

use crate::config::SatelliteSettings;
use crate::{clock, random};

use super::event_stream::{EventParser, StreamEvent};
use super::{Satellite, token_exchange};

/// The hub sends something every ten seconds. After this time without any the stream is broken.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(25);
/// The pauses before a broken stream is resumed, first and longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause that the hub can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

pub(super) async fn follow(satellite: Satellite) {
    let uncovered = audiences(&satellite.0.settings).1;
    if !uncovered.is_empty() {
        tracing::warn!(
            audiences = uncovered.join(", "),
            "OAUTH_AUDIENCES: the change feed covers at most {MAX_AUDIENCES} client ids; changes of accounts with tokens of these audiences take up to two minutes"
        );
    }
    let mut subscription = Subscription { satellite, last: None, state: FeedState::Unknown };
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        let Err(BrokenStream { reason, retry_after }) = subscription.read_stream().await;
        // A stream that breaks at once is resumed more and more slowly.
        if began.elapsed() > MAX_PAUSE {
            pause = FIRST_PAUSE;
        }
        subscription.set_state(FeedState::Lost, &reason);
        tokio::time::sleep(next_pause(pause, retry_after, random::fraction())).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// The pause with a random part, so that satellites that lost one hub do not all return at once. It is never shorter than the hub asks for.
fn next_pause(pause: Duration, retry_after: Option<Duration>, random: f64) -> Duration {
    let asked = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
    if asked < pause { pause.mul_f64(0.5 + 0.5 * random).max(asked) } else { asked.mul_f64(1.0 + 0.5 * random) }
}

/// Why a stream ended, and how long the hub asks to wait.
#[derive(Debug)]
struct BrokenStream {
    reason: String,
    retry_after: Option<Duration>,
}

impl From<String> for BrokenStream {
    fn from(reason: String) -> Self {
        BrokenStream { reason, retry_after: None }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedState {
    Unknown,
    Following,
    Lost,
}

struct Subscription {
    satellite: Satellite,
    last: Option<i64>,
    state: FeedState,
}

impl Subscription {
    fn set_state(&mut self, state: FeedState, reason: &str) {
        match (self.state, state) {
            (before, after) if before == after => tracing::debug!(reason, "the change feed of the hub is still unavailable"),
            (_, FeedState::Lost) => {
                tracing::warn!(
                    reason,
                    "lost the change feed of the hub; a changed account keeps its cached rights until they expire; trying again"
                );
            }
            (_, _) => tracing::info!("following the change feed of the hub"),
        }
        self.state = state;
        self.satellite.0.follows_feed.set(i64::from(state == FeedState::Following));
    }

    async fn read_stream(&mut self) -> Result<std::convert::Infallible, BrokenStream> {
        let mut stream = self.open().await?;
        let mut parser = EventParser::default();
        loop {
            let bytes = received(&mut stream).await?;
            for event in parser.read(&bytes)? {
                self.apply_event(event).await?;
            }
        }
    }

    async fn open(&self) -> Result<Incoming, BrokenStream> {
        let settings = &self.satellite.0.settings;
        let path = match audiences(settings).0.as_slice() {
            [] => "/events".to_owned(),
            named => format!("/events?{}", form::write([("audience", named.join(",").as_str())])),
        };
        let client = token_exchange::credentials(settings).map_err(|_| "the client secret cannot be sent in a header".to_owned())?;
        let opened = self.satellite.0.hub_client.stream(&path, client, self.last).await;
        let response = opened.map_err(|error| error.to_string())?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            401 => Err("the hub refuses OAUTH_CLIENT_ID or OAUTH_CLIENT_SECRET".to_owned().into()),
            404 => Err("the hub has no change feed; it may be of an older version".to_owned().into()),
            status => Err(BrokenStream { reason: format!("the hub answered {status}"), retry_after: retry_after(response.headers()) }),
        }
    }

    async fn apply_event(&mut self, block: StreamEvent) -> Result<(), String> {
        match (block.event.as_deref(), block.id) {
            (Some("secevent"), Some(id)) => {
                let event = self.verify(&block.data).await?;
                if event.sequence != id || self.last.is_some_and(|last| id <= last) {
                    return Err("a change came out of order".to_owned());
                }
                self.invalidate(match event.subject {
                    Subject::Account(account) => Invalidation::Account(account),
                    Subject::Family { family, .. } => Invalidation::Family(family),
                    Subject::Client(_) | Subject::Everybody => Invalidation::Everything,
                });
                self.last = Some(id);
            }
            (Some("ready"), Some(id)) if self.last == Some(id) => self.set_state(FeedState::Following, ""),
            (Some("ready" | "reset"), Some(id)) => {
                self.invalidate(Invalidation::Everything);
                self.last = Some(id);
                self.set_state(FeedState::Following, "");
            }
            // A position without a change: the changes before it were of other clients.
            (None, Some(id)) => self.last = self.last.map(|last| last.max(id)),
            // An unknown event cannot concern the cache.
            _ => {}
        }
        Ok(())
    }

    /// Verifies a change. An invalid one ends the stream, so that no forged change counts and none is lost while keys rotate.
    async fn verify(&self, token: &str) -> Result<AccountChange, String> {
        let inner = &self.satellite.0;
        let not = |reason: &dyn std::fmt::Display| format!("a change cannot be verified: {reason}");
        let unverified = Unverified::read(token).map_err(|fault| not(&fault))?;
        let keys = inner.keys.with(unverified.key_id()).await.map_err(|_| not(&"its key is unknown"))?;
        let key = keys.find(unverified.key_id()).ok_or_else(|| not(&"its key is unknown"))?;
        let own = [inner.settings.client.as_str()];
        let expected = Expectation { issuer: &inner.at.issuer, audiences: &own, now: clock::now(), end: ExpiryClock::Issuers };
        Ok(unverified.verify_security_event(key, &expected).map_err(|fault| not(&fault))?.into_claims())
    }

    fn invalidate(&self, invalidation: Invalidation) {
        self.satellite.0.account_cache.invalidate(invalidation);
    }
}

/// The client ids of `OAUTH_AUDIENCES`, which the change feed covers, and the other entries, such as the URL of the hub.
fn audiences(settings: &SatelliteSettings) -> (Vec<&str>, Vec<&str>) {
    let (mut clients, mut others): (Vec<&str>, _) =
        settings.audiences.iter().map(String::as_str).partition(|text| ClientId::parse(text).is_ok());
    others.extend(clients.drain(clients.len().min(MAX_AUDIENCES)..));
    (clients, others)
}

async fn received(stream: &mut Incoming) -> Result<Bytes, String> {
    let frame = tokio::time::timeout(SILENCE_TIMEOUT, stream.frame()).await.map_err(|_| "the hub sent nothing for 25 s".to_owned())?;
    match frame {
        None => Err("the hub ended the stream".to_owned()),
        Some(Err(_)) => Err("the stream broke off".to_owned()),
        Some(Ok(frame)) => Ok(frame.into_data().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_is_random_and_never_shorter_than_the_hub_asks_for() {
        // contract I38.7
        let seconds =
            |pause, asked: Option<u64>, random| next_pause(Duration::from_secs(pause), asked.map(Duration::from_secs), random).as_secs();
        for (pause, asked, shortest, longest) in
            [(10, None, 5, 10), (10, Some(2), 5, 10), (10, Some(8), 8, 10), (2, Some(30), 30, 45), (15, Some(9_999), 300, 450)]
        {
            assert_eq!((seconds(pause, asked, 0.0), seconds(pause, asked, 1.0)), (shortest, longest), "{pause} {asked:?}");
        }
        let headers = |value: &'static str| HeaderMap::from_iter([(RETRY_AFTER, axum::http::HeaderValue::from_static(value))]);
        assert_eq!(retry_after(&headers("30")), Some(Duration::from_secs(30)));
        assert_eq!(retry_after(&headers("Wed, 21 Oct 2026 07:28:00 GMT")), None);
    }
}
