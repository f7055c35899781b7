//! Copies a SQLite file while other processes write to it, by SQLite's own backup of pages.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::Error;

/// How many pages are copied between two reports.
const STEP_PAGES: i32 = 1_024;
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How far a backup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    pub pages: u64,
    pub copied: u64,
    pub page_bytes: u64,
}

/// Whether a backup goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupStep {
    Continue,
    Stop,
}

/// Copies the file of a DSN into an empty file, as one transaction sees it. The callback hears of the progress and may stop it.
/// In WAL mode other processes go on writing; without it they wait.
pub fn backup(path: &str, target: &Path, mut progress: impl FnMut(BackupProgress) -> BackupStep) -> Result<BackupProgress, Error> {
    if let Err(error) = std::fs::metadata(path) {
        let reason = if error.kind() == ErrorKind::NotFound { "does not exist".to_owned() } else { format!("cannot be read: {error}") };
        return Err(Error::Setting(format!("the SQLite file {path:?} {reason}")));
    }
    let source = open(path)?;
    source.busy_timeout(LOCK_TIMEOUT)?;
    // Without an open transaction every change by another process would start the copy again.
    let transaction = source.unchecked_transaction()?;
    let page_bytes: u32 = source.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let mut copy = Connection::open_with_flags(target, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // A copy that fails is removed, so it needs no journal.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let done = {
        let copying = Backup::new(&source, &mut copy)?;
        loop {
            let step = copying.step(STEP_PAGES)?;
            let state = copying.progress();
            let (pages, left) = (state.pagecount.max(0) as u64, state.remaining.max(0) as u64);
            let done = BackupProgress { pages, copied: pages.saturating_sub(left), page_bytes: u64::from(page_bytes) };
            match step {
                StepResult::Done => break done,
                StepResult::More if progress(done) == BackupStep::Stop => return Err(Error::Gone),
                StepResult::More => {}
                // Another process holds a lock; this waits instead of asking at once again.
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    };
    transaction.finish()?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(done)
}

/// Writable if that is allowed, since reading may first have to recover the WAL. Nothing is written.
fn open(path: &str) -> Result<Connection, Error> {
    let flags = |access| access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE));
    let opened = opened.or_else(|_| Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_ONLY)));
    opened.map_err(|error| Error::Unavailable(format!("the SQLite file {path:?} cannot be opened: {error}")))
}
