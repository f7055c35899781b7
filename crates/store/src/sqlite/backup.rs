//! Copies a SQLite file while other processes write to it, by SQLite's own backup of pages.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use crate::Error;

use super::{cannot_open, in_file};

/// How many pages are copied between two reports.
const STEP_PAGES: i32 = 1_024;
/// How long a backup waits for a file that another process has locked, and how long between two reports of that.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What a backup does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupStage {
    /// Another process has locked the file.
    Waiting,
    Copying(BackupProgress),
}

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

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{0}")]
    Source(Error),
    /// The file of the copy cannot be written.
    #[error("{0}")]
    Target(String),
    #[error("the backup was stopped")]
    Stopped,
}

/// Copies the file of a DSN into an empty file, as one transaction sees it. The callback hears of the progress and may stop it.
/// In WAL mode other processes go on writing; without it they wait.
pub fn backup(path: &str, target: &Path, mut progress: impl FnMut(BackupStage) -> BackupStep) -> Result<BackupProgress, BackupError> {
    let unreadable = |error| BackupError::Source(in_file(path, error));
    let unwritable = |error: rusqlite::Error| BackupError::Target(error.to_string());
    let source = open(path).map_err(BackupError::Source)?;
    source.busy_timeout(LOCK_POLL_INTERVAL).map_err(unreadable)?;
    // Without an open transaction every change by another process would start the copy again.
    let transaction = source.unchecked_transaction().map_err(unreadable)?;
    let started = Instant::now();
    while let Err(error) = source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
        if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || started.elapsed() > LOCK_TIMEOUT {
            return Err(unreadable(error));
        }
        if progress(BackupStage::Waiting) == BackupStep::Stop {
            return Err(BackupError::Stopped);
        }
    }
    let page_bytes: u32 = source.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(unreadable)?;
    let mut copy =
        Connection::open_with_flags(target, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(unwritable)?;
    // A copy that fails is removed, so it needs no journal.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").map_err(unwritable)?;
    let done = {
        let copying = Backup::new(&source, &mut copy).map_err(unwritable)?;
        loop {
            let step = copying.step(STEP_PAGES).map_err(|error| if is_full(&error) { unwritable(error) } else { unreadable(error) })?;
            let state = copying.progress();
            let (pages, left) = (state.pagecount.max(0) as u64, state.remaining.max(0) as u64);
            let done = BackupProgress { pages, copied: pages.saturating_sub(left), page_bytes: u64::from(page_bytes) };
            match step {
                StepResult::Done => break done,
                StepResult::More if progress(BackupStage::Copying(done)) == BackupStep::Stop => return Err(BackupError::Stopped),
                StepResult::More => {}
                _ if progress(BackupStage::Waiting) == BackupStep::Stop => return Err(BackupError::Stopped),
                // Another process holds a lock; this waits instead of asking at once again.
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    };
    transaction.finish().map_err(unreadable)?;
    copy.close().map_err(|(_, error)| unwritable(error))?;
    Ok(done)
}

/// Whether the file of the copy cannot grow. Nothing is written to the source.
fn is_full(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    error.sqlite_error_code() == Some(ErrorCode::DiskFull) || matches!(code, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_TRUNCATE)
}

/// Writable if that is allowed, since reading may first have to recover the WAL. Nothing is written.
fn open(path: &str) -> Result<Connection, Error> {
    let flags = |access| access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE));
    let opened = opened.or_else(|_| Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_ONLY)));
    opened.map_err(|error| cannot_open(path, &error))
}
