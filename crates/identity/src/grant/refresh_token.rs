//! A refresh token is traded for its one successor. A repeat within the grace by the same client gets the same successor (a retry, two
//! tabs, an outage); a later one means that two parties hold the token, and ends the family.

use uuid::Uuid;

use crate::account::Account;
use crate::client::{Authenticated, Client, GrantType};
use crate::error::{Error, ErrorCode};
use crate::grant::sealed::Sealed;
use crate::grant::{Admission, Family, Issue, RefreshRecord, RefreshRules, RefreshState, Terms};
use crate::moment::Moment;
use crate::opaque::{Digest, RefreshToken, purpose};
use crate::scope::Scope;

pub(crate) const UNKNOWN: Error = Error::grant("the refresh token is unknown, expired or revoked");
const BROKEN: Error = Error::new(ErrorCode::ServerError, "the successor of the refresh token cannot be sealed or opened");

/// What is presented.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// The client, authenticated.
    pub client: Authenticated<'a>,
    /// The token.
    pub token: &'a RefreshToken,
    /// Less scope, or nothing for the same.
    pub scope: Option<&'a Scope>,
}

/// The rows that the caller looked up by the token's digest.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The token's row.
    pub record: &'a RefreshRecord,
    /// The family the row names.
    pub family: &'a Family,
    /// The account the family names, if it exists.
    pub account: Option<&'a Account>,
    /// Whether the client's app is open to that account today.
    pub admission: Admission,
    /// For how many seconds since the token was used no hub could answer. It is asked for where [`Found::late_since`] says so.
    pub outage_seconds: i64,
}

/// What a rotation is made with.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The successor.
    pub successor: RefreshToken,
    /// The nonce it is sealed with.
    pub nonce: [u8; 12],
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Save in one transaction that begins by setting the state where it is still live; if that changes no row, somebody else was
    /// faster: read the rows again and decide again, which makes it a repeat.
    Rotate(Box<Rotation>),
    /// Save nothing; answer with the successor that exists.
    Repeat(Box<Issue>),
    /// End this family (see [`crate::session::Ending::FamilyEnded`]) and answer the error.
    Reuse {
        /// The family.
        family: Uuid,
        /// The answer.
        error: Error,
    },
    /// Change nothing and answer the error.
    Refused(Error),
}

/// The rows to save and the answer to give.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// The token that is used up.
    pub digest: Digest<purpose::Refresh>,
    /// Its new state.
    pub state: RefreshState,
    /// The successor's row to insert.
    pub successor: RefreshRecord,
    /// The answer.
    pub issue: Issue,
}

impl Found<'_> {
    /// Whether this client may use this token at all, whatever became of it: it holds the grant, both are of one family, and family,
    /// account and app are open.
    fn stands(&self, client: Authenticated<'_>, token: &RefreshToken) -> bool {
        let (client, family) = (client.client(), self.family);
        let belongs = client.grants.contains(&GrantType::RefreshToken)
            && family.client == client.id
            && self.record.family == family.id
            && self.record.digest == token.digest();
        let open = family.ended_at.is_none() && self.account.is_some_and(|account| account.id == family.account && account.may_sign_in());
        belongs && open && self.admission == Admission::Admitted
    }

    /// When the token expires: no later than its family ends, though it may be older than that rule.
    pub fn expires_at(&self, rules: RefreshRules) -> Moment {
        self.record.expires_at.min(self.family.ends_at(rules))
    }

    /// When the token was used, if that is longer ago than the grace: whoever decides must know then how long no hub could answer since.
    pub fn late_since(&self, terms: Terms) -> Option<Moment> {
        match self.record.state {
            RefreshState::Rotated { at, .. } if terms.now.since(at) - self.outage_seconds > terms.rules.grace_seconds => Some(at),
            _ => None,
        }
    }

    fn issue(&self, client: &Client, scope: Option<Scope>, refresh: RefreshToken) -> Issue {
        Issue { family: self.family.clone(), scope, nonce: None, refresh, access_seconds: client.lifetimes.access_seconds() }
    }
}

/// Whether a token that was not used yet would be traded now: what introspection tells of it.
pub fn is_active(client: Authenticated<'_>, token: &RefreshToken, found: Found<'_>, terms: Terms) -> bool {
    found.stands(client, token) && found.record.state == RefreshState::Live && terms.now < found.expires_at(terms.rules)
}

/// Decides. A stranger's client learns nothing and breaks nothing; an ended family gives nothing.
pub fn decide(presented: Presented<'_>, found: Option<Found<'_>>, fresh: Fresh, terms: Terms) -> Outcome {
    let now = terms.now;
    let Some(found) = found.filter(|found| found.stands(presented.client, presented.token)) else { return Outcome::Refused(UNKNOWN) };
    let decided = match &found.record.state {
        _ if now >= found.family.ends_at(terms.rules) => Err(UNKNOWN),
        RefreshState::Rotated { .. } if found.late_since(terms).is_some() => Ok(Outcome::Reuse { family: found.family.id, error: UNKNOWN }),
        RefreshState::Rotated { successor, .. } => repeat(presented, found, successor),
        RefreshState::Live if now >= found.record.expires_at => Err(UNKNOWN),
        RefreshState::Live => rotate(presented, found, fresh, terms),
    };
    decided.unwrap_or_else(Outcome::Refused)
}

fn repeat(presented: Presented<'_>, found: Found<'_>, successor: &Sealed) -> Result<Outcome, Error> {
    let scope = Scope::narrow(found.family.scope.as_ref(), presented.scope)?;
    let successor = successor.open(presented.token, found.family.id).ok_or(BROKEN)?;
    Ok(Outcome::Repeat(Box::new(found.issue(presented.client.client(), scope, successor))))
}

fn rotate(presented: Presented<'_>, found: Found<'_>, fresh: Fresh, terms: Terms) -> Result<Outcome, Error> {
    let (client, family) = (presented.client.client(), found.family.id);
    let scope = Scope::narrow(found.family.scope.as_ref(), presented.scope)?;
    let sealed = Sealed::seal(&fresh.successor, presented.token, family, fresh.nonce).ok_or(BROKEN)?;
    Ok(Outcome::Rotate(Box::new(Rotation {
        digest: found.record.digest,
        state: RefreshState::Rotated { at: terms.now, successor: sealed },
        successor: RefreshRecord::live(&fresh.successor, found.family, client, terms),
        issue: found.issue(client, scope, fresh.successor),
    })))
}
