//! `GET /auth/me`: the account of the caller, as JSON.

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::VARY;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response};

use crate::app_state::Service;
use crate::hub;
use crate::problem::Problem;
use crate::problem::oauth::json_no_store;

pub(super) async fn answer(State(service): State<Service>, request: Request) -> Response<Body> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Problem::MethodNotAllowed("GET, HEAD").response();
    }
    match Box::pin(row(&service, &request.into_parts().0)).await {
        Ok(row) => {
            let mut response = json_no_store(row);
            response.headers_mut().insert(VARY, HeaderValue::from_static("Authorization"));
            response
        }
        Err(problem) => problem.response(),
    }
}

/// Without an authority everybody is the anonymous account.
async fn row(service: &Service, request: &Parts) -> Result<Bytes, Problem> {
    if let Some(satellite) = service.gate.as_satellite() {
        return satellite.row(&request.headers).await;
    }
    let caller = service.gate.caller(&request.headers, &request.extensions).await?;
    if service.gate.as_hub().is_none() {
        return Ok(caller.details().to_string().into());
    }
    hub::endpoints::me::row(service, caller.account().ok_or(Problem::Unauthenticated)?).await
}
