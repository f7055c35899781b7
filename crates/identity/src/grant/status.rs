//! The status of a grant: whether an access token still counts at its hub, and which client may introspect it.

use crate::account::Account;
use crate::client::Authenticated;
use crate::error::{Error, ErrorCode};
use crate::grant::Family;
use crate::token::{AccessClaims, Verified};

const REVOKED: Error = Error::new(ErrorCode::InvalidToken, "the access token was revoked");

/// The account of an access token, unless its family is revoked or the account may no longer sign in.
pub fn account<'a>(token: &Verified<AccessClaims>, family: Option<&Family>, account: Option<&'a Account>) -> Result<&'a Account, Error> {
    let claims = token.claims();
    let open = |family: &Family| {
        family.id == claims.family && family.ended_at.is_none() && family.account == claims.account() && family.client == claims.client
    };
    match account {
        Some(account) if family.is_some_and(open) && account.id == claims.account() && account.may_sign_in() => Ok(account),
        _ => Err(REVOKED),
    }
}

/// Whether a client may introspect a token (RFC 7662): only its audience may.
pub fn may_introspect(client: Authenticated<'_>, token: &Verified<AccessClaims>) -> bool {
    token.claims().common.audiences.iter().any(|audience| audience == client.client().id.as_str())
}
