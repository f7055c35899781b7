//! What a scraper asks for: requests by status, how long they took, how many are in flight. Served on a listener of its own.

use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;

use crate::budget::{Budgets, Figures};

/// The upper ends of the duration buckets, in microseconds, and how Prometheus writes them.
const BUCKETS: [(u64, &str); 10] = [
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (5_000_000, "5"),
    (30_000_000, "30"),
];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The process's counters.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: [AtomicU64; 5],
    /// How many took no longer than each end and longer than the one before; the last one has no end.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
    in_flight: AtomicI64,
    budgets: OnceLock<Budgets>,
}

impl Metrics {
    /// A request has come.
    pub fn begin(self: &Arc<Self>) -> Timing {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Timing { metrics: self.clone(), started: Instant::now() }
    }

    /// Shows these budgets too.
    pub(crate) fn show_budgets(&self, budgets: &Budgets) {
        _ = self.budgets.set(budgets.clone());
    }

    fn write_budgets(&self, out: &mut String) {
        let figures = self.budgets.get().map(Budgets::figures).unwrap_or_default();
        let mut family = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Figures) -> u64| {
            // Writing to a String cannot fail.
            _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (budget, figures) in &figures {
                _ = writeln!(out, "{name}{{budget=\"{budget}\"}} {}", value(figures));
            }
        };
        family("peristyle_budget_used", "gauge", "What is held of a budget.", &|figures| figures.used as u64);
        family("peristyle_budget_limit", "gauge", "What a budget allows.", &|figures| figures.limit as u64);
        family("peristyle_budget_waiting", "gauge", "Requests that wait for their turn.", &|figures| figures.waiting as u64);
        family("peristyle_budget_refused_total", "counter", "Requests that were refused.", &|figures| figures.refused);
    }

    /// Prometheus' text form.
    pub fn text(&self) -> String {
        let mut out = String::from(
            "# HELP peristyle_requests_total Requests answered, by class of status.\n# TYPE peristyle_requests_total counter\n",
        );
        // Writing to a String cannot fail.
        for (class, count) in CLASSES.iter().zip(&self.requests) {
            let count = count.load(Ordering::Relaxed);
            _ = writeln!(out, "peristyle_requests_total{{status=\"{class}\"}} {count}");
        }
        out.push_str("# HELP peristyle_request_duration_seconds Time until the answer begins.\n# TYPE peristyle_request_duration_seconds histogram\n");
        // Requests end while this is read, so that a number of all of them would be another than the sum of what was read here.
        let mut below = 0;
        for (end, count) in BUCKETS.iter().map(|(_, end)| *end).chain(["+Inf"]).zip(&self.buckets) {
            below += count.load(Ordering::Relaxed);
            _ = writeln!(out, "peristyle_request_duration_seconds_bucket{{le=\"{end}\"}} {below}");
        }
        let seconds = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        _ = writeln!(out, "peristyle_request_duration_seconds_sum {seconds}\nperistyle_request_duration_seconds_count {below}");
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        _ = writeln!(
            out,
            "# HELP peristyle_requests_in_flight Requests being answered.\n# TYPE peristyle_requests_in_flight gauge\nperistyle_requests_in_flight {in_flight}"
        );
        self.write_budgets(&mut out);
        out
    }

    /// `GET /metrics` and nothing else.
    pub fn router(self: Arc<Self>) -> Router {
        Router::new().route("/metrics", get(move || async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4")], self.text()) }))
    }
}

/// A request in flight. One whose client hangs up is dropped without an end: in flight no more, and not counted.
#[derive(Debug)]
pub struct Timing {
    metrics: Arc<Metrics>,
    started: Instant,
}

impl Timing {
    /// Its answer begins; says how many microseconds that took.
    pub fn end(self, status: u16) -> u64 {
        let micros = self.started.elapsed().as_micros() as u64;
        let Metrics { requests, buckets, micros: sum, .. } = &*self.metrics;
        requests[usize::from(status / 100).clamp(1, 5) - 1].fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(micros, Ordering::Relaxed);
        let bucket = BUCKETS.iter().position(|(end, _)| micros <= *end).unwrap_or(BUCKETS.len());
        buckets[bucket].fetch_add(1, Ordering::Relaxed);
        micros
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_class_and_duration() {
        // contract E5.5
        let metrics = Arc::new(Metrics::default());
        for status in [200, 204, 404, 503] {
            metrics.begin().end(status);
        }
        drop(metrics.begin());
        let _in_flight = metrics.begin();
        let text = metrics.text();
        for line in [
            "peristyle_requests_total{status=\"2xx\"} 2",
            "peristyle_requests_total{status=\"4xx\"} 1",
            "peristyle_requests_total{status=\"5xx\"} 1",
            "peristyle_request_duration_seconds_count 4",
            "peristyle_requests_in_flight 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn the_histogram_is_its_own_sum() {
        // contract E5.5
        let metrics = Metrics::default();
        metrics.buckets[9].store(3, Ordering::Relaxed);
        metrics.buckets[10].store(2, Ordering::Relaxed);
        // One that has been counted by its status and not yet by its time.
        metrics.requests[1].store(4, Ordering::Relaxed);
        let text = metrics.text();
        for line in ["bucket{le=\"30\"} 3", "bucket{le=\"+Inf\"} 5", "seconds_count 5"] {
            assert!(text.contains(&format!("{line}\n")), "{line} in {text}");
        }
    }
}
