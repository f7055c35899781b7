//! Attempts to sign in whose outcome is not known yet. Each counts as a failure until then, so that parallel guesses count; whoever may be
//! refused for that alone waits for the outcome here, since only failures are to delay anybody.
//!
//! This is the process's own knowledge. Attempts at other replicas count without being waited for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::failures::{Key, Refused};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The attempts of this process, by the counters that they stand in.
#[derive(Debug, Default)]
pub(super) struct Undecided(Mutex<HashMap<Key, Arc<Line>>>);

/// Those of one counter.
#[derive(Debug, Default)]
struct Line {
    state: Mutex<State>,
    decided: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    open: usize,
    /// How many were forgiven, as successes are.
    forgiven: u64,
}

/// An attempt, from before it is counted until its outcome is.
#[derive(Debug)]
pub(super) struct Standing<'u> {
    undecided: &'u Undecided,
    lines: Vec<(Key, Arc<Line>)>,
    /// What was forgiven before it began, by line.
    seen: Vec<u64>,
}

impl Undecided {
    pub(super) fn enter(&self, mut counters: Vec<Key>) -> Standing<'_> {
        counters.dedup();
        let mut all = lock(&self.0);
        let lines: Vec<_> = counters.into_iter().map(|key| (key, all.entry(key).or_default().clone())).collect();
        let enter = |line: &Line| {
            let mut state = lock(&line.state);
            state.open += 1;
            state.forgiven
        };
        let seen = lines.iter().map(|(_, line)| enter(line)).collect();
        Standing { undecided: self, lines, seen }
    }
}

impl Standing<'_> {
    /// It was a success, and does not count any more: somebody who waits may try.
    pub(super) fn forgiven(self) {
        for (_, line) in &self.lines {
            lock(&line.state).forgiven += 1;
            line.decided.notify_one();
        }
    }

    /// Gives this attempt up and waits for the others that stand in its counter, but not longer than this. Whether one of them was forgiven,
    /// so that it is worth trying again. Where they are too few to make the difference, there is nothing to wait for.
    pub(super) async fn others(self, refused: &Refused, deadline: Instant) -> bool {
        let found = self.lines.iter().zip(&self.seen).find(|((key, _), _)| *key == refused.counter);
        let Some((line, seen)) = found.map(|((_, line), seen)| (line.clone(), *seen)) else { return false };
        drop(self);
        loop {
            let mut decided = std::pin::pin!(line.decided.notified());
            // From here on no word is missed.
            decided.as_mut().enable();
            let State { open, forgiven } = *lock(&line.state);
            if forgiven != seen {
                return true;
            }
            if open < refused.successes_wanted.max(1) || timeout_at(deadline, decided).await.is_err() {
                return false;
            }
        }
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        let mut all = lock(&self.undecided.0);
        for (key, line) in &self.lines {
            let mut state = lock(&line.state);
            state.open -= 1;
            if state.open == 0 {
                // Whoever waits has the line in hand, and the next one begins another.
                all.remove(key);
                line.decided.notify_waiters();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const REFUSED: Refused = Refused { seconds: 2, counter: [1; 32], successes_wanted: 1 };

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3_600)
    }

    #[tokio::test]
    async fn whoever_waits_tries_again_when_another_was_forgiven() {
        let undecided = Undecided::default();
        let (first, second) = (undecided.enter(vec![[1; 32], [2; 32]]), undecided.enter(vec![[1; 32], [3; 32]]));
        let mut waiting = std::pin::pin!(second.others(&REFUSED, later()));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        first.forgiven();
        assert!(waiting.await);
        assert!(lock(&undecided.0).is_empty(), "nothing is kept");
    }

    #[tokio::test]
    async fn failures_and_strangers_and_time_let_nobody_try_again() {
        let undecided = Undecided::default();
        let (first, second) = (undecided.enter(vec![[1; 32]]), undecided.enter(vec![[1; 32]]));
        let mut waiting = std::pin::pin!(second.others(&REFUSED, later()));
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(first);
        assert!(!waiting.await, "it failed");

        let (_stranger, alone) = (undecided.enter(vec![[2; 32]]), undecided.enter(vec![[1; 32]]));
        assert!(!alone.others(&REFUSED, later()).await, "nobody else stands there");

        let (_few, beyond) = (undecided.enter(vec![[1; 32]]), undecided.enter(vec![[1; 32]]));
        assert!(!beyond.others(&Refused { successes_wanted: 2, ..REFUSED }, later()).await, "one success would not be enough");

        let (_slow, patient) = (undecided.enter(vec![[1; 32]]), undecided.enter(vec![[1; 32]]));
        assert!(!patient.others(&REFUSED, Instant::now()).await, "it took too long");
    }
}
