//! A login at a satellite: what it stores while the browser is at the hub, and when it may exchange the code that comes back.

use std::fmt;

use serde_json::json as object;
use zeroize::Zeroizing;

use crate::client::{ClientId, Redirect};
use crate::error::Error;
use crate::form;
use crate::parameters::Parameters;
use crate::pkce::Verifier;
use crate::return_path::AppReturnPath;
use crate::scope::Scope;
use crate::seal::{NONCE_LENGTH, Seal};
use crate::secret_token::{Digest, LoginBinding, LoginState, purpose};
use crate::timestamp::Timestamp;
use crate::{base64url, json};

/// How long a login may take.
pub const LOGIN_SECONDS: i64 = 600;
const SALT: &[u8] = b"peristyle login 1";
/// Constant, because each login derives its own key from its `state` and seals once.
const NONCE: [u8; NONCE_LENGTH] = [0; NONCE_LENGTH];

/// The registration of a satellite at its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The issuer: the hub's URL for browsers.
    pub issuer: String,
    pub client: ClientId,
    pub redirect: Redirect,
    pub scope: Option<Scope>,
}

#[derive(Clone, Debug)]
pub struct LoginSecrets {
    pub state: LoginState,
    /// The PKCE verifier; it stays on the satellite.
    pub verifier: Verifier,
    /// Binds the login to this browser: the value of its login cookie if it has a valid one (two tabs), else a new one.
    pub binding: LoginBinding,
}

/// A login in progress, stored under `state` and taken once. Its `Debug` shows no secret.
#[derive(Clone)]
pub struct LoginRecord {
    pub state: Digest<purpose::State>,
    pub verifier: Verifier,
    /// The SHA-256 of the login cookie's value.
    pub binding: Digest<purpose::Binding>,
    pub return_to: AppReturnPath,
    pub expires_at: Timestamp,
}

impl fmt::Debug for LoginRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LoginRecord({}, …)", self.return_to.as_str())
    }
}

impl LoginRecord {
    /// The bytes to store, sealed under the `state`, which only the browser has: a reader of the store learns nothing.
    pub fn seal(&self, state: &LoginState) -> Option<Vec<u8>> {
        let plain = object!({
            "verifier": self.verifier.expose(),
            "binding": base64url::encode(self.binding.as_bytes()),
            "return_to": self.return_to.as_str(),
            "expires_at": self.expires_at.unix(),
        });
        let plain = Zeroizing::new(plain.to_string());
        Seal::of(state.bytes(), SALT, state.digest().as_bytes())?.seal(NONCE, plain.as_bytes())
    }

    /// Opens the stored bytes with the presented `state`.
    pub fn open(sealed: &[u8], state: &LoginState) -> Option<Self> {
        let plain = Seal::of(state.bytes(), SALT, state.digest().as_bytes())?.open(NONCE, sealed)?;
        let members = json::object(&plain)?;
        Some(LoginRecord {
            state: state.digest(),
            verifier: Verifier::parse(json::text(&members, "verifier")?)?,
            binding: Digest::from_bytes(base64url::decode_32(json::text(&members, "binding")?)?),
            return_to: AppReturnPath::read(json::text(&members, "return_to")),
            expires_at: Timestamp::from_unix(members.get("expires_at")?.as_i64()?),
        })
    }
}

/// Whether the hub may show its sign-in page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginPrompt {
    Allowed,
    /// `prompt=none`: without a session the hub answers `login_required`.
    Silent,
}

/// Where a login returns to, and whether it may ask the person.
#[derive(Clone, Copy, Debug)]
pub struct LoginRequest<'a> {
    pub return_to: Option<&'a str>,
    pub prompt: LoginPrompt,
}

impl<'a> LoginRequest<'a> {
    /// Reads the parameters of `/auth/login`.
    pub fn read(parameters: &'a Parameters) -> Result<Self, Error> {
        let prompt = match parameters.get("prompt") {
            None => LoginPrompt::Allowed,
            Some("none") => LoginPrompt::Silent,
            Some(_) => return Err(Error::request("prompt must be none, or absent")),
        };
        Ok(LoginRequest { return_to: parameters.get("return_to"), prompt })
    }
}

/// Begins a login: the record to store, and the URL at the hub to send the browser to.
pub fn begin(at: &Registration, fresh: &LoginSecrets, request: LoginRequest<'_>, now: Timestamp) -> (LoginRecord, String) {
    let (state, challenge) = (fresh.state.expose(), fresh.verifier.challenge());
    let parameters = [
        ("response_type", "code"),
        ("client_id", at.client.as_str()),
        ("redirect_uri", at.redirect.as_str()),
        ("state", &state),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let scope = at.scope.as_ref().map(|scope| ("scope", scope.as_str()));
    let prompt = (request.prompt == LoginPrompt::Silent).then_some(("prompt", "none"));
    let url = format!("{}{}?{}", at.issuer, crate::authorize::PATH, form::write(parameters.into_iter().chain(scope).chain(prompt)));
    let record = LoginRecord {
        state: fresh.state.digest(),
        verifier: fresh.verifier.clone(),
        binding: fresh.binding.digest(),
        return_to: AppReturnPath::read(request.return_to),
        expires_at: now.plus(LOGIN_SECONDS),
    };
    (record, url)
}

/// The sender of a request to the callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender<'a> {
    /// A browser (it sent `Origin` or `Sec-Fetch-Site`, as browsers always do), with the value of its login cookie if it has one.
    Browser(Option<&'a str>),
    /// A browser, in a deployment without the binding, for apps that are not same-site with their satellite.
    Unbound,
    /// A program, which has no cookies.
    Program,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginFault {
    #[error("the login is unknown, expired or already finished: start again")]
    Unknown,
    #[error("the login was not begun in this browser: its login cookie is missing or different")]
    Unbound,
    #[error("the answer comes from another issuer than the login began with")]
    Issuer,
}

/// Decides whether the code may be exchanged. The caller takes the record (reads and removes it at once); `issuer` is `iss`, if given.
pub fn finish(
    record: Option<LoginRecord>,
    sender: Sender<'_>,
    issuer: Option<&str>,
    at: &Registration,
    now: Timestamp,
) -> Result<LoginRecord, LoginFault> {
    let record = record.filter(|record| now < record.expires_at).ok_or(LoginFault::Unknown)?;
    let bound = match sender {
        Sender::Browser(cookie) => cookie.and_then(LoginBinding::parse).is_some_and(|value| value.digest() == record.binding),
        Sender::Unbound | Sender::Program => true,
    };
    if !bound {
        return Err(LoginFault::Unbound);
    }
    if issuer.is_some_and(|issuer| issuer != at.issuer) {
        return Err(LoginFault::Issuer);
    }
    Ok(record)
}
