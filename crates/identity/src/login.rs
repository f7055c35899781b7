//! A satellite's side of a login: what it remembers while the browser is at the hub, and when it may trade the code that comes back.

use std::fmt;

use serde_json::json as object;
use zeroize::Zeroizing;

use crate::app_path::AppPath;
use crate::client::{ClientId, Redirect};
use crate::form;
use crate::moment::Moment;
use crate::opaque::{Digest, LoginBinding, LoginState, purpose};
use crate::pkce::Verifier;
use crate::scope::Scope;
use crate::seal::{NONCE_LENGTH, Seal};
use crate::{base64url, json};

/// How long a login may take.
pub const LOGIN_SECONDS: i64 = 600;
const SALT: &[u8] = b"peristyle login 1";
/// Each login has a key of its own, derived from its `state`, which seals once.
const NONCE: [u8; NONCE_LENGTH] = [0; NONCE_LENGTH];

/// What a satellite is at its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The hub's address as browsers know it: the issuer.
    pub issuer: String,
    /// Its own id.
    pub client: ClientId,
    /// Its own callback.
    pub redirect: Redirect,
    /// The scope it asks for.
    pub scope: Option<Scope>,
}

/// The random parts of a login.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// `state`
    pub state: LoginState,
    /// The secret half of the challenge; it stays on the satellite.
    pub verifier: Verifier,
    /// What ties the login to this browser: the value of its login cookie if it has a good one already (two tabs), else a new one.
    pub binding: LoginBinding,
}

/// What is kept under `state` until the browser comes back, once. Its `Debug` shows no secret.
#[derive(Clone)]
pub struct LoginRecord {
    /// The SHA-256 of `state`, to look it up by.
    pub state: Digest<purpose::State>,
    /// The verifier.
    pub verifier: Verifier,
    /// The SHA-256 of the login cookie's value.
    pub binding: Digest<purpose::Binding>,
    /// Where in the app to go on.
    pub return_to: AppPath,
    /// When it is over.
    pub expires_at: Moment,
}

impl fmt::Debug for LoginRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LoginRecord({}, …)", self.return_to.as_str())
    }
}

impl LoginRecord {
    /// The bytes to keep while the browser is at the hub. They are sealed under the `state`, which the browser brings back and the store
    /// does not have: who reads the store learns nothing.
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

    /// Reads what was kept, with the `state` that somebody presents.
    pub fn open(sealed: &[u8], state: &LoginState) -> Option<Self> {
        let plain = Seal::of(state.bytes(), SALT, state.digest().as_bytes())?.open(NONCE, sealed)?;
        let members = json::object(&plain)?;
        Some(LoginRecord {
            state: state.digest(),
            verifier: Verifier::parse(json::text(&members, "verifier")?)?,
            binding: Digest::from_bytes(base64url::decode_32(json::text(&members, "binding")?)?),
            return_to: AppPath::read(json::text(&members, "return_to")),
            expires_at: Moment::from_unix(members.get("expires_at")?.as_i64()?),
        })
    }
}

/// Begins a login: what to keep, and the address at the hub to send the browser to.
pub fn begin(at: &Registration, fresh: &Fresh, return_to: Option<&str>, now: Moment) -> (LoginRecord, String) {
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
    let address = format!("{}{}?{}", at.issuer, crate::authorize::PATH, form::write(parameters.into_iter().chain(scope)));
    let record = LoginRecord {
        state: fresh.state.digest(),
        verifier: fresh.verifier.clone(),
        binding: fresh.binding.digest(),
        return_to: AppPath::read(return_to),
        expires_at: now.plus(LOGIN_SECONDS),
    };
    (record, address)
}

/// Who posts to the callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender<'a> {
    /// A browser (it sent `Origin` or `Sec-Fetch-Site`, as browsers always do), with the value of its login cookie if it has one.
    Browser(Option<&'a str>),
    /// A browser where the deployment has turned the binding off, for apps that are not same-site with their satellite.
    Unbound,
    /// A program, which has no cookies of anybody.
    Program,
}

/// Why a login cannot be finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginFault {
    /// No such login, or it took too long, or it was finished before.
    #[error("the login is unknown, expired or already finished: start again")]
    Unknown,
    /// Another browser began it.
    #[error("the login was not begun in this browser: its login cookie is missing or another one")]
    Unbound,
    /// The answer names another hub.
    #[error("the answer comes from another issuer than the login was begun with")]
    Issuer,
}

/// Decides whether the code that came back may be traded. The record is the one that was taken (read and removed in one step) under the
/// digest of the presented `state`; `issuer` is the answer's `iss`, where the app passed it on.
pub fn finish(
    record: Option<LoginRecord>,
    sender: Sender<'_>,
    issuer: Option<&str>,
    at: &Registration,
    now: Moment,
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
