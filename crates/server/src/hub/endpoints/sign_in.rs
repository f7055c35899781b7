//! `/sign-in`: the sign-in page. It works without scripts; a success redirects to the return path.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::authorize;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::password::Password;
use identity::return_path::HubReturnPath;
use store::hub_records::clients;
use store::hub_records::sessions::SignInProof;

use crate::http::request_context::page_at_app_url;
use crate::hub::form_request::{self, RequestContext};
use crate::hub::pages::{self, Notice};
use crate::hub::session_cookie::Cookies;
use crate::hub::{Hub, credentials, session_cookie};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};

const WRONG: Error = Error::new(ErrorCode::InvalidGrant, "The name or the password is wrong.");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response {
    match *request.method() {
        Method::GET | Method::HEAD => {
            if let Some(url) = page_at_app_url(hub.issuer(), request.headers(), request.uri()) {
                return redirect(Redirection::Found, &url).unwrap_or_else(|error| pages::refusal(&error.into()));
            }
            let context = form_request::bare(&hub, request);
            show(&hub, &context).await.unwrap_or_else(|error| pages::refusal(&error))
        }
        Method::POST => submit(&hub, request).await.unwrap_or_else(|error| pages::refusal(&error)),
        _ => pages::refusal(&OauthError::Method("GET, POST")),
    }
}

async fn show(hub: &Hub, context: &RequestContext) -> Result<Response, OauthError> {
    let parameters = context.parameters()?;
    let return_path = HubReturnPath::read(parameters.get("continue"));
    let app = app_of(hub, &return_path).await?;
    let notice = Notice::from_word(parameters.get("done"));
    let name = authorize::login_hint(&return_path).unwrap_or_default();
    Ok(pages::sign_in(&pages::SignInPage { return_path: return_path.as_str(), app: app.as_deref(), name: &name, notice, refusal: None }))
}

async fn submit(hub: &Hub, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(hub, request).await?;
    hub.refuse_cross_origin(&context).await?;
    let return_path = HubReturnPath::read(body.get("continue"));
    let name = body.get("username").unwrap_or_default();
    match begin_session(hub, &context, name, body.get("password").unwrap_or_default()).await {
        Ok(cookies) => Ok(cookies.added_to(redirect(Redirection::SeeOther, return_path.as_str())?)),
        // Keeps what was typed, also when the database is unavailable; then the name of the app is missing.
        Err(error) if matches!(error, OauthError::Rule(_) | OauthError::Throttled(_)) || error.is_temporary() => {
            let app = app_of(hub, &return_path).await.unwrap_or_default();
            let return_path = return_path.as_str();
            Ok(pages::sign_in(&pages::SignInPage { return_path, app: app.as_deref(), name, notice: None, refusal: Some(&error) }))
        }
        Err(error) => Err(error),
    }
}

async fn begin_session(hub: &Hub, context: &RequestContext, name: &str, password: &str) -> Result<Cookies, OauthError> {
    let (Ok(password), false) = (Password::presented(password), name.is_empty()) else {
        // No account has such a name or password, so nothing is compared or counted.
        hub.note_refusal(&AuditEvent::SignInRefused { account: None, reason: SignInRefusal::Credentials }, context.audit_context()).await?;
        return Err(WRONG.into());
    };
    let checked = credentials::check(hub, name, password, context).await?;
    let (account, proof) = checked.admitted().ok_or(WRONG)?;
    if let Some(cookies) = session_cookie::begin(hub, context, session_cookie::fresh(account.id), SignInProof::Password(proof)).await? {
        return Ok(cookies);
    }
    // The password changed after it was compared.
    credentials::record_failure(hub, Some(account.id), SignInRefusal::Credentials, context).await?;
    Err(WRONG.into())
}

async fn app_of(hub: &Hub, return_path: &HubReturnPath) -> Result<Option<String>, store::Error> {
    let Some(query) = return_path.as_str().strip_prefix("/authorize?") else { return Ok(None) };
    let pairs = form::pairs(query).unwrap_or_default();
    let Some((_, id)) = pairs.iter().find(|(name, _)| name == "client_id") else { return Ok(None) };
    let client = clients::by_id(hub.records(), id).await?;
    Ok(client.filter(|client| client.is_active).map(|client| client.name))
}
