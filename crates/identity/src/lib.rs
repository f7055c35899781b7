//! The identity rules alone: OAuth 2.1 with PKCE, its tokens, keys, accounts, clients, sessions and passwords.
//!
//! Nothing here waits, reads or writes. A caller looks rows up, hands them over together with the time and with random bytes, and gets a
//! decision: what to save in one transaction, and what to answer. Values that were checked have types of their own, which only the check
//! can make: [`client::Authenticated`], [`authorize::Granted`], [`session::LiveSession`], [`token::Verified`], [`parameters::Parameters`],
//! [`password::Proof`].
//!
//! A code's life, as a hub plays it:
//!
//! 1. [`form::pairs`] → [`parameters::Parameters::read`] → [`authorize::check`] → [`authorize::Request::decide`].
//! 2. [`authorize::Granted::issue`] gives the row of the code and the address to redirect to.
//! 3. [`token_request::Credentials::read`] → [`client::authenticate`] → [`token_request::GrantRequest::read`].
//! 4. [`grant::authorization_code::decide`] gives the rows to save and an [`grant::Issue`], whose claims [`token::sign`] signs.
//!
//! A satellite begins with [`login::begin`], trades the code after [`login::finish`], and on each request reads the token with
//! [`bearer::read`] and [`token::Unverified`], its key with [`keys::KeySet`], the account's [`account::Rights`], and how long
//! all that may be relied on with [`freshness`].
//!
//! What was not checked does not type-check. Beside each attempt stands what compiles, so that no attempt fails for a misspelled name:
//!
//! ```compile_fail
//! // A token is verified by verification alone.
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
//! // No client is authenticated for being known.
//! fn wave_through(client: &identity::client::Client) -> identity::client::Authenticated<'_> {
//!     identity::client::Authenticated(client)
//! }
//! ```
//!
//! ```
//! fn prove<'c>(client: &'c identity::client::Client, secret: &str) -> Option<identity::client::Authenticated<'c>> {
//!     identity::client::authenticate(Some(client), secret, identity::moment::Moment::from_unix(0)).ok()
//! }
//! ```
//!
//! ```compile_fail
//! // No password is right for its hash being known.
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
//! fn confuse(token: identity::opaque::RefreshToken) -> identity::opaque::Code {
//!     token
//! }
//! ```
//!
//! ```
//! fn keep(token: identity::opaque::RefreshToken, code: identity::opaque::Code) -> (identity::opaque::RefreshToken, identity::opaque::Code) {
//!     (token, code)
//! }
//! ```
//!
//! ```compile_fail
//! // No secret can be printed by accident.
//! fn print(secret: &identity::opaque::ClientSecret) -> String {
//!     secret.to_string()
//! }
//! ```
//!
//! ```
//! fn show(secret: &identity::opaque::ClientSecret) -> String {
//!     secret.expose().to_string()
//! }
//! ```

pub mod account;
pub mod app_path;
pub mod authorize;
mod base64url;
pub mod bearer;
pub mod client;
pub mod continuation;
pub mod error;
pub mod event;
pub mod form;
pub mod freshness;
pub mod grant;
mod json;
pub mod keys;
pub mod link;
pub mod login;
pub mod moment;
pub mod opaque;
pub mod origin;
pub mod parameters;
pub mod password;
pub mod pkce;
pub mod scope;
mod seal;
pub mod session;
pub mod strategy;
pub mod throttle;
pub mod token;
pub mod token_request;
