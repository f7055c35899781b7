//! Sign-ins at the hub: how long one lasts, what may begin one, and what ends with what.

use uuid::Uuid;

use crate::account::Account;
use crate::client::{Client, ClientId, GrantType};
use crate::error::{Error, ErrorCode};
use crate::grant::Family;
use crate::moment::Moment;
use crate::token::{AccessClaims, HubSessionClaims, Verified};

/// How long a sign-in lasts.
pub const SESSION_SECONDS: i64 = 8 * 3_600;
/// How long ago the password of an access token may have been given that is traded for a session.
pub const FRESH_SECONDS: i64 = 300;

/// A sign-in. It always has a new id: one that a browser brought along is never taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// `sid` of the cookie.
    pub id: Uuid,
    /// Who signed in.
    pub account: Uuid,
    /// When the account proved who it is.
    pub authenticated_at: Moment,
    /// When it is over in any case.
    pub expires_at: Moment,
    /// When it was ended before that.
    pub ended_at: Option<Moment>,
}

impl Session {
    /// A new sign-in. The id is a fresh random one.
    pub fn begin(id: Uuid, account: Uuid, now: Moment) -> Self {
        Session { id, account, authenticated_at: now, expires_at: now.plus(SESSION_SECONDS), ended_at: None }
    }

    /// The same for an account that proved earlier who it is.
    #[must_use]
    pub fn proven_at(self, moment: Moment) -> Self {
        Session { authenticated_at: moment, ..self }
    }
}

/// A session that counted a moment ago: its cookie was verified, its row not ended, its account may sign in. Only [`LiveSession::of`]
/// makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSession {
    id: Uuid,
    account: Uuid,
    authenticated_at: Moment,
}

impl LiveSession {
    /// The session that a cookie is of, given the row it names and the account that row names.
    pub fn of(cookie: &Verified<HubSessionClaims>, row: Option<&Session>, account: Option<&Account>, now: Moment) -> Option<Self> {
        let (claims, row, account) = (cookie.claims(), row?, account?);
        let named = claims.session == row.id && claims.common.subject == row.account && account.id == row.account;
        let counts = row.ended_at.is_none() && now < row.expires_at && account.may_sign_in();
        (named && counts).then_some(LiveSession { id: row.id, account: row.account, authenticated_at: row.authenticated_at })
    }

    /// Its id.
    pub fn id(self) -> Uuid {
        self.id
    }

    /// Who signed in.
    pub fn account(self) -> Uuid {
        self.account
    }

    /// When.
    pub fn authenticated_at(self) -> Moment {
        self.authenticated_at
    }
}

/// Whether an access token may be traded for a session: its family must have begun with the password grant, a moment ago. The client saw
/// the password then and could have signed in with it. Any other client would become its users' equal at the hub, and a refresh must not
/// make an old sign-in a new one.
pub fn may_begin_by_token(token: &Verified<AccessClaims>, family: &Family, client: &Client, now: Moment) -> Result<(), Error> {
    let claims = token.claims();
    let by_password = family.id == claims.family && family.begun_by == Some(GrantType::Password);
    let trusted = client.id == claims.client && client.is_active && client.grants.contains(&GrantType::Password);
    if !by_password || !trusted {
        return Err(Error::new(ErrorCode::AccessDenied, "only a token that came out of the password grant begins a session"));
    }
    if now.since(family.authenticated_at) > FRESH_SECONDS {
        return Err(Error::new(ErrorCode::InvalidToken, "the password of the access token was given more than five minutes ago"));
    }
    Ok(())
}

/// Something that ends sign-ins or families of grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Signing out of this session.
    Logout(Uuid),
    /// This account signs out of everything.
    LogoutEverywhere(Uuid),
    /// This account has a new password; the session that changed it, if any, lives on.
    PasswordChanged {
        /// Whose.
        account: Uuid,
        /// The session in which it was changed.
        kept: Option<Uuid>,
    },
    /// This account was deactivated or removed.
    AccountClosed(Uuid),
    /// This client was deactivated or removed.
    ClientClosed(ClientId),
    /// A refresh token of this family was used twice, or a code of it, or it was revoked.
    FamilyEnded(Uuid),
}

/// Which sessions, or which families, are over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// None.
    Nothing,
    /// The one with this id.
    One(Uuid),
    /// Those that came out of this session.
    OfSession(Uuid),
    /// Those of this account.
    OfAccount(Uuid),
    /// Those of this account, but for this session and what came out of it.
    OfAccountBut {
        /// Whose.
        account: Uuid,
        /// What lives on.
        session: Uuid,
    },
    /// Those of this client.
    OfClient(ClientId),
}

/// What is to be ended, in one transaction. Codes that are not redeemed yet are removed with the session they came out of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which sessions.
    pub sessions: Extent,
    /// Which families of grants, and with them their refresh tokens and, at the hub, their access tokens.
    pub families: Extent,
}

/// What ends with what.
pub fn end(ending: &Ending) -> Ended {
    match ending {
        Ending::Logout(session) => Ended { sessions: Extent::One(*session), families: Extent::OfSession(*session) },
        Ending::LogoutEverywhere(account) | Ending::AccountClosed(account) => {
            Ended { sessions: Extent::OfAccount(*account), families: Extent::OfAccount(*account) }
        }
        Ending::PasswordChanged { account, kept: None } => {
            Ended { sessions: Extent::OfAccount(*account), families: Extent::OfAccount(*account) }
        }
        // The families end all the same: a stolen refresh token is one reason to change a password.
        Ending::PasswordChanged { account, kept: Some(session) } => {
            Ended { sessions: Extent::OfAccountBut { account: *account, session: *session }, families: Extent::OfAccount(*account) }
        }
        Ending::ClientClosed(client) => Ended { sessions: Extent::Nothing, families: Extent::OfClient(client.clone()) },
        Ending::FamilyEnded(family) => Ended { sessions: Extent::Nothing, families: Extent::One(*family) },
    }
}
