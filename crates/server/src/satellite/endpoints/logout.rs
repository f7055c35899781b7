//! `POST /auth/logout`: revokes a refresh token and its session at the hub, and drops the cached account here and at every replica.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::form;
use serde_json::json;
use store::replica_state::Invalidation;

use crate::problem::oauth::OauthError;
use crate::response::json_no_store;
use crate::satellite::{Satellite, json_request, rotated_tokens, token_exchange};

use super::refresh::{ACCEPTED, MISSING};

pub(super) async fn answer(State(satellite): State<Satellite>, request: Request) -> Result<Response, OauthError> {
    let (context, [token]) = json_request::posted(&satellite, request, ["refresh_token"], ACCEPTED).await?;
    let token = token.ok_or(MISSING)?;
    if !token_exchange::is_plausible(&token) {
        return Ok(revoked(&satellite));
    }
    let turn = satellite.0.refused_token_limit.turn(&context.address).await?;
    // A hub without introspection can still revoke the token.
    let known = match token_exchange::bearer_of(&satellite, &token).await {
        Err(OauthError::HubResponseInvalid) => None,
        known => known?,
    };
    let known = match known {
        None => rotated_tokens::account_of(&satellite, &token).await,
        known => known,
    };
    token_exchange::revoke(&satellite, &token).await?;
    if known.is_none() {
        turn.refused().await?;
    }
    if let Some((account, family)) = known {
        // The whole account: other families may have ended with the session.
        let cache = &satellite.0.account_cache;
        if let Some(family) = family {
            cache.invalidate(Invalidation::Family(family));
        }
        cache.invalidate(Invalidation::Account(account));
        if let Err(error) = satellite.0.shared.publish(Invalidation::Account(account)).await {
            tracing::warn!(%error, "could not tell other replicas of a logout; they ask the hub within two minutes");
        }
        tracing::info!("login.ended");
    }
    Ok(revoked(&satellite))
}

fn revoked(satellite: &Satellite) -> Response {
    json_no_store(json!({ "logout_url": logout_url(satellite) }).to_string())
}

/// The URL that removes the session cookie of the hub and returns to the app.
fn logout_url(satellite: &Satellite) -> String {
    let at = &satellite.0.at;
    let back = format!("{}/", at.redirect.origin());
    let query = form::write([("client_id", at.client.as_str()), ("post_logout_redirect_uri", &back)]);
    format!("{}/logout?{query}", at.issuer)
}
