//! OpenTelemetry traces: a span for each request and for each statement of it. No span holds a value, a token or a path with an id.

mod exporter;
mod otlp;
mod traceparent;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method, Response};
use axum::middleware::Next;
use prometheus_client::registry::Registry;
use store::run::{StatementEnd, StatementReport};

use crate::boot_error::BootError;
use crate::config::{ParentDecision, Sampler, TraceSettings};
use crate::http::body;
use crate::mutex::lock;
use crate::{clock, random, slow_statements};

use exporter::SpanQueue;
use otlp::{KeyValue, Span, SpanKind, SpanStatus, Status, int, text};
use traceparent::{SpanId, TraceId, TraceParent, hex_text};

/// How many statements of one request have a span. A streamed answer may run thousands.
const MAX_STATEMENTS: usize = 256;
/// How many resources a span names.
const MAX_RESOURCES: usize = 8;
/// How much of its SQL a span shows.
const MAX_SQL_BYTES: usize = 2_048;

tokio::task_local! {
    static CURRENT: RequestTrace;
}

/// Decides which requests are traced, and sends their spans.
#[derive(Clone, Debug)]
pub struct Tracer {
    sampler: Sampler,
    queue: SpanQueue,
}

impl Tracer {
    pub(crate) fn start(settings: &TraceSettings) -> Result<Self, BootError> {
        if !settings.ignored.is_empty() {
            tracing::warn!(variables = settings.ignored.join(", "), "these variables of OpenTelemetry have no effect on this server");
        }
        Ok(Tracer { sampler: settings.sampler, queue: SpanQueue::open(settings)? })
    }

    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        self.queue.register(registry);
    }

    /// Sends the spans so far, within a few seconds.
    pub async fn flush(&self) {
        self.queue.flush().await;
    }

    /// Begins the span of a request, if it is traced.
    pub(crate) fn request(&self, method: &Method, headers: &HeaderMap) -> Option<RequestSpan> {
        let parent = TraceParent::read(headers);
        let trace_id = parent.map_or_else(|| random::uuid().into_bytes(), |parent| parent.trace);
        let is_sampled = match (parent, self.sampler.parent) {
            (Some(parent), ParentDecision::Followed) => parent.is_sampled,
            _ => is_in_sample(trace_id, self.sampler.ratio),
        };
        let trace = || {
            RequestTrace(Arc::new(Inner {
                queue: self.queue.clone(),
                trace_id,
                span_id: new_span_id(),
                parent: parent.map(|parent| parent.span),
                started: Instant::now(),
                started_unix: clock::unix_nanoseconds(),
                method: method.clone(),
                statements: AtomicUsize::new(0),
                seen: Mutex::default(),
            }))
        };
        is_sampled.then(|| RequestSpan { trace: trace(), status: None, request_id: None })
    }
}

/// By the trace id, so that every process decides alike.
fn is_in_sample(trace: TraceId, ratio: f64) -> bool {
    let number = u64::from_be_bytes([trace[8], trace[9], trace[10], trace[11], trace[12], trace[13], trace[14], trace[15]]) >> 1;
    // The largest numbers round up as floats.
    ratio >= 1.0 || (number as f64) < ratio * (1_u64 << 63) as f64
}

fn new_span_id() -> SpanId {
    let bytes = random::uuid().into_bytes();
    // The version and the variant are not random, but the first byte is, and a span id is not all zero.
    [bytes[0] | 1, bytes[1], bytes[2], bytes[3], bytes[9], bytes[10], bytes[11], bytes[12]]
}

/// The trace of a request, shared by all its work.
#[derive(Clone, Debug)]
pub(crate) struct RequestTrace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    queue: SpanQueue,
    trace_id: TraceId,
    span_id: SpanId,
    parent: Option<SpanId>,
    started: Instant,
    started_unix: u64,
    method: Method,
    statements: AtomicUsize,
    seen: Mutex<Seen>,
}

/// What a request turned out to be.
#[derive(Debug, Default)]
struct Seen {
    route: Option<String>,
    resources: Vec<String>,
    operation: Option<String>,
}

/// What a statement is for, in logs and traces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementLabels<'a> {
    pub(crate) resource: &'a str,
    pub(crate) operation: &'static str,
}

impl RequestTrace {
    /// The trace of the request that this task answers.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    pub(crate) async fn scope<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// The id of the trace, for the log.
    pub(crate) fn id(&self) -> String {
        hex_text(&self.0.trace_id)
    }

    fn unix_of(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.0.started);
        self.0.started_unix.saturating_add(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    fn span(&self, (id, parent): (SpanId, Option<SpanId>), name: String, kind: SpanKind, started: Instant) -> Span {
        Span {
            trace_id: self.0.trace_id.to_vec(),
            id: id.to_vec(),
            parent_span_id: parent.map(|id| id.to_vec()).unwrap_or_default(),
            name,
            kind: kind.into(),
            start_time_unix_nano: self.unix_of(started),
            end_time_unix_nano: self.unix_of(Instant::now()),
            attributes: Vec::new(),
            status: None,
            // Sampled.
            flags: 1,
        }
    }

    /// Sends the span of a statement that ended. `system` is OpenTelemetry's name of the database.
    pub(crate) fn statement(&self, labels: StatementLabels<'_>, system: &'static str, report: &StatementReport<'_>) {
        if self.0.statements.fetch_add(1, Ordering::Relaxed) >= MAX_STATEMENTS {
            return self.0.queue.drop_span();
        }
        let StatementLabels { resource, operation } = labels;
        let part = report.part.as_str();
        let name = format!("{operation} {resource} {part}");
        let mut span = self.span((new_span_id(), Some(self.0.span_id)), name, SpanKind::Client, report.started);
        let sql = slow_statements::beginning(report.sql, MAX_SQL_BYTES);
        span.attributes = vec![
            text("db.system.name", system),
            text("db.operation.name", operation_name(report.sql)),
            text("db.query.text", sql),
            int("db.response.returned_rows", i64::try_from(report.rows).unwrap_or(i64::MAX)),
            text("peristyle.resource", resource),
            text("peristyle.operation", operation),
            text("peristyle.statement.part", part),
            text("peristyle.statement.shape", slow_statements::shape(report.sql)),
        ];
        if report.end == StatementEnd::Incomplete {
            span.attributes.push(text("error.type", "incomplete"));
            span.status = Some(Status { code: SpanStatus::Error.into() });
        }
        self.0.queue.push(span);
    }
}

/// The first word of a statement, such as `UPDATE`.
fn operation_name(sql: &str) -> &str {
    sql.split_whitespace().next().unwrap_or_default()
}

/// Notes which resource and operation the current request names, if it is traced.
pub(crate) fn note(resource: &str, operation: &str) {
    _ = CURRENT.try_with(|trace| {
        let mut seen = lock(&trace.0.seen);
        seen.operation = Some(operation.to_owned());
        if seen.resources.len() < MAX_RESOURCES && !seen.resources.iter().any(|known| known == resource) {
            seen.resources.push(resource.to_owned());
        }
    });
}

/// Notes the route of the current request. A route has no ids, unlike a path.
pub(crate) async fn note_route(request: Request, next: Next) -> Response<Body> {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    _ = CURRENT.try_with(|trace| lock(&trace.0.seen).route = route);
    next.run(request).await
}

/// The span of a request. Dropping it sends it.
#[derive(Debug)]
pub(crate) struct RequestSpan {
    pub(crate) trace: RequestTrace,
    status: Option<u16>,
    request_id: Option<String>,
}

impl RequestSpan {
    /// Ends the span when the response is there, or, for a stream, when it was sent.
    pub(crate) fn until_sent(mut self, response: Response<Body>, request_id: &str) -> Response<Body> {
        self.status = Some(response.status().as_u16());
        self.request_id = Some(request_id.to_owned());
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        response.map(|body| body::holding(body, self))
    }

    fn attributes(&self, seen: &Seen) -> Vec<KeyValue> {
        let mut attributes = vec![text("http.request.method", self.trace.0.method.as_str())];
        attributes.extend(seen.route.as_ref().map(|route| text("http.route", &**route)));
        attributes.extend(self.status.map(|status| int("http.response.status_code", i64::from(status))));
        attributes.extend(self.request_id.as_ref().map(|id| text("peristyle.request_id", &**id)));
        attributes.extend(seen.operation.as_ref().map(|operation| text("peristyle.operation", &**operation)));
        if !seen.resources.is_empty() {
            attributes.push(text("peristyle.resource", seen.resources.join(",")));
        }
        attributes
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        let Inner { ref seen, ref method, span_id, parent, started, ref queue, .. } = *self.trace.0;
        let seen = lock(seen);
        let name = seen.route.as_ref().map_or_else(|| method.to_string(), |route| format!("{method} {route}"));
        let mut span = self.trace.span((span_id, parent), name, SpanKind::Server, started);
        span.attributes = self.attributes(&seen);
        let error = match self.status {
            None => Some("cancelled".to_owned()),
            Some(status) if status >= 500 => Some(status.to_string()),
            Some(_) => None,
        };
        if let Some(error) = error {
            span.attributes.push(text("error.type", error));
            span.status = Some(Status { code: SpanStatus::Error.into() });
        }
        queue.push(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_samples_its_share_by_the_trace_id() {
        let mut low = [0; 16];
        low[8] = 0x10;
        assert!(is_in_sample(low, 1.0) && is_in_sample(low, 0.1) && !is_in_sample(low, 0.05) && !is_in_sample(low, 0.0));
        assert!(is_in_sample([0xff; 16], 1.0) && !is_in_sample([0xff; 16], 0.99));
        let sampled = (0..1_000).filter(|_| is_in_sample(random::uuid().into_bytes(), 0.0)).count();
        assert_eq!(sampled, 0);
    }
}
