//! `GET /auth/me`: the account of the caller, as JSON.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::VARY;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response};

use crate::hub;
use crate::problem::Problem;
use crate::query_service::QueryService;
use crate::response::json_no_store;

use super::Authenticator;

pub(super) async fn answer(
    State(authenticator): State<Authenticator>,
    State(queries): State<Arc<QueryService>>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Problem::MethodNotAllowed("GET, HEAD"));
    }
    let row = Box::pin(row(&authenticator, &queries, &request.into_parts().0)).await?;
    let mut response = json_no_store(row);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Authorization"));
    Ok(response)
}

async fn row(authenticator: &Authenticator, queries: &QueryService, request: &Parts) -> Result<Bytes, Problem> {
    if let Some(satellite) = authenticator.as_satellite() {
        return satellite.row(&request.headers).await;
    }
    let caller = authenticator.caller(&request.headers, &request.extensions).await?;
    if authenticator.as_hub().is_none() {
        return Ok(caller.details().to_string().into());
    }
    hub::account_row(queries, caller.account().ok_or(Problem::Unauthenticated)?).await
}
