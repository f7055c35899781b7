//! Who am I: the account of a token, as REST, GraphQL and OpenID Connect tell it.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::VARY;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response};
use query::parse;
use query::plan::Operation;
use query::policy::{self, Viewer};
use uuid::Uuid;

use crate::app_state::Service;
use crate::budget::CallerKey;
use crate::hub::ACCOUNT;
use crate::problem::Problem;
use crate::problem::oauth::json_no_store;
use crate::query_service::statement_request;

/// An account is told together with what it belongs to.
const STATEMENT: &[u8] = br#"{"query":{"relations":{"roles":true,"tenants":true}}}"#;

/// The row of an account, by the same engine as every other row. It is asked of the database itself, never of a replica, since what a
/// satellite is told here is what it goes by; and without a permission, since it is the caller's own.
pub(crate) async fn row(service: &Service, account: Uuid) -> Result<Bytes, Problem> {
    let resource = service.catalog.by_name(ACCOUNT).ok_or(Problem::Internal("accounts are no resource here"))?;
    let viewer = Viewer::operator();
    let query = {
        let entrance = policy::enter(&service.catalog, resource, &viewer).map_err(|policy::Denied| Problem::Forbidden)?;
        let key = [account.to_string()];
        statement_request::render(service, entrance, Operation::Find, Some(&key), parse::body(STATEMENT)?)?
    };
    statement_request::row(service, CallerKey::Account(account), query).await?.ok_or(Problem::InvalidToken("the account is gone"))
}

/// `GET /api/iam/me`
pub(super) async fn answer(State(service): State<Service>, request: Parts) -> Response<Body> {
    told(&service, &request).await.unwrap_or_else(|problem| problem.response())
}

async fn told(service: &Service, request: &Parts) -> Result<Response<Body>, Problem> {
    let account = service.gate.caller(&request.headers, &request.extensions).await?.account().ok_or(Problem::Unauthenticated)?;
    let mut response = json_no_store(row(service, account).await?);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Authorization"));
    Ok(response)
}
