//! Hears from the hub what changes, and forgets at once what was cached of it. While nothing is heard, what is cached is asked for
//! again when its time is over, as ever.

use std::time::Duration;

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use identity::client::ClientId;
use identity::form;
use identity::token::security_event::{MOST_AUDIENCES, SecurityEvent, Subject};
use identity::token::{End, Expectation, Unverified};
use tokio::time::Instant;

use crate::clock;
use crate::config::SatelliteSettings;
use crate::random;

use super::event_stream::{Block, Blocks};
use super::{Satellite, token_exchange};

/// A hub says something every ten seconds: whoever hears nothing for so long hears nobody.
const SILENCE: Duration = Duration::from_secs(25);
/// How soon a stream that broke is taken up again, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Works until the process ends.
pub(super) async fn follow(satellite: Satellite) {
    let unheard = audiences(&satellite.0.settings).1;
    if !unheard.is_empty() {
        tracing::warn!(
            audiences = unheard.join(", "),
            "OAUTH_AUDIENCES: a hub tells changes by client, at most {MOST_AUDIENCES} of them: those of accounts that come with other tokens count within two minutes"
        );
    }
    let mut hearing = Hearing { satellite, last: None, state: State::Unknown };
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        let reason = match hearing.listen().await {
            Ok(never) => match never {},
            Err(reason) => reason,
        };
        // A stream that breaks as soon as it begins is taken up more and more slowly, like one that does not begin.
        if began.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        hearing.became(State::Unheard, &reason);
        // Satellites that lost one hub together do not come back together.
        tokio::time::sleep(pause.mul_f64(0.5 + 0.5 * random::fraction())).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Heard,
    Unheard,
}

struct Hearing {
    satellite: Satellite,
    /// The number up to which everything was heard; nothing until the hub has told one.
    last: Option<i64>,
    state: State,
}

impl Hearing {
    /// Says once that it changed.
    fn became(&mut self, state: State, reason: &str) {
        match (self.state, state) {
            (before, after) if before == after => tracing::debug!(reason, "the hub's changes are still not heard"),
            (_, State::Unheard) => {
                tracing::warn!(reason, "the hub's changes are not heard: what is cached counts until its time is over");
            }
            (_, _) => tracing::info!("the hub's changes are heard as they happen"),
        }
        self.state = state;
    }

    /// Listens until the stream breaks; says why it did.
    async fn listen(&mut self) -> Result<std::convert::Infallible, String> {
        let mut stream = self.open().await?;
        let mut blocks = Blocks::default();
        loop {
            let bytes = received(&mut stream).await?;
            for block in blocks.read(&bytes)? {
                self.hear(block).await?;
            }
        }
    }

    async fn open(&self) -> Result<Incoming, String> {
        let settings = &self.satellite.0.settings;
        let path = match audiences(settings).0.as_slice() {
            [] => "/events".to_owned(),
            named => format!("/events?{}", form::write([("audience", named.join(",").as_str())])),
        };
        let client = token_exchange::credentials(settings).map_err(|_| "the client's secret cannot stand in a header".to_owned())?;
        let opened = self.satellite.0.upstream.stream(&path, client, self.last).await;
        let response = opened.map_err(|trouble| trouble.to_string())?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            401 => Err("the hub refuses the client's id or secret".to_owned()),
            404 => Err("the hub tells no changes; it may be of an older version".to_owned()),
            status => Err(format!("the hub answered {status}")),
        }
    }

    async fn hear(&mut self, block: Block) -> Result<(), String> {
        match (block.event.as_deref(), block.id) {
            (Some("secevent"), Some(id)) => {
                let event = self.believe(&block.data).await?;
                if event.sequence != id || self.last.is_some_and(|last| id <= last) {
                    return Err("a change came out of its order".to_owned());
                }
                self.apply(&event.subject);
                self.last = Some(id);
            }
            (Some("ready"), Some(id)) if self.last == Some(id) => self.became(State::Heard, ""),
            (Some("ready" | "reset"), Some(id)) => {
                self.satellite.doubt_all();
                self.last = Some(id);
                self.became(State::Heard, "");
            }
            // A number by itself: what is below it was about others.
            (None, Some(id)) => self.last = self.last.map(|last| last.max(id)),
            // What is not known here cannot change what is cached here.
            _ => {}
        }
        Ok(())
    }

    /// The change, if it is our hub's word to us. One that is not believed ends the stream and is not passed over, so that nothing
    /// forged counts and nothing is lost while the hub's keys change.
    async fn believe(&self, token: &str) -> Result<SecurityEvent, String> {
        let inner = &self.satellite.0;
        let not = |reason: &dyn std::fmt::Display| format!("a change is not believed: {reason}");
        let unverified = Unverified::read(token).map_err(|fault| not(&fault))?;
        let keys = inner.keys.with(unverified.key_id()).await.map_err(|_| not(&"its key is not at hand"))?;
        let key = keys.find(unverified.key_id()).ok_or_else(|| not(&"its key is not at hand"))?;
        let own = [inner.settings.client.as_str()];
        let expected = Expectation { issuer: &inner.at.issuer, audiences: &own, now: clock::now(), end: End::Issuers };
        Ok(unverified.verify_security_event(key, &expected).map_err(|fault| not(&fault))?.into_claims())
    }

    fn apply(&self, subject: &Subject) {
        match subject {
            Subject::Account(account) => self.satellite.drop_account(*account),
            Subject::Family { family, .. } => self.satellite.drop_family(*family),
            Subject::Client(_) | Subject::Everybody => self.satellite.doubt_all(),
        }
    }
}

/// The clients of `OAUTH_AUDIENCES`, whose changes the hub tells when they are named, and what else stands there, such as the hub's own
/// address, which every token names: no client may hear of the accounts of all others.
fn audiences(settings: &SatelliteSettings) -> (Vec<&str>, Vec<&str>) {
    let (mut clients, mut others): (Vec<&str>, _) =
        settings.audiences.iter().map(String::as_str).partition(|text| ClientId::parse(text).is_ok());
    others.extend(clients.drain(clients.len().min(MOST_AUDIENCES)..));
    (clients, others)
}

/// The next bytes of the stream.
async fn received(stream: &mut Incoming) -> Result<Bytes, String> {
    let frame = tokio::time::timeout(SILENCE, stream.frame()).await.map_err(|_| "the hub fell silent".to_owned())?;
    match frame {
        None => Err("the hub ended the stream".to_owned()),
        Some(Err(_)) => Err("the stream broke off".to_owned()),
        Some(Ok(frame)) => Ok(frame.into_data().unwrap_or_default()),
    }
}
