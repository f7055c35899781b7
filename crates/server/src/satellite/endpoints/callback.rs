//! `POST /auth/callback`: exchanges the code of a login for tokens, once, for the browser that began the login.

use axum::extract::{Request, State};
use axum::response::Response;
use identity::error::{Error, ErrorCode};
use identity::login::{LoginFault, LoginRecord, Sender as Finisher, finish};
use identity::secret_token::LoginState;

use crate::clock;
use crate::config::Binding;
use crate::http::request_context::RequestContext;
use crate::problem::oauth::OauthError;
use crate::response::json_no_store;
use crate::satellite::json_request::{self, malformed};
use crate::satellite::{Satellite, token_exchange};

use super::login::{KIND, cookie_name};

const UNKNOWN: Error =
    Error::new(ErrorCode::InvalidRequest, "state: the login is unknown, expired or already finished; begin again at /auth/login");
const UNBOUND: Error = Error::new(
    ErrorCode::AccessDenied,
    "the login did not begin in this browser, or not at the host of APP_URL: the login cookie is missing or of another login (send \
     credentials, or see LOGIN_BINDING)",
);
const ISSUER: Error = Error::new(ErrorCode::InvalidRequest, "iss: the response comes from another hub");

pub(super) async fn answer(State(satellite): State<Satellite>, request: Request) -> Result<Response, OauthError> {
    let accepted = "the body has an unknown member; code, state and iss are accepted";
    let (context, [code, state, issuer]) = json_request::posted(&satellite, request, ["code", "state", "iss"], accepted).await?;
    let code = code.ok_or(malformed("code is missing; the hub put it into the redirect"))?;
    let state = state.ok_or(malformed("state is missing; the hub put it into the redirect"))?;
    let record = taken(&satellite, &state, &context, issuer.as_deref()).await.inspect_err(|error| {
        tracing::info!(reason = %error, "login.refused");
    })?;
    let pairs = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", satellite.0.at.redirect.as_str()),
        ("code_verifier", record.verifier.expose()),
    ];
    let mut tokens = token_exchange::tokens(&satellite, &pairs).await.inspect_err(|error| {
        tracing::info!(reason = %error, "login.refused");
    })?;
    warn_of_invalid_token(&satellite, tokens.get("access_token").and_then(serde_json::Value::as_str)).await;
    tokens.insert("return_to".to_owned(), record.return_to.as_str().into());
    tracing::info!("login.finished");
    Ok(json_no_store(serde_json::Value::Object(tokens).to_string()))
}

/// Takes the login of a state, so that it is used up before anything can fail.
async fn taken(satellite: &Satellite, state: &str, context: &RequestContext, issuer: Option<&str>) -> Result<LoginRecord, OauthError> {
    let state = LoginState::parse(state).ok_or(UNKNOWN)?;
    let sealed = satellite.0.shared.take(KIND, state.digest().as_bytes()).await?;
    let record = sealed.and_then(|sealed| LoginRecord::open(&sealed, &state));
    let cookies: Vec<&str> = context.cookies(cookie_name(satellite, context)).collect();
    let finisher = match (context.is_browser(), satellite.0.settings.binding) {
        (false, _) => Finisher::Program,
        (true, Binding::Off) => Finisher::Unbound,
        // A browser keeps one cookie of a name for a host; a second one is not ours.
        (true, Binding::On) => Finisher::Browser(if cookies.len() == 1 { cookies.first().copied() } else { None }),
    };
    finish(record, finisher, issuer, &satellite.0.at, clock::now()).map_err(|fault| match fault {
        LoginFault::Unknown => UNKNOWN.into(),
        LoginFault::Unbound => UNBOUND.into(),
        LoginFault::Issuer => ISSUER.into(),
    })
}

async fn warn_of_invalid_token(satellite: &Satellite, token: Option<&str>) {
    if let Some(token) = token
        && satellite.verify(token).await.is_err()
    {
        tracing::warn!(
            "the hub issued a token that is not valid here; OAUTH_HUB_URL must be the APP_URL of the hub, and OAUTH_CLIENT_ID its client"
        );
    }
}
