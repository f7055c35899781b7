//! `POST /session`: begins a session by an access token, for a hub with a sign-in page of its own.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::error::{Error, ErrorCode};
use identity::parameters::Parameters;
use identity::session::{Session, may_begin_by_token};
use identity::token::{AccessClaims, Verified};
use store::hub_records::clients;
use store::hub_records::sessions::SignInProof;
use store::hub_records::token_families::LoadedFamily;
use uuid::Uuid;

use crate::clock;
use crate::hub::Hub;
use crate::hub::form_request::{self, RequestContext};
use crate::hub::session_cookie::{self, Cookies};
use crate::problem::oauth::OauthError;
use crate::response::no_content;

const MISSING: Error = Error::new(ErrorCode::InvalidRequest, "access_token is missing");
const REFUSED: Error = Error::new(ErrorCode::InvalidToken, "the access token is not good here");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(&hub, request).await?;
    hub.refuse_cross_origin(&context).await?;
    match cookies(&hub, &context, &body).await? {
        Ok(cookies) => {
            let mut response = no_content();
            cookies.set(&mut response);
            Ok(response)
        }
        Err((account, error)) => {
            hub.note_refusal(&AuditEvent::SignInRefused { account, reason: SignInRefusal::Token }, &context).await?;
            Err(error.into())
        }
    }
}

/// The cookies of the session that the token begins, or the account of the token and why it begins none.
async fn cookies(hub: &Hub, context: &RequestContext, body: &Parameters) -> Result<Result<Cookies, (Option<Uuid>, Error)>, OauthError> {
    let token = body.get("access_token").ok_or(MISSING).and_then(|text| hub.verify(text, hub.issuer()).map_err(|_| REFUSED));
    let token: Verified<AccessClaims> = match token {
        Ok(token) => token,
        Err(error) => return Ok(Err((None, error))),
    };
    let account = Some(token.claims().account());
    match session_of(hub, &token).await? {
        Ok(session) => Ok(session_cookie::begin(hub, context, session, SignInProof::Token(&token)).await?.ok_or((account, REFUSED))),
        Err(error) => Ok(Err((account, error))),
    }
}

/// The session that a token may begin. It dates from the sign-in that began the token's family.
async fn session_of(hub: &Hub, token: &Verified<AccessClaims>) -> Result<Result<Session, Error>, store::Error> {
    let Some(LoadedFamily { family, account, .. }) = hub.standing_of(token).await? else { return Ok(Err(REFUSED)) };
    let Some(client) = clients::by_id(hub.records(), token.claims().client.as_str()).await? else {
        return Ok(Err(REFUSED));
    };
    let allowed = may_begin_by_token(token, &family, &client, clock::now());
    Ok(allowed.map(|()| session_cookie::fresh(account.id).proven_at(family.authenticated_at)))
}
