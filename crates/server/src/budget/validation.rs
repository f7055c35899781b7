//! Parsing and validating what clients send: small input at once, everything else off the async threads, with a bounded number at a time.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::budget::{Budgets, CallerKey};
use crate::problem::Problem;

/// Input of at most so many bytes is done within a few hundred microseconds, and not worth a switch of threads.
const INLINE_BYTES: usize = 16 * 1024;

/// The cost of work that does not depend on the size of what was sent.
pub(crate) const ALWAYS_OFFLOAD: usize = usize::MAX;

/// Does work on input of this size for a caller.
pub(crate) async fn run<T>(budgets: &Budgets, caller: CallerKey, size: usize, work: impl FnOnce() -> T) -> Result<T, Problem> {
    if size <= INLINE_BYTES {
        return Ok(work());
    }
    let _slot = budgets.validation.acquire(caller).await?;
    // Other tasks of this thread move to another one. A runtime of one thread has no other.
    Ok(if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread { tokio::task::block_in_place(work) } else { work() })
}
