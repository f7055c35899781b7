//! The maintenance of a hub: reloads the signing keys, records repeated refusals, purges expired rows, and writes the heartbeat.

use std::time::Duration;

use store::hub_records::heartbeats::{self, HEARTBEAT_SECONDS};
use store::hub_records::purge;

use crate::clock;

use super::Hub;

/// How often keys are reloaded. A key rotation allows for much more.
const KEY_INTERVAL: Duration = Duration::from_secs(5);
/// Expired rows are purged at the start and then every so many rounds.
const PURGE_ROUNDS: u32 = 60;

pub(crate) async fn keep(hub: Hub) {
    let mut round = 0_u32;
    let (mut last_problem, mut is_failing) = (None, false);
    loop {
        if round.is_multiple_of(PURGE_ROUNDS) {
            match purge::purge(hub.records(), clock::now()).await {
                Ok(rows) => tracing::debug!(rows, "purged expired rows"),
                Err(error) => tracing::warn!(%error, "could not purge expired rows; the next round tries again"),
            }
        }
        round = round.wrapping_add(1);
        tokio::time::sleep(KEY_INTERVAL).await;
        if let Err(error) = hub.0.refusal_log.flush(hub.records(), clock::now()).await {
            tracing::warn!(%error, "could not record repeated refusals; the process log has each of them");
        }
        match hub.0.keys.refresh(hub.records()).await {
            Ok(problem) => {
                if std::mem::take(&mut is_failing) {
                    tracing::info!("the keys are reloaded again");
                }
                // Logged once, not every five seconds.
                if problem != last_problem {
                    if let Some(problem) = &problem {
                        tracing::error!("{problem}");
                    }
                    last_problem = problem;
                }
            }
            Err(error) if !std::mem::replace(&mut is_failing, true) => {
                tracing::warn!(%error, "could not reload the keys; the previous ones stay in use");
            }
            Err(error) => tracing::debug!(%error, "could not reload the keys"),
        }
    }
}

/// Records every few seconds that this hub answers, so that an outage of all hubs does not count against refresh tokens. The next heartbeat
/// makes up for a failed one.
pub(crate) async fn beat(hub: Hub) {
    let mut answered = None;
    loop {
        let now = clock::now();
        match heartbeats::beat(hub.records(), answered, now).await {
            Ok(()) => answered = Some(now),
            Err(error) => tracing::debug!(%error, "could not record the heartbeat"),
        }
        tokio::time::sleep(Duration::from_secs(HEARTBEAT_SECONDS as u64)).await;
    }
}
