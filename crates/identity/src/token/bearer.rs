//! An access token as a satellite reads it. Whose it is and when it ends must be there; the names that the hub gives to it and to its
//! family mean something to the hub alone, which is asked about the token next.

use uuid::Uuid;

use crate::json::{self, Object};
use crate::keys::PublicKey;
use crate::moment::Moment;
use crate::token::{AccessClaims, Claims, Expectation, Times, TokenFault, Unverified, Use, Verified, account, audiences, uuid};

const LONGEST_NAME: usize = 255;

/// What a satellite takes from an access token of its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BearerClaims {
    /// `sub`: the account that calls.
    pub account: Uuid,
    /// `sid`, where it is an id as our hubs give them. Of what is not, nobody will hear by its name.
    pub family: Option<Uuid>,
    /// `exp`
    pub expires_at: Moment,
}

impl BearerClaims {
    fn read(members: &Object, expires_at: Moment) -> Option<Self> {
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
    /// Checks everything of an access token that a satellite can: the kind that its header names, the signature, which covers that header,
    /// and then what it claims.
    pub fn verify_bearer(&self, key: &PublicKey, expected: &Expectation<'_>) -> Result<Verified<BearerClaims>, TokenFault> {
        if !self.is_of_kind(AccessClaims::TYPE) {
            return Err(TokenFault::Kind);
        }
        let members = self.open(key)?;
        let issuer = json::text(&members, "iss").ok_or(TokenFault::Claims)?;
        let audiences = audiences(&members).ok_or(TokenFault::Claims)?;
        let times = Times::read(&members).ok_or(TokenFault::Claims)?;
        expected.admits(issuer, &audiences, Use::Credential)?;
        times.check(expected, Use::Credential)?;
        BearerClaims::read(&members, times.expires_at).map(Verified).ok_or(TokenFault::Claims)
    }
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
