//! Records every few seconds that this hub answers, so that an outage of all hubs does not count against refresh tokens.

use std::time::Duration;

use store::hub_records::heartbeats::{self, HEARTBEAT_SECONDS};

use crate::clock;

use super::Hub;

/// Runs until the process ends. The next heartbeat makes up for a failed one.
pub(crate) async fn beat(hub: Hub) {
    loop {
        if let Err(error) = heartbeats::beat(hub.records(), clock::now()).await {
            tracing::debug!(%error, "could not record the heartbeat");
        }
        tokio::time::sleep(Duration::from_secs(HEARTBEAT_SECONDS as u64)).await;
    }
}
