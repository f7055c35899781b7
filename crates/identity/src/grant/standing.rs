//! Whether what was granted still stands: what a hub asks on every request with a token of its own, at introspection and at revocation.

use uuid::Uuid;

use crate::account::Account;
use crate::client::Authenticated;
use crate::error::{Error, ErrorCode};
use crate::grant::Family;
use crate::token::{AccessClaims, Verified};

const OVER: Error = Error::new(ErrorCode::InvalidToken, "the access token was revoked");

/// The account behind a token of this hub, unless its family has ended or the account may not sign in any more.
pub fn account<'a>(token: &Verified<AccessClaims>, family: Option<&Family>, account: Option<&'a Account>) -> Result<&'a Account, Error> {
    let claims = token.claims();
    let open = |family: &Family| {
        family.id == claims.family && family.ended_at.is_none() && family.account == claims.account() && family.client == claims.client
    };
    match account {
        Some(account) if family.is_some_and(open) && account.id == claims.account() && account.may_sign_in() => Ok(account),
        _ => Err(OVER),
    }
}

/// How much a client ends with a token that it gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The token's family.
    Family,
    /// The session that the family came out of, and with it every family that did; where there is none, the family.
    Session,
}

/// What a client ends by a token that it gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// This family.
    Family(Uuid),
    /// The session that this family came out of, whichever it is by then, since a browser that signs in again goes on in another; every
    /// family that came out of it; and this one.
    SessionOf(Uuid),
}

/// What ends when a client revokes a token of a family (RFC 7009). Of a stranger's token nothing does, and the answer is the same. A family
/// that has ended already still names its session, which may live on: a token that was used twice ends the one and not the other.
pub fn revoked_by(client: Authenticated<'_>, family: &Family, reach: Reach) -> Option<Revoked> {
    if family.client != client.client().id {
        return None;
    }
    match (family.session, reach) {
        (Some(_), Reach::Session) => Some(Revoked::SessionOf(family.id)),
        _ => family.ended_at.is_none().then_some(Revoked::Family(family.id)),
    }
}

/// Whether a client may learn what a token says (RFC 7662): its audience may, nobody else.
pub fn may_introspect(client: Authenticated<'_>, token: &Verified<AccessClaims>) -> bool {
    token.claims().common.audiences.iter().any(|audience| audience == client.client().id.as_str())
}
