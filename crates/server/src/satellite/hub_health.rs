//! Checks that the hub answers before a browser is redirected there. At an unavailable hub the browser would show its own error page.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock;
use crate::problem::oauth::OauthError;

use super::Satellite;
use super::hub_client::{HubRequest, Lane};

const FRESH_SECONDS: i64 = 2;
const MAX_BYTES: usize = 64 * 1024;

/// When the hub last answered, in seconds.
#[derive(Debug)]
pub(super) struct HubHealth(AtomicI64);

impl Default for HubHealth {
    fn default() -> Self {
        HubHealth(AtomicI64::new(i64::MIN))
    }
}

/// Refuses while the hub does not answer, or answers 5xx.
pub(super) async fn expect_hub(satellite: &Satellite) -> Result<(), OauthError> {
    let answered_at = &satellite.0.hub_health.0;
    if clock::now().unix().saturating_sub(answered_at.load(Ordering::Relaxed)) < FRESH_SECONDS {
        return Ok(());
    }
    let ask = HubRequest { path: "/health", body: None, authorization: None, max_bytes: MAX_BYTES };
    match satellite.0.hub_client.send(Lane::Reads, ask).await {
        Ok(answer) if answer.status < 500 => {
            answered_at.store(clock::now().unix(), Ordering::Relaxed);
            Ok(())
        }
        Ok(answer) => {
            tracing::warn!(status = answer.status, "refused a login: the hub cannot answer");
            Err(OauthError::HubAway)
        }
        Err(trouble) => {
            tracing::warn!(%trouble, "refused a login: could not reach the hub");
            Err(OauthError::HubAway)
        }
    }
}
