//! Slots that callers share fairly: when all are taken, callers take turns, however many requests each has waiting. No caller holds all.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::mutex::lock;

use super::{CallerKey, Figures, Overloaded};

#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) slots: usize,
    pub(crate) slots_per_caller: usize,
    pub(crate) waiting: usize,
    pub(crate) waiting_per_caller: usize,
    pub(crate) timeout: Duration,
}

impl QueueLimits {
    /// One caller can hold three quarters of the slots. Every connection may wait for one, for a short time.
    pub(crate) fn new(slots: usize, connections: usize, connections_per_address: usize) -> Self {
        let slots_per_caller = (slots * 3 / 4).max(1);
        let timeout = Duration::from_secs(5);
        QueueLimits { slots, slots_per_caller, waiting: connections, waiting_per_caller: connections_per_address, timeout }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FairQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: QueueLimits,
    state: Mutex<State>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    callers: HashMap<CallerKey, Line>,
    /// The callers with requests that wait, in the order of their turns.
    turns: VecDeque<CallerKey>,
    next_ticket: u64,
}

#[derive(Debug, Default)]
struct Line {
    running: usize,
    waiting: VecDeque<(u64, oneshot::Sender<Slot>)>,
}

#[derive(Debug)]
pub(crate) struct Slot {
    queue: Arc<Shared>,
    caller: CallerKey,
}

impl FairQueue {
    pub(crate) fn new(limits: QueueLimits) -> Self {
        FairQueue(Arc::new(Shared { limits, state: Mutex::default(), refused: AtomicU64::new(0) }))
    }

    pub(crate) async fn acquire(&self, caller: CallerKey) -> Result<Slot, Overloaded> {
        let acquired = match self.0.enter(caller) {
            Entered::Running(slot) => Some(slot),
            Entered::Full => None,
            Entered::Waiting(ticket, granted) => {
                // A request that is given up leaves the queue too.
                let queued = QueuedRequest { queue: &self.0, caller, ticket };
                let granted = tokio::time::timeout(self.0.limits.timeout, granted).await;
                drop(queued);
                granted.ok().and_then(Result::ok)
            }
        };
        if acquired.is_none() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        acquired.ok_or(Overloaded::Busy)
    }

    pub(crate) fn try_acquire(&self, caller: CallerKey) -> Result<Slot, Overloaded> {
        let taken = self.0.take(&mut lock(&self.0.state), caller);
        if taken.is_none() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken.ok_or(Overloaded::Busy)
    }

    pub(crate) fn figures(&self) -> Figures {
        let state = lock(&self.0.state);
        Figures { used: state.running, limit: self.0.limits.slots, waiting: state.waiting, refused: self.0.refused.load(Ordering::Relaxed) }
    }
}

enum Entered {
    Running(Slot),
    Waiting(u64, oneshot::Receiver<Slot>),
    Full,
}

impl Shared {
    fn take(self: &Arc<Self>, state: &mut State, caller: CallerKey) -> Option<Slot> {
        let running = state.callers.get(&caller).map_or(0, |line| line.running);
        if state.running >= self.limits.slots || running >= self.limits.slots_per_caller {
            return None;
        }
        state.running += 1;
        state.callers.entry(caller).or_default().running += 1;
        Some(Slot { queue: self.clone(), caller })
    }

    fn enter(self: &Arc<Self>, caller: CallerKey) -> Entered {
        let mut state = lock(&self.state);
        let waiting = state.callers.get(&caller).map_or(0, |line| line.waiting.len());
        if waiting == 0
            && let Some(slot) = self.take(&mut state, caller)
        {
            return Entered::Running(slot);
        }
        if state.waiting >= self.limits.waiting || waiting >= self.limits.waiting_per_caller {
            return Entered::Full;
        }
        let (grant, granted) = oneshot::channel();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting += 1;
        let line = state.callers.entry(caller).or_default();
        line.waiting.push_back((ticket, grant));
        if line.waiting.len() == 1 {
            state.turns.push_back(caller);
        }
        Entered::Waiting(ticket, granted)
    }

    fn leave(self: &Arc<Self>, caller: CallerKey) {
        let mut granted = Vec::new();
        let mut state = lock(&self.state);
        state.running -= 1;
        if let Some(line) = state.callers.get_mut(&caller) {
            line.running -= 1;
        }
        state.forget_if_idle(caller);
        while let Some(next) = state.grant_next(&self.limits) {
            granted.push(next);
        }
        drop(state);
        for (caller, grant) in granted {
            // A request that was given up in this moment drops its slot, which comes back here.
            _ = grant.send(Slot { queue: self.clone(), caller });
        }
    }
}

impl State {
    /// Gives a free slot to the caller that has waited longest for its turn.
    fn grant_next(&mut self, limits: &QueueLimits) -> Option<(CallerKey, oneshot::Sender<Slot>)> {
        if self.running >= limits.slots {
            return None;
        }
        let has_room = |caller: &CallerKey| self.callers.get(caller).is_some_and(|line| line.running < limits.slots_per_caller);
        let caller = self.turns.remove(self.turns.iter().position(has_room)?)?;
        let line = self.callers.get_mut(&caller)?;
        let (_, grant) = line.waiting.pop_front()?;
        line.running += 1;
        if !line.waiting.is_empty() {
            self.turns.push_back(caller);
        }
        self.running += 1;
        self.waiting -= 1;
        Some((caller, grant))
    }

    fn forget_if_idle(&mut self, caller: CallerKey) {
        if self.callers.get(&caller).is_some_and(|line| line.running == 0 && line.waiting.is_empty()) {
            self.callers.remove(&caller);
        }
    }
}

/// A request that waits for a slot; dropping it ends the wait.
struct QueuedRequest<'q> {
    queue: &'q Arc<Shared>,
    caller: CallerKey,
    ticket: u64,
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        let Some(line) = state.callers.get_mut(&self.caller) else { return };
        let Some(index) = line.waiting.iter().position(|(ticket, _)| *ticket == self.ticket) else { return };
        line.waiting.remove(index);
        let is_last = line.waiting.is_empty();
        state.waiting -= 1;
        if is_last {
            let caller = self.caller;
            state.turns.retain(|waiting| *waiting != caller);
            state.forget_if_idle(caller);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.queue.leave(self.caller);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use futures_util::FutureExt;

    use super::*;

    fn caller(number: u8) -> CallerKey {
        CallerKey::Address(IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)))
    }

    fn queue(slots: usize, slots_per_caller: usize) -> FairQueue {
        let timeout = Duration::from_secs(3_600);
        FairQueue::new(QueueLimits { slots, slots_per_caller, waiting: 8, waiting_per_caller: 4, timeout })
    }

    #[tokio::test]
    async fn one_caller_leaves_a_slot_for_another() {
        // attack 51
        let queue = queue(4, 3);
        let held: Vec<Slot> = (0..3).map(|_| queue.acquire(caller(1)).now_or_never().expect("free").expect("a slot")).collect();
        let mut waits = Box::pin(queue.acquire(caller(1)));
        assert!(futures_util::poll!(waits.as_mut()).is_pending(), "three quarters are taken by one caller");
        let other = queue.acquire(caller(2)).now_or_never().expect("free").expect("a slot");
        drop(held);
        waits.await.expect("a slot that was given back");
        drop(other);
        assert_eq!(queue.figures().used, 0);
        assert!(lock(&queue.0.state).callers.is_empty(), "nothing is kept of callers that hold nothing");
    }

    #[tokio::test]
    async fn callers_take_turns_however_many_requests_each_has_waiting() {
        // attack 51
        let queue = queue(1, 1);
        let held = queue.acquire(caller(1)).await.expect("a slot");
        let mut flood: Vec<_> = (0..4).map(|_| Box::pin(queue.acquire(caller(1)))).collect();
        for waiting in &mut flood {
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        }
        let mut other = Box::pin(queue.acquire(caller(2)));
        assert!(futures_util::poll!(other.as_mut()).is_pending());
        drop(held);
        let first = flood.remove(0).await.expect("the first turn");
        assert!(futures_util::poll!(other.as_mut()).is_pending());
        drop(first);
        other.await.expect("the second turn, before the other three of the flood");
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_a_request_that_is_given_up_leaves_it() {
        // attack 51
        let queue = queue(1, 1);
        let held = queue.acquire(caller(1)).await.expect("a slot");
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(queue.acquire(caller(1)))).collect();
        for request in &mut waiting {
            assert!(futures_util::poll!(request.as_mut()).is_pending());
        }
        assert!(queue.acquire(caller(1)).now_or_never().expect("at once").is_err(), "four of one caller wait");
        assert_eq!((queue.figures().waiting, queue.figures().refused), (4, 1));
        waiting.truncate(1);
        assert_eq!(queue.figures().waiting, 1);
        drop(held);
        drop(waiting);
        assert_eq!((queue.figures().used, queue.figures().waiting), (0, 0));
        assert!(queue.acquire(caller(1)).now_or_never().expect("free").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waited_too_long_is_refused() {
        let queue = queue(1, 1);
        let _held = queue.acquire(caller(1)).await.expect("a slot");
        assert!(queue.acquire(caller(2)).await.is_err());
        assert_eq!(queue.figures().waiting, 0);
    }

    #[tokio::test]
    async fn many_callers_get_all_slots_back() {
        let queue = queue(3, 2);
        let tasks: Vec<_> = (0..200_u8)
            .map(|number| {
                let queue = queue.clone();
                tokio::spawn(async move {
                    if let Ok(slot) = queue.acquire(caller(number % 7)).await {
                        tokio::task::yield_now().await;
                        drop(slot);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a task");
        }
        assert_eq!((queue.figures().used, queue.figures().waiting), (0, 0));
        assert!(lock(&queue.0.state).callers.is_empty() && lock(&queue.0.state).turns.is_empty());
    }
}
