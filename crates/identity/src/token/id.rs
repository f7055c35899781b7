//! The ID token of OpenID Connect: it names the account and the time of the sign-in to a client, and grants nothing.

use uuid::Uuid;

use crate::base64url;
use crate::json::{self, Object};
use crate::keys::PublicKey;
use crate::secret_token;
use crate::timestamp::Timestamp;
use crate::token::{Claims, Expectation, ExpiryClock, RegisteredClaims, TokenFault, TokenUse, Unverified, Verified, timestamp, uuid};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdClaims {
    /// The common claims; `aud` is the client.
    pub common: RegisteredClaims,
    /// `auth_time`: when the account signed in.
    pub authenticated_at: Timestamp,
    pub nonce: Option<String>,
    /// `at_hash`: binds it to the access token of the same answer.
    pub access_token_hash: Option<String>,
    /// `sid`: the session at the hub, for a logout hint.
    pub session: Option<Uuid>,
}

impl IdClaims {
    /// `at_hash`: the left half of the access token's SHA-256.
    pub fn hash_of(access_token: &str) -> String {
        base64url::encode(&secret_token::sha256(access_token.as_bytes())[..16])
    }

    /// Reads an `id_token_hint` of any client of this issuer. It checks everything except the audience and the expiry.
    pub fn read_hint(hint: &Unverified<'_>, key: &PublicKey, issuer: &str, now: Timestamp) -> Result<Verified<Self>, TokenFault> {
        hint.judge(key, &Expectation { issuer, audiences: &[], now, end: ExpiryClock::Own }, TokenUse::Hint)
    }
}

impl Claims for IdClaims {
    const TYPE: &'static str = "JWT";

    fn write(&self) -> Object {
        let mut members = self.common.write();
        members.insert("auth_time".into(), self.authenticated_at.unix().into());
        for (name, value) in [("nonce", &self.nonce), ("at_hash", &self.access_token_hash)] {
            if let Some(value) = value {
                members.insert(name.into(), value.clone().into());
            }
        }
        if let Some(session) = self.session {
            members.insert("sid".into(), session.to_string().into());
        }
        members
    }

    fn read(common: RegisteredClaims, members: &Object) -> Option<Self> {
        let session = if members.contains_key("sid") { Some(uuid(members, "sid")?) } else { None };
        Some(IdClaims {
            authenticated_at: timestamp(members, "auth_time")?,
            nonce: json::text(members, "nonce").map(str::to_owned),
            access_token_hash: json::text(members, "at_hash").map(str::to_owned),
            session,
            common,
        })
    }
}
