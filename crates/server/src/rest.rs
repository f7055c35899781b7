//! REST: `POST /api/{context}/{plural}/{operation}`, health and readiness.

mod answer;
mod request;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::middleware::{self, Next};
use axum::routing::{any, get};
use percent_encoding::percent_decode_str;
use query::merge::merge;
use query::parse;
use query::plan::{self, Operation};
use query::policy::{self, Entrance, Viewer};
use query::sql;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::predicate::SizeAbove;
use tower_http::compression::{CompressionLayer, CompressionLevel};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};
use tracing::Instrument;

use crate::boot::Service;
use crate::client::{Peer, Proxies};
use crate::config::Config;
use crate::error::Problem;
use crate::explain;
use crate::metrics::Metrics;

pub(crate) use answer::json as json_answer;
pub(crate) use request::body as read_body;

/// Answers smaller than this fit a few packets and are not worth compressing.
const WORTH_COMPRESSING: u64 = 8 * 1024;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Everything this process serves.
pub fn router(service: Service, config: &Config, metrics: Arc<Metrics>) -> Router {
    let compression =
        CompressionLayer::new().gzip(true).zstd(true).quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(WORTH_COMPRESSING));
    let router = Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/api/{context}/{plural}/{operation}", any(operation))
        .route("/api/{context}/{plural}/find/{id}", any(operation))
        .fallback(unknown)
        .method_not_allowed_fallback(only_get)
        .with_state(service)
        .layer(compression);
    let router = if config.cors_origins.is_empty() { router } else { router.layer(cors(config)) };
    router
        .layer(CatchPanicLayer::custom(|_| Problem::Internal.response()))
        .layer(middleware::from_fn_with_state((metrics, Proxies::new(&config.trusted_proxies)), identified))
}

fn cors(config: &Config) -> CorsLayer {
    let origins: Vec<HeaderValue> = config.cors_origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_credentials(true)
        .allow_methods(AllowMethods::list([Method::GET, Method::POST]))
        .allow_headers(AllowHeaders::list([CONTENT_TYPE, axum::http::header::AUTHORIZATION, axum::http::header::ACCEPT, REQUEST_ID]))
        .expose_headers([REQUEST_ID])
}

/// Gives every request an id, in its answer and in the log.
async fn identified(State((metrics, proxies)): State<(Arc<Metrics>, Proxies)>, request: Request, next: Next) -> Response<Body> {
    let id = request
        .headers()
        .get(&REQUEST_ID)
        .filter(|value| {
            (1..=64).contains(&value.len()) && value.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        })
        .cloned()
        .or_else(|| HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()).ok())
        .unwrap_or_else(|| HeaderValue::from_static("-"));
    let client = request.extensions().get::<Peer>().map(|peer| proxies.client(peer.0, request.headers()));
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or("-"), client = client.map(tracing::field::display), method = %request.method(), path = request.uri().path());
    let timing = metrics.begin();
    let mut response = next.run(request).instrument(span.clone()).await;
    let duration_us = timing.end(response.status().as_u16());
    span.in_scope(|| tracing::debug!(status = response.status().as_u16(), duration_us, "answered"));
    response.headers_mut().insert(REQUEST_ID, id);
    response.headers_mut().insert(axum::http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn unknown() -> Response<Body> {
    Problem::NotFound("there is nothing at this address").response()
}

async fn only_get() -> Response<Body> {
    Problem::MethodNotAllowed("GET").response()
}

async fn health() -> Response<Body> {
    answer::json(StatusCode::OK, r#"{"status":"live"}"#)
}

async fn ready(State(service): State<Service>) -> Response<Body> {
    match service.reader.primary.ping().await {
        Ok(()) => answer::json(StatusCode::OK, r#"{"status":"ready"}"#),
        Err(error) => Problem::Store(error).response(),
    }
}

/// `/api/{context}/{plural}/{operation}` and `/api/{context}/{plural}/find/{id}`. The segments are read from the address
/// itself: what is no UTF-8 is no name of ours, and an id is taken apart before it is decoded.
async fn operation(State(service): State<Service>, request: Request) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let segments: Vec<&str> = path.split('/').skip(2).collect();
    let asked = match segments[..] {
        [_, _, "paginate"] => Asked::Rows(Operation::Paginate, None),
        [_, _, "list" | "get"] => Asked::Rows(Operation::List, None),
        [_, _, "find"] => Asked::Rows(Operation::Find, None),
        [_, _, "find", id] => Asked::Rows(Operation::Find, Some(id.to_owned())),
        [_, _, "explain"] => Asked::Explain,
        _ => return unknown().await,
    };
    let (Ok(context), Ok(plural)) = (percent_decode_str(segments[0]).decode_utf8(), percent_decode_str(segments[1]).decode_utf8()) else {
        return unknown().await;
    };
    Box::pin(asked.answer(&service, (&context, &plural), request)).await.unwrap_or_else(|problem| problem.response())
}

/// What an address asks for.
enum Asked {
    Rows(Operation, Option<String>),
    Explain,
}

impl Asked {
    async fn answer(self, service: &Service, (context, plural): (&str, &str), request: Request) -> Result<Response<Body>, Problem> {
        let resource = service.catalog.by_path(context, plural).ok_or(Problem::NotFound("there is nothing at this address"))?;
        if request.method() != Method::POST {
            return Err(Problem::MethodNotAllowed("POST"));
        }
        let viewer = service.gate.viewer();
        // Permission is decided before the statement is looked at.
        let entrance = policy::enter(&service.catalog, resource, &viewer).map_err(|policy::Denied| Problem::Forbidden)?;
        match self {
            Asked::Explain => {
                if !viewer.holds(explain::PERMISSION) {
                    return Err(Problem::Forbidden);
                }
                explain::answer(service, entrance, &viewer, request).await
            }
            Asked::Rows(operation, id) => rows(service, entrance, &viewer, (operation, id), request).await,
        }
    }
}

async fn rows(
    service: &Service,
    entrance: Entrance<'_>,
    viewer: &Viewer,
    (operation, id): (Operation, Option<String>),
    request: Request,
) -> Result<Response<Body>, Problem> {
    if id.is_some() && !entrance.resource().can_find_by_id(viewer) {
        return Err(Problem::NotFound("this resource has no key to find a row by"));
    }
    let (head, body) = request.into_parts();
    let format = answer::format(&head.headers, operation);
    let bytes = request::body(&head.headers, body).await?;
    let body = parse::body(&bytes)?;
    let statement = match body.constraint {
        Some(constraint) => merge(body.query, constraint),
        None => body.query,
    };
    let decoded = id.as_deref().map(|id| request::key_parts(id, entrance.resource().key.len()));
    let parts: Option<Vec<&str>> = decoded.as_ref().map(|parts| parts.iter().map(String::as_str).collect());
    let query = {
        let plan = plan::plan(entrance, statement, viewer, operation, parts.as_deref())?;
        sql::render(&plan, service.reader.primary.dialect())
    };
    Ok(answer::of(service.reader.run(query, format).await?, format))
}

/// Whether the header holds this media type, parameters aside.
fn is_media_type(headers: &HeaderMap, name: &HeaderName, accepted: impl Fn(&str) -> bool) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|item| accepted(item.split(';').next().unwrap_or_default().trim()))
}
