//! Responses that grant something: statuses 2xx and 3xx. Refusals are in `problem`.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, InvalidHeaderValue, LOCATION, PRAGMA, REFERRER_POLICY};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};

/// How many rows the server answers at most, on an answer to a statement that names no limit.
pub(crate) const ROW_LIMIT: HeaderName = HeaderName::from_static("x-row-limit");
/// On the answer to a write that was rolled back, as the request asked.
pub(crate) const DRY_RUN: HeaderName = HeaderName::from_static("dry-run");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

pub(crate) fn json(text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(crate) fn json_no_store(text: impl Into<Body>) -> Response<Body> {
    let mut response = json(text);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

pub(crate) fn created(mut response: Response<Body>) -> Response<Body> {
    *response.status_mut() = StatusCode::CREATED;
    response
}

pub(crate) fn no_content() -> Response<Body> {
    let mut response = with_status(StatusCode::NO_CONTENT);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

/// 304: the client has the current version.
pub(crate) fn not_modified() -> Response<Body> {
    with_status(StatusCode::NOT_MODIFIED)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// 302, for a GET.
    Found,
    /// 303, after a POST. The browser drops the body; with 307 it would send a password on.
    SeeOther,
}

/// A redirect that no cache keeps and that sends no `Referer`.
pub(crate) fn redirect(redirection: Redirection, location: &str) -> Result<Response<Body>, InvalidHeaderValue> {
    let mut response = with_status(match redirection {
        Redirection::Found => StatusCode::FOUND,
        Redirection::SeeOther => StatusCode::SEE_OTHER,
    });
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_str(location)?);
    headers.insert(CACHE_CONTROL, NO_STORE);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

fn with_status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
