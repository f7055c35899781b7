//! `/docs`: a static page that shows what the caller may query, as `/docs/resources.json` lists it, and a playground.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY, X_FRAME_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response};
use axum::routing::get;

use crate::authenticator::Authenticator;
use crate::caller::Caller;
use crate::graphql::GraphqlService;
use crate::html::set_header;
use crate::http::etag::StaticDocument;
use crate::problem::Problem;
use crate::query_service::QueryService;

use super::resources;

/// Allows our own files only: nothing inline, no frame around the page, no form.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const STYLE: &str = "text/css; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// How a person signs in on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignIn {
    /// Nobody can: the strategy is `none`.
    None,
    /// At the sign-in page of this hub.
    Hub,
    /// Through `/auth/login`: the hub sends browsers back to this origin.
    Satellite,
    /// Only in the app: the hub sends browsers to another origin.
    Elsewhere,
}

impl SignIn {
    pub(crate) fn of(authenticator: &Authenticator) -> Self {
        match (authenticator.as_hub(), authenticator.as_satellite()) {
            (Some(_), _) => SignIn::Hub,
            (None, Some(satellite)) if satellite.finishes_logins() => SignIn::Satellite,
            (None, Some(_)) => SignIn::Elsewhere,
            (None, None) => SignIn::None,
        }
    }

    /// A page that knows how people sign in.
    pub(super) fn written_into(self, page: &str) -> String {
        page.replace("data-sign-in=\"\"", &format!("data-sign-in=\"{}\"", self.as_str()))
    }

    fn as_str(self) -> &'static str {
        match self {
            SignIn::None => "none",
            SignIn::Hub => "hub",
            SignIn::Satellite => "satellite",
            SignIn::Elsewhere => "elsewhere",
        }
    }
}

pub(super) type Asset = (&'static str, &'static str, &'static str);

macro_rules! scripts {
    ($($name:literal)+) => { [$((concat!("/docs/", $name), SCRIPT, include_str!(concat!("docs/", $name)))),+] };
}

const PAGE: [Asset; 4] = [
    ("/docs", HTML, include_str!("docs/index.html")),
    ("/docs/", HTML, include_str!("docs/index.html")),
    ("/docs/style.css", STYLE, include_str!("docs/style.css")),
    ("/docs/mark.svg", IMAGE, include_str!("docs/mark.svg")),
];
const SCRIPTS: [Asset; 34] = scripts! {
    "account.js" "answer.js" "catalog.js" "complete.js" "diagram.js" "dom.js" "editor.js" "examples.js" "explain.js"
    "fields-input.js" "fragment.js" "grammar.js" "history.js" "inputs.js" "json.js" "lists.js" "main.js" "menu.js" "paging.js"
    "paint.js" "payload.js" "playground.js" "pointer.js" "programs.js" "reference.js" "remembered.js" "request.js" "session.js"
    "snippets.js" "sql.js" "suggestions.js" "table.js" "withheld.js" "writes.js"
};

pub(super) fn routes<S>(sign_in: SignIn) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    Arc<QueryService>: FromRef<S>,
    GraphqlService: FromRef<S>,
{
    let page = PAGE.into_iter().chain(SCRIPTS).fold(Router::new(), |router, (path, media_type, text)| {
        let file = StaticDocument::new(media_type, sign_in.written_into(text));
        router.route(path, get(async move |_: Caller, headers: HeaderMap| with_page_headers(file.answer(&headers))))
    });
    page.route("/docs/resources.json", get(visible_resources))
}

/// What the caller may see. Never cached, since it depends on the caller.
async fn visible_resources(
    State(authenticator): State<Authenticator>,
    State(queries): State<Arc<QueryService>>,
    State(graphql): State<GraphqlService>,
    request: Parts,
) -> Response<Body> {
    let caller = match authenticator.caller(&request.headers, &request.extensions).await {
        Ok(caller) => caller,
        Err(problem) => return with_page_headers(problem.response()),
    };
    let visible = resources::visible((&queries.catalog, &graphql.engine), &caller);
    let Ok(text) = serde_json::to_vec(&visible) else {
        return Problem::Internal("could not write the resources of /docs").response();
    };
    let mut response = Response::new(Body::from(text));
    set_header(&mut response, CONTENT_TYPE, "application/json");
    set_header(&mut response, CACHE_CONTROL, "no-store");
    set_header(&mut response, VARY, "Authorization");
    with_page_headers(response)
}

pub(super) fn with_page_headers(mut response: Response<Body>) -> Response<Body> {
    set_header(&mut response, CONTENT_SECURITY_POLICY, CONTENT_POLICY);
    set_header(&mut response, REFERRER_POLICY, "no-referrer");
    set_header(&mut response, X_FRAME_OPTIONS, "DENY");
    response
}
