//! All routes of the process, the layers around them, and `/health` and `/ready`.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HOST, HeaderName, HeaderValue, IF_MATCH,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, Method, Response, Uri, Version};
use axum::middleware::from_fn;
use axum::routing::get;
use axum::{BoxError, Router};
use futures_util::TryFutureExt;
use futures_util::future::Either;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};
use tracing::Instrument;

use crate::app_state::AppState;
use crate::budget::CallerKey;
use crate::caller::Caller;
use crate::config::{AllowedHosts, Config};
use crate::html::Stylesheet;
use crate::http::client_address::{ClientAddress, Peer, Proxies};
use crate::http::{accept, body, drain_body};
use crate::metrics::{Metrics, NamedResources, ResourceTable};
use crate::problem::{NO_SUCH_PATH, Problem};
use crate::query_service::database_metrics::DatabaseMetrics;
use crate::response::{DRY_RUN, ROW_LIMIT, Redirection, redirect};
use crate::satellite::Satellite;
use crate::satellite::endpoints::AppPages;
use crate::traces::Tracer;
use crate::{authenticator, graphql, hub, listen, openapi, pages, random, response, rest, satellite, traces};

/// Smaller responses fit a few packets and are not compressed.
const MIN_COMPRESSED_BYTES: u64 = 8 * 1024;
const PREFLIGHT_LIFETIME: Duration = Duration::from_secs(600);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// All routes for the manifest that is served now. Another manifest replaces them in one step.
#[derive(Debug)]
pub struct Routes {
    current: RwLock<Arc<Generation>>,
    config: Config,
    metrics: Arc<Metrics>,
}

/// What depends on one manifest. A request takes it once, so that it never sees two manifests.
#[derive(Debug)]
struct Generation {
    state: AppState,
    router: Router,
    resources: ResourceTable,
    landing: Landing,
}

impl Generation {
    fn new(state: AppState, config: &Config, metrics: &Metrics) -> Arc<Self> {
        Arc::new(Generation {
            router: routes(state.clone(), config),
            resources: metrics.resources(&state.queries.catalog),
            landing: Landing::of(&state),
            state,
        })
    }
}

impl Routes {
    pub fn new(state: AppState, config: &Config, metrics: Arc<Metrics>) -> Arc<Self> {
        metrics.register(|registry| {
            registry.register_collector(Box::new(state.queries.budgets.clone()));
            let (reader, writes) = (state.queries.reader.clone(), state.queries.writes.clone());
            let records = state.authenticator.as_hub().map(|hub| hub.records().clone());
            registry.register_collector(Box::new(DatabaseMetrics { reader, writes, records }));
            state.queries.writes.register(registry);
            if let Some(hub) = state.authenticator.as_hub() {
                hub.register_metrics(registry);
            }
            if let Some(satellite) = state.authenticator.as_satellite() {
                satellite.register_metrics(registry);
            }
            if let Some(tracer) = &state.tracer {
                tracer.register_metrics(registry);
            }
            if let Some(slow) = state.queries.reader.slow_statements() {
                slow.register_metrics(registry);
            }
        });
        Arc::new(Routes { current: RwLock::new(Generation::new(state, config, &metrics)), config: config.clone(), metrics })
    }

    /// Replaces the routes. Requests in flight finish with those that they began with.
    pub fn replace(&self, state: AppState) {
        let next = Generation::new(state, &self.config, &self.metrics);
        let before = std::mem::replace(&mut *self.current.write().unwrap_or_else(PoisonError::into_inner), next);
        drop(before);
    }

    pub fn state(&self) -> AppState {
        self.current().state.clone()
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn current(&self) -> Arc<Generation> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub fn router(
    state: AppState,
    config: &Config,
    metrics: Arc<Metrics>,
) -> impl Service<Request, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + 'static {
    let routes = Routes::new(state, config, metrics);
    service(&routes)
}

/// The service around routes that can be replaced.
pub fn service(
    routes: &Arc<Routes>,
) -> impl Service<Request, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + use<> + 'static {
    // A stream of events must not wait in a compressor.
    let compressible = SizeAbove::new(MIN_COMPRESSED_BYTES).and(NotForContentType::SSE).and(HasMemory);
    let compression = CompressionLayer::new().gzip(true).zstd(true).quality(CompressionLevel::Fastest).compress_when(compressible);
    let (config, state) = (&routes.config, routes.state());
    let hosts = config.allowed_hosts.clone();
    let is_hub = state.authenticator.as_hub().is_some();
    let refusal_pages = pages::RefusalPages::of(&state.authenticator, state.app_files.as_ref());
    let observers = Arc::new(Observers {
        metrics: routes.metrics.clone(),
        tracer: state.tracer,
        proxies: Proxies::new(&config.trusted_proxies),
        hosts,
    });
    let inner = routes.clone();
    // The layers are one service around the router. As layers of the router each would be boxed for every request.
    let served = ServiceBuilder::new()
        .layer(CatchPanicLayer::custom(|_| Problem::Internal("a handler panicked").response()))
        .option_layer((!config.cors_origins.is_empty()).then(|| cors(config)))
        .layer(compression)
        .service(service_fn(move |request: Request| with_compressor(inner.clone(), request)));
    service_fn(move |request: Request| {
        let scope = if is_hub && hub::endpoints::is_hidden_from_scripts(request.uri().path()) { CorsScope::Own } else { CorsScope::Listed };
        let reader = refusal_pages.reader(&request);
        let answered = handle(observers.clone(), served.clone(), request, scope);
        answered.map_ok(|response| reader.rendered(response))
    })
}

fn routes(state: AppState, config: &Config) -> Router {
    let description = openapi::served(&state.queries.catalog, config.strategy);
    let is_hub = state.authenticator.as_hub().is_some();
    let hub = state.authenticator.as_hub().map_or_else(Router::new, |hub| hub::endpoints::routes(hub, &state.queries));
    let satellite = state.authenticator.as_satellite().map_or_else(Router::new, satellite::endpoints::routes);
    let style = if is_hub { Router::new() } else { Stylesheet::Other.route() };
    let sign_in = pages::SignIn::of(&state.authenticator);
    let tracer = state.tracer.clone();
    let routes = Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/api/openapi.json", get(async move |_: Caller, headers: HeaderMap| description.answer(&headers)))
        .merge(pages::routes(sign_in))
        .merge(rest::routes())
        .merge(graphql::routes())
        .merge(authenticator::routes())
        .merge(hub)
        .merge(satellite)
        .merge(style);
    let routes = if tracer.is_some() { routes.route_layer(from_fn(traces::note_route)) } else { routes };
    routes.fallback(app_file).method_not_allowed_fallback(async || Problem::MethodNotAllowed("GET, HEAD")).with_state(state)
}

/// What looks at every request.
struct Observers {
    metrics: Arc<Metrics>,
    tracer: Option<Tracer>,
    proxies: Proxies,
    hosts: AllowedHosts,
}

/// The origins whose scripts may read a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CorsScope {
    Listed,
    Own,
}

fn cors(config: &Config) -> CorsLayer {
    let origins: Vec<HeaderValue> = config.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_credentials(true)
        .allow_methods(AllowMethods::list([Method::GET, Method::POST]))
        .allow_headers(AllowHeaders::list([CONTENT_TYPE, AUTHORIZATION, ACCEPT, IF_MATCH, REQUEST_ID]))
        .expose_headers([REQUEST_ID, ETAG, RETRY_AFTER, WWW_AUTHENTICATE, ROW_LIMIT, DRY_RUN])
        .max_age(PREFLIGHT_LIFETIME)
}

/// The path for the log. A key at its end is a value of a row.
fn path_without_key(path: &str) -> Cow<'_, str> {
    let mut parts = path.splitn(6, '/');
    let is_api = parts.by_ref().nth(1) == Some("api");
    match parts.nth(3).filter(|key| is_api && !key.is_empty()) {
        Some(key) => Cow::Owned(format!("{}{{id}}", &path[..path.len() - key.len()])),
        None => Cow::Borrowed(path),
    }
}

/// What every request gets: an id in the response and in the log, its time in the metrics, the check of its host, and the headers of every
/// response.
async fn handle<S, B>(observers: Arc<Observers>, served: S, mut request: Request, scope: CorsScope) -> Result<Response<Body>, Infallible>
where
    S: Service<Request, Response = Response<B>, Error = Infallible>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let Observers { metrics, tracer, proxies, hosts } = &*observers;
    let id = request_id(request.headers());
    let traced = tracer.as_ref().and_then(|tracer| tracer.request(request.method(), request.headers()));
    let client = request.extensions().get::<Peer>().map(|peer| proxies.client(peer.0, request.headers()));
    // At the level of errors, so that a filter that shows errors shows their request.
    let span = tracing::error_span!("request", id = id.to_str().unwrap_or("-"), client = client.map(tracing::field::display), method = %request.method(), path = &*path_without_key(request.uri().path()), trace = traced.as_ref().map(|traced| traced.trace.id()));
    let timing = metrics.begin();
    if let Some(client) = client {
        request.extensions_mut().insert(ClientAddress(client));
    }
    accept::allow_uncompressed(request.headers_mut());
    let mut response = match refusal(&request, hosts) {
        None => {
            let answered = served.oneshot(drain_body::drained(request)).instrument(span.clone());
            let answered = match &traced {
                None => Either::Left(answered),
                Some(traced) => Either::Right(Box::pin(traced.trace.clone().scope(answered))),
            };
            answered.await?.map(Body::new)
        }
        Some(problem) => problem.response(),
    };
    if scope == CorsScope::Own {
        remove_cors(response.headers_mut());
    }
    let duration_us = timing.end(response.status().as_u16(), response.extensions());
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), duration_us, "answered"));
    if let Some(traced) = traced {
        response = traced.until_sent(response, id.to_str().unwrap_or("-"));
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response.headers_mut().insert(axum::http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    keep_private(response.headers_mut());
    Ok(response)
}

fn refusal(request: &Request, hosts: &AllowedHosts) -> Option<Problem> {
    // RFC 9112, section 3.2.
    if request.version() == Version::HTTP_11 && request.headers().get_all(HOST).iter().count() != 1 {
        return Some(Problem::Malformed("HTTP/1.1 requires exactly one Host header"));
    }
    let named = request.headers().get(HOST).map(|host| host.to_str().unwrap_or("?"));
    let is_allowed = request.uri().host().into_iter().chain(named).all(|host| hosts.allows(host));
    if !is_allowed && !listen::is_probe(request.uri().path()) {
        return Some(Problem::Misdirected);
    }
    let encoding = request.headers().get(CONTENT_ENCODING);
    encoding.filter(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")).map(|found| Problem::ContentEncoding(shown(found)))
}

/// A header's value for a message, at most its first 40 characters.
fn shown(value: &HeaderValue) -> String {
    value.to_str().unwrap_or("?").chars().take(40).collect()
}

/// A response depends on its caller, since every endpoint refuses a token that is not valid. No cache may share it.
fn keep_private(headers: &mut HeaderMap) {
    match headers.get(CACHE_CONTROL) {
        None => _ = headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
        Some(value) if value.as_bytes().windows(8).any(|word| word == b"no-store") => {}
        Some(_) => _ = headers.append(VARY, HeaderValue::from_static("authorization")),
    }
}

/// Reserves the memory of the compressor until the response is sent. Without memory it is sent uncompressed.
async fn with_compressor(routes: Arc<Routes>, request: Request) -> Result<Response<Body>, Infallible> {
    let generation = routes.current();
    let request = generation.landing.applied(request).await;
    let caller = request.headers().contains_key(ACCEPT_ENCODING).then(|| CallerKey::of_address(ClientAddress::of(request.extensions())));
    let mut response = generation.router.clone().oneshot(request).await?;
    if response.extensions().get::<NamedResources>().is_some() {
        response.extensions_mut().insert(generation.resources.clone());
    }
    let is_large = response.body().size_hint().exact().is_none_or(|size| size >= MIN_COMPRESSED_BYTES);
    let Some(caller) = caller.filter(|_| is_large) else { return Ok(response) };
    if let Some(reservation) = generation.state.queries.budgets.reserve_compressor(caller) {
        return Ok(response.map(|body| body::holding(body, reservation)));
    }
    response.extensions_mut().insert(Uncompressed);
    Ok(response)
}

/// Serves `/docs` or `/graphql` at the redirect URI of a satellite to a browser that signs in there.
#[derive(Clone, Debug)]
struct Landing {
    satellite: Option<Satellite>,
    app: AppPages,
}

impl Landing {
    fn of(state: &AppState) -> Self {
        let app = if state.app_files.is_some() { AppPages::Served } else { AppPages::None };
        Landing { satellite: state.authenticator.as_satellite().cloned(), app }
    }

    /// The request, or one for our own page in its place.
    async fn applied(&self, request: Request) -> Request {
        let Some(satellite) = &self.satellite else { return request };
        let (mut head, body) = request.into_parts();
        if let Some(page) = satellite.landing_page(&head, self.app).await {
            head.uri = Uri::from_static(page);
        }
        Request::from_parts(head, body)
    }
}

/// Marks a response that there is no memory to compress.
#[derive(Clone, Copy, Debug)]
struct Uncompressed;

#[derive(Clone, Copy, Debug)]
struct HasMemory;

impl Predicate for HasMemory {
    fn should_compress<B: HttpBody>(&self, response: &Response<B>) -> bool {
        response.extensions().get::<Uncompressed>().is_none()
    }
}

/// The id that the client chose, if a log can hold it, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_valid = |value: &&HeaderValue| {
        (1..=64).contains(&value.len()) && value.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
    };
    let chosen = headers.get(&REQUEST_ID).filter(is_valid).cloned();
    chosen.or_else(|| HeaderValue::from_str(&random::uuid().to_string()).ok()).unwrap_or_else(|| HeaderValue::from_static("-"))
}

fn remove_cors(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with("access-control-")).cloned().collect();
    for name in listed {
        headers.remove(name);
    }
}

/// Serves a file of the app at a path that has no route. Without an app, `/` leads to `/docs`.
async fn app_file(State(state): State<AppState>, request: Request) -> Response<Body> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match state.app_files {
        Some(files) => files.answer(&request),
        None if is_read && request.uri().path() == "/" => redirect(Redirection::Found, "/docs").unwrap_or_else(|_| NO_SUCH_PATH.response()),
        None => NO_SUCH_PATH.response(),
    }
}

// Every endpoint extracts the caller, so that a token that is not valid is refused everywhere.

async fn health(_: Caller) -> Response<Body> {
    response::json(r#"{"status":"live"}"#)
}

async fn ready(_: Caller, State(state): State<AppState>) -> Response<Body> {
    if let Err(error) = state.queries.reader.ping(&state.queries.catalog).await {
        return Problem::of_records(error).response();
    }
    match state.authenticator.as_satellite() {
        None => response::json(r#"{"status":"ready"}"#),
        Some(satellite) if satellite.is_ready() => response::json(r#"{"status":"ready","database":"ready","keys":"ready"}"#),
        Some(_) => Problem::HubUnavailable.response(),
    }
}

#[cfg(test)]
mod tests {
    use super::path_without_key;

    // contract W3.11
    #[test]
    fn a_key_in_a_path_is_not_logged() {
        for (path, shown) in [
            ("/api/shop/orders/update/ann@example.org", "/api/shop/orders/update/{id}"),
            ("/api/shop/orders/find/a/b", "/api/shop/orders/find/{id}"),
            ("/api/shop/orders/update/", "/api/shop/orders/update/"),
            ("/api/shop/orders/list", "/api/shop/orders/list"),
            ("/auth/me", "/auth/me"),
            ("/", "/"),
        ] {
            assert_eq!(path_without_key(path), shown);
        }
    }
}
