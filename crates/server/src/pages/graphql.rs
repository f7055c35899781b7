//! `/graphql`: a browser that opens it gets a page with an editor; every other request is GraphQL.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, Request, State};
use axum::http::header::VARY;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response};
use axum::routing::{any, get};

use crate::authenticator::Authenticator;
use crate::caller::Caller;
use crate::graphql::{self, GraphqlService};
use crate::http::etag::StaticDocument;
use crate::http::request_context::wants_page;

use super::docs::{Asset, HTML, SCRIPT, STYLE, SignIn, with_page_headers};

const PAGE: &str = include_str!("graphql/index.html");
const FILES: [Asset; 3] = [
    ("/graphql/style.css", STYLE, include_str!("graphql/style.css")),
    ("/graphql/main.js", SCRIPT, include_str!("graphql/main.js")),
    ("/graphql/queries.js", SCRIPT, include_str!("graphql/queries.js")),
];

pub(super) fn routes<S>(sign_in: SignIn) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    GraphqlService: FromRef<S>,
{
    let page = StaticDocument::new(HTML, sign_in.written_into(PAGE));
    let endpoint = move |State(service): State<GraphqlService>, request: Request| {
        let page = is_opened(&request).then(|| page.answer(request.headers()));
        async move {
            match page {
                Some(page) => page_answer(&service, page, &request.into_parts().0).await,
                None => graphql::respond(&service, request).await,
            }
        }
    };
    FILES.into_iter().fold(Router::new().route("/graphql", any(endpoint)), |router, (path, media_type, text)| {
        let file = StaticDocument::new(media_type, text);
        router.route(path, get(async move |_: Caller, headers: HeaderMap| with_page_headers(file.answer(&headers))))
    })
}

/// Whether a browser opens the path itself. A URL with a query is a GraphQL request.
fn is_opened(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && request.uri().query().unwrap_or_default().is_empty()
        && wants_page(request.headers())
}

async fn page_answer(service: &GraphqlService, page: Response<Body>, request: &Parts) -> Response<Body> {
    let mut response = match service.authenticator.caller(&request.headers, &request.extensions).await {
        Ok(_) => with_page_headers(page),
        Err(problem) => problem.response(),
    };
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    response
}
