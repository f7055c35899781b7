//! The HTTP client for the hub, bounded in time, size and concurrency. It follows no redirects.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use identity::form;
use tokio::sync::Semaphore;

use crate::boot_error::BootError;
use crate::http::client::{self, reason};

/// For a whole request, with its wait for a turn.
pub(super) const HUB_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_IDLE: usize = 32;
const READS_AT_ONCE: usize = 64;
const GRANTS_AT_ONCE: usize = 32;

/// The kind of a request to the hub. Each has its own limit, so that a flood of one does not block another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The keys, one request at a time.
    Keys,
    Reads,
    /// Codes and refresh tokens, which can be used once. They never reuse a connection, which may be dying.
    Grants,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum HubError {
    /// Holds the URL of the hub and the reason.
    #[error("cannot connect to {0}: {1}")]
    Unreachable(String, String),
    #[error("no answer in time")]
    Slow,
    #[error("the answer is too large or broke off")]
    Body,
    #[error("the request is malformed")]
    Request,
}

pub(super) struct HubResponse {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

/// The body may hold tokens.
impl fmt::Debug for HubResponse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HubResponse").field("status", &self.status).field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

pub(super) struct HubRequest<'a> {
    pub(super) path: &'a str,
    /// A body with its media type; a GET without one.
    pub(super) body: Option<(&'static str, String)>,
    pub(super) authorization: Option<HeaderValue>,
    pub(super) max_bytes: usize,
}

impl<'a> HubRequest<'a> {
    pub(super) fn form(path: &'a str, pairs: &[(&str, &str)], client: HeaderValue) -> Self {
        let body = Some(("application/x-www-form-urlencoded", form::write(pairs.iter().copied())));
        HubRequest { path, body, authorization: Some(client), max_bytes: 64 * 1024 }
    }
}

type Wire = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

#[derive(Clone)]
pub(super) struct HubClient(Arc<Inner>);

struct Inner {
    base: String,
    kept: Wire,
    fresh: Wire,
    keys: Semaphore,
    reads: Semaphore,
    grants: Semaphore,
    failed_requests: AtomicU64,
}

impl std::fmt::Debug for HubClient {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "HubClient({})", self.0.base)
    }
}

impl HubClient {
    pub(super) fn to(base: &str) -> Result<Self, BootError> {
        let connector = client::connector("OAUTH_HUB_URL", base)?;
        let wire = |idle| {
            let mut builder = Client::builder(TokioExecutor::new());
            builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT).pool_max_idle_per_host(idle);
            builder.build(connector.clone())
        };
        Ok(HubClient(Arc::new(Inner {
            base: base.to_owned(),
            kept: wire(MAX_IDLE),
            fresh: wire(0),
            keys: Semaphore::new(1),
            reads: Semaphore::new(READS_AT_ONCE),
            grants: Semaphore::new(GRANTS_AT_ONCE),
            failed_requests: AtomicU64::new(0),
        })))
    }

    pub(super) async fn send(&self, lane: Lane, hub_request: HubRequest<'_>) -> Result<HubResponse, HubError> {
        let (turns, wire) = match lane {
            Lane::Keys => (&self.0.keys, &self.0.kept),
            Lane::Reads => (&self.0.reads, &self.0.kept),
            Lane::Grants => (&self.0.grants, &self.0.fresh),
        };
        let max_bytes = hub_request.max_bytes;
        let request = self.request(hub_request).ok_or(HubError::Request)?;
        let answered = async {
            let _turn = turns.acquire().await.map_err(|_| HubError::Slow)?;
            let response = match (lane, wire.request(request.clone()).await) {
                // An idle connection may have died, such as by a restart. A read can be repeated.
                (Lane::Keys | Lane::Reads, Err(error)) if !error.is_connect() => wire.request(request).await,
                (_, response) => response,
            };
            let response = response.map_err(|error| HubError::Unreachable(self.0.base.clone(), reason(&error)))?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), max_bytes).collect().await.map_err(|_| HubError::Body)?;
            Ok(HubResponse { status, body: body.to_bytes() })
        };
        let answer = tokio::time::timeout(HUB_TIMEOUT, answered).await.map_err(|_| HubError::Slow).flatten();
        if lane != Lane::Keys && answer.as_ref().map_or(true, |answer| answer.status >= 500) {
            self.0.failed_requests.fetch_add(1, Ordering::AcqRel);
        }
        answer
    }

    /// The failed requests for accounts and tokens: if there are more than before, the hub may be unavailable. Streams do not count, since
    /// proxies cut them while everything else works.
    pub(super) fn failed_requests(&self) -> u64 {
        self.0.failed_requests.load(Ordering::Acquire)
    }

    /// Opens the change feed after a number. It has no limit and no end; the reader has its own timeout.
    pub(super) async fn stream(&self, path: &str, client: HeaderValue, after: Option<i64>) -> Result<Response<Incoming>, HubError> {
        let mut request = Request::builder().uri(format!("{}{path}", self.0.base)).header(AUTHORIZATION, client);
        request = request.header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let request = request.body(Full::default()).map_err(|_| HubError::Request)?;
        let answered = tokio::time::timeout(HUB_TIMEOUT, self.0.fresh.request(request)).await.map_err(|_| HubError::Slow);
        answered.and_then(|answered| answered.map_err(|error| HubError::Unreachable(self.0.base.clone(), reason(&error))))
    }

    fn request(&self, hub_request: HubRequest<'_>) -> Option<Request<Full<Bytes>>> {
        let method = if hub_request.body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder().method(method).uri(format!("{}{}", self.0.base, hub_request.path));
        request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(authorization) = hub_request.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let body = match hub_request.body {
            None => Full::default(),
            Some((kind, text)) => {
                request = request.header(CONTENT_TYPE, HeaderValue::from_static(kind));
                Full::from(text)
            }
        };
        request.body(body).ok()
    }
}
