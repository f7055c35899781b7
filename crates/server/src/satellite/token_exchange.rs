//! What a satellite trades at its hub as the confidential client: codes and refresh tokens for tokens, and tokens back.

use axum::http::HeaderValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use identity::error::{Error, ErrorCode};
use identity::form;
use serde_json::{Map, Value};
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::config::SatelliteSettings;
use crate::problem::oauth::OauthError;

use super::Satellite;
use super::hub_client::{Answer, Ask, Lane};
use super::rotated_tokens::Bearer;

/// The longest code or refresh token in bytes.
const LONGEST: usize = 4_096;
const GRANT: Error =
    Error::new(ErrorCode::InvalidGrant, "the hub refuses it: it is expired, was used before or was revoked; sign in again");
const REQUEST: Error = Error::new(ErrorCode::InvalidRequest, "the hub does not take what was sent; begin again at /auth/login");
const CLIENT: Error = Error::new(ErrorCode::UnauthorizedClient, "the hub does not grant this to the client of this satellite");
const DENIED: Error = Error::new(ErrorCode::AccessDenied, "the hub does not let the account use this app");

/// Whether a hub could have given this out as a code or a token. What is longer is not sent there: it would be refused for its size, in
/// words that say nothing of the grant.
pub(super) fn is_plausible(text: &str) -> bool {
    text.len() <= LONGEST
}

/// Trades what a form says for tokens: the answer for the app.
pub(super) async fn tokens(satellite: &Satellite, pairs: &[(&str, &str)]) -> Result<Map<String, Value>, OauthError> {
    if !pairs.iter().all(|(_, text)| is_plausible(text)) {
        return Err(GRANT.into());
    }
    let answer = send(satellite, "/token", pairs).await?;
    let mut told = object(&answer)?;
    let mut tokens = Map::new();
    for name in ["access_token", "refresh_token"] {
        let token = told.remove(name).filter(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        tokens.insert(name.to_owned(), token.ok_or(OauthError::HubOdd)?);
    }
    tokens.insert("token_type".to_owned(), "Bearer".into());
    for name in ["expires_in", "scope"] {
        tokens.extend(told.remove(name).map(|value| (name.to_owned(), value)));
    }
    Ok(tokens)
}

/// The account that a refresh token of ours is of, and the family if it has an id; none if it is not good any more.
pub(super) async fn bearer_of(satellite: &Satellite, token: &str) -> Result<Option<Bearer>, OauthError> {
    let told = object(&send(satellite, "/introspect", &[("token", token)]).await?)?;
    let id = |name: &str| told.get(name).and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok());
    Ok(id("sub").map(|account| (account, id("sid"))).filter(|_| told.get("active") == Some(&Value::Bool(true))))
}

/// Gives a refresh token back: its family ends, and with it the session at the hub that it came out of.
pub(super) async fn revoke(satellite: &Satellite, token: &str) -> Result<(), OauthError> {
    let pairs = [("token", token), ("token_type_hint", "refresh_token"), ("end_session", "true")];
    send(satellite, "/revoke", &pairs).await.map(|_| ())
}

/// By which the client shows its secret.
pub(super) fn credentials(settings: &SatelliteSettings) -> Result<HeaderValue, OauthError> {
    let pair = format!("{}:{}", form::encode(settings.client.as_str()), form::encode(settings.secret.expose()));
    let basic = Zeroizing::new(format!("Basic {}", STANDARD.encode(Zeroizing::new(pair).as_bytes())));
    let mut basic = HeaderValue::from_str(&basic).map_err(|_| OauthError::Internal("the client's secret cannot stand in a header"))?;
    basic.set_sensitive(true);
    Ok(basic)
}

/// Posts a form as the client; a refusal of the hub becomes ours.
async fn send(satellite: &Satellite, path: &str, pairs: &[(&str, &str)]) -> Result<Answer, OauthError> {
    let client = credentials(&satellite.0.settings)?;
    let answer = satellite.0.upstream.send(Lane::Grants, Ask::form(path, pairs, client)).await.map_err(|trouble| {
        tracing::warn!(%trouble, path, "the hub could not be asked");
        OauthError::HubAway
    })?;
    match answer.status {
        200 => Ok(answer),
        429 | 500.. => {
            tracing::warn!(status = answer.status, path, "the hub cannot answer now");
            Err(OauthError::HubAway)
        }
        status => Err(refusal(&answer).unwrap_or_else(|| {
            tracing::error!(status, path, "the hub's answer is not understood");
            OauthError::HubOdd
        })),
    }
}

/// What the hub refuses, in our words: its own are not passed on.
fn refusal(answer: &Answer) -> Option<OauthError> {
    let told = object(answer).ok()?;
    Some(match told.get("error")?.as_str()? {
        "invalid_grant" => GRANT.into(),
        "invalid_request" => REQUEST.into(),
        "invalid_client" => OauthError::HubRefuses,
        "unauthorized_client" => CLIENT.into(),
        "access_denied" => DENIED.into(),
        _ => return None,
    })
}

fn object(answer: &Answer) -> Result<Map<String, Value>, OauthError> {
    serde_json::from_slice(&answer.body).map_err(|_| OauthError::HubOdd)
}
