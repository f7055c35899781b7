//! Whether the hub answers, asked before a person is led there: a browser that is sent to a hub that is away shows an error of its own,
//! which says nothing of trying again.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock;
use crate::problem::oauth::OauthError;

use super::Satellite;
use super::hub_client::{Ask, Lane};

/// How long an answer of the hub stands for the next ones.
const FRESH_SECONDS: i64 = 2;
const MAX_BYTES: usize = 64 * 1024;

/// When the hub last answered, in seconds.
#[derive(Debug)]
pub(super) struct Presence(AtomicI64);

impl Default for Presence {
    fn default() -> Self {
        Presence(AtomicI64::new(i64::MIN))
    }
}

/// Refuses while the hub does not answer. Whatever it answers will do, unless that is a fault of its own.
pub(super) async fn expect_hub(satellite: &Satellite) -> Result<(), OauthError> {
    let answered_at = &satellite.0.presence.0;
    if clock::now().unix().saturating_sub(answered_at.load(Ordering::Relaxed)) < FRESH_SECONDS {
        return Ok(());
    }
    let ask = Ask { path: "/health", body: None, authorization: None, most_bytes: MAX_BYTES };
    match satellite.0.upstream.send(Lane::Reads, ask).await {
        Ok(answer) if answer.status < 500 => {
            answered_at.store(clock::now().unix(), Ordering::Relaxed);
            Ok(())
        }
        Ok(answer) => {
            tracing::warn!(status = answer.status, "the hub cannot answer now, and a login was not begun");
            Err(OauthError::HubAway)
        }
        Err(trouble) => {
            tracing::warn!(%trouble, "the hub does not answer, and a login was not begun");
            Err(OauthError::HubAway)
        }
    }
}
