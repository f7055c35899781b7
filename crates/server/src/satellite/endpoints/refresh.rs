//! `POST /auth/refresh`: rotates a refresh token and returns a new access token.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::problem::oauth::OauthError;
use crate::response::json_no_store;
use crate::satellite::json_request::{self, malformed};
use crate::satellite::{Satellite, rotated_tokens, token_exchange};

pub(super) const ACCEPTED: &str = "the body has an unknown member; refresh_token is accepted";
pub(super) const MISSING: OauthError = malformed("refresh_token is missing; /auth/callback returned it");

pub(super) async fn answer(State(satellite): State<Satellite>, request: Request) -> Result<Response, OauthError> {
    let (context, [token]) = json_request::posted(&satellite, request, ["refresh_token"], ACCEPTED).await?;
    let token = token.ok_or(MISSING)?;
    let turn = satellite.0.refused_token_limit.turn(&context.address).await?;
    let tokens = match token_exchange::tokens(&satellite, &[("grant_type", "refresh_token"), ("refresh_token", &token)]).await {
        Ok(tokens) => tokens,
        Err(error) => {
            if matches!(error, OauthError::Rule(_)) {
                turn.refused().await?;
            }
            return Err(error);
        }
    };
    drop(turn);
    rotated_tokens::remember(&satellite, &token, &tokens).await;
    Ok(json_no_store(serde_json::Value::Object(tokens).to_string()))
}
