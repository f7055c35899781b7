//! `/docs`: the resources that a caller may query, and a playground. The page is static; its content comes from
//! `/docs/resources.json`, which depends on the caller.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY, X_FRAME_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response};
use axum::routing::get;

use crate::authenticator::Authenticator;
use crate::caller::Caller;
use crate::html::set_header;
use crate::http::etag::StaticDocument;
use crate::problem::Problem;
use crate::query_service::QueryService;

use super::resources;

/// Allows our own files only: nothing inline, no frame around the page, no form.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// A file of the page, compiled in.
#[derive(Clone, Copy)]
struct Asset {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

/// A script, served under its own name.
macro_rules! script {
    ($name:literal) => {
        Asset { path: concat!("/docs/", $name), media_type: SCRIPT, text: include_str!(concat!("docs/", $name)) }
    };
}

const ASSETS: [Asset; 21] = [
    Asset { path: "/docs", media_type: HTML, text: include_str!("docs/index.html") },
    Asset { path: "/docs/", media_type: HTML, text: include_str!("docs/index.html") },
    Asset { path: "/docs/style.css", media_type: STYLE, text: include_str!("docs/style.css") },
    Asset { path: "/docs/mark.svg", media_type: IMAGE, text: include_str!("docs/mark.svg") },
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

/// The page, its files, and the resources.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    QueryService: FromRef<S>,
{
    let page = ASSETS.into_iter().fold(Router::new(), |router, asset| {
        let file = StaticDocument::new(asset.media_type, asset.text);
        router.route(asset.path, get(async move |_: Caller, headers: HeaderMap| with_page_headers(file.answer(&headers))))
    });
    page.route("/docs/resources.json", get(visible_resources))
}

/// What the caller may see. Never cached, since it depends on the caller.
async fn visible_resources(
    State(authenticator): State<Authenticator>,
    State(queries): State<QueryService>,
    request: Parts,
) -> Response<Body> {
    let caller = match authenticator.caller(&request.headers, &request.extensions).await {
        Ok(caller) => caller,
        Err(problem) => return with_page_headers(problem.response()),
    };
    let Ok(text) = serde_json::to_vec(&resources::visible(&queries.catalog, caller.viewer())) else {
        return Problem::Internal("could not write the resources of /docs").response();
    };
    let mut response = Response::new(Body::from(text));
    set_header(&mut response, CONTENT_TYPE, "application/json");
    set_header(&mut response, CACHE_CONTROL, "no-store");
    set_header(&mut response, VARY, "Authorization");
    with_page_headers(response)
}

/// The headers of everything below `/docs`.
fn with_page_headers(mut response: Response<Body>) -> Response<Body> {
    set_header(&mut response, CONTENT_SECURITY_POLICY, CONTENT_POLICY);
    set_header(&mut response, REFERRER_POLICY, "no-referrer");
    set_header(&mut response, X_FRAME_OPTIONS, "DENY");
    response
}
