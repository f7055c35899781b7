//! The rules of identity: OAuth 2.1 with PKCE, its tokens, keys, accounts, clients, sessions and passwords.
//!
//! The crate does no I/O. A caller looks rows up and passes them with the time and with random bytes. It gets a decision: what to store in
//! one transaction, and what to answer. A checked value has a type that only its check can make: [`client::Authenticated`], [`authorize::Granted`], [`session::LiveSession`], [`token::Verified`], [`parameters::Parameters`],
//! [`password::Proof`].
//!
//! The life of a code at a hub:
//!
//! 1. [`form::pairs`] → [`parameters::Parameters::read`] → [`authorize::check`] → [`authorize::Request::decide`].
//! 2. [`authorize::Granted::issue`] returns the row of the code and the URL to redirect to.
//! 3. [`token_request::Credentials::read`] → [`client::authenticate`] → [`token_request::GrantRequest::read`].
//! 4. [`grant::authorization_code::decide`] returns the rows to store and [`grant::IssuedTokens`]. [`token::sign`] signs their claims.
//!
//! A satellite begins with [`login::begin`] and exchanges the code after [`login::finish`]. On each request it reads the token with
//! [`bearer::read`] and [`token::Unverified`], its key with [`keys::KeySet`] and the account's [`account::Rights`]. [`freshness`] says how
//! long it may use each from its cache.
//!
//! An unchecked value does not type-check. Each example that must not compile has a twin that does, so that no misspelled name makes it fail:
//!
//! ```compile_fail
//! // Only verification makes a verified token.
//! fn forge(claims: identity::token::AccessClaims) -> identity::token::Verified<identity::token::AccessClaims> {
//!     identity::token::Verified(claims)
//! }
//! ```
//!
//! ```
//! fn read(token: identity::token::Verified<identity::token::AccessClaims>) -> identity::token::AccessClaims {
//!     token.into_claims()
//! }
//! ```
//!
//! ```compile_fail
//! // A known client is not yet authenticated.
//! fn wave_through(client: &identity::client::Client) -> identity::client::Authenticated<'_> {
//!     identity::client::Authenticated(client)
//! }
//! ```
//!
//! ```
//! fn prove<'c>(client: &'c identity::client::Client, secret: &str) -> Option<identity::client::Authenticated<'c>> {
//!     identity::client::authenticate(Some(client), secret, identity::timestamp::Timestamp::from_unix(0)).ok()
//! }
//! ```
//!
//! ```compile_fail
//! // A known hash proves no password.
//! fn assume(hash: identity::password::PasswordHash) -> identity::password::Proof {
//!     identity::password::Proof { compared: hash, renewed: None }
//! }
//! ```
//!
//! ```
//! fn compare(hash: identity::password::PasswordHash, password: &identity::password::Password) -> Option<identity::password::Proof> {
//!     identity::password::prove_in(&mut identity::password::Workspace::default(), Some(hash), password, [0; 16])
//! }
//! ```
//!
//! ```compile_fail
//! // A refresh token is no code.
//! fn confuse(token: identity::secret_token::RefreshToken) -> identity::secret_token::Code {
//!     token
//! }
//! ```
//!
//! ```
//! fn keep(token: identity::secret_token::RefreshToken, code: identity::secret_token::Code) -> (identity::secret_token::RefreshToken, identity::secret_token::Code) {
//!     (token, code)
//! }
//! ```
//!
//! ```compile_fail
//! // A secret has no Display.
//! fn print(secret: &identity::secret_token::ClientSecret) -> String {
//!     secret.to_string()
//! }
//! ```
//!
//! ```
//! fn show(secret: &identity::secret_token::ClientSecret) -> String {
//!     secret.expose().to_string()
//! }
//! ```

/// An enum with a word for each variant.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.as_str() == word)
            }
        }
    };
}

/// A `Debug` that shows nothing but the name of the type.
macro_rules! redacted {
    ($($name:ident),+) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )+};
}

/// `Display` and `Debug` of a name: its text.
macro_rules! shown_as_text {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

pub mod account;
pub mod audit_event;
pub mod authorize;
mod base64url;
pub mod bearer;
pub mod client;
pub mod error;
pub mod form;
pub mod freshness;
pub mod grant;
mod json;
pub mod keys;
pub mod lifetime;
pub mod login;
pub mod origin;
pub mod parameters;
pub mod password;
pub mod password_link;
pub mod pkce;
pub mod return_path;
pub mod revocation;
pub mod scope;
mod seal;
pub mod secret_token;
pub mod session;
pub mod strategy;
pub mod throttle;
pub mod timestamp;
pub mod token;
pub mod token_request;
