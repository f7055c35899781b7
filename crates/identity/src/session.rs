//! Sessions at the hub: how long one lasts, and what may begin one.

use uuid::Uuid;

use crate::account::Account;
use crate::client::{Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::grant::Family;
use crate::timestamp::Timestamp;
use crate::token::{AccessClaims, HubSessionClaims, PageClaims, RegisteredClaims, Verified};

/// How long a session lasts.
pub const SESSION_SECONDS: i64 = 8 * 3_600;
/// How old the sign-in of an access token may be that begins a session.
pub const FRESH_SECONDS: i64 = 300;
/// How long a page token lasts. A page asks for the next one while its session is live.
pub const PAGE_TOKEN_SECONDS: i64 = 300;

/// A session. Its id is always new; an id that a browser sent is never reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// `sid` of the cookie.
    pub id: Uuid,
    pub account: Uuid,
    pub authenticated_at: Timestamp,
    pub expires_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

impl Session {
    pub fn begin(id: Uuid, account: Uuid, now: Timestamp) -> Self {
        Session { id, account, authenticated_at: now, expires_at: now.plus(SESSION_SECONDS), ended_at: None }
    }

    pub fn claims(&self, issuer: &str) -> HubSessionClaims {
        HubSessionClaims {
            common: RegisteredClaims {
                issuer: issuer.to_owned(),
                subject: self.account,
                audiences: vec![HubSessionClaims::audience(issuer)],
                // Not `authenticated_at`: the account may have proven itself long before.
                issued_at: self.expires_at.plus(-SESSION_SECONDS),
                expires_at: self.expires_at,
            },
            session: self.id,
        }
    }

    /// The same for an account that signed in earlier.
    #[must_use]
    pub fn proven_at(self, at: Timestamp) -> Self {
        Session { authenticated_at: at, ..self }
    }
}

/// A live session: its cookie or page token is verified, its row not revoked, and its account may sign in. Only [`LiveSession::of`] and
/// [`LiveSession::of_page`] make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSession {
    id: Uuid,
    account: Uuid,
    authenticated_at: Timestamp,
}

impl LiveSession {
    /// The session of a cookie, given its row and its account.
    pub fn of(cookie: &Verified<HubSessionClaims>, row: Option<&Session>, account: Option<&Account>, now: Timestamp) -> Option<Self> {
        let claims = cookie.claims();
        LiveSession::named((claims.session, claims.common.subject), row?, account?, now)
    }

    /// The session of a page token, given its row and its account.
    pub fn of_page(token: &Verified<PageClaims>, row: Option<&Session>, account: Option<&Account>, now: Timestamp) -> Option<Self> {
        let claims = token.claims();
        LiveSession::named((claims.session, claims.common.subject), row?, account?, now)
    }

    fn named((session, subject): (Uuid, Uuid), row: &Session, account: &Account, now: Timestamp) -> Option<Self> {
        let named = session == row.id && subject == row.account && account.id == row.account;
        let counts = row.ended_at.is_none() && now < row.expires_at && account.may_sign_in();
        (named && counts).then_some(LiveSession { id: row.id, account: row.account, authenticated_at: row.authenticated_at })
    }

    /// The claims of a token for a page of the hub in this session.
    pub fn page_claims(self, issuer: &str, now: Timestamp) -> PageClaims {
        PageClaims {
            common: RegisteredClaims {
                issuer: issuer.to_owned(),
                subject: self.account,
                audiences: vec![PageClaims::audience(issuer)],
                issued_at: now,
                expires_at: now.plus(PAGE_TOKEN_SECONDS),
            },
            session: self.id,
        }
    }

    pub fn id(self) -> Uuid {
        self.id
    }

    pub fn account(self) -> Uuid {
        self.account
    }

    pub fn authenticated_at(self) -> Timestamp {
        self.authenticated_at
    }
}

/// Whether an access token may begin a session: its family must have started with the password grant, recently. That client saw the
/// password and could have signed in with it. No other client may act as its users at the hub, and no refresh may renew an old sign-in.
pub fn may_begin_by_token(token: &Verified<AccessClaims>, family: &Family, client: &Client, now: Timestamp) -> Result<(), Error> {
    let claims = token.claims();
    let by_password = family.id == claims.family && family.begun_by == Some(GrantType::Password);
    let trusted = client.id == claims.client && client.is_active && client.grants.contains(&GrantType::Password);
    if !by_password || !trusted {
        return Err(Error::new(ErrorCode::AccessDenied, "only a token of the password grant begins a session"));
    }
    if now.since(family.authenticated_at) > FRESH_SECONDS {
        return Err(Error::new(ErrorCode::InvalidToken, "the password of the access token was given more than five minutes ago"));
    }
    Ok(())
}
