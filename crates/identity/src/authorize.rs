//! The authorize endpoint as an ordered list of checks. A fault is an error for the person in front of the browser and never a redirect;
//! only a request that passed every check can become a redirect, and only to the registered address.
//!
//! The stages are types: [`Parameters`] hold each name once, [`check`] makes a [`Request`] of them, [`Request::decide`] an [`Outcome`],
//! and a [`Granted`] becomes the row of a code and the address to send the browser to.

use uuid::Uuid;

use crate::client::{Client, ClientId, GrantType, Redirect};
use crate::continuation::Continuation;
use crate::error::{Error, ErrorCode};
use crate::form;
use crate::moment::Moment;
use crate::opaque::{Code, Digest, purpose};
use crate::parameters::Parameters;
use crate::pkce::Challenge;
use crate::scope::Scope;
use crate::session::LiveSession;

/// How long a code can be redeemed.
pub const CODE_SECONDS: i64 = 60;
/// The path that the sign-in page leads back to.
pub const PATH: &str = "/authorize";
/// Clients keep what they return to in it, sealed.
const LONGEST_STATE: usize = 8_000;
const LONGEST_NONCE: usize = 500;
/// A name that is longer than this is nobody's.
const LONGEST_LOGIN_HINT: usize = 320;
/// What makes somebody sign in again. The request after a sign-in does not repeat it.
const ASKING: [&str; 2] = ["prompt", "max_age"];
/// What the request after a sign-in repeats of the one before it.
const CONTINUED: [&str; 11] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "state",
    "scope",
    "nonce",
    "code_challenge",
    "code_challenge_method",
    "id_token_hint",
    LOGIN_HINT,
];
const LOGIN_HINT: &str = "login_hint";

/// What `prompt` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prompt {
    /// Nothing.
    Absent,
    /// No page may be shown.
    None,
    /// The account must prove itself again.
    Login,
}

/// A request that passed every check. Only [`check`] makes one.
#[derive(Clone, Debug)]
pub struct Request {
    client: ClientId,
    redirect: Redirect,
    state: String,
    challenge: Challenge,
    scope: Option<Scope>,
    nonce: Option<String>,
    prompt: Prompt,
    max_age: Option<i64>,
    /// Whom the client's `id_token_hint` names.
    hinted: Option<Uuid>,
    /// The same request, to be continued after a sign-in. It asks for no further one: who has just signed in would be sent round in
    /// circles, and a client that needs to know reads `auth_time`.
    again: Continuation,
}

/// The id of the client to look up.
pub fn client_id(parameters: &Parameters) -> Result<&str, Error> {
    parameters.get("client_id").ok_or(Error::request("client_id is missing"))
}

/// The checks, in their order: first the client, then its redirect, then everything else.
pub fn check(parameters: &Parameters, client: Option<&Client>) -> Result<Request, Error> {
    let client = check_client(parameters, client)?;
    check_redirect(parameters, client)?;
    check_response(parameters)?;
    check_grant(client)?;
    Ok(Request {
        state: check_state(parameters)?,
        challenge: Challenge::read(parameters.get("code_challenge"), parameters.get("code_challenge_method"))?,
        scope: Scope::read(parameters.get("scope")).map_err(|error| Error::new(ErrorCode::InvalidRequest, error.description()))?,
        nonce: check_nonce(parameters)?,
        prompt: check_prompt(parameters)?,
        max_age: check_max_age(parameters)?,
        hinted: None,
        again: continuation(parameters),
        client: client.id.clone(),
        redirect: client.redirect.clone(),
    })
}

fn check_client<'a>(parameters: &Parameters, client: Option<&'a Client>) -> Result<&'a Client, Error> {
    let id = client_id(parameters)?;
    let known = client.filter(|client| client.is_active && client.id.as_str() == id);
    known.ok_or(Error::client("the client is unknown or inactive"))
}

fn check_redirect(parameters: &Parameters, client: &Client) -> Result<(), Error> {
    let presented = parameters.get("redirect_uri").ok_or(Error::request("redirect_uri is missing"))?;
    if !client.redirect.is(presented) {
        return Err(Error::request("redirect_uri is not the one that is registered for this client"));
    }
    Ok(())
}

fn check_response(parameters: &Parameters) -> Result<(), Error> {
    if parameters.get("response_type").is_some_and(|value| value != "code") {
        return Err(Error::new(ErrorCode::UnsupportedResponseType, "response_type must be code"));
    }
    if parameters.get("response_mode").is_some_and(|value| value != "query") {
        return Err(Error::request("response_mode must be query"));
    }
    if parameters.get("client_secret").is_some() {
        return Err(Error::request("client_secret does not belong into an authorization request"));
    }
    // An object that is passed over would be a request other than the one that was signed.
    if parameters.get("request").is_some() {
        return Err(Error::new(ErrorCode::RequestNotSupported, "request is not supported: send the parameters themselves"));
    }
    if parameters.get("request_uri").is_some() {
        return Err(Error::new(ErrorCode::RequestUriNotSupported, "request_uri is not supported: send the parameters themselves"));
    }
    Ok(())
}

fn check_grant(client: &Client) -> Result<(), Error> {
    let held = client.grants.contains(&GrantType::AuthorizationCode);
    held.then_some(()).ok_or(Error::new(ErrorCode::UnauthorizedClient, "the client does not hold the grant authorization_code"))
}

fn check_state(parameters: &Parameters) -> Result<String, Error> {
    let state = parameters.get("state").ok_or(Error::request("state is missing"))?;
    printable(state, LONGEST_STATE).ok_or(Error::request("state is too long or not printable"))
}

fn check_nonce(parameters: &Parameters) -> Result<Option<String>, Error> {
    let fault = Error::request("nonce is too long or not printable");
    parameters.get("nonce").map(|nonce| printable(nonce, LONGEST_NONCE).ok_or(fault)).transpose()
}

fn check_prompt(parameters: &Parameters) -> Result<Prompt, Error> {
    let mut found = Prompt::Absent;
    let words: Vec<&str> = parameters.get("prompt").unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect();
    for word in &words {
        found = match *word {
            "none" if words.len() == 1 => Prompt::None,
            "none" => return Err(Error::request("prompt none goes with no other word")),
            "login" | "select_account" => Prompt::Login,
            // Consent is never asked for: clients are the operator's own.
            "consent" => found,
            _ => return Err(Error::request("prompt is none of none, login, select_account, consent")),
        };
    }
    Ok(found)
}

fn check_max_age(parameters: &Parameters) -> Result<Option<i64>, Error> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // More seconds than can be counted are more than any session has.
    let read = |text: &str| digits(text).then(|| text.parse::<i64>().unwrap_or(i64::MAX));
    parameters.get("max_age").map(|text| read(text).ok_or(Error::request("max_age is no whole number of seconds"))).transpose()
}

fn printable(text: &str, longest: usize) -> Option<String> {
    (text.len() <= longest && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

fn continuation(parameters: &Parameters) -> Continuation {
    Continuation::to(PATH, &form::write(known(parameters, CONTINUED)))
}

/// The address of a request that came by POST, for a browser to ask by GET.
pub fn address(parameters: &Parameters) -> String {
    format!("{PATH}?{}", form::write(known(parameters, CONTINUED.into_iter().chain(ASKING))))
}

/// The parameters of these names that are there.
fn known<'a>(parameters: &'a Parameters, names: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let found = names.into_iter().filter_map(|name| Some((name, parameters.get(name)?)));
    found.filter(|(name, value)| *name != LOGIN_HINT || is_name(value))
}

fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_LOGIN_HINT && !text.chars().any(char::is_control)
}

/// The name that the request which goes on after a sign-in expects to sign in.
pub fn login_hint(continuation: &Continuation) -> Option<String> {
    let query = continuation.as_str().strip_prefix(PATH)?.strip_prefix('?')?;
    let pairs = form::pairs(query).ok()?;
    pairs.into_iter().find(|(name, value)| name == LOGIN_HINT && is_name(value)).map(|(_, value)| value)
}

/// What to answer.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nobody is signed in: show the sign-in page, then continue.
    SignIn(Continuation),
    /// Somebody is, and must prove it again: show the sign-in page, then continue.
    AskAgain(Continuation),
    /// No page may be shown: send the browser to this address, which says `login_required`.
    LoginRequired(String),
    /// Make a code.
    Grant(Box<Granted>),
}

impl Request {
    /// The client that asks, whose name the sign-in page shows.
    pub fn client(&self) -> &ClientId {
        &self.client
    }

    /// The request for the account that its `id_token_hint` names and for no other. The caller has read the hint.
    #[must_use]
    pub fn hinted(self, account: Option<Uuid>) -> Self {
        Request { hinted: account, ..self }
    }

    /// Decides, given the session that counts now (its account may sign in) and our own issuer.
    pub fn decide(self, session: Option<LiveSession>, issuer: &str, now: Moment) -> Outcome {
        let Some(session) = session else {
            return match self.prompt {
                Prompt::None => Outcome::LoginRequired(self.refusal(ErrorCode::LoginRequired, issuer)),
                Prompt::Absent | Prompt::Login => Outcome::SignIn(self.again),
            };
        };
        // Whoever the hint names must sign in; somebody else who does is asked again.
        let other = self.hinted.is_some_and(|hinted| hinted != session.account());
        // Nobody can have signed in less than no time ago, though it may be the same second.
        let old = self.max_age.is_some_and(|most| most == 0 || now.since(session.authenticated_at()) > most);
        let unfit = other || old;
        match self.prompt {
            Prompt::Login => Outcome::AskAgain(self.again),
            Prompt::None if unfit => Outcome::LoginRequired(self.refusal(ErrorCode::LoginRequired, issuer)),
            Prompt::Absent if unfit => Outcome::AskAgain(self.again),
            Prompt::None | Prompt::Absent => Outcome::Grant(Box::new(Granted { request: self, session, issuer: issuer.to_owned() })),
        }
    }

    /// The registered address with an error of OpenID Connect, `state` and `iss`.
    fn refusal(&self, code: ErrorCode, issuer: &str) -> String {
        self.redirect.with([("error", code.as_str()), ("state", &self.state), ("iss", issuer)])
    }
}

/// A request that a signed-in account may have a code for. Only [`Request::decide`] makes one.
#[derive(Clone, Debug)]
pub struct Granted {
    request: Request,
    session: LiveSession,
    issuer: String,
}

impl Granted {
    /// Who gets the code.
    pub fn account(&self) -> Uuid {
        self.session.account()
    }

    /// The client it is for.
    pub fn client(&self) -> &ClientId {
        &self.request.client
    }

    /// For an account that may not use the client's app: the registered address with `access_denied`.
    pub fn deny(&self) -> String {
        self.request.refusal(ErrorCode::AccessDenied, &self.issuer)
    }

    /// The row to save, and then the address to send the browser to.
    pub fn issue(self, code: &Code, now: Moment) -> (CodeRecord, String) {
        let address = self.request.redirect.with([("code", code.expose().as_str()), ("state", &self.request.state), ("iss", &self.issuer)]);
        let record = CodeRecord {
            digest: code.digest(),
            client: self.request.client,
            redirect: self.request.redirect,
            challenge: self.request.challenge,
            account: self.session.account(),
            session: self.session.id(),
            authenticated_at: self.session.authenticated_at(),
            scope: self.request.scope,
            nonce: self.request.nonce,
            expires_at: now.plus(CODE_SECONDS),
            used_by: None,
        };
        (record, address)
    }
}

/// What is kept of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRecord {
    /// The SHA-256 of the code.
    pub digest: Digest<purpose::Code>,
    /// For whom.
    pub client: ClientId,
    /// Where it was sent.
    pub redirect: Redirect,
    /// What its redeemer must know.
    pub challenge: Challenge,
    /// Who signed in.
    pub account: Uuid,
    /// In which session.
    pub session: Uuid,
    /// When the account proved who it is.
    pub authenticated_at: Moment,
    /// The scope asked for.
    pub scope: Option<Scope>,
    /// The client's nonce.
    pub nonce: Option<String>,
    /// When it is over.
    pub expires_at: Moment,
    /// The family it became, once it was redeemed. Such a row is kept as long as the family can live, to know a replay by.
    pub used_by: Option<Uuid>,
}
