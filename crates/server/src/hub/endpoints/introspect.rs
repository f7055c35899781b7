//! `POST /introspect` (RFC 7662): tells a client whether a token that was issued for it is active.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::client::Authenticated;
use identity::error::{Error, ErrorCode};
use identity::grant::refresh_token;
use identity::grant::status::may_introspect;
use identity::secret_token::RefreshToken;
use identity::token::AccessClaims;
use serde_json::{Value, json};
use store::hub_records::token_families::{self, FoundToken, LoadedFamily};

use crate::hub::client_authentication::UnverifiedClient;
use crate::hub::{Hub, form_request, name_of};
use crate::problem::oauth::OauthError;
use crate::response::json_no_store;

const MISSING: Error = Error::new(ErrorCode::InvalidRequest, "token is missing");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(&hub, request).await?;
    let presented = UnverifiedClient::read(&hub, &context, &body).await?;
    let client = presented.authenticate(&hub, &context).await?;
    let text = body.get("token").ok_or(MISSING)?;
    let found = match RefreshToken::parse(text) {
        Some(token) => refresh(&hub, client, &token).await?,
        None => access(&hub, client, text).await?,
    };
    Ok(json_no_store(found.unwrap_or_else(|| json!({ "active": false })).to_string()))
}

async fn access(hub: &Hub, client: Authenticated<'_>, text: &str) -> Result<Option<Value>, OauthError> {
    let Ok(token) = hub.verify::<AccessClaims>(text, hub.issuer()) else { return Ok(None) };
    if !may_introspect(client, &token) {
        return Ok(None);
    }
    let Some(LoadedFamily { account, .. }) = hub.active_family(&token).await? else { return Ok(None) };
    let claims = token.claims();
    Ok(Some(json!({
        "active": true,
        "token_type": "Bearer",
        "iss": claims.common.issuer,
        "sub": account.id.to_string(),
        "aud": claims.common.audiences,
        "client_id": claims.client.as_str(),
        "username": name_of(&account),
        "scope": claims.scope.as_deref().unwrap_or_default(),
        "jti": claims.id.to_string(),
        "sid": claims.family.to_string(),
        "iat": claims.common.issued_at.unix(),
        "nbf": claims.common.issued_at.unix(),
        "exp": claims.common.expires_at.unix(),
    })))
}

async fn refresh(hub: &Hub, client: Authenticated<'_>, token: &RefreshToken) -> Result<Option<Value>, OauthError> {
    let rows = token_families::look_up(hub.records(), client.client().id.as_str(), &token.digest()).await?;
    let Some(found) = rows.and_then(|rows| rows.found) else { return Ok(None) };
    let FoundToken { family, account, .. } = &found;
    let (rows, terms) = (found.as_rows(), hub.terms());
    Ok(refresh_token::is_active(client, token, rows, terms).then(|| {
        json!({
            "active": true,
            "iss": hub.issuer(),
            "sub": account.id.to_string(),
            "client_id": family.client.as_str(),
            "username": name_of(account),
            "scope": family.scope.as_ref().map_or("", identity::scope::Scope::as_str),
            "sid": family.id.to_string(),
            "exp": rows.expires_at(terms.rules).unix(),
        })
    }))
}
