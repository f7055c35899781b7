//! `POST /session`: begins a session by an access token, for a hub with a sign-in page of its own.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::error::{Error, ErrorCode};
use identity::session::may_begin_by_token;
use identity::token::{AccessClaims, Verified};
use store::hub_records::clients;
use store::hub_records::sessions::SignInProof;
use store::hub_records::token_families::LoadedFamily;

use crate::clock;
use crate::hub::Hub;
use crate::hub::form_request::{self, RequestContext};
use crate::hub::session_cookie::{self, Cookies};
use crate::problem::oauth::OauthError;
use crate::response::no_content;

const MISSING: Error = Error::new(ErrorCode::InvalidRequest, "access_token is missing");
const REFUSED: Error = Error::new(ErrorCode::InvalidToken, "the access token is not valid for this server; sign in again");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(&hub, request).await?;
    hub.refuse_cross_origin(&context).await?;
    let token = body.get("access_token").ok_or(MISSING).and_then(|text| hub.verify(text, hub.issuer()).map_err(|_| REFUSED));
    let begun = match &token {
        Ok(token) => begin(&hub, &context, token).await?,
        Err(error) => Err(*error),
    };
    match begun {
        Ok(cookies) => Ok(cookies.added_to(no_content())),
        Err(error) => {
            let account = token.ok().map(|token| token.claims().account());
            hub.note_refusal(&AuditEvent::SignInRefused { account, reason: SignInRefusal::Token }, context.audit_context()).await?;
            Err(error.into())
        }
    }
}

/// Begins the session of a token. It dates from the sign-in that began the token's family.
async fn begin(hub: &Hub, context: &RequestContext, token: &Verified<AccessClaims>) -> Result<Result<Cookies, Error>, OauthError> {
    let Some(LoadedFamily { family, account, .. }) = hub.active_family(token).await? else { return Ok(Err(REFUSED)) };
    let Some(client) = clients::by_id(hub.records(), token.claims().client.as_str()).await? else { return Ok(Err(REFUSED)) };
    if let Err(error) = may_begin_by_token(token, &family, &client, clock::now()) {
        return Ok(Err(error));
    }
    let session = session_cookie::fresh(account.id).proven_at(family.authenticated_at);
    Ok(session_cookie::begin(hub, context, session, SignInProof::Token(token)).await?.ok_or(REFUSED))
}
