//! The signed tokens of a hub. Only verification makes a `Verified<C>`, and `C` is the kind of token: a session cookie cannot pass as an
//! access token.

pub mod access;
pub mod hub_session;
pub mod id;
pub mod jws;
pub mod page;
pub mod satellite_access;
pub mod security_event;

use serde_json::Value;
use uuid::Uuid;

use crate::json::{self, Object};
use crate::keys::{KeyError, PrivateKey, PublicKey};
use crate::lifetime::{LEEWAY_SECONDS, MAX_TOKEN_SECONDS};
use crate::timestamp::Timestamp;

pub use access::AccessClaims;
pub use hub_session::HubSessionClaims;
pub use id::IdClaims;
pub use jws::Unverified;
pub use page::PageClaims;
pub use satellite_access::BearerClaims;
pub use security_event::AccountChange;

/// 9999-12-31, the last valid time.
const LAST_SECOND: i64 = 253_402_300_799;
const MAX_AUDIENCES: usize = 16;
const MAX_AUDIENCE_BYTES: usize = 512;

/// Why a token is refused. It contains nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not three base64url parts with JSON objects, or too long.
    #[error("the token is malformed")]
    Malformed,
    #[error("the token is not signed with RS256")]
    Algorithm,
    /// `crit` or `b64` ask for an extension.
    #[error("the token needs an extension that is not understood")]
    Critical,
    #[error("the token is of another kind")]
    Kind,
    /// No such key. A satellite may fetch the key set once more.
    #[error("the token's key is unknown")]
    UnknownKey,
    #[error("the token's signature does not match")]
    Signature,
    /// A claim is missing or of the wrong type.
    #[error("a claim of the token is missing or malformed")]
    Claims,
    #[error("the token has another issuer")]
    Issuer,
    #[error("the token is for another audience")]
    Audience,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYet,
}

#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// `iss`, byte for byte.
    pub issuer: &'a str,
    /// `aud` must have at least one of these.
    pub audiences: &'a [&'a str],
    pub now: Timestamp,
    pub end: ExpiryClock,
}

/// The clock that ends a token. Its start always has the leeway: replicas of one hub are different machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryClock {
    /// The verifier's own, because it issued the token: at `exp`.
    Own,
    /// The issuer's, which may differ from the verifier's: [`LEEWAY_SECONDS`] after `exp`.
    Issuers,
}

impl ExpiryClock {
    fn leeway(self) -> i64 {
        match self {
            ExpiryClock::Own => 0,
            ExpiryClock::Issuers => LEEWAY_SECONDS,
        }
    }
}

impl Expectation<'_> {
    fn admits(&self, issuer: &str, audiences: &[String], usage: TokenUse) -> Result<(), TokenFault> {
        if issuer != self.issuer {
            return Err(TokenFault::Issuer);
        }
        if usage == TokenUse::Credential && !audiences.iter().any(|one| self.audiences.contains(&one.as_str())) {
            return Err(TokenFault::Audience);
        }
        Ok(())
    }
}

/// Claims with checked signature, kind, issuer, audience and times. Only [`Unverified::verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<C>(C);

impl<C> Verified<C> {
    pub fn claims(&self) -> &C {
        &self.0
    }

    pub fn into_claims(self) -> C {
        self.0
    }
}

pub trait Claims: Sized {
    /// Its `typ`.
    const TYPE: &'static str;

    /// The members to sign.
    fn write(&self) -> Object;

    /// Reads the claims that this kind adds to [`RegisteredClaims`].
    fn read(common: RegisteredClaims, members: &Object) -> Option<Self>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredClaims {
    pub issuer: String,
    /// `sub`: the account.
    pub subject: Uuid,
    pub audiences: Vec<String>,
    /// `iat`, and `nbf` where written
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
}

impl RegisteredClaims {
    /// The members of a token that is valid from its issue.
    fn write(&self) -> Object {
        let mut members = Object::new();
        members.insert("iss".into(), self.issuer.clone().into());
        members.insert("sub".into(), self.subject.to_string().into());
        let audience = match self.audiences.as_slice() {
            [one] => Value::from(one.clone()),
            several => Value::from(several.to_vec()),
        };
        members.insert("aud".into(), audience);
        members.insert("iat".into(), self.issued_at.unix().into());
        members.insert("nbf".into(), self.issued_at.unix().into());
        members.insert("exp".into(), self.expires_at.unix().into());
        members
    }

    fn read(members: &Object, times: &Times) -> Option<Self> {
        Some(RegisteredClaims {
            issuer: json::text(members, "iss")?.to_owned(),
            subject: uuid(members, "sub")?,
            audiences: audiences(members)?,
            issued_at: times.issued_at?,
            expires_at: times.expires_at,
        })
    }
}

/// The times of a token. Each one that is present must be valid.
#[derive(Clone, Copy, Debug)]
struct Times {
    issued_at: Option<Timestamp>,
    not_before: Option<Timestamp>,
    expires_at: Timestamp,
}

impl Times {
    fn read(members: &Object) -> Option<Self> {
        let optional = |name: &str| if members.contains_key(name) { timestamp(members, name).map(Some) } else { Some(None) };
        Some(Times { issued_at: optional("iat")?, not_before: optional("nbf")?, expires_at: timestamp(members, "exp")? })
    }

    fn check(&self, expected: &Expectation<'_>, usage: TokenUse) -> Result<(), TokenFault> {
        let valid = match self.issued_at {
            Some(issued_at) => (1..=MAX_TOKEN_SECONDS).contains(&self.expires_at.since(issued_at)),
            // Without `iat`, the rest of its life must not exceed a whole life.
            None => self.expires_at.since(expected.now) <= MAX_TOKEN_SECONDS + LEEWAY_SECONDS,
        };
        if !valid {
            return Err(TokenFault::Claims);
        }
        if self.issued_at.max(self.not_before).is_some_and(|from| from > expected.now.plus(LEEWAY_SECONDS)) {
            return Err(TokenFault::NotYet);
        }
        if usage == TokenUse::Credential && expected.now >= self.expires_at.plus(expected.end.leeway()) {
            return Err(TokenFault::Expired);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenUse {
    Credential,
    /// As a hint, which grants nothing: it may be for any client, and expired.
    Hint,
}

pub fn sign<C: Claims>(claims: &C, key: &PrivateKey) -> Result<String, KeyError> {
    jws::write(C::TYPE, &Value::Object(claims.write()), key)
}

impl Unverified<'_> {
    /// Checks kind, signature and claims. The key must be that of [`Unverified::key_id`]; another one is refused as unknown.
    pub fn verify<C: Claims>(&self, key: &PublicKey, expected: &Expectation<'_>) -> Result<Verified<C>, TokenFault> {
        self.judge(key, expected, TokenUse::Credential)
    }

    pub(crate) fn judge<C: Claims>(&self, key: &PublicKey, expected: &Expectation<'_>, usage: TokenUse) -> Result<Verified<C>, TokenFault> {
        if !self.is_of_kind(C::TYPE) {
            return Err(TokenFault::Kind);
        }
        let members = self.open(key)?;
        let times = Times::read(&members).ok_or(TokenFault::Claims)?;
        let common = RegisteredClaims::read(&members, &times).ok_or(TokenFault::Claims)?;
        expected.admits(&common.issuer, &common.audiences, usage)?;
        times.check(expected, usage)?;
        C::read(common, &members).map(Verified).ok_or(TokenFault::Claims)
    }
}

/// `aud`: one string, or a list that is not empty.
fn audiences(members: &Object) -> Option<Vec<String>> {
    let audiences: Vec<String> = match members.get("aud")? {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => several.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        _ => return None,
    };
    let fits = !audiences.is_empty() && audiences.len() <= MAX_AUDIENCES && audiences.iter().all(|one| one.len() <= MAX_AUDIENCE_BYTES);
    fits.then_some(audiences)
}

/// `sub`, and `aci` if present: they must be equal, or two readers of one token would see two callers.
fn account(members: &Object) -> Option<Uuid> {
    let subject = uuid(members, "sub")?;
    if members.contains_key("aci") && uuid(members, "aci")? != subject {
        return None;
    }
    Some(subject)
}

/// A valid time in seconds, cut to whole ones.
fn timestamp(members: &Object, name: &str) -> Option<Timestamp> {
    let value = members.get(name)?;
    let in_range = |seconds: &f64| (0.0..=LAST_SECOND as f64).contains(seconds);
    let seconds = value.as_i64().or_else(|| value.as_f64().filter(in_range).map(|seconds| seconds as i64))?;
    (0..=LAST_SECOND).contains(&seconds).then(|| Timestamp::from_unix(seconds))
}

/// A UUID in lower case with hyphens.
fn uuid(members: &Object, name: &str) -> Option<Uuid> {
    let text = json::text(members, name)?;
    Uuid::try_parse(text).ok().filter(|id| id.hyphenated().to_string() == text)
}
