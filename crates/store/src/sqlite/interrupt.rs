//! Interrupts a running statement at its deadline, or when its caller has gone.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::ffi;

thread_local! {
    /// The interrupt of the statement that runs on this thread. SQLite calls our functions without any state of the statement.
    static RUNNING: RefCell<Option<Arc<Interrupt>>> = const { RefCell::new(None) };
}

/// How many comparisons pass between two checks.
const CHECK_INTERVAL: u32 = 10_000;

#[derive(Debug)]
pub(crate) struct Interrupt {
    deadline: Mutex<Instant>,
    gone: AtomicBool,
}

impl Interrupt {
    pub(super) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Interrupt { deadline: Mutex::new(Instant::now() + timeout), gone: AtomicBool::new(false) })
    }

    pub(super) fn renew(&self, timeout: Duration) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + timeout;
    }

    pub(super) fn is_raised(&self) -> bool {
        self.gone.load(Ordering::Relaxed) || Instant::now() >= *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work whose functions check this interrupt too.
    pub(super) fn during<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        RUNNING.set(Some(self.clone()));
        let result = work();
        RUNNING.set(None);
        result
    }
}

pub(super) struct InterruptOnDrop(pub(super) Arc<Interrupt>);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::Relaxed);
    }
}

/// Counts the comparisons of a function, which SQLite sees as one step.
#[derive(Default)]
pub(super) struct Effort(u32);

impl Effort {
    pub(super) fn spend(&mut self) -> rusqlite::Result<()> {
        self.0 += 1;
        if self.0 < CHECK_INTERVAL {
            return Ok(());
        }
        self.0 = 0;
        let is_raised = RUNNING.with_borrow(|running| running.as_ref().is_some_and(|interrupt| interrupt.is_raised()));
        if is_raised { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None)) } else { Ok(()) }
    }
}
