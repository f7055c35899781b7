//! The session of a browser at the hub, and its cookies.

use axum::body::Body;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, Response};
use identity::account::Account;
use identity::session::{LiveSession, SESSION_SECONDS, Session};
use identity::token::HubSessionClaims;
use store::sessions::{Arrival, Before, By};
use uuid::Uuid;

use crate::clock;
use crate::problem::oauth::OauthError;
use crate::random;

use super::Hub;
use super::form_request::RequestContext;

/// The cookie's name is part of the contract.
const COOKIE: &str = "hub_session";
/// Under https the same value also has a name that browsers take from this very host alone, and from a browser only that one counts: any
/// neighbouring host can set a cookie with the plain name. A program has the cookies that it was given, and may know the plain name alone.
const HOST_COOKIE: &str = "__Host-hub_session";

/// The session that a request's cookie is of, if it counts now, and whose it is. Without https a neighbouring host can add a cookie of its
/// own, so that sessions of two accounts are nobody's: whoever planted one would have somebody else act in their name.
pub(super) async fn live(hub: &Hub, sender: &RequestContext) -> Result<Option<(LiveSession, Account)>, store::Error> {
    let mut all = every_live(hub, sender).await?.into_iter();
    let Some((session, account)) = all.next() else { return Ok(None) };
    Ok(all.all(|(_, other)| other.id == account.id).then_some((session, account)))
}

/// The sessions of all cookies of ours that a request has.
pub(super) async fn every_live(hub: &Hub, sender: &RequestContext) -> Result<Vec<(LiveSession, Account)>, store::Error> {
    let audience = HubSessionClaims::audience(hub.issuer());
    let mut all = Vec::new();
    for text in sender.cookies(counting(hub, sender)) {
        let Ok(cookie) = hub.verify::<HubSessionClaims>(text, &audience) else { continue };
        let now = clock::now();
        let Some((row, account)) = store::sessions::load(hub.records(), cookie.claims().session, now).await? else { continue };
        if let Some(session) = LiveSession::of(&cookie, Some(&row), Some(&account), now) {
            all.push((session, account));
        }
    }
    Ok(all)
}

/// The name of the cookie that counts in a request.
fn counting(hub: &Hub, sender: &RequestContext) -> &'static str {
    let prefixed = sender.is_browser() || sender.cookies(HOST_COOKIE).next().is_some();
    if prefixed && sender.is_secure(hub.issuer()) { HOST_COOKIE } else { COOKIE }
}

/// A session that nobody has yet.
pub(super) fn fresh(account: Uuid) -> Session {
    Session::begin(random::uuid(), account, clock::now())
}

/// Begins a session, always a new one, and gives the cookies for it. Somebody else's that the browser had before is ended with it; one of
/// the same account is taken over, since clients still hold what it gave, and a logout from one of them must end all of it. Nothing
/// begins, and there is none, if what it is begun by has ended in the meantime.
pub(super) async fn begin(hub: &Hub, sender: &RequestContext, session: Session, by: By<'_>) -> Result<Option<Cookies>, OauthError> {
    let before = match live(hub, sender).await? {
        None => Before::Nothing,
        Some((before, _)) if before.account() == session.account => Before::Own(before.id()),
        Some((before, _)) => Before::Other(before.id()),
    };
    let device = sender.device();
    let arrival = Arrival { session: &session, by, before, device: device.as_deref() };
    if !store::sessions::begin(hub.records(), &arrival, sender.occasion()).await? {
        return Ok(None);
    }
    Cookies::of(hub, sender, &hub.keys().sign(&HubSessionClaims::of(&session, hub.issuer()))?, SESSION_SECONDS).map(Some)
}

/// The cookies of a session, or those that take it away.
#[derive(Debug)]
pub(super) struct Cookies(Vec<HeaderValue>);

impl Cookies {
    fn of(hub: &Hub, sender: &RequestContext, value: &str, seconds: i64) -> Result<Self, OauthError> {
        let (names, secure): (&[&str], _) =
            if sender.is_secure(hub.issuer()) { (&[COOKIE, HOST_COOKIE], "; Secure") } else { (&[COOKIE], "") };
        let header = |name: &&str| {
            let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
            let mut header = HeaderValue::from_str(&text).map_err(|_| OauthError::Internal("a cookie cannot stand in a header"))?;
            header.set_sensitive(true);
            Ok(header)
        };
        names.iter().map(header).collect::<Result<_, OauthError>>().map(Cookies)
    }

    /// Those that take a session away.
    pub(super) fn cleared(hub: &Hub, sender: &RequestContext) -> Result<Self, OauthError> {
        Cookies::of(hub, sender, "", 0)
    }

    /// Sets them with an answer.
    pub(super) fn set(self, response: &mut Response<Body>) {
        for cookie in self.0 {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
}
