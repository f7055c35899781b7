//! A budget of bytes: bodies while they are read, answers until they are sent. One caller can reserve half of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::mutex::lock;

use super::{CallerKey, Figures, Overloaded};

#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    limit_per_caller: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    callers: HashMap<CallerKey, usize>,
    refused: u64,
}

#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Memory,
    caller: CallerKey,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Self {
        Memory(Arc::new(Shared { limit, limit_per_caller: limit / 2, state: Mutex::default() }))
    }

    pub(crate) fn reserve(&self, caller: CallerKey) -> Reservation {
        Reservation { memory: self.clone(), caller, bytes: 0 }
    }

    pub(crate) fn figures(&self) -> Figures {
        let state = lock(&self.0.state);
        Figures { used: state.used, limit: self.0.limit, waiting: 0, refused: state.refused }
    }
}

impl Reservation {
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Overloaded> {
        if bytes == 0 {
            return Ok(());
        }
        let Shared { limit, limit_per_caller, .. } = *self.memory.0;
        let mut state = lock(&self.memory.0.state);
        let of_caller = state.callers.get(&self.caller).copied().unwrap_or_default();
        if state.used.saturating_add(bytes) > limit || of_caller.saturating_add(bytes) > limit_per_caller {
            state.refused += 1;
            return Err(Overloaded::Memory);
        }
        state.used += bytes;
        state.callers.insert(self.caller, of_caller + bytes);
        drop(state);
        self.bytes += bytes;
        Ok(())
    }

    /// The size that it can grow to if nobody else holds anything.
    pub(crate) fn max(&self) -> usize {
        self.memory.0.limit_per_caller
    }

    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Overloaded> {
        self.grow(bytes.saturating_sub(self.bytes))
    }

    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let returned = self.bytes.saturating_sub(bytes);
        if returned == 0 {
            return;
        }
        self.bytes -= returned;
        let mut state = lock(&self.memory.0.state);
        state.used -= returned;
        if let Some(held) = state.callers.get_mut(&self.caller) {
            *held -= returned;
            if *held == 0 {
                state.callers.remove(&self.caller);
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn caller(number: u8) -> CallerKey {
        CallerKey::Address(IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)))
    }

    #[test]
    fn a_caller_holds_half_at_most_and_all_callers_the_limit() {
        // attack 53
        let memory = Memory::new(100);
        let mut one = memory.reserve(caller(1));
        assert!(one.grow(51).is_err() && one.grow(50).is_ok() && one.grow(1).is_err());
        let mut another_of_one = memory.reserve(caller(1));
        assert!(another_of_one.grow(1).is_err());
        let mut two = memory.reserve(caller(2));
        assert!(two.grow_to(30).is_ok() && two.grow_to(30).is_ok() && two.grow_to(20).is_ok());
        let mut three = memory.reserve(caller(3));
        assert!(three.grow(21).is_err() && three.grow(20).is_ok());
        assert_eq!((memory.figures().used, memory.figures().refused), (100, 4));
        drop((one, two, three));
        assert!(another_of_one.grow(50).is_ok());
        drop(another_of_one);
        assert_eq!(memory.figures().used, 0);
        assert!(lock(&memory.0.state).callers.is_empty());
    }
}
