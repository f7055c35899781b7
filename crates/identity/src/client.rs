//! OAuth clients: id, redirect URI, grants, and authentication by a secret.

pub mod redirect;

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::error::Error;
use crate::lifetime::Lifetimes;
use crate::secret_token::{ClientSecret, Digest, purpose};
use crate::timestamp::Timestamp;

pub use redirect::{MAX_REDIRECT_BYTES, Redirect, RedirectFault};

/// How long the old secret stays valid after a new one.
pub const SECRET_OVERLAP_SECONDS: i64 = 86_400;
pub const MAX_ID_BYTES: usize = 100;

/// A client's id, a readable code. It is never a UUID (an account) and never a URL (the issuer).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientIdFault {
    #[error("a client id must have 1 to 100 letters, digits or characters of -._~:+%@, and begin with a letter or a digit")]
    Shape,
    #[error("a client id must not be a uuid: those are accounts")]
    Uuid,
}

impl ClientId {
    pub fn parse(text: &str) -> Result<Self, ClientIdFault> {
        let fits = text.len() <= MAX_ID_BYTES
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:+%@".contains(&byte));
        if !fits {
            return Err(ClientIdFault::Shape);
        }
        // In every spelling: with and without hyphens, in braces, as a URN.
        if Uuid::try_parse(text).is_ok() {
            return Err(ClientIdFault::Uuid);
        }
        Ok(ClientId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

shown_as_text!(ClientId);

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum GrantType {
        AuthorizationCode = "authorization_code",
        RefreshToken = "refresh_token",
        Password = "password",
    }
}

impl GrantType {
    /// The default of a new client.
    pub const DEFAULT: [GrantType; 2] = [GrantType::AuthorizationCode, GrantType::RefreshToken];
}

/// The digest of a client's secret, and of the previous one during the overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRecord {
    pub current: Digest<purpose::Client>,
    /// The previous digest, and until when it is valid.
    pub previous: Option<(Digest<purpose::Client>, Timestamp)>,
}

impl SecretRecord {
    pub fn new(secret: &ClientSecret) -> Self {
        SecretRecord { current: secret.digest(), previous: None }
    }

    /// The record with a new secret. The one before the last becomes invalid at once.
    pub fn renew(self, secret: &ClientSecret, now: Timestamp, overlap_seconds: i64) -> Self {
        SecretRecord { previous: Some((self.current, now.plus(overlap_seconds))), current: secret.digest() }
    }

    /// Whether this secret is valid now. It always makes both comparisons.
    fn admits(&self, presented: &Digest<purpose::Client>, now: Timestamp) -> bool {
        let (previous, until) = self.previous.unwrap_or((self.current, now));
        let (is_current, is_previous) = (self.current == *presented, previous == *presented);
        is_current || (is_previous && now < until)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub id: ClientId,
    pub name: String,
    pub secret: SecretRecord,
    pub redirect: Redirect,
    pub grants: BTreeSet<GrantType>,
    pub lifetimes: Lifetimes,
    /// An inactive client is answered like an unknown one.
    pub is_active: bool,
    /// Whether its access tokens may change the hub's records, where their account may.
    pub administers: bool,
    pub app: Option<Uuid>,
}

/// A client that showed its secret. Only [`authenticate`] makes one, and every grant needs one.
#[derive(Clone, Copy, Debug)]
pub struct Authenticated<'a>(&'a Client);

impl<'a> Authenticated<'a> {
    pub fn client(self) -> &'a Client {
        self.0
    }
}

/// Authenticates a client. An unknown or inactive client costs the same work and gets the same answer as a wrong secret.
pub fn authenticate<'a>(client: Option<&'a Client>, secret: &str, now: Timestamp) -> Result<Authenticated<'a>, Error> {
    let presented = Digest::of_text(secret);
    let nobody = SecretRecord { current: Digest::from_bytes([0; 32]), previous: None };
    let admitted = client.map_or(&nobody, |client| &client.secret).admits(&presented, now);
    match client {
        Some(client) if admitted && client.is_active => Ok(Authenticated(client)),
        _ => Err(Error::client("client authentication failed")),
    }
}
