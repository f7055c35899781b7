//! The session of a browser at the hub, and its cookies.

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use axum::response::Response;
use identity::account::Account;
use identity::session::{LiveSession, SESSION_SECONDS, Session};
use identity::token::HubSessionClaims;
use store::hub_records::sessions::{self, PreviousSession, SignIn, SignInProof};
use uuid::Uuid;

use crate::problem::oauth::OauthError;
use crate::{clock, random};

use super::Hub;
use super::form_request::RequestContext;

/// The cookie's name is part of the contract.
const COOKIE: &str = "hub_session";
/// Under https the same value is also set under a name that browsers accept only from this host. From a browser only this one counts, since
/// a sibling host can set a cookie with the plain name. Programs may send the plain name.
const HOST_COOKIE: &str = "__Host-hub_session";

/// The active session of a request's cookie, and its account. Without https a sibling host can add a cookie, so sessions of two accounts
/// count as none: an attacker could make a person act in the attacker's account.
pub(super) async fn live(hub: &Hub, context: &RequestContext) -> Result<Option<(LiveSession, Account)>, store::Error> {
    let mut all = every_live(hub, context).await?.into_iter();
    let Some((session, account)) = all.next() else { return Ok(None) };
    Ok(all.all(|(_, other)| other.id == account.id).then_some((session, account)))
}

pub(super) async fn every_live(hub: &Hub, context: &RequestContext) -> Result<Vec<(LiveSession, Account)>, store::Error> {
    let audience = HubSessionClaims::audience(hub.issuer());
    let mut all = Vec::new();
    for text in context.cookies(cookie_name(hub, context)) {
        let Ok(cookie) = hub.verify::<HubSessionClaims>(text, &audience) else { continue };
        let now = clock::now();
        let Some((row, account)) = sessions::load(hub.records(), cookie.claims().session, now).await? else { continue };
        if let Some(session) = LiveSession::of(&cookie, Some(&row), Some(&account), now) {
            all.push((session, account));
        }
    }
    Ok(all)
}

fn cookie_name(hub: &Hub, context: &RequestContext) -> &'static str {
    let prefixed = context.is_browser() || context.cookies(HOST_COOKIE).next().is_some();
    if prefixed && context.is_secure(hub.issuer()) { HOST_COOKIE } else { COOKIE }
}

pub(super) fn fresh(account: Uuid) -> Session {
    Session::begin(random::uuid(), account, clock::now())
}

/// Begins a new session and returns its cookies. An earlier session of another account ends; the grants of an earlier session of the same
/// account move to the new one, so that a logout ends all of them. Returns none if the password or the token ended meanwhile.
pub(super) async fn begin(
    hub: &Hub,
    context: &RequestContext,
    session: Session,
    by: SignInProof<'_>,
) -> Result<Option<Cookies>, OauthError> {
    let before = match live(hub, context).await? {
        None => PreviousSession::Nothing,
        Some((before, _)) if before.account() == session.account => PreviousSession::Own(before.id()),
        Some((before, _)) => PreviousSession::Other(before.id()),
    };
    let device = context.user_agent();
    let sign_in = SignIn { session: &session, by, before, device: device.as_deref() };
    if !sessions::begin(hub.records(), &sign_in, context.audit_context()).await? {
        return Ok(None);
    }
    Cookies::of(hub, context, &hub.0.keys.sign(&session.claims(hub.issuer()))?, SESSION_SECONDS).map(Some)
}

#[derive(Debug)]
pub(super) struct Cookies(Vec<HeaderValue>);

impl Cookies {
    fn of(hub: &Hub, context: &RequestContext, value: &str, seconds: i64) -> Result<Self, OauthError> {
        let (names, secure): (&[&str], _) =
            if context.is_secure(hub.issuer()) { (&[COOKIE, HOST_COOKIE], "; Secure") } else { (&[COOKIE], "") };
        let header = |name: &&str| {
            let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
            let mut header = HeaderValue::from_str(&text)?;
            header.set_sensitive(true);
            Ok(header)
        };
        names.iter().map(header).collect::<Result<_, OauthError>>().map(Cookies)
    }

    pub(super) fn cleared(hub: &Hub, context: &RequestContext) -> Result<Self, OauthError> {
        Cookies::of(hub, context, "", 0)
    }

    pub(super) fn added_to(self, mut response: Response) -> Response {
        for cookie in self.0 {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}
