//! `/userinfo` (OpenID Connect): the account of an access token, in OpenID's words.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response};
use identity::bearer;
use identity::token::AccessClaims;
use serde_json::json;

use crate::auth::shown::refused;
use crate::error::Problem;
use crate::error::oauth::json_no_store;

use super::incoming::{self, Sender};
use super::{Hub, name_of};

pub(super) async fn answer(hub: &Hub, request: Request) -> Response<Body> {
    if !matches!(*request.method(), Method::GET | Method::HEAD | Method::POST) {
        return Problem::MethodNotAllowed("GET, POST").response();
    }
    let sender = incoming::bare(hub, request);
    described(hub, &sender).await.unwrap_or_else(|problem| problem.response())
}

async fn described(hub: &Hub, sender: &Sender) -> Result<Response<Body>, Problem> {
    let text = bearer::read(&sender.authorization()).map_err(|error| Problem::InvalidToken(error.description()))?;
    let token = hub.verify::<AccessClaims>(text.ok_or(Problem::Unauthenticated)?, hub.issuer()).map_err(refused)?;
    let account =
        hub.account_of(&token).await.map_err(Problem::of_records)?.ok_or(Problem::InvalidToken("the access token was revoked"))?;
    let mut told =
        json!({ "sub": account.id.to_string(), "preferred_username": name_of(&account), "updated_at": account.updated_at.unix() });
    if let Some(email) = &account.email {
        told["email"] = json!(email);
        // Nobody has proven it; an administrator wrote it down.
        told["email_verified"] = json!(false);
    }
    Ok(json_no_store(told.to_string()))
}
