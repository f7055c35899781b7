//! The way to the hub: bounded in time, in size and in how much goes on at once, so that a hub that is slow or broken costs its satellite
//! nothing but these requests. Redirects are not followed: what stands elsewhere is not the hub.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use identity::form;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;

use crate::boot_error::BootError;

/// How long a connection may take, and how long a whole request with its wait for a turn.
const CONNECT: Duration = Duration::from_secs(2);
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How long a connection is kept for the next request.
const IDLE: Duration = Duration::from_secs(30);
const MOST_IDLE: usize = 32;
/// How many requests of one lane go on at once.
const READS_AT_ONCE: usize = 64;
const GRANTS_AT_ONCE: usize = 32;

/// What a request to the hub is about. Each kind has its own turns, so that a flood of one does not shut out the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// The keys, one request at a time.
    Keys,
    /// Accounts.
    Reads,
    /// Codes and refresh tokens, which count once: never sent on a connection that may be dying.
    Grants,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it did not answer in time")]
    Slow,
    #[error("its answer is too large or broke off")]
    Body,
    #[error("the request could not be made")]
    Request,
}

/// An answer of the hub, whatever its status.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Bytes,
}

/// The hub answers with tokens.
impl fmt::Debug for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Answer").field("status", &self.status).field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// What to ask.
pub(super) struct Ask<'a> {
    pub(super) path: &'a str,
    /// A body with its media type; a GET without one.
    pub(super) body: Option<(&'static str, String)>,
    pub(super) authorization: Option<HeaderValue>,
    /// The largest answer that is read.
    pub(super) most_bytes: usize,
}

impl<'a> Ask<'a> {
    /// A form by which a client shows its secret.
    pub(super) fn form(path: &'a str, pairs: &[(&str, &str)], client: HeaderValue) -> Self {
        let body = Some(("application/x-www-form-urlencoded", form::write(pairs.iter().copied())));
        Ask { path, body, authorization: Some(client), most_bytes: 64 * 1024 }
    }
}

type Wire = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The hub as this process reaches it.
#[derive(Clone)]
pub(super) struct Upstream(Arc<Inner>);

struct Inner {
    base: String,
    kept: Wire,
    fresh: Wire,
    keys: Semaphore,
    reads: Semaphore,
    grants: Semaphore,
    /// How many requests for accounts and tokens it did not answer.
    failed_requests: AtomicU64,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Upstream({})", self.0.base)
    }
}

impl Upstream {
    /// The way to the hub at this origin.
    pub(super) fn to(base: &str) -> Result<Self, BootError> {
        let connector = connector(base)?;
        let wire = |idle| {
            let mut builder = Client::builder(TokioExecutor::new());
            builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).pool_max_idle_per_host(idle);
            builder.build(connector.clone())
        };
        Ok(Upstream(Arc::new(Inner {
            base: base.to_owned(),
            kept: wire(MOST_IDLE),
            fresh: wire(0),
            keys: Semaphore::new(1),
            reads: Semaphore::new(READS_AT_ONCE),
            grants: Semaphore::new(GRANTS_AT_ONCE),
            failed_requests: AtomicU64::new(0),
        })))
    }

    /// Asks, and waits for the answer.
    pub(super) async fn send(&self, lane: Lane, ask: Ask<'_>) -> Result<Answer, Trouble> {
        let (turns, wire) = match lane {
            Lane::Keys => (&self.0.keys, &self.0.kept),
            Lane::Reads => (&self.0.reads, &self.0.kept),
            Lane::Grants => (&self.0.grants, &self.0.fresh),
        };
        let most_bytes = ask.most_bytes;
        let request = self.request(ask).ok_or(Trouble::Request)?;
        let answered = async {
            let _turn = turns.acquire().await.map_err(|_| Trouble::Slow)?;
            let response = match (lane, wire.request(request.clone()).await) {
                // A connection that was kept may have died unseen, of a restart perhaps; what is only read can be asked again.
                (Lane::Keys | Lane::Reads, Err(error)) if !error.is_connect() => wire.request(request).await,
                (_, response) => response,
            };
            let response = response.map_err(|error| Trouble::Unreachable(reason(&error)))?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), most_bytes).collect().await.map_err(|_| Trouble::Body)?;
            Ok(Answer { status, body: body.to_bytes() })
        };
        let answer = tokio::time::timeout(PATIENCE, answered).await.map_err(|_| Trouble::Slow).flatten();
        if lane != Lane::Keys && answer.as_ref().map_or(true, |answer| answer.status >= 500) {
            self.0.failed_requests.fetch_add(1, Ordering::AcqRel);
        }
        answer
    }

    /// How many requests for accounts and tokens the hub did not answer: where there are more than before, it may be away. Streams do not
    /// count, since proxies cut and buffer them while everything else works.
    pub(super) fn failed_requests(&self) -> u64 {
        self.0.failed_requests.load(Ordering::Acquire)
    }

    /// Opens a stream of changes after a number. It has no turn to wait for and no end; whoever reads it knows how long to wait.
    pub(super) async fn stream(&self, path: &str, client: HeaderValue, after: Option<i64>) -> Result<Response<Incoming>, Trouble> {
        let mut request = Request::builder().uri(format!("{}{path}", self.0.base)).header(AUTHORIZATION, client);
        request = request.header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let request = request.body(Full::default()).map_err(|_| Trouble::Request)?;
        let answered = tokio::time::timeout(PATIENCE, self.0.fresh.request(request)).await.map_err(|_| Trouble::Slow);
        answered.and_then(|answered| answered.map_err(|error| Trouble::Unreachable(reason(&error))))
    }

    fn request(&self, ask: Ask<'_>) -> Option<Request<Full<Bytes>>> {
        let method = if ask.body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder().method(method).uri(format!("{}{}", self.0.base, ask.path));
        request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(authorization) = ask.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let body = match ask.body {
            None => Full::default(),
            Some((kind, text)) => {
                request = request.header(CONTENT_TYPE, HeaderValue::from_static(kind));
                Full::from(text)
            }
        };
        request.body(body).ok()
    }
}

/// The innermost cause: the outer ones say only that something failed.
fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn connector(base: &str) -> Result<HttpsConnector<HttpConnector>, BootError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT));
    http.set_nodelay(true);
    let mut roots = RootCertStore::empty();
    if base.starts_with("https://") {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let problem = "this machine knows no certificate authority, so that no hub can be trusted; install ca-certificates, or name a file of them in SSL_CERT_FILE";
            let reason = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
            return Err(BootError(format!("OAUTH_HUB_URL: {problem}{reason}")));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BootError(format!("TLS cannot be used: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().wrap_connector(http))
}
