//! `POST /revoke` (RFC 7009): revokes the family of a token; with `end_session=true`, which satellites send at a logout, also its session.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::error::{Error, ErrorCode};
use identity::grant::Family;
use identity::revocation::{ClientRevocation, Reach, Revocation, revoked_by};
use identity::secret_token::RefreshToken;
use identity::token::AccessClaims;
use store::hub_records::unknown_secrets::{self, UnknownSecret};
use store::hub_records::{revocation, token_families};

use crate::hub::client_authentication::UnverifiedClient;
use crate::hub::{Hub, form_request};
use crate::problem::oauth::OauthError;
use crate::response::json_no_store;

const MISSING: Error = Error::new(ErrorCode::InvalidRequest, "token is missing");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(&hub, request).await?;
    let presented = UnverifiedClient::read(&hub, &context, &body).await?;
    let client = presented.authenticate(&hub, &context).await?;
    let family = family_of(&hub, body.get("token").ok_or(MISSING)?).await?;
    let reach = if body.get("end_session") == Some("true") { Reach::Session } else { Reach::Family };
    let (records, audit_context) = (hub.records(), context.audit_context());
    match family.and_then(|family| revoked_by(client, &family, reach)) {
        Some(ClientRevocation::Family(family)) => {
            revocation::revoke(records, &Revocation::FamilyRevoked(family), None, audit_context).await.map(drop)?;
        }
        Some(ClientRevocation::SessionOf(family)) => {
            revocation::revoke_session_of(records, family, audit_context).await.map(drop)?;
        }
        None => {}
    }
    // RFC 7009: an unknown token gets the same answer. Some clients parse every answer as JSON.
    Ok(json_no_store("{}"))
}

async fn family_of(hub: &Hub, text: &str) -> Result<Option<Family>, OauthError> {
    if let Some(token) = RefreshToken::parse(text) {
        let digest = token.digest();
        let found = token_families::of_refresh_token(hub.records(), &digest).await?;
        // "Revoked" must not be the answer of a database that misses the row.
        if found.is_some() || unknown_secrets::is_absent(hub.records(), UnknownSecret::RefreshToken(&digest)).await? {
            return Ok(found);
        }
        return Ok(token_families::of_refresh_token(hub.records(), &digest).await?);
    }
    match hub.verify::<AccessClaims>(text, hub.issuer()) {
        Ok(token) => Ok(token_families::load(hub.records(), token.claims().family).await?.map(|standing| standing.family)),
        Err(_) => Ok(None),
    }
}
