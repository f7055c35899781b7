//! The requests of a satellite to its hub as a confidential client: token, introspection and revocation.

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
use super::hub_client::{HubRequest, HubResponse, Lane};
use super::rotated_tokens::Bearer;

const MAX_TOKEN_BYTES: usize = 4_096;
const GRANT: Error = Error::new(ErrorCode::InvalidGrant, "the hub refuses the grant: it is expired, used or revoked; sign in again");
const REQUEST: Error = Error::new(ErrorCode::InvalidRequest, "the hub cannot read the request; begin again at /auth/login");
const CLIENT: Error = Error::new(ErrorCode::UnauthorizedClient, "the client of this satellite may not use this grant");
const DENIED: Error = Error::new(ErrorCode::AccessDenied, "the account may not use this app");

/// Whether a hub could have issued this code or token. A longer one is not sent to the hub, which would refuse it for its size.
pub(super) fn is_plausible(text: &str) -> bool {
    text.len() <= MAX_TOKEN_BYTES
}

pub(super) async fn tokens(satellite: &Satellite, pairs: &[(&str, &str)]) -> Result<Map<String, Value>, OauthError> {
    if !pairs.iter().all(|(_, text)| is_plausible(text)) {
        return Err(GRANT.into());
    }
    let answer = send(satellite, "/token", pairs).await?;
    let mut fields = object(&answer)?;
    let mut tokens = Map::new();
    for name in ["access_token", "refresh_token"] {
        let token = fields.remove(name).filter(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        tokens.insert(name.to_owned(), token.ok_or(OauthError::HubResponseInvalid)?);
    }
    tokens.insert("token_type".to_owned(), "Bearer".into());
    for name in ["expires_in", "scope"] {
        tokens.extend(fields.remove(name).map(|value| (name.to_owned(), value)));
    }
    Ok(tokens)
}

/// The account of a refresh token, and its family if it has an id; none if the token is not active.
pub(super) async fn bearer_of(satellite: &Satellite, token: &str) -> Result<Option<Bearer>, OauthError> {
    let fields = object(&send(satellite, "/introspect", &[("token", token)]).await?)?;
    let id = |name: &str| fields.get(name).and_then(Value::as_str).and_then(|id| Uuid::try_parse(id).ok());
    Ok(id("sub").map(|account| (account, id("sid"))).filter(|_| fields.get("active") == Some(&Value::Bool(true))))
}

/// Revokes a refresh token: its family and its session at the hub end.
pub(super) async fn revoke(satellite: &Satellite, token: &str) -> Result<(), OauthError> {
    let pairs = [("token", token), ("token_type_hint", "refresh_token"), ("end_session", "true")];
    send(satellite, "/revoke", &pairs).await.map(|_| ())
}

pub(super) fn credentials(settings: &SatelliteSettings) -> Result<HeaderValue, OauthError> {
    let pair = format!("{}:{}", form::encode(settings.client.as_str()), form::encode(settings.secret.expose()));
    let basic = Zeroizing::new(format!("Basic {}", STANDARD.encode(Zeroizing::new(pair).as_bytes())));
    let mut basic = HeaderValue::from_str(&basic).map_err(|_| OauthError::Internal("the client secret cannot be sent in a header"))?;
    basic.set_sensitive(true);
    Ok(basic)
}

/// Posts a form as the client. A refusal of the hub becomes a refusal of the satellite.
async fn send(satellite: &Satellite, path: &str, pairs: &[(&str, &str)]) -> Result<HubResponse, OauthError> {
    let client = credentials(&satellite.0.settings)?;
    let answer = satellite.0.hub_client.send(Lane::Grants, HubRequest::form(path, pairs, client)).await.map_err(|error| {
        tracing::warn!(%error, path, "could not reach the hub");
        OauthError::HubUnavailable
    })?;
    match answer.status {
        200 => Ok(answer),
        429 | 500.. => {
            tracing::warn!(status = answer.status, path, "the hub cannot answer now");
            Err(OauthError::HubUnavailable)
        }
        status => Err(refusal(&answer).unwrap_or_else(|| {
            tracing::error!(status, path, "cannot read the answer of the hub");
            OauthError::HubResponseInvalid
        })),
    }
}

/// The refusal of the hub. Its own description is not passed on.
fn refusal(answer: &HubResponse) -> Option<OauthError> {
    let fields = object(answer).ok()?;
    Some(match fields.get("error")?.as_str()? {
        "invalid_grant" => GRANT.into(),
        "invalid_request" => REQUEST.into(),
        "invalid_client" => OauthError::HubRefuses,
        "unauthorized_client" => CLIENT.into(),
        "access_denied" => DENIED.into(),
        _ => return None,
    })
}

fn object(answer: &HubResponse) -> Result<Map<String, Value>, OauthError> {
    serde_json::from_slice(&answer.body).map_err(|_| OauthError::HubResponseInvalid)
}
