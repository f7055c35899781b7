//! Name and password are traded for tokens, by clients that hold this grant. It begins a family and never a session.

use crate::account::Account;
use crate::client::{Authenticated, GrantType};
use crate::error::Error;
use crate::grant::{Beginning, Family, Fresh, Terms};
use crate::password::Proof;
use crate::scope::Scope;

/// The one answer to an unknown name, a wrong password and a closed account.
pub const REFUSED: Error = Error::grant("the username or the password is wrong");

/// What to do.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Save in one transaction and answer.
    Grant(Box<Entry>),
    /// Record nothing beyond the failure and answer the error.
    Refused(Error),
}

/// The rows to save and the answer to give.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What must still hold when they are saved: a password that was changed in the meantime begins nothing.
    pub proof: Proof,
    /// What begins.
    pub begin: Beginning,
}

/// Decides, after the throttle let the attempt through and the password was compared ([`crate::password::prove_in`], which does the same
/// work when there is no account).
pub fn decide(client: Authenticated<'_>, proven: Option<(&Account, Proof)>, scope: Option<&Scope>, fresh: Fresh, terms: Terms) -> Outcome {
    let now = terms.now;
    let client = client.client();
    let Some((account, proof)) = proven else { return Outcome::Refused(REFUSED) };
    if !account.may_sign_in() || !client.grants.contains(&GrantType::Password) {
        return Outcome::Refused(REFUSED);
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
    Outcome::Grant(Box::new(Entry { proof, begin: Beginning::of(family, fresh.refresh, client, None, terms) }))
}
