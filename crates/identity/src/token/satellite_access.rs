//! An access token as a satellite reads it. It leaves out the ids of the token and of its family, which only the hub uses.

use uuid::Uuid;

use crate::json::{self, Object};
use crate::keys::PublicKey;
use crate::timestamp::Timestamp;
use crate::token::{AccessClaims, Claims, Expectation, Times, TokenFault, TokenUse, Unverified, Verified, account, audiences, uuid};

const MAX_NAME_BYTES: usize = 255;

/// The claims that a satellite reads from an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BearerClaims {
    pub account: Uuid,
    /// `sid`, if it is a UUID, as account changes name it.
    pub family: Option<Uuid>,
    pub expires_at: Timestamp,
}

impl BearerClaims {
    fn read(members: &Object, expires_at: Timestamp) -> Option<Self> {
        let names = ["jti", "sid", "client_id", "scope"].map(|name| members.get(name));
        let [id, family, client, scope] = names;
        let named = [id, family, client].into_iter().flatten().all(|value| value.as_str().is_some_and(is_name));
        if !named || scope.is_some_and(|scope| !scope.is_string()) {
            return None;
        }
        Some(BearerClaims { account: account(members)?, family: uuid(members, "sid"), expires_at })
    }
}

impl Unverified<'_> {
    /// Checks everything that a satellite can check of an access token: the kind in the header, the signature, and the claims.
    pub fn verify_bearer(&self, key: &PublicKey, expected: &Expectation<'_>) -> Result<Verified<BearerClaims>, TokenFault> {
        if !self.is_of_kind(AccessClaims::TYPE) {
            return Err(TokenFault::Kind);
        }
        let members = self.open(key)?;
        let issuer = json::text(&members, "iss").ok_or(TokenFault::Claims)?;
        let audiences = audiences(&members).ok_or(TokenFault::Claims)?;
        let times = Times::read(&members).ok_or(TokenFault::Claims)?;
        expected.admits(issuer, &audiences, TokenUse::Credential)?;
        times.check(expected, TokenUse::Credential)?;
        BearerClaims::read(&members, times.expires_at).map(Verified).ok_or(TokenFault::Claims)
    }
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
