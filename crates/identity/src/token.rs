//! The tokens a hub signs: what each kind claims, and how one is verified. A `Verified` can only come out of verification, and the kind
//! asked for is part of its type: a session cookie cannot pass as an access token.

pub mod access;
pub mod bearer;
pub mod hub_session;
pub mod id;
pub mod jws;
pub mod security_event;

use serde_json::Value;
use uuid::Uuid;

use crate::json::{self, Object};
use crate::keys::{KeyError, PrivateKey, PublicKey};
use crate::moment::Moment;

pub use access::AccessClaims;
pub use bearer::BearerClaims;
pub use hub_session::HubSessionClaims;
pub use id::IdClaims;
pub use jws::Unverified;
pub use security_event::SecurityEvent;

/// How far the clocks of two machines may differ.
pub const LEEWAY_SECONDS: i64 = 30;
/// The longest life any token may have; one that claims more is refused, whoever signed it.
pub const LONGEST_LIFE_SECONDS: i64 = 86_400;
/// 9999-12-31: a time beyond is no time.
const LAST_SECOND: i64 = 253_402_300_799;
const MOST_AUDIENCES: usize = 16;
const LONGEST_AUDIENCE: usize = 512;

/// Why a token is refused. Nothing of the token is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not three base64url parts with JSON objects, or too long.
    #[error("the token is malformed")]
    Malformed,
    /// `alg` is something else than RS256.
    #[error("the token is not signed with RS256")]
    Algorithm,
    /// `crit` or `b64` ask for an extension.
    #[error("the token needs an extension that is not understood")]
    Critical,
    /// Another kind of token.
    #[error("the token is of another kind")]
    Kind,
    /// No such key. A satellite may fetch the key set once more.
    #[error("the token's key is unknown")]
    UnknownKey,
    /// The signature is not this key's.
    #[error("the token's signature does not match")]
    Signature,
    /// A claim is missing or of the wrong type.
    #[error("a claim of the token is missing or malformed")]
    Claims,
    /// From another issuer.
    #[error("the token is of another issuer")]
    Issuer,
    /// For somebody else.
    #[error("the token is for another audience")]
    Audience,
    /// Over.
    #[error("the token has expired")]
    Expired,
    /// Not yet.
    #[error("the token is not valid yet")]
    NotYet,
}

/// What a verifier expects beside a good signature.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// `iss`, byte for byte.
    pub issuer: &'a str,
    /// At least one of these must stand in `aud`.
    pub audiences: &'a [&'a str],
    /// The time.
    pub now: Moment,
    /// By whose clock tokens end.
    pub end: End,
}

/// By whose clock a token ends. A beginning is always given the leeway: replicas of one hub are different machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By the verifier's own, since it is who issued it: at `exp`.
    Own,
    /// By the issuer's, which may differ from the verifier's: [`LEEWAY_SECONDS`] after `exp`.
    Issuers,
}

impl End {
    fn leeway(self) -> i64 {
        match self {
            End::Own => 0,
            End::Issuers => LEEWAY_SECONDS,
        }
    }
}

impl Expectation<'_> {
    fn admits(&self, issuer: &str, audiences: &[String], usage: Use) -> Result<(), TokenFault> {
        if issuer != self.issuer {
            return Err(TokenFault::Issuer);
        }
        if usage == Use::Credential && !audiences.iter().any(|one| self.audiences.contains(&one.as_str())) {
            return Err(TokenFault::Audience);
        }
        Ok(())
    }
}

/// Claims whose signature, kind, issuer, audience and times were checked. Only [`Unverified::verify`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<C>(C);

impl<C> Verified<C> {
    /// The claims.
    pub fn claims(&self) -> &C {
        &self.0
    }

    /// The claims, taken out.
    pub fn into_claims(self) -> C {
        self.0
    }
}

/// A kind of token.
pub trait Claims: Sized {
    /// Its `typ`.
    const TYPE: &'static str;

    /// The members to sign.
    fn write(&self) -> Object;

    /// Reads what this kind adds to the [`Common`] claims.
    fn read(common: Common, members: &Object) -> Option<Self>;
}

/// What every kind claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Common {
    /// `iss`
    pub issuer: String,
    /// `sub`: the account.
    pub subject: Uuid,
    /// `aud`
    pub audiences: Vec<String>,
    /// `iat`, and `nbf` where written
    pub issued_at: Moment,
    /// `exp`
    pub expires_at: Moment,
}

impl Common {
    /// The members of a token that begins when it is issued.
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
        Some(Common {
            issuer: json::text(members, "iss")?.to_owned(),
            subject: uuid(members, "sub")?,
            audiences: audiences(members)?,
            issued_at: times.issued_at?,
            expires_at: times.expires_at,
        })
    }
}

/// When a token counts. Each time that is there must be one.
#[derive(Clone, Copy, Debug)]
struct Times {
    issued_at: Option<Moment>,
    not_before: Option<Moment>,
    expires_at: Moment,
}

impl Times {
    fn read(members: &Object) -> Option<Self> {
        let optional = |name: &str| if members.contains_key(name) { moment(members, name).map(Some) } else { Some(None) };
        Some(Times { issued_at: optional("iat")?, not_before: optional("nbf")?, expires_at: moment(members, "exp")? })
    }

    fn check(&self, expected: &Expectation<'_>, usage: Use) -> Result<(), TokenFault> {
        let good = match self.issued_at {
            Some(issued_at) => (1..=LONGEST_LIFE_SECONDS).contains(&self.expires_at.since(issued_at)),
            // Of a token that does not say when it began, no more than a life may be left.
            None => self.expires_at.since(expected.now) <= LONGEST_LIFE_SECONDS + LEEWAY_SECONDS,
        };
        if !good {
            return Err(TokenFault::Claims);
        }
        if self.issued_at.max(self.not_before).is_some_and(|from| from > expected.now.plus(LEEWAY_SECONDS)) {
            return Err(TokenFault::NotYet);
        }
        if usage == Use::Credential && expected.now >= self.expires_at.plus(expected.end.leeway()) {
            return Err(TokenFault::Expired);
        }
        Ok(())
    }
}

/// How much of a token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// As a credential: everything.
    Credential,
    /// As a hint, which grants nothing: it may be for any client, and is most often sent when its time is over.
    Hint,
}

/// Signs a token of this kind: one signature.
pub fn sign<C: Claims>(claims: &C, key: &PrivateKey) -> Result<String, KeyError> {
    jws::write(C::TYPE, &Value::Object(claims.write()), key)
}

impl Unverified<'_> {
    /// Checks everything: the kind that its header names, which costs nothing; the signature, which covers that header; then what it claims.
    ///
    /// The key is the one that the caller's key set has under [`Unverified::key_id`]; another one is refused as unknown.
    pub fn verify<C: Claims>(&self, key: &PublicKey, expected: &Expectation<'_>) -> Result<Verified<C>, TokenFault> {
        self.judge(key, expected, Use::Credential)
    }

    pub(crate) fn judge<C: Claims>(&self, key: &PublicKey, expected: &Expectation<'_>, usage: Use) -> Result<Verified<C>, TokenFault> {
        if !self.is_of_kind(C::TYPE) {
            return Err(TokenFault::Kind);
        }
        let members = self.open(key)?;
        let times = Times::read(&members).ok_or(TokenFault::Claims)?;
        let common = Common::read(&members, &times).ok_or(TokenFault::Claims)?;
        expected.admits(&common.issuer, &common.audiences, usage)?;
        times.check(expected, usage)?;
        C::read(common, &members).map(Verified).ok_or(TokenFault::Claims)
    }
}

/// `aud`: one, or a list that is not empty.
fn audiences(members: &Object) -> Option<Vec<String>> {
    let audiences: Vec<String> = match members.get("aud")? {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => several.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<_>>()?,
        _ => return None,
    };
    let fits = !audiences.is_empty() && audiences.len() <= MOST_AUDIENCES && audiences.iter().all(|one| one.len() <= LONGEST_AUDIENCE);
    fits.then_some(audiences)
}

/// `sub`, and `aci` where it is there: two names of one account. Were they to differ, two readers of one token would see two callers.
fn account(members: &Object) -> Option<Uuid> {
    let subject = uuid(members, "sub")?;
    if members.contains_key("aci") && uuid(members, "aci")? != subject {
        return None;
    }
    Some(subject)
}

/// A number of seconds in the range of calendars, cut to whole ones; a text and a negative number are none.
fn moment(members: &Object, name: &str) -> Option<Moment> {
    let value = members.get(name)?;
    let in_range = |seconds: &f64| (0.0..=LAST_SECOND as f64).contains(seconds);
    let seconds = value.as_i64().or_else(|| value.as_f64().filter(in_range).map(|seconds| seconds as i64))?;
    (0..=LAST_SECOND).contains(&seconds).then(|| Moment::from_unix(seconds))
}

/// An id in its one spelling: lower case with hyphens.
fn uuid(members: &Object, name: &str) -> Option<Uuid> {
    let text = json::text(members, name)?;
    Uuid::try_parse(text).ok().filter(|id| id.hyphenated().to_string() == text)
}
