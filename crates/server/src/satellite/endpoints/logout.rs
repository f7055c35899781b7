//! `POST /auth/logout`: gives a refresh token back to the hub, which ends its family and the session that it came out of, and forgets here
//! and at every replica what was known of the account.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use identity::form;
use serde_json::json;
use store::shared::Invalidation;

use super::refresh::{ACCEPTED, MISSING};
use crate::problem::oauth::OauthError;
use crate::response::json_no_store;
use crate::satellite::{Satellite, json_request, rotated_tokens, token_exchange};

pub(super) async fn answer(State(satellite): State<Satellite>, request: Request) -> Result<Response<Body>, OauthError> {
    let satellite = &satellite;
    let (sender, mut texts) = json_request::posted(satellite, request, ["refresh_token"], ACCEPTED).await?;
    let token = texts.needed(0, MISSING)?;
    if !token_exchange::is_plausible(&token) {
        return Ok(gone(satellite));
    }
    let turn = satellite.0.token_limit.turn(&sender.address).await?;
    // A hub that does not introspect can still take the token back.
    let known = match token_exchange::bearer_of(satellite, &token).await {
        Err(OauthError::HubOdd) => None,
        known => known?,
    };
    let known = match known {
        None => rotated_tokens::whose(satellite, &token).await,
        known => known,
    };
    token_exchange::revoke(satellite, &token).await?;
    if known.is_none() {
        turn.refused().await?;
    }
    if let Some((account, family)) = known {
        // All of the account: with the session other families may have ended.
        if let Some(family) = family {
            satellite.drop_family(family);
        }
        satellite.drop_account(account);
        if let Err(error) = satellite.0.shared.publish(Invalidation::Account(account)).await {
            tracing::warn!(%error, "other replicas do not hear of a logout; they ask the hub within two minutes");
        }
        tracing::info!("login.ended");
    }
    Ok(gone(satellite))
}

/// What is answered whatever was given back: it is not good any more, as was asked.
fn gone(satellite: &Satellite) -> Response<Body> {
    json_no_store(json!({ "logout_url": farewell(satellite) }).to_string())
}

/// Where a browser may be led to lose the hub's cookie too, which means nothing any more, and come back to the app.
fn farewell(satellite: &Satellite) -> String {
    let at = &satellite.0.at;
    let back = format!("{}/", at.redirect.origin());
    let query = form::write([("client_id", at.client.as_str()), ("post_logout_redirect_uri", &back)]);
    format!("{}/logout?{query}", at.issuer)
}
