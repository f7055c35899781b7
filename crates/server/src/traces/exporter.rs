//! Sends spans in batches from a bounded queue. A full queue drops spans and counts them; no request ever waits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use prost::Message;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::boot_error::BootError;
use crate::config::TraceSettings;
use crate::http::client::{connector, reason};
use crate::metrics::Labelled;

use super::otlp::{ExportRequest, ProcessResource, ResourceSpans, Scope, ScopeSpans, Span, text};

/// How many spans wait. One is a few KiB at most.
const MAX_QUEUE: usize = 2_048;
const MAX_BATCH: usize = 512;
/// How long a batch waits to become full.
const BATCH_INTERVAL: Duration = Duration::from_secs(1);
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ATTEMPTS: u32 = 3;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How often the log says that spans are lost.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// How long the process waits for the last spans before it ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

type Wire = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

enum QueueItem {
    Span(Box<Span>),
    /// Answered when every span before it was sent or dropped.
    Flush(oneshot::Sender<()>),
}

/// The sending end of the queue.
#[derive(Clone)]
pub(super) struct SpanQueue {
    items: mpsc::Sender<QueueItem>,
    spans: Arc<SpanCounts>,
}

impl fmt::Debug for SpanQueue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SpanQueue({} free)", self.items.capacity())
    }
}

struct SpanCounts {
    family: Labelled<Counter>,
    exported: Counter,
    dropped: Counter,
}

impl SpanQueue {
    /// Opens the queue, and starts the task that empties it.
    pub(super) fn open(settings: &TraceSettings) -> Result<Self, BootError> {
        let wire = Client::builder(TokioExecutor::new()).build(connector("OTEL_EXPORTER_OTLP_ENDPOINT", &settings.endpoint)?);
        let (items, receiver) = mpsc::channel(MAX_QUEUE);
        let family = Labelled::<Counter>::default();
        let [exported, dropped] = ["exported", "dropped"].map(|outcome| family.get_or_create_owned(&[("outcome", outcome)]));
        let spans = Arc::new(SpanCounts { family, exported, dropped });
        let resource = ProcessResource {
            attributes: vec![text("service.name", &*settings.service_name), text("service.version", env!("CARGO_PKG_VERSION"))],
        };
        let target = Target { wire, endpoint: settings.endpoint.clone(), headers: settings.headers.clone(), resource };
        tokio::spawn(Exporter { target, receiver, spans: spans.clone(), warned: None }.run());
        Ok(SpanQueue { items, spans })
    }

    pub(super) fn push(&self, span: Span) {
        if self.items.try_send(QueueItem::Span(Box::new(span))).is_err() {
            self.drop_span();
        }
    }

    /// Counts a span that is not sent.
    pub(super) fn drop_span(&self) {
        self.spans.dropped.inc();
    }

    /// Waits until the spans so far were sent, for a few seconds at most.
    pub(super) async fn flush(&self) {
        let (sender, receiver) = oneshot::channel();
        let flushed = async {
            _ = self.items.send(QueueItem::Flush(sender)).await;
            _ = receiver.await;
        };
        if timeout(FLUSH_TIMEOUT, flushed).await.is_err() {
            tracing::warn!("the last spans were not sent in {} s", FLUSH_TIMEOUT.as_secs());
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("peristyle_trace_spans", "Spans of traces, by outcome", self.spans.family.clone());
    }
}

struct Exporter {
    target: Target,
    receiver: mpsc::Receiver<QueueItem>,
    spans: Arc<SpanCounts>,
    warned: Option<Instant>,
}

struct Target {
    wire: Wire,
    endpoint: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    resource: ProcessResource,
}

enum ExportError {
    /// A later attempt may succeed.
    Retry(String),
    Refused(String),
}

impl Exporter {
    async fn run(mut self) {
        while let Some(item) = self.receiver.recv().await {
            let (spans, flush) = self.batch(item).await;
            if !spans.is_empty() {
                self.export(spans).await;
            }
            if let Some(flush) = flush {
                _ = flush.send(());
            }
        }
    }

    /// Collects spans until the batch is full, its time is over, or a flush is asked for.
    async fn batch(&mut self, first: QueueItem) -> (Vec<Span>, Option<oneshot::Sender<()>>) {
        let deadline = Instant::now() + BATCH_INTERVAL;
        let (mut spans, mut item) = (Vec::new(), Some(first));
        loop {
            match item {
                Some(QueueItem::Span(span)) => spans.push(*span),
                Some(QueueItem::Flush(flush)) => return (spans, Some(flush)),
                None => return (spans, None),
            }
            if spans.len() == MAX_BATCH {
                return (spans, None);
            }
            item = timeout_at(deadline, self.receiver.recv()).await.unwrap_or(None);
        }
    }

    async fn export(&mut self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        let body = self.target.encode(spans);
        for attempt in 1.. {
            let error = match self.target.send(body.clone()).await {
                Ok(()) => {
                    self.spans.exported.inc_by(count);
                    return;
                }
                Err(ExportError::Retry(_)) if attempt < MAX_ATTEMPTS => {
                    sleep(RETRY_INTERVAL * attempt).await;
                    continue;
                }
                Err(ExportError::Retry(error) | ExportError::Refused(error)) => error,
            };
            self.spans.dropped.inc_by(count);
            self.warn(&error);
            return;
        }
    }

    fn warn(&mut self, error: &str) {
        let now = Instant::now();
        if self.warned.is_none_or(|before| now.duration_since(before) >= WARNING_INTERVAL) {
            self.warned = Some(now);
            let (endpoint, dropped) = (&self.target.endpoint, self.spans.dropped.get());
            tracing::warn!(error, endpoint, dropped, "cannot send spans to OTEL_EXPORTER_OTLP_ENDPOINT");
        }
    }
}

impl Target {
    fn encode(&self, spans: Vec<Span>) -> Bytes {
        let scope = Scope { name: "peristyle".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
        let request = ExportRequest { resource_spans: vec![ResourceSpans { resource: Some(self.resource.clone()), scope_spans }] };
        request.encode_to_vec().into()
    }

    async fn send(&self, body: Bytes) -> Result<(), ExportError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.parse().map_err(|_| ExportError::Refused("the endpoint is no URL".to_owned()))?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        request.headers_mut().extend(self.headers.iter().cloned());
        let answered = async {
            let response = self.wire.request(request).await.map_err(|error| ExportError::Retry(reason(&error)))?;
            let status = response.status().as_u16();
            // Read the body, so that the connection can be used again.
            _ = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
            match status {
                200..=299 => Ok(()),
                429 | 502 | 503 | 504 => Err(ExportError::Retry(format!("status {status}"))),
                _ => Err(ExportError::Refused(format!("status {status}"))),
            }
        };
        timeout(EXPORT_TIMEOUT, answered).await.unwrap_or_else(|_| Err(ExportError::Retry("no answer in time".to_owned())))
    }
}
