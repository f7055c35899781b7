//! Says every few seconds that this process can answer, so that the time in which no hub could does not count against anybody.

use std::time::Duration;

use store::outages::{self, HEARTBEAT_SECONDS};

use crate::clock;

use super::Hub;

/// Works until the process ends. What a database that is away misses, the next heartbeat tells.
pub(crate) async fn beat(hub: Hub) {
    loop {
        if let Err(error) = outages::beat(hub.records(), clock::now()).await {
            tracing::debug!(%error, "the heartbeat of this hub could not be kept");
        }
        tokio::time::sleep(Duration::from_secs(HEARTBEAT_SECONDS as u64)).await;
    }
}
