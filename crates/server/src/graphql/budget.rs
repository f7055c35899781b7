//! How much of an answer is built whole.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Problem, Refusal};

use super::limits::MOST_ANSWER_BYTES;

/// How many bytes of answer are left to all that one HTTP request asks.
#[derive(Debug)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    pub(super) fn new() -> Self {
        Budget(AtomicUsize::new(MOST_ANSWER_BYTES))
    }

    pub(super) fn take(&self, bytes: usize) -> Result<(), Problem> {
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(|_| ()).map_err(|_| too_large())
    }

    /// Whether so many bytes could still be taken.
    pub(super) fn has(&self, bytes: usize) -> Result<(), Problem> {
        if bytes <= self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(too_large()) }
    }

    /// What one field takes, to be given back if it fails: fields that grow side by side must not all fail of each other.
    pub(super) fn share(&self) -> Share<'_> {
        Share { budget: self, taken: 0 }
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
        self.budget.0.fetch_add(self.taken, Ordering::Relaxed);
    }
}

fn too_large() -> Problem {
    let most = MOST_ANSWER_BYTES / 1024 / 1024;
    Problem::Graphql(
        Refusal::Answer,
        format!(
            "the answer is larger than {most} MiB, which GraphQL would have to build whole; set `limit`, or use the REST `list`, which streams"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_an_answer_is_shared() {
        // contract G3.4
        let budget = Budget::new();
        assert!(budget.take(MOST_ANSWER_BYTES - 1).is_ok());
        assert!(budget.take(2).is_err());
        assert!(budget.take(1).is_ok());
        assert!(budget.take(1).is_err());
    }
}
