//! OAuth clients: who they are, where they are answered, which grants they hold, and how they prove themselves.

pub mod redirect;

use std::collections::BTreeSet;
use std::fmt;

use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::opaque::{ClientSecret, Digest, purpose};
use crate::token::LONGEST_LIFE_SECONDS;

pub use redirect::{LONGEST_REDIRECT, Redirect, RedirectFault};

/// How long an access token lives, unless a client says otherwise.
pub const ACCESS_TOKEN_SECONDS: i64 = 3_600;
/// How long a refresh token lives, unless a client says otherwise.
pub const REFRESH_TOKEN_SECONDS: i64 = 2_592_000;
/// How long the old secret still counts after a new one was made.
pub const SECRET_OVERLAP_SECONDS: i64 = 86_400;
/// The longest that a client may say for one.
pub const LONGEST_REFRESH_SECONDS: i64 = 366 * 86_400;
/// The most bytes of a client's id.
pub const LONGEST_ID: usize = 100;

/// A client's id: a readable code. It is never a uuid, since those are accounts, and never an address, since that is the issuer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(String);

/// Why a text is no client id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientIdFault {
    /// Wrong characters or length.
    #[error("a client id is 1 to 100 letters, digits or characters of -._~:+%@, and begins with a letter or a digit")]
    Shape,
    /// It could be an account.
    #[error("a client id must not be a uuid: those are accounts")]
    Uuid,
}

impl ClientId {
    /// Reads an id.
    pub fn parse(text: &str) -> Result<Self, ClientIdFault> {
        let fits = text.len() <= LONGEST_ID
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:+%@".contains(&byte));
        if !fits {
            return Err(ClientIdFault::Shape);
        }
        // Every spelling of one counts: with and without hyphens, in braces, as a URN.
        if Uuid::try_parse(text).is_ok() {
            return Err(ClientIdFault::Uuid);
        }
        Ok(ClientId(text.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The three ways to a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GrantType {
    /// By a code from `authorize`.
    AuthorizationCode,
    /// By the refresh token of an earlier answer.
    RefreshToken,
    /// By name and password.
    Password,
}

impl GrantType {
    /// All of them.
    pub const ALL: [GrantType; 3] = [GrantType::AuthorizationCode, GrantType::RefreshToken, GrantType::Password];

    /// Those of a client that names none.
    pub const DEFAULT: [GrantType; 2] = [GrantType::AuthorizationCode, GrantType::RefreshToken];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            GrantType::AuthorizationCode => "authorization_code",
            GrantType::RefreshToken => "refresh_token",
            GrantType::Password => "password",
        }
    }

    /// The grant a word names.
    pub fn from_word(word: &str) -> Option<Self> {
        GrantType::ALL.into_iter().find(|grant| grant.as_str() == word)
    }
}

/// How long the tokens of a client live, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    access: i64,
    refresh: i64,
}

/// A lifetime that is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("access tokens live 1 to {LONGEST_LIFE_SECONDS} seconds, refresh tokens 1 to {LONGEST_REFRESH_SECONDS}")]
pub struct LifetimeFault;

impl Lifetimes {
    /// Lifetimes within bounds: verifiers refuse an access token that claims to live longer than a day.
    pub fn new(access_seconds: i64, refresh_seconds: i64) -> Result<Self, LifetimeFault> {
        let fits = (1..=LONGEST_LIFE_SECONDS).contains(&access_seconds) && (1..=LONGEST_REFRESH_SECONDS).contains(&refresh_seconds);
        fits.then_some(Lifetimes { access: access_seconds, refresh: refresh_seconds }).ok_or(LifetimeFault)
    }

    /// Of an access token.
    pub fn access_seconds(self) -> i64 {
        self.access
    }

    /// Of a refresh token.
    pub fn refresh_seconds(self) -> i64 {
        self.refresh
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Lifetimes { access: ACCESS_TOKEN_SECONDS, refresh: REFRESH_TOKEN_SECONDS }
    }
}

/// What is kept of a client's secret: the digest that counts, and the one before it for as long as the overlap lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRecord {
    /// The digest of the newest secret.
    pub current: Digest<purpose::Client>,
    /// The one before, and until when it counts.
    pub previous: Option<(Digest<purpose::Client>, Moment)>,
}

impl SecretRecord {
    /// The record of a first secret.
    pub fn new(secret: &ClientSecret) -> Self {
        SecretRecord { current: secret.digest(), previous: None }
    }

    /// The record after a new secret; the one before the last stops counting at once.
    pub fn renew(self, secret: &ClientSecret, now: Moment, overlap_seconds: i64) -> Self {
        SecretRecord { previous: Some((self.current, now.plus(overlap_seconds))), current: secret.digest() }
    }

    /// Whether this secret counts now. Both comparisons are always made.
    fn admits(&self, presented: &Digest<purpose::Client>, now: Moment) -> bool {
        let (previous, until) = self.previous.unwrap_or((self.current, now));
        let (is_current, is_previous) = (self.current == *presented, previous == *presented);
        is_current || (is_previous && now < until)
    }
}

/// A registered client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// `client_id`
    pub id: ClientId,
    /// What people call it.
    pub name: String,
    /// What is kept of its secret.
    pub secret: SecretRecord,
    /// The one address that codes go to.
    pub redirect: Redirect,
    /// What it may do.
    pub grants: BTreeSet<GrantType>,
    /// How long its tokens live.
    pub lifetimes: Lifetimes,
    /// An inactive client is as unknown as one that does not exist.
    pub is_active: bool,
    /// Whether its access tokens may change the hub's records, where their account may.
    pub administers: bool,
    /// The app it belongs to.
    pub app: Option<Uuid>,
}

/// A client that has shown its secret. Only [`authenticate`] makes one, and every grant asks for one.
#[derive(Clone, Copy, Debug)]
pub struct Authenticated<'a>(&'a Client);

impl<'a> Authenticated<'a> {
    /// The client.
    pub fn client(self) -> &'a Client {
        self.0
    }
}

/// Lets a client prove itself. An unknown or inactive client costs the same work and gives the same answer as a wrong secret.
pub fn authenticate<'a>(client: Option<&'a Client>, secret: &str, now: Moment) -> Result<Authenticated<'a>, Error> {
    let presented = Digest::of_text(secret);
    let nobody = SecretRecord { current: Digest::from_bytes([0; 32]), previous: None };
    let admitted = client.map_or(&nobody, |client| &client.secret).admits(&presented, now);
    match client {
        Some(client) if admitted && client.is_active => Ok(Authenticated(client)),
        _ => Err(Error::client("client authentication failed")),
    }
}
