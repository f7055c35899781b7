//! The password grant: a client exchanges a name and a password for tokens. It starts a family and never a session.

use crate::account::Account;
use crate::client::{Authenticated, GrantType};
use crate::error::Error;
use crate::grant::{Family, FamilySecrets, NewFamily, Terms};
use crate::password::Proof;
use crate::scope::Scope;

/// The one answer to an unknown name, a wrong password and a closed account.
pub const REFUSED: Error = Error::grant("the username or the password is wrong");

#[derive(Clone, Debug)]
pub enum PasswordDecision {
    /// Store in one transaction and answer.
    Grant(Box<PasswordGrant>),
    /// Record the failure and answer the error.
    Refused(Error),
}

#[derive(Clone, Debug)]
pub struct PasswordGrant {
    /// Must still hold in the transaction: a password that changed meanwhile starts nothing.
    pub proof: Proof,
    pub start: NewFamily,
}

/// Decides, after the throttle allowed the attempt and [`crate::password::prove_in`] compared the password.
pub fn decide(
    client: Authenticated<'_>,
    proven: Option<(&Account, Proof)>,
    scope: Option<&Scope>,
    fresh: FamilySecrets,
    terms: Terms,
) -> PasswordDecision {
    let now = terms.now;
    let client = client.client();
    let Some((account, proof)) = proven else { return PasswordDecision::Refused(REFUSED) };
    if !account.may_sign_in() || !client.grants.contains(&GrantType::Password) {
        return PasswordDecision::Refused(REFUSED);
    }
    let family = Family {
        id: fresh.family,
        client: client.id.clone(),
        account: account.id,
        session: None,
        scope: scope.cloned(),
        begun_by: Some(GrantType::Password),
        begun_at: now,
        authenticated_at: now,
        ended_at: None,
    };
    PasswordDecision::Grant(Box::new(PasswordGrant { proof, start: NewFamily::of(family, fresh.refresh, client, None, terms) }))
}
