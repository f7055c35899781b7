//! The maintenance of a hub: tasks that run until the process ends. Each has its own pace, and none waits for another.

use std::time::Duration;

use store::hub_records::heartbeats::{self, HEARTBEAT_SECONDS};
use store::hub_records::{purge, rights};
use tokio::time::{Instant, sleep};

use crate::clock;

use super::Hub;

/// How often keys are reloaded. A key rotation allows for much more.
const KEY_INTERVAL: Duration = Duration::from_secs(5);
const REPEATS_INTERVAL: Duration = Duration::from_secs(5);
const PURGE_INTERVAL: Duration = Duration::from_secs(300);
/// How often pending rights are looked for.
const RIGHTS_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) fn start(hub: &Hub) {
    tokio::spawn(reload_keys(hub.clone()));
    tokio::spawn(record_repeats(hub.clone()));
    tokio::spawn(purge_expired(hub.clone()));
    tokio::spawn(recompute_rights(hub.clone()));
    tokio::spawn(beat(hub.clone()));
    let hub = hub.clone();
    tokio::spawn(async move { hub.0.unsettled_attempts.keep(hub.records()).await });
}

async fn reload_keys(hub: Hub) {
    // Each problem is logged once, not every five seconds.
    let (mut last_problem, mut is_lost) = (None, false);
    loop {
        sleep(KEY_INTERVAL).await;
        let reloaded = hub.0.keys.refresh(hub.records()).await;
        if let Err(error) = &reloaded
            && !is_lost
        {
            tracing::warn!(%error, "could not reload the keys; the previous ones stay in use");
        }
        if reloaded.is_ok() && is_lost {
            tracing::info!("reloaded the keys again");
        }
        is_lost = reloaded.is_err();
        let Ok(problem) = reloaded else { continue };
        if problem != last_problem {
            if let Some(problem) = &problem {
                tracing::error!("{problem}");
            }
            last_problem = problem;
        }
    }
}

async fn record_repeats(hub: Hub) {
    loop {
        sleep(REPEATS_INTERVAL).await;
        if let Err(error) = hub.0.refusal_log.flush(hub.records(), clock::now()).await {
            tracing::warn!(%error, "could not record repeated refusals; the process log has each of them");
        }
    }
}

async fn purge_expired(hub: Hub) {
    loop {
        let purged = purge::purge(hub.records(), clock::now()).await;
        tracing::debug!(rows = purged.rows, "purged expired rows");
        for (table, error) in purged.problems {
            tracing::warn!(table, %error, "could not purge expired rows; the next round tries again");
        }
        sleep(PURGE_INTERVAL).await;
    }
}

/// Writes pending rights, also those that another process left. A pause after each portion leaves the database half of the time.
async fn recompute_rights(hub: Hub) {
    loop {
        let began = Instant::now();
        let pause = match rights::recompute_portion(hub.records()).await {
            Ok(true) => began.elapsed(),
            Ok(false) => RIGHTS_INTERVAL,
            Err(error) => {
                tracing::warn!(%error, "could not write pending rights; trying again");
                RIGHTS_INTERVAL
            }
        };
        sleep(pause).await;
    }
}

/// Records every few seconds that this hub answers, so that an outage of all hubs does not count against refresh tokens. The next heartbeat
/// makes up for a failed one.
async fn beat(hub: Hub) {
    let mut answered = None;
    loop {
        let now = clock::now();
        match heartbeats::beat(hub.records(), answered, now).await {
            Ok(()) => answered = Some(now),
            Err(error) => tracing::debug!(%error, "could not record the heartbeat"),
        }
        sleep(Duration::from_secs(HEARTBEAT_SECONDS as u64)).await;
    }
}
