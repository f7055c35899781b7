//! How much of an answer is built whole: within the limit of one answer, and within the memory of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::budget::{FREE_BODY_BYTES, Reservation};
use crate::problem::{Problem, Refusal};

use super::limits::MOST_ANSWER_BYTES;

/// The bytes of answer that are left to all that one HTTP request asks.
#[derive(Debug)]
pub(super) struct Budget(Mutex<Taken>);

#[derive(Debug)]
struct Taken {
    bytes: usize,
    max: usize,
    reservation: Reservation,
}

impl Budget {
    /// The budget of a request, whose bytes come out of this reservation.
    pub(super) fn new(reservation: Reservation) -> Self {
        let max = MOST_ANSWER_BYTES.min(reservation.max());
        Budget(Mutex::new(Taken { bytes: 0, max, reservation }))
    }

    pub(super) fn take(&self, bytes: usize) -> Result<(), Problem> {
        let mut taken = self.lock();
        let sum = taken.bytes.saturating_add(bytes);
        if sum > taken.max {
            return Err(too_large(taken.max));
        }
        // The connection has room for a small answer.
        taken.reservation.grow_to(sum.saturating_sub(FREE_BODY_BYTES))?;
        taken.bytes = sum;
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        let mut taken = self.lock();
        taken.bytes -= bytes;
        let reserved = taken.bytes.saturating_sub(FREE_BODY_BYTES);
        taken.reservation.shrink_to(reserved);
    }

    /// Whether so many bytes could still be taken.
    pub(super) fn has(&self, bytes: usize) -> Result<(), Problem> {
        let Taken { bytes: taken, max, .. } = *self.lock();
        if bytes <= max - taken { Ok(()) } else { Err(too_large(max)) }
    }

    /// What one field takes, to be given back if it fails: fields that grow side by side must not all fail of each other.
    pub(super) fn share(&self) -> Share<'_> {
        Share { budget: self, taken: 0 }
    }

    /// The reservation, which is held until the answer was sent.
    pub(super) fn into_reservation(self) -> Reservation {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).reservation
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one field has taken.
#[derive(Debug)]
pub(super) struct Share<'b> {
    budget: &'b Budget,
    taken: usize,
}

impl Share<'_> {
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        self.budget.take(bytes)?;
        self.taken += bytes;
        Ok(())
    }

    /// Takes what a field that has grown to so many bytes has not taken yet.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        self.take(bytes.saturating_sub(self.taken))
    }

    pub(super) fn keep(mut self) {
        self.taken = 0;
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.budget.give_back(self.taken);
        }
    }
}

fn too_large(max: usize) -> Problem {
    let most = max / 1024 / 1024;
    Problem::Graphql(
        Refusal::Answer,
        format!(
            "the answer is larger than {most} MiB, which GraphQL would have to build whole; set `limit`, or use the REST `list`, which streams"
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use crate::budget::{CallerKey, Memory};

    use super::*;

    const CALLER: CallerKey = CallerKey::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));

    #[test]
    fn what_is_left_of_an_answer_is_shared() {
        // contract G3.4
        let budget = Budget::new(Memory::new(usize::MAX).reserve(CALLER));
        assert!(budget.take(MOST_ANSWER_BYTES - 1).is_ok());
        assert!(budget.take(2).is_err());
        assert!(budget.take(1).is_ok());
        assert!(budget.take(1).is_err());
    }

    #[test]
    fn the_process_has_less_room_than_one_answer_and_gets_it_back() {
        // attack 53
        let memory = Memory::new(4 * 1024 * 1024);
        let budget = Budget::new(memory.reserve(CALLER));
        let mut another = memory.reserve(CALLER);
        another.grow(1024 * 1024).expect("room");
        let mut share = budget.share();
        assert!(share.take(1024 * 1024).is_ok());
        assert!(matches!(share.take(1024 * 1024), Err(Problem::Overloaded(_))), "another request holds the rest");
        assert!(matches!(share.take(1024 * 1024 + 1), Err(Problem::Graphql(Refusal::Answer, _))), "it would never fit");
        drop((share, another));
        assert_eq!(memory.figures().used, 0);
        let mut share = budget.share();
        assert!(share.grow_to(FREE_BODY_BYTES + 7).is_ok());
        share.keep();
        let reservation = budget.into_reservation();
        assert_eq!(memory.figures().used, 7);
        drop(reservation);
        assert_eq!(memory.figures().used, 0);
    }
}
