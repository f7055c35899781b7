//! The authorization code grant. A replay revokes only if everything else is right, or anybody who saw a code could revoke tokens.

use uuid::Uuid;

use crate::account::Account;
use crate::client::{Authenticated, ClientId, GrantType, Redirect};
use crate::error::Error;
use crate::grant::{Family, FamilySecrets, NewFamily, Terms};
use crate::pkce::{Challenge, Verifier};
use crate::scope::Scope;
use crate::secret_token::{Digest, purpose};
use crate::timestamp::Timestamp;

pub(crate) const UNKNOWN: Error = Error::grant("the code is unknown, expired or used");
pub(crate) const MISMATCH: Error = Error::grant("the code does not match this client, redirect or verifier");
const CLOSED: Error = Error::grant("the account or its session has ended");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRecord {
    pub digest: Digest<purpose::Code>,
    pub client: ClientId,
    /// The redirect URI that it was sent to.
    pub redirect: Redirect,
    pub challenge: Challenge,
    pub account: Uuid,
    pub session: Uuid,
    pub authenticated_at: Timestamp,
    pub scope: Option<Scope>,
    pub nonce: Option<String>,
    pub expires_at: Timestamp,
    /// The family that it started. A redeemed code is stored as long as the family, to detect a replay.
    pub used_by: Option<Uuid>,
}

/// The request with a code. The caller looks the code up by its digest.
#[derive(Clone, Copy, Debug)]
pub struct PresentedCode<'a> {
    pub client: Authenticated<'a>,
    pub redirect_uri: &'a str,
    pub verifier: &'a Verifier,
}

#[derive(Clone, Debug)]
pub enum CodeDecision {
    /// Store in one transaction that first sets `used_by` if it is still empty. If it is not, look the code up again: now it is a replay.
    Redeem(Box<Redemption>),
    /// Revoke this family and answer the error.
    Replay { family: Uuid, error: Error },
    /// Change nothing and answer the error.
    Refused(Error),
}

/// The rows to store and the tokens to answer.
#[derive(Clone, Debug)]
pub struct Redemption {
    /// The code; its `used_by` becomes the id of the family.
    pub code: Digest<purpose::Code>,
    pub start: NewFamily,
}

/// Decides. The account is that of the record. A session that ended has removed its codes, so `record` is then `None`.
pub fn decide(
    presented: PresentedCode<'_>,
    record: Option<&CodeRecord>,
    account: Option<&Account>,
    fresh: FamilySecrets,
    terms: Terms,
) -> CodeDecision {
    let now = terms.now;
    let Some(record) = record else { return CodeDecision::Refused(UNKNOWN) };
    let client = presented.client.client();
    let matches = client.grants.contains(&GrantType::AuthorizationCode)
        && record.client == client.id
        && record.redirect.is(presented.redirect_uri)
        && client.redirect.is(presented.redirect_uri)
        && record.challenge.admits(presented.verifier);
    if !matches {
        return CodeDecision::Refused(MISMATCH);
    }
    if let Some(family) = record.used_by {
        return CodeDecision::Replay { family, error: UNKNOWN };
    }
    if now >= record.expires_at {
        return CodeDecision::Refused(UNKNOWN);
    }
    if !account.is_some_and(|account| account.id == record.account && account.may_sign_in()) {
        return CodeDecision::Refused(CLOSED);
    }
    let family = Family {
        id: fresh.family,
        client: client.id.clone(),
        account: record.account,
        session: Some(record.session),
        scope: record.scope.clone(),
        begun_by: Some(GrantType::AuthorizationCode),
        begun_at: now,
        authenticated_at: record.authenticated_at,
        ended_at: None,
    };
    let start = NewFamily::of(family, fresh.refresh, client, record.nonce.clone(), terms);
    CodeDecision::Redeem(Box::new(Redemption { code: record.digest, start }))
}
