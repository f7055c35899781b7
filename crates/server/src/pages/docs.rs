//! `/docs`: what a caller may ask, and a playground to ask it in. The page is static; what it shows comes from
//! `/docs/resources.json`, which depends on the caller.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, VARY, X_FRAME_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response};
use axum::routing::get;

use crate::authenticator::Authenticator;
use crate::caller::Caller;
use crate::http::etag::StaticDocument;
use crate::problem::Problem;
use crate::query_service::QueryService;

use super::resources;

/// Nothing but our own files, nothing inline, no frame around us and no form that leaves.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// A file of the page, compiled in.
#[derive(Clone, Copy)]
struct Asset {
    address: &'static str,
    kind: &'static str,
    text: &'static str,
}

/// A script under its own name.
macro_rules! script {
    ($name:literal) => {
        Asset { address: concat!("/docs/", $name), kind: SCRIPT, text: include_str!(concat!("docs/", $name)) }
    };
}

const ASSETS: [Asset; 21] = [
    Asset { address: "/docs", kind: HTML, text: include_str!("docs/index.html") },
    Asset { address: "/docs/", kind: HTML, text: include_str!("docs/index.html") },
    Asset { address: "/docs/style.css", kind: STYLE, text: include_str!("docs/style.css") },
    Asset { address: "/docs/mark.svg", kind: IMAGE, text: include_str!("docs/mark.svg") },
    script!("answer.js"),
    script!("catalog.js"),
    script!("complete.js"),
    script!("dom.js"),
    script!("editor.js"),
    script!("explain.js"),
    script!("fragment.js"),
    script!("grammar.js"),
    script!("json.js"),
    script!("main.js"),
    script!("paint.js"),
    script!("playground.js"),
    script!("pointer.js"),
    script!("reference.js"),
    script!("request.js"),
    script!("suggestions.js"),
    script!("table.js"),
];

/// The page, its files, and what it shows.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    QueryService: FromRef<S>,
{
    let page = ASSETS.into_iter().fold(Router::new(), |router, asset| {
        let file = StaticDocument::new(asset.kind, asset.text);
        router.route(asset.address, get(async move |_: Caller, headers: HeaderMap| guarded(file.answer(&headers))))
    });
    page.route("/docs/resources.json", get(described))
}

/// What the caller may see; never kept, since it is the caller's own.
async fn described(State(authenticator): State<Authenticator>, State(queries): State<QueryService>, request: Parts) -> Response<Body> {
    let caller = match authenticator.caller(&request.headers, &request.extensions).await {
        Ok(caller) => caller,
        Err(problem) => return guarded(problem.response()),
    };
    let Ok(text) = serde_json::to_vec(&resources::visible(&queries.catalog, caller.viewer())) else {
        return Problem::Internal("the page of the docs cannot be written").response();
    };
    let mut response = Response::new(Body::from(text));
    set(&mut response, CONTENT_TYPE, "application/json");
    set(&mut response, CACHE_CONTROL, "no-store");
    set(&mut response, VARY, "Authorization");
    guarded(response)
}

/// The headers of everything below `/docs`.
fn guarded(mut response: Response<Body>) -> Response<Body> {
    set(&mut response, CONTENT_SECURITY_POLICY, POLICY);
    set(&mut response, REFERRER_POLICY, "no-referrer");
    set(&mut response, X_FRAME_OPTIONS, "DENY");
    response
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}
