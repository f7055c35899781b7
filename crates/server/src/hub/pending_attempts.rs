//! Pending attempts to sign in, of this process. Each counts as a failure until its outcome is known, so that parallel guesses count. An
//! attempt that would be refused only because of pending ones waits for their outcome, since only failures may delay.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use store::hub_records::throttle::{Delayed, ThrottleKey};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::mutex::lock;

#[derive(Clone, Debug, Default)]
pub(super) struct PendingAttempts(Arc<Mutex<HashMap<ThrottleKey, Arc<Counter>>>>);

#[derive(Debug, Default)]
struct Counter {
    state: Mutex<CounterState>,
    outcome: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct CounterState {
    open: usize,
    succeeded: u64,
}

/// An attempt, from before it is counted until its outcome is known.
#[derive(Debug)]
pub(super) struct PendingAttempt {
    attempts: PendingAttempts,
    counters_held: Vec<(ThrottleKey, Arc<Counter>)>,
    /// The successes before it began, by counter.
    seen: Vec<u64>,
}

impl PendingAttempts {
    pub(super) fn enter(&self, mut counters: Vec<ThrottleKey>) -> PendingAttempt {
        counters.dedup();
        let mut all = lock(&self.0);
        let counters_held: Vec<_> = counters.into_iter().map(|key| (key, all.entry(key).or_default().clone())).collect();
        let enter = |counter: &Counter| {
            let mut state = lock(&counter.state);
            state.open += 1;
            state.succeeded
        };
        let seen = counters_held.iter().map(|(_, counter)| enter(counter)).collect();
        PendingAttempt { attempts: self.clone(), counters_held, seen }
    }
}

impl PendingAttempt {
    /// It succeeded: one attempt that waits may try.
    pub(super) fn succeeded(self) {
        for (_, counter) in &self.counters_held {
            lock(&counter.state).succeeded += 1;
            counter.outcome.notify_one();
        }
    }

    /// Gives up this attempt and waits for the others of the counter that refused it, until the deadline. Returns whether one of them
    /// succeeded, so that a new try may pass. It does not wait if their success could not let it pass.
    pub(super) async fn wait_for_others(self, refused: &Delayed, deadline: Instant) -> bool {
        let found = self.counters_held.iter().zip(&self.seen).find(|((key, _), _)| *key == refused.counter);
        let Some((counter, seen)) = found.map(|((_, counter), seen)| (counter.clone(), *seen)) else { return false };
        drop(self);
        loop {
            let mut outcome = std::pin::pin!(counter.outcome.notified());
            // From here on no notification is missed.
            outcome.as_mut().enable();
            let CounterState { open, succeeded } = *lock(&counter.state);
            if succeeded != seen {
                return true;
            }
            if open < refused.successes_wanted.max(1) || timeout_at(deadline, outcome).await.is_err() {
                return false;
            }
        }
    }
}

impl Drop for PendingAttempt {
    fn drop(&mut self) {
        let mut all = lock(&self.attempts.0);
        for (key, counter) in &self.counters_held {
            let mut state = lock(&counter.state);
            state.open -= 1;
            if state.open == 0 {
                // Waiting attempts hold the counter; a new attempt begins another.
                all.remove(key);
                counter.outcome.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const REFUSED: Delayed = Delayed { seconds: 2, counter: [1; 32], successes_wanted: 1 };

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3_600)
    }

    #[tokio::test]
    async fn a_waiting_attempt_tries_again_when_another_succeeded() {
        let attempts = PendingAttempts::default();
        let (first, second) = (attempts.enter(vec![[1; 32], [2; 32]]), attempts.enter(vec![[1; 32], [3; 32]]));
        let mut waiting = std::pin::pin!(second.wait_for_others(&REFUSED, later()));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        first.succeeded();
        assert!(waiting.await);
        assert!(lock(&attempts.0).is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn failures_and_other_counters_and_the_deadline_end_the_wait() {
        let attempts = PendingAttempts::default();
        let (first, second) = (attempts.enter(vec![[1; 32]]), attempts.enter(vec![[1; 32]]));
        let mut waiting = std::pin::pin!(second.wait_for_others(&REFUSED, later()));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(first);
        assert!(!waiting.await, "it failed");

        let (_stranger, alone) = (attempts.enter(vec![[2; 32]]), attempts.enter(vec![[1; 32]]));
        assert!(!alone.wait_for_others(&REFUSED, later()).await, "no other attempt of this counter");

        let (_few, beyond) = (attempts.enter(vec![[1; 32]]), attempts.enter(vec![[1; 32]]));
        assert!(!beyond.wait_for_others(&Delayed { successes_wanted: 2, ..REFUSED }, later()).await, "one success would not be enough");

        let (_slow, patient) = (attempts.enter(vec![[1; 32]]), attempts.enter(vec![[1; 32]]));
        assert!(!patient.wait_for_others(&REFUSED, Instant::now()).await, "it took too long");
    }
}
