//! Runs parsing and validation: small input at once, larger input off the async threads, with a bounded number at a time.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::budget::CallerKey;
use crate::problem::Problem;

use super::QueryService;

/// Input up to this size takes a few hundred microseconds; switching threads would cost more.
const INLINE_BYTES: usize = 16 * 1024;

/// The size to name for work whose cost does not depend on the size of the input.
pub(crate) const ALWAYS_OFFLOAD: usize = usize::MAX;

impl QueryService {
    pub(crate) async fn validate<T>(&self, caller: CallerKey, size: usize, work: impl FnOnce() -> T) -> Result<T, Problem> {
        if size <= INLINE_BYTES {
            return Ok(work());
        }
        let _slot = self.budgets.validation.acquire(caller).await?;
        // Moves the other tasks of this thread to another one. A runtime with one thread has no other.
        Ok(if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread { tokio::task::block_in_place(work) } else { work() })
    }
}
