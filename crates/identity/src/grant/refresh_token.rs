//! The refresh token grant: a token is rotated to its one successor. A repeat within the grace gets the same successor (a retry, two tabs,
//! an outage). A later one means that two parties have the token, and revokes the family.

use uuid::Uuid;

use crate::account::Account;
use crate::client::{Authenticated, Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::grant::sealed::Sealed;
use crate::grant::{Admission, Family, IssuedTokens, RefreshRecord, RefreshRules, RefreshState, Terms};
use crate::scope::Scope;
use crate::secret_token::{Digest, RefreshToken, purpose};
use crate::timestamp::Timestamp;

pub(crate) const UNKNOWN: Error = Error::grant("the refresh token is unknown, expired or revoked");
const BROKEN: Error = Error::new(ErrorCode::ServerError, "the successor of the refresh token cannot be sealed or opened");

#[derive(Clone, Copy, Debug)]
pub struct PresentedToken<'a> {
    pub client: Authenticated<'a>,
    pub token: &'a RefreshToken,
    /// A narrower scope; `None` for the same.
    pub scope: Option<&'a Scope>,
}

/// The rows that the caller looked up by the digest of the token.
#[derive(Clone, Copy, Debug)]
pub struct TokenRows<'a> {
    pub record: &'a RefreshRecord,
    pub family: &'a Family,
    pub account: Option<&'a Account>,
    pub admission: Admission,
    /// The seconds of hub outage since the token was used. Needed if [`TokenRows::late_since`] returns a time.
    pub outage_seconds: i64,
}

#[derive(Clone, Debug)]
pub struct SuccessorSecrets {
    pub successor: RefreshToken,
    /// The nonce that seals it.
    pub nonce: [u8; 12],
}

#[derive(Clone, Debug)]
pub enum RefreshDecision {
    /// Store in one transaction that first sets the state if the token is still live. If it is not, look it up again: now it is a repeat.
    Rotate(Box<Rotation>),
    /// Store nothing and answer the existing successor.
    Repeat(Box<IssuedTokens>),
    /// Revoke this family and answer the error.
    Reuse { family: Uuid, error: Error },
    /// Change nothing and answer the error.
    Refused(Error),
}

#[derive(Clone, Debug)]
pub struct Rotation {
    /// The used token.
    pub digest: Digest<purpose::Refresh>,
    pub state: RefreshState,
    pub successor: RefreshRecord,
    pub issue: IssuedTokens,
}

impl TokenRows<'_> {
    /// Whether this client may use this token, in any state: it has the grant, the token is its own, and family, account and app are open.
    fn is_usable(&self, client: Authenticated<'_>, token: &RefreshToken) -> bool {
        let (client, family) = (client.client(), self.family);
        let belongs = client.grants.contains(&GrantType::RefreshToken)
            && family.client == client.id
            && self.record.family == family.id
            && self.record.digest == token.digest();
        let open = family.ended_at.is_none() && self.account.is_some_and(|account| account.id == family.account && account.may_sign_in());
        belongs && open && self.admission == Admission::Admitted
    }

    /// When the token expires: no later than its family, also if the rule is newer than the token.
    pub fn expires_at(&self, rules: RefreshRules) -> Timestamp {
        self.record.expires_at.min(self.family.ends_at(rules))
    }

    /// When the token was used, if that is longer ago than the grace. The caller then reads the outages since.
    pub fn late_since(&self, terms: Terms) -> Option<Timestamp> {
        match self.record.state {
            RefreshState::Rotated { at, .. } if terms.now.since(at) - self.outage_seconds > terms.rules.grace_seconds => Some(at),
            _ => None,
        }
    }

    fn issue(&self, client: &Client, scope: Option<Scope>, refresh: RefreshToken) -> IssuedTokens {
        IssuedTokens { family: self.family.clone(), scope, nonce: None, refresh, access_seconds: client.lifetimes.access_seconds() }
    }
}

/// Whether the token could be rotated now, for introspection.
pub fn is_active(client: Authenticated<'_>, token: &RefreshToken, found: TokenRows<'_>, terms: Terms) -> bool {
    found.is_usable(client, token) && found.record.state == RefreshState::Live && terms.now < found.expires_at(terms.rules)
}

/// Decides. Another client learns nothing and revokes nothing; a revoked family gets nothing.
pub fn decide(presented: PresentedToken<'_>, found: Option<TokenRows<'_>>, fresh: SuccessorSecrets, terms: Terms) -> RefreshDecision {
    let now = terms.now;
    let Some(found) = found.filter(|found| found.is_usable(presented.client, presented.token)) else {
        return RefreshDecision::Refused(UNKNOWN);
    };
    let decided = match &found.record.state {
        _ if now >= found.family.ends_at(terms.rules) => Err(UNKNOWN),
        RefreshState::Rotated { .. } if found.late_since(terms).is_some() => {
            Ok(RefreshDecision::Reuse { family: found.family.id, error: UNKNOWN })
        }
        RefreshState::Rotated { successor, .. } => repeat(presented, found, successor),
        RefreshState::Live if now >= found.record.expires_at => Err(UNKNOWN),
        RefreshState::Live => rotate(presented, found, fresh, terms),
    };
    decided.unwrap_or_else(RefreshDecision::Refused)
}

fn repeat(presented: PresentedToken<'_>, found: TokenRows<'_>, successor: &Sealed) -> Result<RefreshDecision, Error> {
    let scope = Scope::narrow(found.family.scope.as_ref(), presented.scope)?;
    let successor = successor.open(presented.token, found.family.id).ok_or(BROKEN)?;
    Ok(RefreshDecision::Repeat(Box::new(found.issue(presented.client.client(), scope, successor))))
}

fn rotate(presented: PresentedToken<'_>, found: TokenRows<'_>, fresh: SuccessorSecrets, terms: Terms) -> Result<RefreshDecision, Error> {
    let (client, family) = (presented.client.client(), found.family.id);
    let scope = Scope::narrow(found.family.scope.as_ref(), presented.scope)?;
    let sealed = Sealed::seal(&fresh.successor, presented.token, family, fresh.nonce).ok_or(BROKEN)?;
    Ok(RefreshDecision::Rotate(Box::new(Rotation {
        digest: found.record.digest,
        state: RefreshState::Rotated { at: terms.now, successor: sealed },
        successor: RefreshRecord::live(&fresh.successor, found.family, client, terms),
        issue: found.issue(client, scope, fresh.successor),
    })))
}
