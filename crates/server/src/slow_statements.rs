//! Logs statements that ran long, by their shape: at most some lines a minute, with the number of those left out. No value is logged.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use store::run::{StatementEnd, StatementReport};
use tokio::runtime::Handle;

use crate::mutex::lock;

/// How many lines a minute a shape has.
const MAX_LINES_PER_SHAPE: u64 = 5;
/// How many lines a minute all shapes have together.
const MAX_LINES: u64 = 60;
/// How many shapes are counted apart in a minute. Clients choose shapes, so there is no end of them.
const MAX_SHAPES: usize = 256;
/// How many shapes are named with the number of their lines left out. The others are summed.
const MAX_SUMMARIES: usize = 20;
const WINDOW: Duration = Duration::from_secs(60);
/// How much of its SQL a line shows.
const MAX_SQL_BYTES: usize = 1_000;

#[derive(Clone, Debug)]
pub struct SlowStatements {
    threshold: Duration,
    window: Arc<Mutex<Window>>,
    count: Counter,
}

/// The lines of one minute.
#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u64,
    /// For each shape the lines, written and left out.
    shapes: HashMap<u64, ShapeLines>,
    /// Lines left out of shapes that are not counted apart.
    others_left_out: u64,
    flush_is_planned: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShapeLines {
    written: u64,
    left_out: u64,
}

/// The lines that a window left out, by shape, and those of further shapes.
#[derive(Debug, Default, PartialEq, Eq)]
struct LeftOut {
    shapes: Vec<(u64, u64)>,
    others: u64,
}

impl Window {
    /// Whether a line about this shape is written now. If the window is over, a new one begins first.
    fn admit(&mut self, shape: u64, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let is_known = self.shapes.contains_key(&shape) || self.shapes.len() < MAX_SHAPES;
        if !is_known {
            self.others_left_out += 1;
            return false;
        }
        let lines = self.shapes.entry(shape).or_default();
        if lines.written >= MAX_LINES_PER_SHAPE || self.lines >= MAX_LINES {
            lines.left_out += 1;
            return false;
        }
        lines.written += 1;
        self.lines += 1;
        true
    }

    /// Ends the window if its time is over; returns what it left out.
    fn end(&mut self, now: Instant) -> LeftOut {
        if self.began.is_none_or(|began| now.duration_since(began) < WINDOW) {
            return LeftOut::default();
        }
        let before = std::mem::take(self);
        let mut shapes: Vec<(u64, u64)> = before.shapes.iter().map(|(shape, lines)| (*shape, lines.left_out)).collect();
        shapes.retain(|(_, left_out)| *left_out > 0);
        shapes.sort_by_key(|(shape, left_out)| (std::cmp::Reverse(*left_out), *shape));
        let rest = shapes.split_off(shapes.len().min(MAX_SUMMARIES));
        LeftOut { shapes, others: before.others_left_out + rest.iter().map(|(_, left_out)| left_out).sum::<u64>() }
    }
}

impl LeftOut {
    fn log(&self) {
        for (shape, left_out) in &self.shapes {
            tracing::warn!(shape = format!("{shape:016x}"), left_out, "slow statements left out of the log in the last minute");
        }
        if self.others > 0 {
            tracing::warn!(left_out = self.others, "slow statements of further shapes left out of the log in the last minute");
        }
    }
}

impl SlowStatements {
    pub(crate) fn from(threshold: Duration) -> Self {
        SlowStatements { threshold, window: Arc::default(), count: Counter::default() }
    }

    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        registry.register("peristyle_slow_statements", "Statements that ran longer than LOG_SLOW_STATEMENTS", self.count.clone());
    }

    /// Logs a statement if it was slow. Only then its shape is computed.
    pub(crate) fn note(&self, resource: &str, operation: &str, report: &StatementReport<'_>) {
        if report.busy < self.threshold {
            return;
        }
        self.count.inc();
        let (shape, now) = (shape_number(report.sql), Instant::now());
        let (is_admitted, left_out) = {
            let mut window = lock(&self.window);
            let left_out = window.end(now);
            let is_admitted = window.admit(shape, now);
            if !is_admitted && !window.flush_is_planned {
                window.flush_is_planned = self.plan_flush();
            }
            (is_admitted, left_out)
        };
        left_out.log();
        if is_admitted {
            let sql = beginning(report.sql, MAX_SQL_BYTES);
            let (duration_ms, part) = (report.busy.as_millis() as u64, report.part.as_str());
            let complete = report.end == StatementEnd::Complete;
            let shape = format!("{shape:016x}");
            tracing::warn!(shape, resource, operation, part, duration_ms, rows = report.rows, complete, sql, "slow statement");
        }
    }

    /// Logs what this window leaves out when it is over, even if no other statement is slow.
    fn plan_flush(&self) -> bool {
        let Ok(runtime) = Handle::try_current() else { return false };
        let window = self.window.clone();
        runtime.spawn(async move {
            tokio::time::sleep(WINDOW).await;
            let left_out = lock(&window).end(Instant::now());
            left_out.log();
        });
        true
    }
}

/// The beginning of a text, at most this many bytes of it.
pub(crate) fn beginning(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|index| text.is_char_boundary(*index));
    &text[..end.unwrap_or_default()]
}

fn shape_number(sql: &str) -> u64 {
    let hash = digest(&SHA256, sql.as_bytes());
    hash.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The shape of a statement: the first 16 digits of the SHA-256 of its SQL, which holds no value.
pub(crate) fn shape(sql: &str) -> String {
    let mut text = String::with_capacity(16);
    // Writing to a String cannot fail.
    _ = write!(text, "{:016x}", shape_number(sql));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_some_lines_a_minute_and_the_rest_is_counted() {
        let (mut window, now) = (Window::default(), Instant::now());
        assert_eq!((0..20).filter(|_| window.admit(1, now)).count() as u64, MAX_LINES_PER_SHAPE);
        assert!(window.admit(2, now), "another shape has lines of its own");
        assert_eq!(window.end(now), LeftOut::default(), "the minute is not over");
        assert_eq!(window.end(now + WINDOW), LeftOut { shapes: vec![(1, 15)], others: 0 });
        assert!(window.admit(1, now + WINDOW), "the next minute");
    }

    #[test]
    fn all_shapes_together_are_bounded_in_lines_and_in_memory() {
        let (mut window, now) = (Window::default(), Instant::now());
        let lines = (0..10_000).filter(|shape| window.admit(*shape, now)).count() as u64;
        assert_eq!((lines, window.shapes.len()), (MAX_LINES, MAX_SHAPES));
        let left_out = window.end(now + WINDOW);
        assert_eq!(left_out.shapes.len(), MAX_SUMMARIES);
        let sum: u64 = left_out.shapes.iter().map(|(_, count)| count).sum();
        assert_eq!(sum + left_out.others + lines, 10_000, "every line is written or counted");
    }

    #[test]
    fn a_shape_is_a_hash_of_the_sql() {
        assert_eq!(shape("SELECT 1"), "e004ebd5b5532a4b");
        assert_ne!(shape("SELECT 1"), shape("SELECT 2"));
        assert_eq!((beginning("aé", 2), beginning("aé", 3), beginning("aé", 9), beginning("", 1)), ("a", "aé", "aé", ""));
    }
}
