//! The memory of one answer: within the limit of an answer, and within the memory of the process.

use std::sync::{Mutex, PoisonError};

use crate::budget::{FREE_BODY_BYTES, Reservation};
use crate::mutex::lock;
use crate::problem::{Problem, Refusal};

use super::limits::MAX_ANSWER_BYTES;

#[derive(Debug)]
pub(super) struct AnswerBudget(Mutex<Taken>);

#[derive(Debug)]
struct Taken {
    bytes: usize,
    max: usize,
    reservation: Reservation,
}

impl AnswerBudget {
    pub(super) fn new(reservation: Reservation) -> Self {
        let max = MAX_ANSWER_BYTES.min(reservation.max());
        AnswerBudget(Mutex::new(Taken { bytes: 0, max, reservation }))
    }

    pub(super) fn take(&self, bytes: usize) -> Result<(), Problem> {
        let mut taken = lock(&self.0);
        let sum = taken.bytes.saturating_add(bytes);
        if sum > taken.max {
            return Err(too_large(taken.max));
        }
        // The connection reserves room for a small answer.
        taken.reservation.grow_to(sum.saturating_sub(FREE_BODY_BYTES))?;
        taken.bytes = sum;
        Ok(())
    }

    fn give_back(&self, bytes: usize) {
        let mut taken = lock(&self.0);
        taken.bytes -= bytes;
        let reserved = taken.bytes.saturating_sub(FREE_BODY_BYTES);
        taken.reservation.shrink_to(reserved);
    }

    pub(super) fn check(&self, bytes: usize) -> Result<(), Problem> {
        let Taken { bytes: taken, max, .. } = *lock(&self.0);
        if bytes <= max - taken { Ok(()) } else { Err(too_large(max)) }
    }

    /// The bytes of one field. A field that fails gives them back, so that parallel fields do not all fail.
    pub(super) fn share(&self) -> FieldShare<'_> {
        FieldShare { budget: self, taken: 0 }
    }

    /// The reservation, for the response to hold until it was sent.
    pub(super) fn into_reservation(self) -> Reservation {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).reservation
    }
}

#[derive(Debug)]
pub(super) struct FieldShare<'b> {
    budget: &'b AnswerBudget,
    taken: usize,
}

impl FieldShare<'_> {
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        self.budget.take(bytes)?;
        self.taken += bytes;
        Ok(())
    }

    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        self.take(bytes.saturating_sub(self.taken))
    }

    pub(super) fn keep(mut self) {
        self.taken = 0;
    }
}

impl Drop for FieldShare<'_> {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.budget.give_back(self.taken);
        }
    }
}

fn too_large(max: usize) -> Problem {
    let mebibytes = max / 1024 / 1024;
    Problem::Graphql(
        Refusal::Answer,
        format!("the answer is larger than {mebibytes} MiB, the maximum over GraphQL; set `limit`, or use `list` over REST, which streams"),
    )
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use crate::budget::{CallerKey, Memory};

    use super::*;

    const CALLER: CallerKey = CallerKey::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));

    #[test]
    fn all_fields_share_the_bytes_of_an_answer() {
        // contract G3.4
        let budget = AnswerBudget::new(Memory::new(usize::MAX).reserve(CALLER));
        assert!(budget.take(MAX_ANSWER_BYTES - 1).is_ok());
        assert!(budget.take(2).is_err());
        assert!(budget.take(1).is_ok());
        assert!(budget.take(1).is_err());
    }

    #[test]
    fn an_answer_takes_its_bytes_from_the_process_and_gives_them_back() {
        // attack 53
        let memory = Memory::new(4 * 1024 * 1024);
        let budget = AnswerBudget::new(memory.reserve(CALLER));
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
