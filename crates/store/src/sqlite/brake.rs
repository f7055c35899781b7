//! What ends a running statement: its deadline, or nobody waiting for it any more.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::ffi;

thread_local! {
    /// The brake of the statement that runs on this thread. Functions are installed once a connection and called by SQLite, which
    /// passes them nothing of ours.
    static RUNNING: RefCell<Option<Arc<Brake>>> = const { RefCell::new(None) };
}

/// How many comparisons pass between two looks at the brake.
const COMPARISONS: u32 = 10_000;

#[derive(Debug)]
pub(crate) struct Brake {
    deadline: Mutex<Instant>,
    gone: AtomicBool,
}

impl Brake {
    pub(super) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Brake { deadline: Mutex::new(Instant::now() + timeout), gone: AtomicBool::new(false) })
    }

    /// Gives the next statement its own time.
    pub(super) fn renew(&self, timeout: Duration) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + timeout;
    }

    pub(super) fn is_pulled(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || Instant::now() >= *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work that our functions end too when the brake is pulled.
    pub(super) fn over<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        RUNNING.set(Some(self.clone()));
        let result = work();
        RUNNING.set(None);
        result
    }
}

/// Pulls the brake when the one who waits is dropped.
pub(super) struct Waiter(pub(super) Arc<Brake>);

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}

/// Counts what a function compares: SQLite itself sees one step, however long that takes.
#[derive(Default)]
pub(super) struct Effort(u32);

impl Effort {
    /// One more; an error once the brake is pulled.
    pub(super) fn spend(&mut self) -> rusqlite::Result<()> {
        self.0 += 1;
        if self.0 < COMPARISONS {
            return Ok(());
        }
        self.0 = 0;
        let pulled = RUNNING.with_borrow(|running| running.as_ref().is_some_and(|brake| brake.is_pulled()));
        if pulled { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)) } else { Ok(()) }
    }
}
