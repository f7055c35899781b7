//! `GET /auth/login`: stores a login and redirects the browser to the hub.

use std::sync::atomic::Ordering;

use axum::extract::{Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use identity::login::{LOGIN_SECONDS, LoginRequest, LoginSecrets, begin};
use identity::pkce::Verifier;
use identity::secret_token::{LoginBinding, LoginState};
use store::replica_state::Entry;

use crate::http::request_context::{RequestContext, page_at_app_url};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};
use crate::satellite::Satellite;
use crate::satellite::hub_client::{HubRequest, Lane};
use crate::{clock, random};

pub(super) const KIND: &str = "login";
/// The logins of one client address in a minute: enough for an office behind one address, too few for a flood.
const MAX_LOGINS: u64 = 600;
const WINDOW_SECONDS: u64 = 60;
/// How long an answer of the hub to `/health` counts.
const HEALTH_SECONDS: i64 = 2;

pub(super) async fn answer(State(satellite): State<Satellite>, request: Request) -> Result<Response, OauthError> {
    if request.method() != Method::GET {
        return Err(OauthError::Method("GET"));
    }
    if let Some(url) = page_at_app_url(&satellite.0.app_url, request.headers(), request.uri()) {
        return Ok(redirect(Redirection::Found, &url)?);
    }
    let context = RequestContext::of(&satellite.0.proxies, request.into_parts().0);
    let parameters = context.parameters()?;
    let asked = LoginRequest::read(&parameters)?;
    let shared = &satellite.0.shared;
    let client = identity::bearer::digest(&context.address);
    if shared.count("login-address", &client, WINDOW_SECONDS).await? > MAX_LOGINS {
        return Err(OauthError::TooManyLogins(WINDOW_SECONDS as i64));
    }
    if context.wants_page() {
        expect_hub(&satellite).await?;
    }
    // Two tabs share the cookie: the second login gets the binding of the first.
    let known = context.cookies(cookie_name(&satellite, &context)).find_map(LoginBinding::parse);
    let fresh = LoginSecrets {
        state: LoginState::from_random(random::bytes()?),
        verifier: Verifier::from_random(random::bytes()?),
        binding: known.map_or_else(|| random::bytes().map(LoginBinding::from_random), Ok)?,
    };
    let (record, address) = begin(&satellite.0.at, &fresh, asked, clock::now());
    let sealed = record.seal(&fresh.state).ok_or(OauthError::Internal("could not seal a login"))?;
    // A flood of logins evicts those of its own client address.
    shared.put(KIND, record.state.as_bytes(), Entry { value: &sealed, seconds: LOGIN_SECONDS as u64, owner: Some(client) }).await?;
    let mut response = redirect(Redirection::Found, &address)?;
    response.headers_mut().insert(SET_COOKIE, cookie(&satellite, &context, &fresh.binding)?);
    tracing::debug!("login.begun");
    Ok(response)
}

/// Refuses while the hub does not answer, or answers 5xx: a browser that is redirected there would show its own error page.
async fn expect_hub(satellite: &Satellite) -> Result<(), OauthError> {
    let healthy_at = &satellite.0.healthy_at;
    if clock::now().unix().saturating_sub(healthy_at.load(Ordering::Relaxed)) < HEALTH_SECONDS {
        return Ok(());
    }
    let request = HubRequest { path: "/health", body: None, authorization: None, max_bytes: 64 * 1024 };
    match satellite.0.hub_client.send(Lane::Reads, request).await {
        Ok(answer) if answer.status < 500 => {
            healthy_at.store(clock::now().unix(), Ordering::Relaxed);
            return Ok(());
        }
        Ok(answer) => tracing::warn!(status = answer.status, "refused a login: the hub cannot answer"),
        Err(error) => tracing::warn!(%error, "refused a login: could not reach the hub"),
    }
    Err(OauthError::HubUnavailable)
}

/// The name of the cookie. Under https its prefix keeps other hosts of the domain from setting it.
pub(super) fn cookie_name(satellite: &Satellite, context: &RequestContext) -> &'static str {
    if context.is_secure(&satellite.0.app_url) { "__Host-login" } else { "login" }
}

fn cookie(satellite: &Satellite, context: &RequestContext, binding: &LoginBinding) -> Result<HeaderValue, OauthError> {
    let secure = if context.is_secure(&satellite.0.app_url) { "; Secure" } else { "" };
    let (name, value) = (cookie_name(satellite, context), binding.expose());
    let text = format!("{name}={}; Path=/; Max-Age={LOGIN_SECONDS}; HttpOnly; SameSite=Lax{secure}", value.as_str());
    let mut header = HeaderValue::from_str(&text)?;
    header.set_sensitive(true);
    Ok(header)
}
