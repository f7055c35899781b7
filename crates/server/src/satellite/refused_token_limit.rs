//! Limits the refused refresh tokens of one client address, since anybody can post tokens and each post costs the hub a request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use store::replica_state::{ReplicaState, StateKey};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::mutex::lock;
use crate::problem::oauth::OauthError;

use super::hub_client::HUB_TIMEOUT;

const KIND: &str = "refused-token";
/// The refused tokens in a window: enough for an office whose logins all expired, too few for a flood.
const MAX_REFUSED: u64 = 300;
const WINDOW_SECONDS: u64 = 60;
/// The concurrent requests of one client address. The others wait, so that a burst cannot pass before the first refusal counts.
const MAX_AT_ONCE: usize = 8;

#[derive(Debug)]
pub(super) struct RefusedTokenLimit {
    shared: ReplicaState,
    /// Counts for this process while the replica state is unavailable.
    own: ReplicaState,
    in_flight: Mutex<HashMap<StateKey, Arc<Semaphore>>>,
}

#[derive(Debug)]
pub(super) struct Turn<'l> {
    limit: &'l RefusedTokenLimit,
    client: StateKey,
    permit: Option<OwnedSemaphorePermit>,
}

impl RefusedTokenLimit {
    pub(super) fn new(shared: ReplicaState) -> Self {
        RefusedTokenLimit { shared, own: ReplicaState::memory(), in_flight: Mutex::default() }
    }

    /// Waits for a turn of this client address; refuses it if too many of its tokens were refused.
    pub(super) async fn turn(&self, address: &str) -> Result<Turn<'_>, OauthError> {
        let client = identity::bearer::digest(address);
        let turns = lock(&self.in_flight).entry(client).or_insert_with(|| Arc::new(Semaphore::new(MAX_AT_ONCE))).clone();
        let mut turn = Turn { limit: self, client, permit: None };
        turn.permit = timeout(HUB_TIMEOUT, turns.acquire_owned()).await.map_err(|_| OauthError::Busy)?.ok();
        let refused = match self.shared.counted(KIND, &client).await {
            Ok(refused) => refused,
            Err(_) => self.own.counted(KIND, &client).await?,
        };
        if refused >= MAX_REFUSED { Err(OauthError::Throttled(WINDOW_SECONDS as i64)) } else { Ok(turn) }
    }
}

impl Turn<'_> {
    pub(super) async fn refused(&self) -> Result<(), OauthError> {
        if self.limit.shared.count(KIND, &self.client, WINDOW_SECONDS).await.is_err() {
            self.limit.own.count(KIND, &self.client, WINDOW_SECONDS).await?;
        }
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.limit.in_flight);
        drop(self.permit.take());
        // Waiting and running requests hold the semaphore too.
        if in_flight.get(&self.client).is_some_and(|turns| Arc::strong_count(turns) == 1) {
            in_flight.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_kept_of_addresses_that_have_no_request_in_flight() {
        // contract I30.10
        let limit = RefusedTokenLimit::new(ReplicaState::memory());
        let (one, two) = (limit.turn("192.0.2.1").await.expect("a turn"), limit.turn("192.0.2.1").await.expect("a turn"));
        let other = limit.turn("192.0.2.2").await.expect("a turn");
        assert_eq!(lock(&limit.in_flight).len(), 2);
        drop((one, other));
        assert_eq!(lock(&limit.in_flight).len(), 1);
        drop(two);
        assert!(lock(&limit.in_flight).is_empty());
    }

    #[tokio::test]
    async fn a_few_requests_of_an_address_go_on_at_once_and_the_next_waits() {
        // contract I30.10
        let limit = RefusedTokenLimit::new(ReplicaState::memory());
        let mut turns = Vec::new();
        for _ in 0..MAX_AT_ONCE {
            turns.push(limit.turn("192.0.2.1").await.expect("a turn"));
        }
        let mut next = std::pin::pin!(limit.turn("192.0.2.1"));
        assert!(futures_util::poll!(next.as_mut()).is_pending());
        limit.turn("192.0.2.2").await.expect("another address does not wait");
        turns.pop();
        next.await.expect("a turn");
    }
}
