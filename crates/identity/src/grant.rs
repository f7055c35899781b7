//! The three grants: each decides, from rows that the caller looked up, what to store in one transaction and what to answer.

pub mod authorization_code;
pub mod password;
pub mod refresh_token;
pub mod sealed;
pub mod status;

use uuid::Uuid;

use crate::client::{Client, ClientId, GrantType};
use crate::scope::Scope;
use crate::secret_token::{Digest, RefreshToken, purpose};
use crate::timestamp::Timestamp;
use crate::token::{AccessClaims, IdClaims, RegisteredClaims};

use sealed::Sealed;

/// A token family: all tokens of one sign-in at one client. Its id is the `sid` of its access tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    pub id: Uuid,
    pub client: ClientId,
    pub account: Uuid,
    /// The session at the hub; none after a password grant.
    pub session: Option<Uuid>,
    /// The granted scope; a refresh never widens it.
    pub scope: Option<Scope>,
    /// The grant that started it; unknown for families of old versions.
    pub begun_by: Option<GrantType>,
    pub begun_at: Timestamp,
    pub authenticated_at: Timestamp,
    /// When it was revoked: its refresh tokens are refused, and at the hub its access tokens.
    pub ended_at: Option<Timestamp>,
}

/// The default life of a family.
pub const FAMILY_SECONDS: i64 = 90 * 86_400;
/// The default of [`RefreshRules::grace_seconds`].
pub const GRACE_SECONDS: i64 = 30;
pub const MAX_GRACE_SECONDS: i64 = 60;

/// The deployment's rules for families, beside the lifetimes of each client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshRules {
    /// How long a family lives, however often it is refreshed.
    pub family_seconds: i64,
    /// How long a used refresh token that comes again is a retry. Outages of the hub do not count.
    pub grace_seconds: i64,
}

impl Default for RefreshRules {
    fn default() -> Self {
        RefreshRules { family_seconds: FAMILY_SECONDS, grace_seconds: GRACE_SECONDS }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub now: Timestamp,
    pub rules: RefreshRules,
}

impl Family {
    /// When its refresh tokens expire at the latest.
    pub fn ends_at(&self, rules: RefreshRules) -> Timestamp {
        self.begun_at.plus(rules.family_seconds)
    }
}

/// Whether an account may use the app of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// The app is closed, and the account not listed.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefreshRecord {
    pub digest: Digest<purpose::Refresh>,
    pub family: Uuid,
    pub expires_at: Timestamp,
    pub state: RefreshState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshState {
    Live,
    // The successor is sealed under the token itself.
    Rotated { at: Timestamp, successor: Sealed },
}

#[derive(Clone, Debug)]
pub struct FamilySecrets {
    pub family: Uuid,
    pub refresh: RefreshToken,
}

/// A new family: the rows to insert and the tokens to answer.
#[derive(Clone, Debug)]
pub struct NewFamily {
    pub family: Family,
    pub refresh: RefreshRecord,
    pub issue: IssuedTokens,
}

impl NewFamily {
    fn of(family: Family, refresh: RefreshToken, client: &Client, nonce: Option<String>, terms: Terms) -> Self {
        NewFamily {
            refresh: RefreshRecord::live(&refresh, &family, client, terms),
            issue: IssuedTokens {
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

/// The content of a token answer. Only the grants make one.
#[derive(Clone, Debug)]
pub struct IssuedTokens {
    family: Family,
    scope: Option<Scope>,
    nonce: Option<String>,
    refresh: RefreshToken,
    access_seconds: i64,
}

impl IssuedTokens {
    /// The refresh token. Every answer has one; its use needs the grant `refresh_token`.
    pub fn refresh_token(&self) -> &RefreshToken {
        &self.refresh
    }

    pub fn expires_in(&self) -> i64 {
        self.access_seconds
    }

    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    pub fn family(&self) -> &Family {
        &self.family
    }

    /// The claims of the access token; the id is random.
    pub fn access_claims(&self, issuer: &str, id: Uuid, now: Timestamp) -> AccessClaims {
        let audiences = vec![self.family.client.as_str().to_owned(), issuer.to_owned()];
        AccessClaims {
            common: self.common(issuer, audiences, now),
            client: self.family.client.clone(),
            family: self.family.id,
            id,
            scope: self.scope.as_ref().map(|scope| scope.as_str().to_owned()),
        }
    }

    /// The claims of the ID token, if the scope has `openid`.
    pub fn id_claims(&self, issuer: &str, access_token: &str, now: Timestamp) -> Option<IdClaims> {
        self.scope.as_ref().filter(|scope| scope.has("openid"))?;
        Some(IdClaims {
            common: self.common(issuer, vec![self.family.client.as_str().to_owned()], now),
            authenticated_at: self.family.authenticated_at,
            nonce: self.nonce.clone(),
            access_token_hash: Some(IdClaims::hash_of(access_token)),
            session: self.family.session,
        })
    }

    fn common(&self, issuer: &str, audiences: Vec<String>, now: Timestamp) -> RegisteredClaims {
        RegisteredClaims {
            issuer: issuer.to_owned(),
            subject: self.family.account,
            audiences,
            issued_at: now,
            expires_at: now.plus(self.access_seconds),
        }
    }
}
