//! Account changes as security event tokens (RFC 8417, CAEP): a hub streams them to satellites when an account, a token family or a client
//! changes. They never expire and grant nothing. Their `typ` keeps them apart from every other kind of token.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::client::ClientId;
use crate::json::{self, Object};
use crate::keys::{KeyError, PrivateKey, PublicKey};
use crate::lifetime::LEEWAY_SECONDS;
use crate::timestamp::Timestamp;
use crate::token::{Expectation, TokenFault, Unverified, Verified, jws, timestamp};

/// How long a change stays in the feed.
pub const FEED_SECONDS: i64 = 86_400;
/// The greatest age of a token: it may be signed when the change happens, and sent as late as the feed allows.
pub const MAX_AGE_SECONDS: i64 = 2 * FEED_SECONDS;
/// How many other clients a listener may name.
pub const MAX_AUDIENCES: usize = 64;

const TYPE: &str = "secevent+jwt";
const CLAIMS_CHANGE: &str = "https://schemas.openid.net/secevent/caep/event-type/token-claims-change";
const CREDENTIAL_CHANGE: &str = "https://schemas.openid.net/secevent/caep/event-type/credential-change";
const SESSION_REVOKED: &str = "https://schemas.openid.net/secevent/caep/event-type/session-revoked";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The rights, tenants or names of the subject changed.
    ClaimsChange,
    CredentialChange,
    /// It is signed out: its earlier tokens are revoked.
    SessionRevoked,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    Account(Uuid),
    // A token family: the `sid` of its access tokens.
    Family { family: Uuid, account: Uuid },
    // All grants of a client.
    Client(ClientId),
    // Any account of the hub, if there are too many to name.
    Everybody,
}

/// An account change, numbered in the order of the commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Its number; the next change has the next one.
    pub sequence: i64,
    pub happening: ChangeKind,
    pub subject: Subject,
    pub at: Timestamp,
}

impl ChangeKind {
    const ALL: [ChangeKind; 3] = [ChangeKind::ClaimsChange, ChangeKind::CredentialChange, ChangeKind::SessionRevoked];

    fn uri(self) -> &'static str {
        match self {
            ChangeKind::ClaimsChange => CLAIMS_CHANGE,
            ChangeKind::CredentialChange => CREDENTIAL_CHANGE,
            ChangeKind::SessionRevoked => SESSION_REVOKED,
        }
    }

    /// The details that CAEP requires.
    fn detail(self, at: Timestamp) -> Value {
        let at = at.unix();
        match self {
            // Without the account itself: a satellite that needs it asks for what it may know.
            ChangeKind::ClaimsChange => json!({"event_timestamp": at, "claims": {"updated_at": at}}),
            ChangeKind::CredentialChange => json!({"event_timestamp": at, "credential_type": "password", "change_type": "update"}),
            ChangeKind::SessionRevoked => json!({"event_timestamp": at}),
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
                // A family that is no UUID is unknown, so the whole account counts.
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

impl AccountChange {
    /// Signs it for one client. The same change for the same client always has the same `jti`, from every replica.
    pub fn sign(&self, issuer: &str, audience: &ClientId, now: Timestamp, key: &PrivateKey) -> Result<String, KeyError> {
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
        Some(AccountChange {
            sequence: json::text(members, "txn")?.parse().ok().filter(|number| *number > 0)?,
            happening: ChangeKind::ALL.into_iter().find(|happening| happening.uri() == uri)?,
            subject: Subject::read(members.get("sub_id")?.as_object()?, issuer)?,
            at: timestamp(detail.as_object()?, "event_timestamp")?,
        })
    }
}

impl Unverified<'_> {
    /// Checks kind, signature and claims. It does not expire, but one that was signed too long ago is refused.
    pub fn verify_security_event(&self, key: &PublicKey, expected: &Expectation<'_>) -> Result<Verified<AccountChange>, TokenFault> {
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
        // A token with the claims of another kind is refused.
        if json::text(&members, "jti").is_none() || members.contains_key("sub") || members.contains_key("exp") {
            return Err(TokenFault::Claims);
        }
        let issued_at = timestamp(&members, "iat").ok_or(TokenFault::Claims)?;
        if issued_at > expected.now.plus(LEEWAY_SECONDS) {
            return Err(TokenFault::NotYet);
        }
        if expected.now.since(issued_at) > MAX_AGE_SECONDS {
            return Err(TokenFault::Expired);
        }
        AccountChange::read(&members, expected.issuer).map(Verified).ok_or(TokenFault::Claims)
    }
}
