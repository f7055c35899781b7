//! A code is traded for tokens, once. The order of the checks matters: a replay revokes only for a presenter that is right in every other
//! way, or anybody who saw a code could end a stranger's sign-in.

use uuid::Uuid;

use crate::account::Account;
use crate::authorize::CodeRecord;
use crate::client::{Authenticated, GrantType};
use crate::error::Error;
use crate::grant::{Beginning, Family, Fresh, Terms};
use crate::opaque::{Digest, purpose};
use crate::pkce::Verifier;

pub(crate) const UNKNOWN: Error = Error::grant("the code is unknown, expired or used");
pub(crate) const MISMATCH: Error = Error::grant("the code does not match this client, redirect or verifier");
const CLOSED: Error = Error::grant("the account or its session has ended");

/// What is presented with the code, whose row the caller looked up by its digest.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// The client, authenticated.
    pub client: Authenticated<'a>,
    /// `redirect_uri`
    pub redirect_uri: &'a str,
    /// `code_verifier`
    pub verifier: &'a Verifier,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Save in one transaction that begins by setting `used_by` where it is still empty; if that changes no row, somebody else was
    /// faster: read the row again and decide again, which makes it a replay.
    Redeem(Box<Redemption>),
    /// End this family (see [`crate::session::Ending::FamilyEnded`]) and answer the error.
    Replay {
        /// What the code gave.
        family: Uuid,
        /// The answer.
        error: Error,
    },
    /// Change nothing and answer the error.
    Refused(Error),
}

/// The rows to save and the answer to give.
#[derive(Clone, Debug)]
pub struct Redemption {
    /// The code whose `used_by` becomes the family's id.
    pub code: Digest<purpose::Code>,
    /// What it becomes.
    pub begin: Beginning,
}

/// Decides. The account is the one the row names, if it exists; a session that ended since the code was made must have ended the code
/// too (`record` is `None` then).
pub fn decide(presented: Presented<'_>, record: Option<&CodeRecord>, account: Option<&Account>, fresh: Fresh, terms: Terms) -> Outcome {
    let now = terms.now;
    let Some(record) = record else { return Outcome::Refused(UNKNOWN) };
    let client = presented.client.client();
    let matches = client.grants.contains(&GrantType::AuthorizationCode)
        && record.client == client.id
        && record.redirect.is(presented.redirect_uri)
        && client.redirect.is(presented.redirect_uri)
        && record.challenge.admits(presented.verifier);
    if !matches {
        return Outcome::Refused(MISMATCH);
    }
    if let Some(family) = record.used_by {
        return Outcome::Replay { family, error: UNKNOWN };
    }
    if now >= record.expires_at {
        return Outcome::Refused(UNKNOWN);
    }
    if !account.is_some_and(|account| account.id == record.account && account.may_sign_in()) {
        return Outcome::Refused(CLOSED);
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
    let begin = Beginning::of(family, fresh.refresh, client, record.nonce.clone(), terms);
    Outcome::Redeem(Box::new(Redemption { code: record.digest, begin }))
}
