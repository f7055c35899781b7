//! `POST /token`: answers the three grants.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use identity::grant::IssuedTokens;
use identity::scope::Scope;
use serde_json::{Map, Value};

use crate::clock;
use crate::hub::grants::TokenRequest;
use crate::hub::{Hub, client_authentication, form_request};
use crate::problem::oauth::OauthError;
use crate::random;
use crate::response::json_no_store;

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response<Body>, OauthError> {
    let hub = &hub;
    let (context, body) = form_request::posted(hub, request).await?;
    let credentials = client_authentication::read(hub, &context, &body).await?;
    let issue = TokenRequest { hub, context: &context, credentials: &credentials, body: &body }.execute().await?;
    hub.metrics().tokens_issued(body.get("grant_type"));
    Ok(json_no_store(written(hub, &issue)?))
}

/// RFC 6749, section 5.1.
fn written(hub: &Hub, issue: &IssuedTokens) -> Result<String, OauthError> {
    let now = clock::now();
    let access = hub.keys().sign(&issue.access_claims(hub.issuer(), random::uuid(), now))?;
    let mut answer = Map::new();
    if let Some(claims) = issue.id_claims(hub.issuer(), &access, now) {
        answer.insert("id_token".to_owned(), hub.keys().sign(&claims)?.into());
    }
    answer.insert("access_token".to_owned(), access.into());
    answer.insert("token_type".to_owned(), "Bearer".into());
    answer.insert("expires_in".to_owned(), issue.expires_in().into());
    answer.insert("refresh_token".to_owned(), issue.refresh_token().expose().as_str().into());
    answer.insert("scope".to_owned(), issue.scope().map_or("", Scope::as_str).into());
    Ok(Value::Object(answer).to_string())
}
