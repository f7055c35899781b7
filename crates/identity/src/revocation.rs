//! Revocation: which sessions and token families stop counting, and when a client may revoke by a token (RFC 7009).

use uuid::Uuid;

use crate::client::{Authenticated, ClientId};
use crate::grant::Family;

/// An event that revokes sessions or token families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// A browser signs out of this session.
    Logout(Uuid),
    /// This account signs out everywhere.
    LogoutEverywhere(Uuid),
    /// The password of an account changes; the `kept` session, which changes it, stays.
    PasswordChanged { account: Uuid, kept: Option<Uuid> },
    /// This account is deactivated or removed.
    AccountClosed(Uuid),
    /// This client is deactivated or removed.
    ClientClosed(ClientId),
    /// A refresh token or a code of this family is used twice, or its client revokes it.
    FamilyRevoked(Uuid),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    Nothing,
    One(Uuid),
    OfSession(Uuid),
    OfAccount(Uuid),
    OfAccountBut { account: Uuid, session: Uuid },
    OfClient(ClientId),
}

/// What a revocation ends, in one transaction. Codes that are not redeemed yet go with their session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationScope {
    pub sessions: Selection,
    /// The token families, with their refresh tokens and, at the hub, their access tokens.
    pub families: Selection,
}

impl Revocation {
    pub fn scope(&self) -> RevocationScope {
        let (sessions, families) = match self {
            Revocation::Logout(session) => (Selection::One(*session), Selection::OfSession(*session)),
            // All families end: a stolen refresh token is one reason to change a password.
            Revocation::PasswordChanged { account, kept: Some(session) } => {
                (Selection::OfAccountBut { account: *account, session: *session }, Selection::OfAccount(*account))
            }
            Revocation::LogoutEverywhere(account)
            | Revocation::AccountClosed(account)
            | Revocation::PasswordChanged { account, kept: None } => (Selection::OfAccount(*account), Selection::OfAccount(*account)),
            Revocation::ClientClosed(client) => (Selection::Nothing, Selection::OfClient(client.clone())),
            Revocation::FamilyRevoked(family) => (Selection::Nothing, Selection::One(*family)),
        };
        RevocationScope { sessions, families }
    }
}

/// How much a client asks to revoke with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Family,
    /// The session of the family with all its families; without a session, the family.
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRevocation {
    Family(Uuid),
    /// This family, and its session with all families. Which session that is counts at this moment: a new sign-in moves families.
    SessionOf(Uuid),
}

/// What a client revokes with a token of this family (RFC 7009). The token of another client revokes nothing, and the answer is the same.
/// A revoked family still names its session, which may be alive: a token that was used twice revokes only the family.
pub fn revoked_by(client: Authenticated<'_>, family: &Family, reach: Reach) -> Option<ClientRevocation> {
    if family.client != client.client().id {
        return None;
    }
    match (family.session, reach) {
        (Some(_), Reach::Session) => Some(ClientRevocation::SessionOf(family.id)),
        _ => family.ended_at.is_none().then_some(ClientRevocation::Family(family.id)),
    }
}
