//! `POST /revoke` (RFC 7009): a client gives a token back, and the whole family ends with it; with `end_session=true` so does the session
//! that the family came out of, as a satellite wants it whose user signs out.

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use identity::error::{Error, ErrorCode};
use identity::grant::Family;
use identity::revocation::Revocation;
use identity::revocation::{ClientRevocation, Reach, revoked_by};
use identity::secret_token::RefreshToken;
use identity::token::AccessClaims;

use crate::error::oauth::{Fault, json_no_store, told};

use super::clients::Presented;
use super::{Hub, incoming};

const MISSING: Error = Error::new(ErrorCode::InvalidRequest, "token is missing");

pub(super) async fn answer(hub: &Hub, request: Request) -> Response<Body> {
    told(revoked(hub, request).await)
}

async fn revoked(hub: &Hub, request: Request) -> Result<Response<Body>, Fault> {
    let (sender, body) = incoming::posted(hub, request).await?;
    let presented = Presented::read(hub, &sender, &body).await?;
    let client = presented.prove(hub, &sender).await?;
    let family = family_of(hub, body.get("token").ok_or(MISSING)?).await?;
    let reach = if body.get("end_session") == Some("true") { Reach::Session } else { Reach::Family };
    let (records, occasion) = (hub.records(), sender.occasion());
    match family.and_then(|family| revoked_by(client, &family, reach)) {
        Some(ClientRevocation::Family(family)) => {
            store::hub_records::revocation::revoke(records, &Revocation::FamilyRevoked(family), None, occasion).await.map(drop)?;
        }
        Some(ClientRevocation::SessionOf(family)) => {
            store::hub_records::revocation::revoke_session_of(records, family, occasion).await.map(drop)?;
        }
        None => {}
    }
    // A token that is unknown or somebody else's gets the same answer: it is not good any more, as was asked.
    // Some clients read whatever comes as JSON.
    Ok(json_no_store("{}"))
}

/// The family of a token of either kind.
async fn family_of(hub: &Hub, text: &str) -> Result<Option<Family>, Fault> {
    if let Some(token) = RefreshToken::parse(text) {
        return Ok(store::hub_records::token_families::of_refresh_token(hub.records(), &token.digest()).await?);
    }
    match hub.verify::<AccessClaims>(text, hub.issuer()) {
        Ok(token) => {
            Ok(store::hub_records::token_families::load(hub.records(), token.claims().family).await?.map(|standing| standing.family))
        }
        Err(_) => Ok(None),
    }
}
