//! `GET /auth/verify`: checks a token and permissions for a proxy in front of another service. Headers describe the account.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, HeaderName, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response};
use identity::form;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use crate::problem::Problem;

use super::{Authenticator, Caller};

const ID: HeaderName = HeaderName::from_static("x-account-id");
const USERNAME: HeaderName = HeaderName::from_static("x-account-username");
const EMAIL: HeaderName = HeaderName::from_static("x-account-email");
const PERMISSIONS: HeaderName = HeaderName::from_static("x-account-permissions");
const TENANTS: HeaderName = HeaderName::from_static("x-account-tenants");
/// Proxies limit the size of headers: a longer list is left out, never cut.
const MAX_TENANTS: usize = 50;
/// The characters that a header or our lists cannot hold.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b',').add(b' ').add(b'"').add(b'\\');

pub(super) async fn answer(State(authenticator): State<Authenticator>, request: Request) -> Response<Body> {
    let mut response = match Box::pin(verified(&authenticator, &request.into_parts().0)).await {
        Ok(response) => response,
        Err(problem) => problem.response(),
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(VARY, HeaderValue::from_static("Authorization"));
    response
}

async fn verified(authenticator: &Authenticator, request: &Parts) -> Result<Response<Body>, Problem> {
    if !matches!(request.method, Method::GET | Method::HEAD) {
        return Err(Problem::MethodNotAllowed("GET, HEAD"));
    }
    let asked = permissions(request.uri.query().unwrap_or_default())?;
    let caller = authenticator.caller(&request.headers, &request.extensions).await?;
    let refusal = || caller.refusal(&asked.join(" or "));
    let account = caller.account().ok_or_else(refusal)?;
    let held: Vec<&str> = asked.iter().map(String::as_str).filter(|name| caller.viewer().has_permission(name)).collect();
    if held.is_empty() && !asked.is_empty() {
        return Err(refusal());
    }
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    put(headers, ID, &account.to_string());
    describe(headers, &caller);
    if !held.is_empty() {
        put(headers, PERMISSIONS, &list(held.into_iter()));
    }
    Ok(response)
}

fn describe(headers: &mut HeaderMap, caller: &Caller) {
    let details = caller.details();
    for (name, key) in [(USERNAME, "username"), (EMAIL, "email")] {
        if let Some(text) = details[key].as_str() {
            put(headers, name, &utf8_percent_encode(text, ESCAPED).to_string());
        }
    }
    if let Some(tenants) = details["dTenants"].as_array().filter(|tenants| (1..=MAX_TENANTS).contains(&tenants.len())) {
        put(headers, TENANTS, &list(tenants.iter().filter_map(Value::as_str)));
    }
}

/// The permissions, one of which is enough. Without any, an account is enough.
fn permissions(query: &str) -> Result<Vec<String>, Problem> {
    let pairs = form::pairs(query).map_err(|error| Problem::Malformed(error.description()))?;
    let mut names = Vec::new();
    for (name, value) in pairs {
        if name != "permission" || value.is_empty() {
            return Err(Problem::Malformed("the query must be permission=…, once or several times"));
        }
        names.push(value);
    }
    Ok(names)
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    items.map(|item| utf8_percent_encode(item, ESCAPED).to_string()).collect::<Vec<_>>().join(",")
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
