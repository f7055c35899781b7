//! Logs requests that fail because the database is unavailable: some of them line by line, and the number of the others.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use store::Error;
use tokio::runtime::Handle;

use crate::mutex::lock;

/// How long failures are counted before their number is logged.
const WINDOW: Duration = Duration::from_secs(10);
/// How many failures of a window have a line each.
const MAX_LINES: usize = 20;

/// The failures of this process.
static FAILURES: Mutex<Failures> = Mutex::new(Failures { began: None, count: 0 });

#[derive(Debug)]
struct Failures {
    /// When the window began.
    began: Option<Instant>,
    count: usize,
}

/// What the log gets of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogEntry {
    Line,
    /// It is counted. The first one of a window has the number logged at its end.
    Count {
        is_first: bool,
    },
}

impl Failures {
    fn note(&mut self, now: Instant) -> LogEntry {
        // A window with a number to log ends when it is logged.
        let is_counting = self.count > MAX_LINES;
        if self.began.is_none_or(|began| !is_counting && now.saturating_duration_since(began) >= WINDOW) {
            (self.began, self.count) = (Some(now), 0);
        }
        self.count += 1;
        if self.count <= MAX_LINES { LogEntry::Line } else { LogEntry::Count { is_first: self.count == MAX_LINES + 1 } }
    }

    /// Ends the window; returns how many failures had no line.
    fn end(&mut self) -> usize {
        self.began = None;
        std::mem::take(&mut self.count).saturating_sub(MAX_LINES)
    }
}

/// Logs that a request failed.
pub(super) fn log(status: u16, error: &Error) {
    if !matches!(error, Error::Unavailable(_) | Error::Overloaded) {
        return tracing::error!(status, %error, "request failed");
    }
    match lock(&FAILURES).note(Instant::now()) {
        LogEntry::Line => tracing::error!(status, %error, "request failed"),
        LogEntry::Count { is_first: false } => {}
        LogEntry::Count { is_first: true } => {
            let Ok(runtime) = Handle::try_current() else { return };
            runtime.spawn(async {
                tokio::time::sleep(WINDOW).await;
                let times = lock(&FAILURES).end();
                tracing::error!(times, "more requests failed because the database is unavailable");
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract B1.28
    #[test]
    fn the_first_failures_of_a_window_have_a_line_each_and_the_others_are_counted() {
        let (mut failures, start) = (Failures { began: None, count: 0 }, Instant::now());
        for _ in 0..2 {
            let entries: Vec<LogEntry> = (0..MAX_LINES + 100).map(|_| failures.note(start)).collect();
            assert!(entries[..MAX_LINES].iter().all(|entry| *entry == LogEntry::Line));
            assert_eq!(entries[MAX_LINES], LogEntry::Count { is_first: true });
            assert!(entries[MAX_LINES + 1..].iter().all(|entry| *entry == LogEntry::Count { is_first: false }));
            assert_eq!(failures.note(start + WINDOW), LogEntry::Count { is_first: false }, "none is lost");
            assert_eq!(failures.end(), 101);
        }
        for window in 0..3 {
            assert!((0..MAX_LINES).all(|_| failures.note(start + window * WINDOW) == LogEntry::Line));
        }
    }
}
