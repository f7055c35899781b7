//! Limits the refresh tokens that one client address may send and the hub refuses. Anybody can post to `/auth/refresh` and `/auth/logout`,
//! and each post costs the hub a request. Tokens that the hub accepts are not counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::shared::{Key, Shared};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::problem::oauth::OauthError;

use super::hub_client::PATIENCE;

/// Where refused tokens are counted, by client address.
const KIND: &str = "refused-token";
/// How many in a window are answered by the hub: an office whose logins have all expired is not held up, a flood is.
const MAX_REFUSED: u64 = 300;
const WINDOW_SECONDS: u64 = 60;
/// How many requests of one client address go to the hub at once. The others wait, so that a burst cannot pass the count before the
/// first answer is in.
const MAX_AT_ONCE: usize = 8;

/// The count, and the requests under way.
#[derive(Debug)]
pub(super) struct TokenLimit {
    shared: Shared,
    /// Counts for this process while the shared store is out of reach.
    own: Shared,
    under_way: Mutex<HashMap<Key, Arc<Semaphore>>>,
}

/// A request that may go to the hub.
#[derive(Debug)]
pub(super) struct Turn<'l> {
    limit: &'l TokenLimit,
    client: Key,
    permit: Option<OwnedSemaphorePermit>,
}

impl TokenLimit {
    pub(super) fn new(shared: Shared) -> Self {
        TokenLimit { shared, own: Shared::memory(), under_way: Mutex::default() }
    }

    /// Waits for a turn of this client address; refuses it if too many of its tokens were refused.
    pub(super) async fn turn(&self, address: &str) -> Result<Turn<'_>, OauthError> {
        let client = identity::bearer::digest(address);
        let turns = self.under_way().entry(client).or_insert_with(|| Arc::new(Semaphore::new(MAX_AT_ONCE))).clone();
        let mut turn = Turn { limit: self, client, permit: None };
        turn.permit = timeout(PATIENCE, turns.acquire_owned()).await.map_err(|_| OauthError::Busy)?.ok();
        let refused = match self.shared.counted(KIND, &client).await {
            Ok(refused) => refused,
            Err(_) => self.own.counted(KIND, &client).await?,
        };
        if refused >= MAX_REFUSED { Err(OauthError::Throttled(WINDOW_SECONDS as i64)) } else { Ok(turn) }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Key, Arc<Semaphore>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Counts a token that the hub refused.
    pub(super) async fn refused(&self) -> Result<(), OauthError> {
        if self.limit.shared.count(KIND, &self.client, WINDOW_SECONDS).await.is_err() {
            self.limit.own.count(KIND, &self.client, WINDOW_SECONDS).await?;
        }
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut under_way = self.limit.under_way();
        drop(self.permit.take());
        // Whoever waits or works holds the semaphore beside the map.
        if under_way.get(&self.client).is_some_and(|turns| Arc::strong_count(turns) == 1) {
            under_way.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_kept_of_addresses_that_have_no_request_under_way() {
        // contract I30.10
        let limit = TokenLimit::new(Shared::memory());
        let (one, two) = (limit.turn("192.0.2.1").await.expect("a turn"), limit.turn("192.0.2.1").await.expect("a turn"));
        let other = limit.turn("192.0.2.2").await.expect("a turn");
        assert_eq!(limit.under_way().len(), 2);
        drop((one, other));
        assert_eq!(limit.under_way().len(), 1);
        drop(two);
        assert!(limit.under_way().is_empty());
    }

    #[tokio::test]
    async fn a_few_requests_of_an_address_go_on_at_once_and_the_next_waits() {
        // contract I30.10
        let limit = TokenLimit::new(Shared::memory());
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
