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

/// The family to end when a client revokes a token of it (RFC 7009). Of a stranger's token nothing is ended, and the answer is the same.
pub fn revoked_by(client: Authenticated<'_>, family: &Family) -> Option<Uuid> {
    (family.client == client.client().id && family.ended_at.is_none()).then_some(family.id)
}

/// Whether a client may learn what a token says (RFC 7662): its audience may, nobody else.
pub fn may_introspect(client: Authenticated<'_>, token: &Verified<AccessClaims>) -> bool {
    token.claims().common.audiences.iter().any(|audience| audience == client.client().id.as_str())
}
