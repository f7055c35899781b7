//! `/`: who is signed in, their sessions, and what they can do about both.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response};
use identity::account::Account;
use identity::error::{Error, ErrorCode};
use identity::event::SignInRefusal;
use identity::parameters::Parameters;
use identity::password::{Password, PasswordHash, Proof};
use identity::session::{Ending, LiveSession};
use store::sessions::Seen;
use uuid::Uuid;

use crate::clock;
use crate::hub::credentials::{self, Renewal, Right};
use crate::hub::form_request::{self, RequestContext};
use crate::hub::session_cookie::Cookies;
use crate::hub::{Hub, name_of, session_cookie, user_agent};
use crate::pages::hub::{self as pages, AccountPage, ChangeRefused, Field, Here, Notice, SessionLine};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};

const WRONG: Error = Error::new(ErrorCode::InvalidGrant, "the current password is wrong");
const UNKNOWN: Error = Error::new(ErrorCode::InvalidRequest, "there is no such action");
/// A list of more would be read by nobody; a program that signs in again and again makes any number.
const SHOWN: i64 = 50;

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response<Body> {
    let hub = &hub;
    let answered = match *request.method() {
        Method::GET | Method::HEAD => {
            let sender = form_request::bare(hub, request);
            shown(hub, &sender, None).await
        }
        Method::POST => acted(hub, request).await,
        _ => Err(OauthError::Method("GET, POST")),
    };
    answered.unwrap_or_else(|fault| pages::refusal(&fault))
}

async fn shown(hub: &Hub, sender: &RequestContext, refusal: Option<&ChangeRefused>) -> Result<Response<Body>, OauthError> {
    let Some((live, account)) = session_cookie::live(hub, sender).await? else {
        return Ok(redirect(Redirection::SeeOther, "/sign-in")?);
    };
    let parameters = sender.parameters()?;
    // The session one is in comes first, however many there are.
    let listed = store::sessions::of_account(hub.records(), account.id, Some(live.id()), SHOWN, clock::now()).await?;
    let page = AccountPage {
        id: account.id,
        name: name_of(&account),
        email: account.email.as_deref(),
        more: listed.all.saturating_sub(SHOWN),
        sessions: listed.seen.into_iter().map(|seen| line(seen, live)).collect(),
        notice: Notice::from_word(parameters.get("done")).filter(|_| refusal.is_none()),
        refusal,
    };
    Ok(pages::account(&page))
}

fn line(seen: Seen, live: LiveSession) -> SessionLine {
    SessionLine {
        id: seen.session.id,
        here: if seen.session.id == live.id() { Here::Yes } else { Here::No },
        device: user_agent::name(seen.device.as_deref()),
        signed_in_at: clock::rfc3339(seen.session.authenticated_at),
        used: ago(clock::now().since(seen.last_used_at)),
        address: seen.address,
    }
}

async fn acted(hub: &Hub, request: Request) -> Result<Response<Body>, OauthError> {
    let (sender, body) = form_request::posted(hub, request).await?;
    hub.refuse_foreign(&sender).await?;
    let Some((live, account)) = session_cookie::live(hub, &sender).await? else {
        return Ok(redirect(Redirection::SeeOther, &Notice::Over.at("/sign-in"))?);
    };
    // Another tab may have signed somebody else in, who did not ask for this.
    if body.get("account").is_some_and(|shown| shown != account.id.to_string()) {
        return Ok(redirect(Redirection::SeeOther, &Notice::AnotherAccount.at("/"))?);
    }
    match body.get("action") {
        Some("end") => end_one(hub, &sender, &account, live, body.get("session")).await,
        Some("everywhere") => {
            store::endings::end(hub.records(), &Ending::LogoutEverywhere(account.id), None, sender.occasion()).await?;
            goodbye(hub, &sender, &Notice::SignedOutEverywhere.at("/sign-in"))
        }
        Some("password") => match change(hub, &sender, &account, live, &body).await {
            Ok(()) => Ok(redirect(Redirection::SeeOther, &Notice::PasswordChanged.at("/"))?),
            Err(refused) => shown(hub, &sender, Some(&refused)).await,
        },
        _ => Err(UNKNOWN.into()),
    }
}

/// Leads on without the cookie.
fn goodbye(hub: &Hub, sender: &RequestContext, address: &str) -> Result<Response<Body>, OauthError> {
    let mut response = redirect(Redirection::SeeOther, address)?;
    Cookies::cleared(hub, sender)?.set(&mut response);
    Ok(response)
}

/// Ends one session, if it is the account's own.
async fn end_one(
    hub: &Hub,
    sender: &RequestContext,
    account: &Account,
    live: LiveSession,
    id: Option<&str>,
) -> Result<Response<Body>, OauthError> {
    let id: Uuid = id.and_then(|id| id.parse().ok()).ok_or(UNKNOWN)?;
    if store::sessions::owner(hub.records(), id, clock::now()).await? == Some(account.id) {
        store::endings::end(hub.records(), &Ending::Logout(id), None, sender.occasion()).await?;
    }
    if id == live.id() {
        return goodbye(hub, sender, "/sign-in");
    }
    Ok(redirect(Redirection::SeeOther, &Notice::SessionEnded.at("/"))?)
}

/// Sets a new password, for who knows the present one; it ends everything but this session.
async fn change(hub: &Hub, sender: &RequestContext, account: &Account, live: LiveSession, body: &Parameters) -> Result<(), ChangeRefused> {
    let at = |field| move |fault| ChangeRefused { fault, field };
    let present = Password::presented(body.get("present").unwrap_or_default()).map_err(|_| at(Field::Present)(WRONG.into()))?;
    let chosen = Password::chosen(body.get("chosen").unwrap_or_default()).map_err(|_| at(Field::Chosen)(credentials::UNFIT.into()))?;
    let proof = proven(hub, sender, account, present).await.map_err(at(Field::Present))?;
    let hash = made(hub, chosen).await.map_err(at(Field::Chosen))?;
    let renewal = Renewal { account: account.id, hash: &hash, right: Right::Present(&proof, live) };
    renewed(hub, sender, &renewal).await.map_err(at(Field::Present))
}

/// Behind the same throttle as a sign-in: a browser left open must not be a place to guess.
async fn proven(hub: &Hub, sender: &RequestContext, account: &Account, present: Password) -> Result<Proof, OauthError> {
    let judged = credentials::judge(hub, name_of(account), present, sender).await?;
    judged.admitted().filter(|(found, _)| found.id == account.id).map(|(_, proof)| proof.clone()).ok_or(WRONG.into())
}

async fn made(hub: &Hub, chosen: Password) -> Result<PasswordHash, OauthError> {
    hub.hasher().admit()?.make(chosen).await
}

/// Saves it, unless the present password is another one by now, or the session has ended.
async fn renewed(hub: &Hub, sender: &RequestContext, renewal: &Renewal<'_>) -> Result<(), OauthError> {
    let transaction = hub.records().begin().await?;
    if !credentials::renew(transaction, renewal, sender).await? {
        credentials::note_compared(hub, Some(renewal.account), SignInRefusal::Credentials, sender).await?;
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
