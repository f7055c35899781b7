//! `/authorize`: redirects to the sign-in page, or back to the client with a code. Errors are shown to the person, not sent to the client.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use identity::audit_event::AuditEvent;
use identity::authorize::{self, AuthorizeDecision, Granted};
use identity::client::Client;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use identity::secret_token::Code;
use store::hub_records::apps::{self, Admission};
use store::hub_records::{audit_log, clients, codes};

use crate::hub::form_request::{self, RequestContext};
use crate::hub::pages;
use crate::hub::{Hub, session_cookie};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, redirect};
use crate::{clock, html, random};

const ENDED: Error = Error::new(ErrorCode::AccessDenied, "the session has ended; sign in again");
const UNREADABLE: Error = Error::new(ErrorCode::InvalidRequest, "id_token_hint is no ID token of this hub");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response {
    let refuse = if form_request::wants_page(request.headers()) { pages::refusal } else { OauthError::response };
    let mut response = answered(&hub, request).await.unwrap_or_else(|error| refuse(&error));
    html::forbid_frames(&mut response);
    response
}

async fn answered(hub: &Hub, request: Request) -> Result<Response, OauthError> {
    match *request.method() {
        Method::GET | Method::HEAD => {
            let context = form_request::bare(hub, request);
            let asked = AuthorizationRequest::read(hub, context.parameters()).await?;
            Ok(redirect(Redirection::Found, &redirect_url(hub, &context, asked).await?)?)
        }
        Method::POST => {
            let (context, pairs) = form_request::posted_pairs(hub, request).await?;
            let of_url = form::pairs(context.query.as_deref().unwrap_or_default());
            let all = pairs.and_then(|pairs| Ok(pairs.into_iter().chain(of_url?)));
            let parameters = all.and_then(Parameters::read);
            // From a page of another site a browser sends the cookie only with a GET. Without it a signed-in person would have to sign in.
            let again = parameters.as_ref().ok().filter(|_| context.is_cross_site()).map(authorize::get_path);
            let asked = AuthorizationRequest::read(hub, parameters).await?;
            match again {
                Some(url) if asked.checked.is_ok() => Ok(redirect(Redirection::SeeOther, &url)?),
                _ => Ok(redirect(Redirection::Found, &redirect_url(hub, &context, asked).await?)?),
            }
        }
        _ => Err(OauthError::Method("GET, POST")),
    }
}

async fn redirect_url(hub: &Hub, context: &RequestContext, asked: AuthorizationRequest) -> Result<String, OauthError> {
    let AuthorizationRequest { client: found, checked } = asked;
    let request = match checked {
        Ok(request) => request,
        Err(error) => return Err(refused(hub, context, found.as_ref(), error).await?),
    };
    let Some(client) = &found else { return Err(OauthError::Internal("checked a request without a client")) };
    let session = session_cookie::live(hub, context).await?.map(|(session, _)| session);
    match request.decide(session, hub.issuer(), clock::now()) {
        AuthorizeDecision::SignIn(return_path) | AuthorizeDecision::AskAgain(return_path) => {
            Ok(format!("/sign-in?continue={}", form::encode(return_path.as_str())))
        }
        AuthorizeDecision::LoginRequired(url) => Ok(url),
        AuthorizeDecision::Grant(granted) => issued(hub, context, *granted, client).await,
    }
}

struct AuthorizationRequest {
    client: Option<Client>,
    checked: Result<authorize::Request, Error>,
}

impl AuthorizationRequest {
    async fn read(hub: &Hub, parameters: Result<Parameters, Error>) -> Result<Self, store::Error> {
        let refused = |error| Ok(AuthorizationRequest { client: None, checked: Err(error) });
        let parameters = match parameters {
            Ok(parameters) => parameters,
            Err(error) => return refused(error),
        };
        let client = match authorize::client_id(&parameters) {
            Ok(id) => clients::by_id(hub.records(), id).await?,
            Err(error) => return refused(error),
        };
        let checked = authorize::check(&parameters, client.as_ref());
        Ok(AuthorizationRequest { checked: checked.and_then(|request| hinted(hub, request, parameters.get("id_token_hint"))), client })
    }
}

/// Adds the account of `id_token_hint`. A hint that cannot be read is refused: the signed-in account may be another one.
fn hinted(hub: &Hub, request: authorize::Request, hint: Option<&str>) -> Result<authorize::Request, Error> {
    let read = |text| hub.hint(text).map(|claims| claims.common.subject).ok_or(UNREADABLE);
    Ok(request.hinted(hint.map(read).transpose()?))
}

/// Records a refusal. Of the request it records only the id of a known client.
async fn refused(hub: &Hub, context: &RequestContext, client: Option<&Client>, error: Error) -> Result<OauthError, store::Error> {
    let client = client.map(|client| client.id.clone());
    let event = match error.code() {
        ErrorCode::InvalidClient => AuditEvent::ClientRefused { client },
        error => AuditEvent::GrantRefused { client, grant: None, error },
    };
    hub.note_refusal(&event, context.audit_context()).await?;
    Ok(error.into())
}

async fn issued(hub: &Hub, context: &RequestContext, granted: Granted, client: &Client) -> Result<String, OauthError> {
    if apps::admission(hub.records(), client, granted.account()).await? == Admission::Refused {
        let event = AuditEvent::GrantRefused { client: Some(granted.client().clone()), grant: None, error: ErrorCode::AccessDenied };
        audit_log::append(hub.records(), &event, context.audit_context()).await?;
        return Ok(granted.deny());
    }
    let (row, url) = granted.issue(&Code::from_random(random::bytes()?), clock::now());
    let kept = codes::insert(hub.records(), &row, context.audit_context()).await?;
    if kept { Ok(url) } else { Err(refused(hub, context, Some(client), ENDED).await?) }
}
