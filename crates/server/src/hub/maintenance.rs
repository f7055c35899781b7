//! What a hub does by the clock: reads its keys again, notes refusals that were repeated, and drops rows whose time is over.

use std::time::Duration;

use crate::clock;

use super::Hub;

/// How soon a step of a rotation counts on every hub: a small part of what the rotation allows for.
const KEYS: Duration = Duration::from_secs(5);
/// Every so many looks at the keys, and at the very first, expired rows are dropped.
const PURGE_EVERY: u32 = 60;

/// Works until the process ends.
pub(crate) async fn keep(hub: Hub) {
    let mut round = 0_u32;
    let mut complaint = None;
    loop {
        if round.is_multiple_of(PURGE_EVERY) {
            match store::purge::purge(hub.records(), clock::now()).await {
                Ok(rows) => tracing::debug!(rows, "expired rows were dropped"),
                Err(error) => tracing::warn!(%error, "expired rows could not be dropped; the next round tries again"),
            }
        }
        round = round.wrapping_add(1);
        tokio::time::sleep(KEYS).await;
        if let Err(error) = hub.0.refusals.gather(hub.records(), clock::now()).await {
            tracing::warn!(%error, "how often was refused could not be noted; the log of each refusal has it");
        }
        match hub.keys().refresh(hub.records()).await {
            // Said once, not every five seconds until somebody brings the file.
            Ok(problem) if problem != complaint => {
                if let Some(problem) = &problem {
                    tracing::error!("{problem}");
                }
                complaint = problem;
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the keys could not be read again; those of before serve on"),
        }
    }
}
