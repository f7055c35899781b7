//! `GET /api/iam/me`: the account of the caller, as every protocol answers it.

use axum::body::{Body, Bytes};
use axum::http::header::VARY;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response};
use query::json::Json;
use query::parse;
use query::plan::Operation;
use query::policy::{self, Viewer};
use uuid::Uuid;

use crate::budget::CallerKey;
use crate::hub::{ACCOUNT, Hub};
use crate::problem::Problem;
use crate::query_service::QueryService;
use crate::response::json_no_store;

/// The relations of the caller's own account that need no permission.
pub(crate) const ACCOUNT_RELATIONS: [&str; 2] = ["roles", "tenants"];

/// The row of an account. It comes from the primary database, since satellites rely on it, and needs no permission, since it is the
/// caller's own.
pub(crate) async fn account_row(queries: &QueryService, account: Uuid) -> Result<Bytes, Problem> {
    let resource = queries.catalog.by_name(ACCOUNT).ok_or(Problem::Internal("the catalog has no resource iam.account"))?;
    let viewer = Viewer::operator();
    let relations = ACCOUNT_RELATIONS.map(|name| (name.to_owned(), Json::Bool(true))).into();
    let statement = Json::Object(vec![("relations".to_owned(), Json::Object(relations))]);
    let query = {
        let access = policy::authorize_read(&queries.catalog, resource, &viewer).map_err(|policy::Denied(_)| Problem::Forbidden)?;
        queries.render(access, Operation::Find, Some(&[account.to_string()]), parse::layers(Some(statement), None))?
    };
    queries.record(CallerKey::Account(account), query).await?.ok_or(Problem::InvalidToken("the account is gone"))
}

pub(super) async fn answer(hub: &Hub, queries: &QueryService, request: &Parts) -> Result<Response<Body>, Problem> {
    let account = hub.caller(&request.headers, &request.extensions).await?.account().ok_or(Problem::Unauthenticated)?;
    let mut response = json_no_store(account_row(queries, account).await?);
    response.headers_mut().insert(VARY, HeaderValue::from_static("Authorization"));
    Ok(response)
}
