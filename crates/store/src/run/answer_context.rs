//! What one answer has besides its statement: an observer of its statements, a limit of its related rows, and a deadline. Open it to trace
//! statements.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use query::sql::Sql;

use crate::Error;

/// Hears of each statement when it ends.
pub trait StatementObserver: fmt::Debug + Send + Sync {
    fn ended(&self, statement: &StatementReport<'_>);
}

/// A statement that ended. Its text depends on its shape only; it holds no value.
#[derive(Clone, Copy, Debug)]
pub struct StatementReport<'q> {
    pub sql: &'q str,
    pub part: StatementPart,
    pub started: Instant,
    /// How long the database worked, without the time that the reader of a stream took.
    pub busy: Duration,
    pub rows: usize,
    pub end: StatementEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementPart {
    Rows,
    Related,
    Total,
    /// A statement of a write that finds, locks, checks or changes rows.
    Write,
}

impl StatementPart {
    pub fn as_str(self) -> &'static str {
        match self {
            StatementPart::Rows => "rows",
            StatementPart::Related => "related",
            StatementPart::Total => "total",
            StatementPart::Write => "write",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEnd {
    Complete,
    /// It failed, or its reader went away.
    Incomplete,
}

/// The context of an answer. The default observes nothing and limits nothing.
#[derive(Clone, Debug, Default)]
pub struct AnswerContext {
    observer: Option<Arc<dyn StatementObserver>>,
    related_rows: Option<Arc<RowLimit>>,
    deadline: Option<Instant>,
}

#[derive(Debug)]
struct RowLimit {
    max: usize,
    left: AtomicUsize,
}

impl AnswerContext {
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn StatementObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Limits the related rows of all levels together.
    #[must_use]
    pub fn with_max_related_rows(mut self, max: usize) -> Self {
        self.related_rows = Some(Arc::new(RowLimit { max, left: AtomicUsize::new(max) }));
        self
    }

    /// Ends all statements at this time, on whatever server they run. After the first batch of a stream each one has a timeout of its own.
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same for another server, which starts with the whole limit.
    #[must_use]
    pub fn for_another_server(&self) -> Self {
        let limit = |limit: &Arc<RowLimit>| Arc::new(RowLimit { max: limit.max, left: AtomicUsize::new(limit.max) });
        AnswerContext { related_rows: self.related_rows.as_ref().map(limit), ..self.clone() }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How long a statement may take that begins now.
    pub(crate) fn time_left(&self, timeout: Duration) -> Duration {
        self.deadline.map_or(timeout, |deadline| timeout.min(deadline.saturating_duration_since(Instant::now())))
    }

    /// How many more rows a statement for this part may return. Only related rows are limited.
    pub(crate) fn rows_left(&self, part: StatementPart) -> usize {
        let limit = self.related_rows.as_ref().filter(|_| part == StatementPart::Related);
        limit.map_or(usize::MAX, |limit| limit.left.load(Ordering::Relaxed))
    }

    pub(crate) fn too_many_rows(&self) -> Error {
        Error::TooManyRows { max: self.related_rows.as_ref().map_or(usize::MAX, |limit| limit.max) }
    }

    pub(crate) fn take_related_rows(&self, rows: usize) -> Result<(), Error> {
        let Some(limit) = &self.related_rows else { return Ok(()) };
        let taken = limit.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(rows));
        taken.map(drop).map_err(|_| self.too_many_rows())
    }

    /// Gives back rows that are read again later.
    pub(crate) fn give_back_related_rows(&self, rows: usize) {
        if let Some(limit) = &self.related_rows {
            limit.left.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// The answer starts over.
    pub(crate) fn forget_related_rows(&self) {
        if let Some(limit) = &self.related_rows {
            limit.left.store(limit.max, Ordering::Relaxed);
        }
    }

    pub(crate) fn begin<'q>(&'q self, sql: &'q Sql, part: StatementPart) -> RunningStatement<'q> {
        self.resume(sql, part, self.observer.as_ref().map(|_| StatementTime::start()))
    }

    /// Goes on with a statement that began elsewhere.
    pub(crate) fn resume<'q>(&'q self, sql: &'q Sql, part: StatementPart, time: Option<StatementTime>) -> RunningStatement<'q> {
        let running =
            |(observer, time): (&'q Arc<dyn StatementObserver>, _)| Observed { observer: &**observer, sql: sql.text(), part, time };
        RunningStatement(self.observer.as_ref().zip(time).map(running))
    }
}

/// A statement that runs. If it is dropped before its end, it is reported as incomplete. Without an observer it does nothing.
pub(crate) struct RunningStatement<'q>(Option<Observed<'q>>);

struct Observed<'q> {
    observer: &'q dyn StatementObserver,
    sql: &'q str,
    part: StatementPart,
    time: StatementTime,
}

/// The time of a statement, apart from what it borrows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementTime {
    started: Instant,
    busy: Duration,
    rows: usize,
    /// Since when the database works; none while the reader has its turn.
    working_since: Option<Instant>,
}

impl StatementTime {
    fn start() -> Self {
        let now = Instant::now();
        StatementTime { started: now, busy: Duration::ZERO, rows: 0, working_since: Some(now) }
    }

    fn stop(&mut self, rows: usize) {
        self.rows += rows;
        self.busy += self.working_since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }
}

impl RunningStatement<'_> {
    /// The database works again.
    pub(crate) fn work(&mut self) {
        if let Some(Observed { time: StatementTime { working_since: since @ None, .. }, .. }) = &mut self.0 {
            *since = Some(Instant::now());
        }
    }

    /// The database sent this many rows, and waits for the reader.
    pub(crate) fn pause(&mut self, rows: usize) {
        if let Some(observed) = &mut self.0 {
            observed.time.stop(rows);
        }
    }

    pub(crate) fn end(mut self, rows: usize) {
        if let Some(observed) = self.0.take() {
            observed.report(rows, StatementEnd::Complete);
        }
    }

    /// Stops observing here; the statement goes on elsewhere.
    pub(crate) fn detach(mut self) -> Option<StatementTime> {
        self.0.take().map(|observed| observed.time)
    }
}

impl Observed<'_> {
    fn report(mut self, rows: usize, end: StatementEnd) {
        self.time.stop(rows);
        let StatementTime { started, busy, rows, .. } = self.time;
        self.observer.ended(&StatementReport { sql: self.sql, part: self.part, started, busy, rows, end });
    }
}

impl Drop for RunningStatement<'_> {
    fn drop(&mut self) {
        if let Some(observed) = self.0.take() {
            observed.report(0, StatementEnd::Incomplete);
        }
    }
}
