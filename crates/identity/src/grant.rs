//! The three grants as decisions over the rows that the caller looked up: what to save in one atomic step, and what to answer.

pub mod authorization_code;
pub mod password;
pub mod refresh_token;
pub mod sealed;
pub mod standing;

use uuid::Uuid;

use crate::client::{Client, ClientId, GrantType};
use crate::moment::Moment;
use crate::opaque::{Digest, RefreshToken, purpose};
use crate::scope::Scope;
use crate::token::{AccessClaims, Common, IdClaims};

use sealed::Sealed;

/// A family: everything that came out of one sign-in at one client. Its id is the `sid` of its access tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its id.
    pub id: Uuid,
    /// Whose client.
    pub client: ClientId,
    /// Whose account.
    pub account: Uuid,
    /// The session at the hub it came out of; none after a password grant.
    pub session: Option<Uuid>,
    /// What was granted at first, never widened.
    pub scope: Option<Scope>,
    /// The grant it began with; not known of families from before this was kept.
    pub begun_by: Option<GrantType>,
    /// When it began.
    pub begun_at: Moment,
    /// When the account proved who it is.
    pub authenticated_at: Moment,
    /// When it was ended: its refresh tokens are refused, and at the hub its access tokens.
    pub ended_at: Option<Moment>,
}

/// How long a family lasts when the deployment says nothing.
pub const FAMILY_SECONDS: i64 = 90 * 86_400;
/// How long a repeat is taken for a retry when the deployment says nothing, and at most.
pub const GRACE_SECONDS: i64 = 30;
/// See [`GRACE_SECONDS`].
pub const MAX_GRACE_SECONDS: i64 = 60;

/// How long what is granted lasts in this deployment, beside the lifetimes of each client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshRules {
    /// How long a family lasts from its beginning, however often it is refreshed.
    pub family_seconds: i64,
    /// How long a refresh token that comes again is taken for a retry. Time in which no hub could answer does not count.
    pub grace_seconds: i64,
}

impl Default for RefreshRules {
    fn default() -> Self {
        RefreshRules { family_seconds: FAMILY_SECONDS, grace_seconds: GRACE_SECONDS }
    }
}

/// What a grant is decided by beside the rows.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The time.
    pub now: Moment,
    /// The rules of the deployment.
    pub rules: RefreshRules,
}

impl Family {
    /// When nothing of it can be refreshed any more.
    pub fn ends_at(&self, rules: RefreshRules) -> Moment {
        self.begun_at.plus(rules.family_seconds)
    }
}

/// Whether an account may use the app of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Admitted,
    /// The app is closed, and the account not listed.
    Refused,
}

/// What is kept of a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshRecord {
    /// The SHA-256 of the token.
    pub digest: Digest<purpose::Refresh>,
    /// Its family's id.
    pub family: Uuid,
    /// When it is over.
    pub expires_at: Moment,
    /// What became of it.
    pub state: RefreshState,
}

/// What became of a refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshState {
    /// Not used yet.
    Live,
    /// Used.
    Rotated {
        /// When.
        at: Moment,
        /// Its one successor, readable only with the token itself.
        successor: Sealed,
    },
}

/// What a new family is made with: a random id and a random refresh token.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The family's id.
    pub family: Uuid,
    /// The first refresh token.
    pub refresh: RefreshToken,
}

/// A family that begins: the rows to insert and the answer to give.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The family to insert.
    pub family: Family,
    /// Its first refresh token to insert.
    pub refresh: RefreshRecord,
    /// The answer.
    pub issue: Issue,
}

impl Beginning {
    fn of(family: Family, refresh: RefreshToken, client: &Client, nonce: Option<String>, terms: Terms) -> Self {
        Beginning {
            refresh: RefreshRecord::live(&refresh, &family, client, terms),
            issue: Issue {
                scope: family.scope.clone(),
                nonce,
                refresh,
                access_seconds: client.lifetimes.access_seconds(),
                family: family.clone(),
            },
            family,
        }
    }
}

impl RefreshRecord {
    fn live(token: &RefreshToken, family: &Family, client: &Client, terms: Terms) -> Self {
        let expires_at = terms.now.plus(client.lifetimes.refresh_seconds()).min(family.ends_at(terms.rules));
        RefreshRecord { digest: token.digest(), family: family.id, expires_at, state: RefreshState::Live }
    }
}

/// What a token answer is made of. Only the grants make one.
#[derive(Clone, Debug)]
pub struct Issue {
    family: Family,
    scope: Option<Scope>,
    nonce: Option<String>,
    refresh: RefreshToken,
    access_seconds: i64,
}

impl Issue {
    /// The refresh token of the answer. Every answer has one; using it takes the grant.
    pub fn refresh_token(&self) -> &RefreshToken {
        &self.refresh
    }

    /// `expires_in`
    pub fn expires_in(&self) -> i64 {
        self.access_seconds
    }

    /// `scope`
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// The family the tokens belong to.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// The access token's claims; the id is a fresh random one.
    pub fn access_claims(&self, issuer: &str, id: Uuid, now: Moment) -> AccessClaims {
        let audiences = vec![self.family.client.as_str().to_owned(), issuer.to_owned()];
        AccessClaims {
            common: self.common(issuer, audiences, now),
            client: self.family.client.clone(),
            family: self.family.id,
            id,
            scope: self.scope.as_ref().map(|scope| scope.as_str().to_owned()),
        }
    }

    /// The id_token's claims, if `openid` was asked for.
    pub fn id_claims(&self, issuer: &str, access_token: &str, now: Moment) -> Option<IdClaims> {
        self.scope.as_ref().filter(|scope| scope.has("openid"))?;
        Some(IdClaims {
            common: self.common(issuer, vec![self.family.client.as_str().to_owned()], now),
            authenticated_at: self.family.authenticated_at,
            nonce: self.nonce.clone(),
            access_token_hash: Some(IdClaims::hash_of(access_token)),
            session: self.family.session,
        })
    }

    fn common(&self, issuer: &str, audiences: Vec<String>, now: Moment) -> Common {
        Common {
            issuer: issuer.to_owned(),
            subject: self.family.account,
            audiences,
            issued_at: now,
            expires_at: now.plus(self.access_seconds),
        }
    }
}
