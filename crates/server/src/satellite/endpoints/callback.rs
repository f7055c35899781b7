//! `POST /auth/callback`: trades the code that came back to the app for tokens, once, for the browser that began the login.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use identity::error::{Error, ErrorCode};
use identity::login::{LoginFault, LoginRecord, Sender as Finisher, finish};
use identity::opaque::LoginState;

use super::login::{KIND, cookie_name};
use crate::clock;
use crate::http::request_context::RequestContext;
use crate::problem::oauth::OauthError;
use crate::response::json_no_store;
use crate::satellite::{Satellite, json_request, token_exchange};

const UNKNOWN: Error =
    Error::new(ErrorCode::InvalidRequest, "state: the login is unknown, expired or already finished; begin again at /auth/login");
const UNBOUND: Error = Error::new(
    ErrorCode::AccessDenied,
    "the login was not begun in this browser: its login cookie is missing or another one (send credentials, or see LOGIN_BINDING)",
);
const ISSUER: Error = Error::new(ErrorCode::InvalidRequest, "iss: the answer comes from another hub than the login was begun with");

pub(super) async fn answer(State(satellite): State<Satellite>, request: Request) -> Result<Response<Body>, OauthError> {
    let satellite = &satellite;
    let accepted = "the body has a member that is not known: code, state and iss are accepted";
    let (sender, mut texts) = json_request::posted(satellite, request, ["code", "state", "iss"], accepted).await?;
    let code = texts.needed(0, "code is missing: the text that the hub sent the browser back with")?;
    let state = texts.needed(1, "state is missing: the text that the hub sent the browser back with")?;
    let record = taken(satellite, &state, &sender, texts.optional(2).as_deref()).await.inspect_err(|fault| {
        tracing::info!(reason = %fault.told().1, "login.refused");
    })?;
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", satellite.0.at.redirect.as_str()),
        ("code_verifier", record.verifier.expose()),
    ];
    let mut tokens = token_exchange::tokens(satellite, &pairs).await.inspect_err(|fault| {
        tracing::info!(reason = %fault.told().1, "login.refused");
    })?;
    warn_of_odd_token(satellite, tokens.get("access_token").and_then(serde_json::Value::as_str)).await;
    tokens.insert("return_to".to_owned(), record.return_to.as_str().into());
    tracing::info!("login.finished");
    Ok(json_no_store(serde_json::Value::Object(tokens).to_string()))
}

/// The login of a state, taken away before anything else is tried with it.
async fn taken(satellite: &Satellite, state: &str, sender: &RequestContext, issuer: Option<&str>) -> Result<LoginRecord, OauthError> {
    let state = LoginState::parse(state).ok_or(UNKNOWN)?;
    let sealed = satellite.0.shared.take(KIND, state.digest().as_bytes()).await?;
    let record = sealed.and_then(|sealed| LoginRecord::open(&sealed, &state));
    let cookies: Vec<&str> = sender.cookies(cookie_name(satellite, sender)).collect();
    let finisher = match (sender.is_browser(), satellite.is_bound()) {
        (false, _) => Finisher::Program,
        (true, false) => Finisher::Unbound,
        // Two cookies of one name are not ours: a browser keeps one of a host.
        (true, true) => Finisher::Browser(if cookies.len() == 1 { cookies.first().copied() } else { None }),
    };
    finish(record, finisher, issuer, &satellite.0.at, clock::now()).map_err(|fault| match fault {
        LoginFault::Unknown => UNKNOWN.into(),
        LoginFault::Unbound => UNBOUND.into(),
        LoginFault::Issuer => ISSUER.into(),
    })
}

/// A token that will not be good here is a mistake of whoever set hub and satellite up; they should read of it.
async fn warn_of_odd_token(satellite: &Satellite, token: Option<&str>) {
    if let Some(token) = token
        && satellite.verify(token).await.is_err()
    {
        tracing::warn!(
            "the hub gave a token that is not good here: is OAUTH_HUB_URL the APP_URL of the hub, and OAUTH_CLIENT_ID its client?"
        );
    }
}
