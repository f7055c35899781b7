//! `/`: the account page with its sessions, where a person signs out or changes the password.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use identity::account::Account;
use identity::audit_event::SignInRefusal;
use identity::error::{Error, ErrorCode};
use identity::parameters::Parameters;
use identity::password::{Password, Proof};
use identity::revocation::Revocation;
use identity::session::LiveSession;
use query::catalog::OWN_CONTEXTS;
use store::hub_records::revocation;
use store::hub_records::sessions::{self, SessionDetails};
use uuid::Uuid;

use crate::clock;
use crate::http::request_context::page_at_app_url;
use crate::hub::credentials::{self, Renewal, Right};
use crate::hub::form_request::{self, RequestContext};
use crate::hub::pages::{self, AccountPage, Notice, PasswordInput, PasswordRefusal, SessionRow, notice};
use crate::hub::session_cookie::Cookies;
use crate::hub::{Hub, name_of, session_cookie, user_agent};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};

const WRONG: Error = Error::new(ErrorCode::InvalidGrant, "the current password is wrong");
const UNKNOWN: Error = Error::new(ErrorCode::InvalidRequest, "there is no such action");
/// The sessions on the page. A program that signs in again and again makes any number.
const MAX_SESSIONS: i64 = 50;

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response {
    let answered = match *request.method() {
        Method::GET | Method::HEAD => match page_at_app_url(hub.issuer(), request.headers(), request.uri()) {
            Some(url) => redirect(Redirection::Found, &url).map_err(Into::into),
            None => show(&hub, &form_request::bare(&hub, request), None).await,
        },
        Method::POST => act(&hub, request).await,
        _ => Err(OauthError::Method("GET, POST")),
    };
    answered.unwrap_or_else(|error| pages::refusal(&error))
}

async fn show(hub: &Hub, context: &RequestContext, refusal: Option<&PasswordRefusal>) -> Result<Response, OauthError> {
    let Some((live, account)) = session_cookie::live(hub, context).await? else {
        return Ok(redirect(Redirection::SeeOther, "/sign-in")?);
    };
    let parameters = context.parameters()?;
    // The session of this browser comes first.
    let listed = sessions::of_account(hub.records(), account.id, Some(live.id()), MAX_SESSIONS, clock::now()).await?;
    let page = AccountPage {
        id: account.id,
        name: name_of(&account),
        email: account.email.as_deref(),
        may_read_records: may_read_records(&account),
        more: listed.all.saturating_sub(MAX_SESSIONS),
        sessions: listed.seen.into_iter().map(|seen| session_line(seen, live)).collect(),
        notice: Notice::from_word(parameters.get("done")).filter(|_| refusal.is_none()),
        refusal,
    };
    Ok(pages::account(&page))
}

/// Whether `/docs` has records of the hub for an account.
fn may_read_records(account: &Account) -> bool {
    let is_own = |permission: &str| permission.split_once('.').is_some_and(|(context, _)| OWN_CONTEXTS.contains(&context));
    account.rights.are_everything() || account.rights.all().any(is_own)
}

fn session_line(seen: SessionDetails, live: LiveSession) -> SessionRow {
    SessionRow {
        id: seen.session.id,
        is_current: seen.session.id == live.id(),
        device: user_agent::name(seen.device.as_deref()),
        signed_in_at: clock::rfc3339(seen.session.authenticated_at),
        last_used: ago(clock::now().since(seen.last_used_at)),
        client_address: seen.address,
    }
}

async fn act(hub: &Hub, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(hub, request).await?;
    hub.refuse_cross_origin(&context).await?;
    let Some((live, account)) = session_cookie::live(hub, &context).await? else {
        return Ok(redirect(Redirection::SeeOther, &notice::OVER.at("/sign-in"))?);
    };
    // Another tab may have signed in to another account, which did not ask for this.
    if body.get("account").is_some_and(|named| named != account.id.to_string()) {
        return Ok(redirect(Redirection::SeeOther, &notice::ANOTHER_ACCOUNT.at("/"))?);
    }
    match body.get("action") {
        Some("end") => end_one(hub, &context, &account, live, body.get("session")).await,
        Some("everywhere") => {
            revocation::revoke(hub.records(), &Revocation::LogoutEverywhere(account.id), None, context.audit_context()).await?;
            signed_out(hub, &context, &notice::SIGNED_OUT_EVERYWHERE.at("/sign-in"))
        }
        Some("password") => match change_password(hub, &context, &account, live, &body).await {
            Ok(()) => Ok(redirect(Redirection::SeeOther, &notice::PASSWORD_CHANGED.at("/"))?),
            Err(refused) => show(hub, &context, Some(&refused)).await,
        },
        _ => Err(UNKNOWN.into()),
    }
}

fn signed_out(hub: &Hub, context: &RequestContext, url: &str) -> Result<Response, OauthError> {
    Ok(Cookies::cleared(hub, context)?.added_to(redirect(Redirection::SeeOther, url)?))
}

async fn end_one(
    hub: &Hub,
    context: &RequestContext,
    account: &Account,
    live: LiveSession,
    id: Option<&str>,
) -> Result<Response, OauthError> {
    let id: Uuid = id.and_then(|id| id.parse().ok()).ok_or(UNKNOWN)?;
    if sessions::owner(hub.records(), id, clock::now()).await? == Some(account.id) {
        revocation::revoke(hub.records(), &Revocation::Logout(id), None, context.audit_context()).await?;
    }
    if id == live.id() {
        return signed_out(hub, context, "/sign-in");
    }
    Ok(redirect(Redirection::SeeOther, &notice::SESSION_ENDED.at("/"))?)
}

/// Sets a new password, given the present one. It ends everything but this session.
async fn change_password(
    hub: &Hub,
    context: &RequestContext,
    account: &Account,
    live: LiveSession,
    body: &Parameters,
) -> Result<(), PasswordRefusal> {
    let at = |input| move |error| PasswordRefusal { error, input };
    let present = Password::presented(body.get("present").unwrap_or_default()).map_err(|_| at(PasswordInput::Current)(WRONG.into()))?;
    let chosen = Password::chosen(body.get("chosen").unwrap_or_default())
        .map_err(|_| at(PasswordInput::New)(credentials::INVALID_PASSWORD.into()))?;
    let proof = check_present(hub, context, account, present).await.map_err(at(PasswordInput::Current))?;
    let hash = async { hub.hasher().admit()?.make(chosen).await }.await.map_err(at(PasswordInput::New))?;
    let renewal = Renewal { account: account.id, hash: &hash, right: Right::Present(&proof, live) };
    save(hub, context, &renewal).await.map_err(at(PasswordInput::Current))
}

/// Checks the present password behind the throttle of the sign-in, so that an open browser is no place to guess.
async fn check_present(hub: &Hub, context: &RequestContext, account: &Account, present: Password) -> Result<Proof, OauthError> {
    let checked = credentials::check(hub, name_of(account), present, context).await?;
    checked.admitted().filter(|(found, _)| found.id == account.id).map(|(_, proof)| proof.clone()).ok_or(WRONG.into())
}

/// Saves the new password, unless the present one changed or the session ended meanwhile.
async fn save(hub: &Hub, context: &RequestContext, renewal: &Renewal<'_>) -> Result<(), OauthError> {
    let transaction = hub.records().begin().await?;
    if !credentials::renew(transaction, renewal, context).await? {
        credentials::record_failure(hub, Some(renewal.account), SignInRefusal::Credentials, context).await?;
        return Err(WRONG.into());
    }
    Ok(())
}

fn ago(seconds: i64) -> String {
    match seconds {
        ..120 => "just now".to_owned(),
        120..7_200 => format!("{} minutes ago", seconds / 60),
        _ => format!("{} hours ago", seconds / 3_600),
    }
}
