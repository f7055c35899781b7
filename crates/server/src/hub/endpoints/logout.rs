//! `/logout`: ends the session of a browser. A GET needs an ID token of the session, since any page can make a browser send a GET.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use identity::revocation::Revocation;
use store::hub_records::{clients, revocation};
use uuid::Uuid;

use crate::hub::form_request::{self, RequestContext};
use crate::hub::pages;
use crate::hub::session_cookie::Cookies;
use crate::hub::{Hub, session_cookie};
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, no_content, redirect};

const ELSEWHERE: Error =
    Error::new(ErrorCode::InvalidRequest, "post_logout_redirect_uri must share the origin of the redirect URI of the client");
const ANOTHER: Error = Error::new(ErrorCode::InvalidRequest, "id_token_hint was issued for another client than client_id");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response {
    let refuse = if form_request::wants_page(request.headers()) { pages::refusal } else { OauthError::response };
    let answered = match *request.method() {
        Method::GET | Method::HEAD => asked(&hub, &form_request::bare(&hub, request)).await,
        Method::POST => posted(&hub, request).await,
        _ => Err(OauthError::Method("GET, POST")),
    };
    answered.unwrap_or_else(|error| refuse(&error))
}

async fn asked(hub: &Hub, context: &RequestContext) -> Result<Response, OauthError> {
    let parameters = context.parameters()?;
    let logout = LogoutRequest::read(hub, &parameters).await?;
    let live = session_cookie::every_live(hub, context).await?;
    if live.iter().any(|(session, _)| logout.session != Some(session.id())) {
        return Ok(pages::confirm_logout(&parameters));
    }
    logout.execute(hub, context, Redirection::Found).await
}

async fn posted(hub: &Hub, request: Request) -> Result<Response, OauthError> {
    let (context, body) = form_request::posted(hub, request).await?;
    let provenance = context.refuse_cross_origin(hub.issuer());
    let logout = LogoutRequest::read(hub, &body).await?;
    match (provenance, logout.session) {
        (Ok(()), _) => logout.execute(hub, &context, Redirection::SeeOther).await,
        // A page of the app: it may end the session of the hint, since the browser may not send the cookie. Other sessions stay.
        (Err(_), Some(session)) => {
            revocation::revoke(hub.records(), &Revocation::Logout(session), None, context.audit_context()).await?;
            logout.response(&context, Redirection::SeeOther)
        }
        (Err(error), None) => {
            hub.note_cross_origin(&context).await?;
            Err(error)
        }
    }
}

struct LogoutRequest {
    session: Option<Uuid>,
    return_url: Option<String>,
}

impl LogoutRequest {
    async fn read(hub: &Hub, parameters: &Parameters) -> Result<Self, OauthError> {
        let hint = parameters.get("id_token_hint").and_then(|text| hub.hint(text));
        let client = match (parameters.get("client_id"), &hint) {
            (Some(id), Some(hint)) if !hint.common.audiences.iter().any(|audience| audience == id) => return Err(ANOTHER.into()),
            (Some(id), _) => Some(id.to_owned()),
            (None, Some(hint)) => hint.common.audiences.first().cloned(),
            (None, None) => None,
        };
        let return_url = match parameters.get("post_logout_redirect_uri") {
            None => None,
            Some(url) => {
                let client = match client {
                    Some(id) => clients::by_id(hub.records(), &id).await?,
                    None => None,
                };
                client.filter(|client| client.is_active && client.redirect.shares_origin(url)).ok_or(ELSEWHERE)?;
                Some(with_state(url, parameters.get("state")))
            }
        };
        Ok(LogoutRequest { session: hint.and_then(|hint| hint.session), return_url })
    }

    async fn execute(self, hub: &Hub, context: &RequestContext, redirection: Redirection) -> Result<Response, OauthError> {
        for (session, _) in session_cookie::every_live(hub, context).await? {
            revocation::revoke(hub.records(), &Revocation::Logout(session.id()), None, context.audit_context()).await?;
        }
        Ok(Cookies::cleared(hub, context)?.added_to(self.response(context, redirection)?))
    }

    fn response(self, context: &RequestContext, redirection: Redirection) -> Result<Response, OauthError> {
        match self.return_url {
            Some(url) => Ok(redirect(redirection, &url)?),
            None if context.wants_page() => Ok(pages::signed_out()),
            None => Ok(no_content()),
        }
    }
}

fn with_state(url: &str, state: Option<&str>) -> String {
    match state {
        None => url.to_owned(),
        Some(state) => {
            // The fragment stays at the end.
            let end = url.find('#').unwrap_or(url.len());
            let (bare, fragment) = url.split_at(end);
            format!("{bare}{}{}{fragment}", if bare.contains('?') { "&" } else { "?" }, form::write([("state", state)]))
        }
    }
}
