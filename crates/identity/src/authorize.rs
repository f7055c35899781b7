//! The authorize endpoint as an ordered list of checks. A fault is an error page and never a redirect. Only a request that passed every
//! check becomes a redirect, and only to the registered redirect URI.
//!
//! The stages are types: [`check`] makes a [`Request`] of [`Parameters`], [`Request::decide`] an [`AuthorizeDecision`], and
//! [`Granted::issue`] the row of a code and the URL to send the browser to.

use uuid::Uuid;

use crate::client::{Client, ClientId, GrantType, Redirect};
use crate::error::{Error, ErrorCode};
use crate::form;
use crate::grant::authorization_code::CodeRecord;
use crate::parameters::Parameters;
use crate::pkce::Challenge;
use crate::return_path::HubReturnPath;
use crate::scope::Scope;
use crate::secret_token::Code;
use crate::session::LiveSession;
use crate::timestamp::Timestamp;

/// How long a code can be redeemed.
pub const CODE_SECONDS: i64 = 60;
/// The path that the sign-in page leads back to.
pub const PATH: &str = "/authorize";
/// Long enough for clients that seal their return path into `state`.
const MAX_STATE_BYTES: usize = 8_000;
const MAX_NONCE_BYTES: usize = 500;
/// Longer than any name.
const MAX_LOGIN_HINT_BYTES: usize = 320;
/// The parameters that ask for a new sign-in. The request after a sign-in drops them.
const ASKING: [&str; 2] = ["prompt", "max_age"];
/// The parameters that the request after a sign-in keeps.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prompt {
    Absent,
    /// Show no page.
    None,
    /// Ask for the password again.
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
    /// The account of the client's `id_token_hint`.
    hinted: Option<Uuid>,
    /// The same request for after the sign-in, without `prompt` and `max_age`: they would ask for a sign-in again and again.
    again: HubReturnPath,
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
        return Err(Error::request("client_secret must not be in an authorization request"));
    }
    // To ignore a signed request object would be to answer another request.
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
    printable(state, MAX_STATE_BYTES).ok_or(Error::request("state is too long or not printable"))
}

fn check_nonce(parameters: &Parameters) -> Result<Option<String>, Error> {
    let fault = Error::request("nonce is too long or not printable");
    parameters.get("nonce").map(|nonce| printable(nonce, MAX_NONCE_BYTES).ok_or(fault)).transpose()
}

fn check_prompt(parameters: &Parameters) -> Result<Prompt, Error> {
    let mut found = Prompt::Absent;
    let words: Vec<&str> = parameters.get("prompt").unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect();
    for word in &words {
        found = match *word {
            "none" if words.len() == 1 => Prompt::None,
            "none" => return Err(Error::request("prompt none must be the only value")),
            "login" | "select_account" => Prompt::Login,
            // The hub never asks for consent: clients belong to its operator.
            "consent" => found,
            _ => return Err(Error::request("prompt must be one of none, login, select_account, consent")),
        };
    }
    Ok(found)
}

fn check_max_age(parameters: &Parameters) -> Result<Option<i64>, Error> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // A number beyond i64 is longer than any session.
    let read = |text: &str| digits(text).then(|| text.parse::<i64>().unwrap_or(i64::MAX));
    parameters.get("max_age").map(|text| read(text).ok_or(Error::request("max_age must be a whole number of seconds"))).transpose()
}

fn printable(text: &str, longest: usize) -> Option<String> {
    (text.len() <= longest && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

fn continuation(parameters: &Parameters) -> HubReturnPath {
    HubReturnPath::to(PATH, &form::write(known(parameters, CONTINUED)))
}

/// The path of a request that came by POST, for a redirect to GET.
pub fn get_path(parameters: &Parameters) -> String {
    format!("{PATH}?{}", form::write(known(parameters, CONTINUED.into_iter().chain(ASKING))))
}

fn known<'a>(parameters: &'a Parameters, names: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let found = names.into_iter().filter_map(|name| Some((name, parameters.get(name)?)));
    found.filter(|(name, value)| *name != LOGIN_HINT || is_name(value))
}

fn is_name(text: &str) -> bool {
    text.len() <= MAX_LOGIN_HINT_BYTES && !text.chars().any(char::is_control)
}

/// The `login_hint` of the request at a return path.
pub fn login_hint(continuation: &HubReturnPath) -> Option<String> {
    let query = continuation.as_str().strip_prefix(PATH)?.strip_prefix('?')?;
    let pairs = form::pairs(query).ok()?;
    pairs.into_iter().find(|(name, value)| name == LOGIN_HINT && is_name(value)).map(|(_, value)| value)
}

#[derive(Clone, Debug)]
pub enum AuthorizeDecision {
    /// There is no session: show the sign-in page, then return.
    SignIn(HubReturnPath),
    /// There is a session, and the request asks for a new sign-in: show the sign-in page, then return.
    AskAgain(HubReturnPath),
    /// The client wants no page: redirect to this URL with `login_required`.
    LoginRequired(String),
    Grant(Box<Granted>),
}

impl Request {
    pub fn client(&self) -> &ClientId {
        &self.client
    }

    /// Requires this account, which the caller read from `id_token_hint`.
    #[must_use]
    pub fn hinted(self, account: Option<Uuid>) -> Self {
        Request { hinted: account, ..self }
    }

    /// Decides, given the live session and the hub's issuer.
    pub fn decide(self, session: Option<LiveSession>, issuer: &str, now: Timestamp) -> AuthorizeDecision {
        let Some(session) = session else {
            return match self.prompt {
                Prompt::None => AuthorizeDecision::LoginRequired(self.refusal(ErrorCode::LoginRequired, issuer)),
                Prompt::Absent | Prompt::Login => AuthorizeDecision::SignIn(self.again),
            };
        };
        // The hinted account must sign in.
        let other = self.hinted.is_some_and(|hinted| hinted != session.account());
        // `max_age=0` asks for a new sign-in even within the same second.
        let old = self.max_age.is_some_and(|max| max == 0 || now.since(session.authenticated_at()) > max);
        let must_sign_in = other || old;
        match self.prompt {
            Prompt::Login => AuthorizeDecision::AskAgain(self.again),
            Prompt::None if must_sign_in => AuthorizeDecision::LoginRequired(self.refusal(ErrorCode::LoginRequired, issuer)),
            Prompt::Absent if must_sign_in => AuthorizeDecision::AskAgain(self.again),
            Prompt::None | Prompt::Absent => {
                AuthorizeDecision::Grant(Box::new(Granted { request: self, session, issuer: issuer.to_owned() }))
            }
        }
    }

    /// The redirect URI with an error, `state` and `iss`.
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
    pub fn account(&self) -> Uuid {
        self.session.account()
    }

    pub fn client(&self) -> &ClientId {
        &self.request.client
    }

    /// The redirect URI with `access_denied`, for an account that may not use the client's app.
    pub fn deny(&self) -> String {
        self.request.refusal(ErrorCode::AccessDenied, &self.issuer)
    }

    /// The row to store, and then the URL to send the browser to.
    pub fn issue(self, code: &Code, now: Timestamp) -> (CodeRecord, String) {
        let url = self.request.redirect.with([("code", code.expose().as_str()), ("state", &self.request.state), ("iss", &self.issuer)]);
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
        (record, url)
    }
}
