//! Security event tokens (RFC 8417) by which a hub tells its clients that an account, a family of grants or a client is no longer what
//! it was, in the words of CAEP. They have no end and grant nothing: no other kind of token passes as one, nor one as any other.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::ClientId;
use crate::json::{self, Object};
use crate::keys::{KeyError, PrivateKey, PublicKey};
use crate::moment::Moment;
use crate::token::{Expectation, LEEWAY_SECONDS, TokenFault, Unverified, Verified, jws, moment};

/// How long a change is told to those who ask later.
pub const TOLD_SECONDS: i64 = 86_400;
/// A token that was signed longer ago is refused: it may have been signed when the change happened, and told as late as that.
pub const OLDEST_SECONDS: i64 = 2 * TOLD_SECONDS;
/// How many clients beside itself a listener may name.
pub const MOST_AUDIENCES: usize = 64;

const TYPE: &str = "secevent+jwt";
const CLAIMS_CHANGE: &str = "https://schemas.openid.net/secevent/caep/event-type/token-claims-change";
const CREDENTIAL_CHANGE: &str = "https://schemas.openid.net/secevent/caep/event-type/credential-change";
const SESSION_REVOKED: &str = "https://schemas.openid.net/secevent/caep/event-type/session-revoked";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Happening {
    /// What is told of the subject is another now: its rights, its tenants, its names.
    ClaimsChange,
    /// It has another password.
    CredentialChange,
    /// It is signed out: tokens given before count no more.
    SessionRevoked,
}

/// To whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// An account.
    Account(Uuid),
    /// A family of grants of an account: the `sid` of its access tokens.
    Family {
        /// The family.
        family: Uuid,
        /// Whose it is.
        account: Uuid,
    },
    /// Whatever a client was granted.
    Client(ClientId),
    /// Too many to be named: any account of the hub.
    Everybody,
}

/// A change, numbered in the order in which changes came to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityEvent {
    /// Its number; the next change has the next one.
    pub sequence: i64,
    /// What happened.
    pub happening: Happening,
    /// To whom.
    pub subject: Subject,
    /// When.
    pub at: Moment,
}

impl Happening {
    const ALL: [Happening; 3] = [Happening::ClaimsChange, Happening::CredentialChange, Happening::SessionRevoked];

    fn uri(self) -> &'static str {
        match self {
            Happening::ClaimsChange => CLAIMS_CHANGE,
            Happening::CredentialChange => CREDENTIAL_CHANGE,
            Happening::SessionRevoked => SESSION_REVOKED,
        }
    }

    /// What CAEP wants to be said of it.
    fn detail(self, at: Moment) -> Value {
        let at = at.unix();
        match self {
            // The account itself is not told here: whoever needs it asks for it, and is told what it may know.
            Happening::ClaimsChange => json!({"event_timestamp": at, "claims": {"updated_at": at}}),
            Happening::CredentialChange => json!({"event_timestamp": at, "credential_type": "password", "change_type": "update"}),
            Happening::SessionRevoked => json!({"event_timestamp": at}),
        }
    }
}

impl Subject {
    /// A subject identifier (RFC 9493).
    fn write(&self, issuer: &str) -> Value {
        let account = |id: &Uuid| json!({"format": "iss_sub", "iss": issuer, "sub": id.to_string()});
        match self {
            Subject::Account(id) => account(id),
            Subject::Family { family, account: id } => {
                json!({"format": "complex", "session": {"format": "opaque", "id": family.to_string()}, "user": account(id)})
            }
            Subject::Client(id) => json!({"format": "complex", "application": {"format": "opaque", "id": id.as_str()}}),
            Subject::Everybody => json!({"format": "uri", "uri": issuer}),
        }
    }

    fn read(members: &Object, issuer: &str) -> Option<Self> {
        match json::text(members, "format")? {
            "iss_sub" => account(members, issuer).map(Subject::Account),
            "uri" => (json::text(members, "uri")? == issuer).then_some(Subject::Everybody),
            "complex" if members.contains_key("application") => {
                ClientId::parse(opaque(members.get("application")?)?).ok().map(Subject::Client)
            }
            "complex" => {
                let account = account(members.get("user")?.as_object()?, issuer)?;
                // A family by a name that is no id of ours cannot be told from others of the account.
                let family = opaque(members.get("session")?)?.parse();
                Some(family.map_or(Subject::Account(account), |family| Subject::Family { family, account }))
            }
            _ => None,
        }
    }
}

fn account(members: &Object, issuer: &str) -> Option<Uuid> {
    let named = json::text(members, "format")? == "iss_sub" && json::text(members, "iss")? == issuer;
    json::text(members, "sub").filter(|_| named)?.parse().ok()
}

fn opaque(value: &Value) -> Option<&str> {
    let members = value.as_object()?;
    json::text(members, "id").filter(|_| json::text(members, "format") == Some("opaque"))
}

impl SecurityEvent {
    /// Signs it for one client. The same event for the same client has the same `jti`, whenever and by whichever replica it is told.
    pub fn sign(&self, issuer: &str, audience: &ClientId, now: Moment, key: &PrivateKey) -> Result<String, KeyError> {
        let payload = json!({
            "iss": issuer,
            "iat": now.unix(),
            "jti": format!("{}.{}", self.sequence, audience.as_str()),
            "aud": audience.as_str(),
            "txn": self.sequence.to_string(),
            "sub_id": self.subject.write(issuer),
            "events": {self.happening.uri(): self.happening.detail(self.at)},
        });
        jws::write(TYPE, &payload, key)
    }

    fn read(members: &Object, issuer: &str) -> Option<Self> {
        let events = members.get("events")?.as_object()?;
        let (uri, detail) = events.iter().next().filter(|_| events.len() == 1)?;
        Some(SecurityEvent {
            sequence: json::text(members, "txn")?.parse().ok().filter(|number| *number > 0)?,
            happening: Happening::ALL.into_iter().find(|happening| happening.uri() == uri)?,
            subject: Subject::read(members.get("sub_id")?.as_object()?, issuer)?,
            at: moment(detail.as_object()?, "event_timestamp")?,
        })
    }
}

impl Unverified<'_> {
    /// Checks everything of a security event token: the kind that its header names, the signature, then what it claims. It has no end,
    /// but one that was signed too long ago is refused.
    pub fn verify_security_event(&self, key: &PublicKey, expected: &Expectation<'_>) -> Result<Verified<SecurityEvent>, TokenFault> {
        if !self.is_of_kind(TYPE) {
            return Err(TokenFault::Kind);
        }
        let members = self.open(key)?;
        if json::text(&members, "iss") != Some(expected.issuer) {
            return Err(TokenFault::Issuer);
        }
        if !json::text(&members, "aud").is_some_and(|audience| expected.audiences.contains(&audience)) {
            return Err(TokenFault::Audience);
        }
        // What looks like another kind of token as well is none of ours.
        if json::text(&members, "jti").is_none() || members.contains_key("sub") || members.contains_key("exp") {
            return Err(TokenFault::Claims);
        }
        let issued_at = moment(&members, "iat").ok_or(TokenFault::Claims)?;
        if issued_at > expected.now.plus(LEEWAY_SECONDS) {
            return Err(TokenFault::NotYet);
        }
        if expected.now.since(issued_at) > OLDEST_SECONDS {
            return Err(TokenFault::Expired);
        }
        SecurityEvent::read(&members, expected.issuer).map(Verified).ok_or(TokenFault::Claims)
    }
}
