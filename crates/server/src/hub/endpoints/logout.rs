//! `/logout`: ends the session of a browser and what it gave. A GET does so only when it shows an id_token of this very session;
//! otherwise any page could sign people out by an image.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response};
use identity::error::{Error, ErrorCode};
use identity::form;
use identity::parameters::Parameters;
use identity::session::Ending;
use uuid::Uuid;

use crate::hub::form_request::{self, RequestContext};
use crate::hub::session_cookie::Cookies;
use crate::hub::{Hub, session_cookie};
use crate::pages::hub as pages;
use crate::problem::oauth::OauthError;
use crate::response::{Redirection, no_content, redirect};

const ELSEWHERE: Error =
    Error::new(ErrorCode::InvalidRequest, "post_logout_redirect_uri does not share the origin of a redirect of the client it is for");
const ANOTHER: Error = Error::new(ErrorCode::InvalidRequest, "id_token_hint was made for another client than client_id");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response<Body> {
    let hub = &hub;
    let get = matches!(*request.method(), Method::GET | Method::HEAD);
    let page = form_request::wants_page(request.headers());
    let answered = if get {
        let sender = form_request::bare(hub, request);
        asked(hub, &sender).await
    } else {
        posted(hub, request).await
    };
    match answered {
        Ok(response) => response,
        Err(fault) if page => pages::refusal(&fault),
        Err(fault) => fault.response(),
    }
}

async fn asked(hub: &Hub, sender: &RequestContext) -> Result<Response<Body>, OauthError> {
    let parameters = sender.parameters()?;
    let farewell = Farewell::read(hub, &parameters).await?;
    let live = session_cookie::every_live(hub, sender).await?;
    if live.iter().any(|(session, _)| farewell.session != Some(session.id())) {
        return Ok(pages::confirm_logout(&parameters));
    }
    farewell.done(hub, sender, Redirection::Found).await
}

async fn posted(hub: &Hub, request: Request) -> Result<Response<Body>, OauthError> {
    if request.method() != Method::POST {
        return Err(OauthError::Method("GET, POST"));
    }
    let (sender, body) = form_request::posted(hub, request).await?;
    let provenance = sender.refuse_foreign(hub.issuer());
    let farewell = Farewell::read(hub, &body).await?;
    match (provenance, farewell.session) {
        (Ok(()), _) => farewell.done(hub, &sender, Redirection::SeeOther).await,
        // A page of the app: the hint says what it may end, since the browser need not send the cookie along. Whoever else is signed in
        // there stays so.
        (Err(_), Some(session)) => {
            store::endings::end(hub.records(), &Ending::Logout(session), None, sender.occasion()).await?;
            farewell.gone(&sender, Redirection::SeeOther)
        }
        (Err(fault), None) => {
            hub.note_foreign(&sender).await?;
            Err(fault)
        }
    }
}

/// What a logout asks for beside the end.
struct Farewell {
    /// The session that the hint is of.
    session: Option<Uuid>,
    /// Where to go then.
    address: Option<String>,
}

impl Farewell {
    async fn read(hub: &Hub, parameters: &Parameters) -> Result<Self, OauthError> {
        let hint = parameters.get("id_token_hint").and_then(|text| hub.hint(text));
        let client = match (parameters.get("client_id"), &hint) {
            (Some(id), Some(hint)) if !hint.common.audiences.iter().any(|audience| audience == id) => return Err(ANOTHER.into()),
            (Some(id), _) => Some(id.to_owned()),
            (None, Some(hint)) => hint.common.audiences.first().cloned(),
            (None, None) => None,
        };
        let address = match parameters.get("post_logout_redirect_uri") {
            None => None,
            Some(address) => {
                let client = match client {
                    Some(id) => store::clients::by_id(hub.records(), &id).await?,
                    None => None,
                };
                client.filter(|client| client.is_active && client.redirect.shares_origin(address)).ok_or(ELSEWHERE)?;
                Some(with_state(address, parameters.get("state")))
            }
        };
        Ok(Farewell { session: hint.and_then(|hint| hint.session), address })
    }

    async fn done(self, hub: &Hub, sender: &RequestContext, redirection: Redirection) -> Result<Response<Body>, OauthError> {
        for (session, _) in session_cookie::every_live(hub, sender).await? {
            store::endings::end(hub.records(), &Ending::Logout(session.id()), None, sender.occasion()).await?;
        }
        let mut response = self.gone(sender, redirection)?;
        Cookies::cleared(hub, sender)?.set(&mut response);
        Ok(response)
    }

    /// What is answered once it is over.
    fn gone(self, sender: &RequestContext, redirection: Redirection) -> Result<Response<Body>, OauthError> {
        match self.address {
            Some(address) => Ok(redirect(redirection, &address)?),
            None if sender.wants_page() => Ok(pages::signed_out()),
            None => Ok(no_content()),
        }
    }
}

fn with_state(address: &str, state: Option<&str>) -> String {
    match state {
        None => address.to_owned(),
        Some(state) => {
            // What comes behind `#` stays with the browser.
            let end = address.find('#').unwrap_or(address.len());
            let (bare, fragment) = address.split_at(end);
            format!("{bare}{}{}{fragment}", if bare.contains('?') { "&" } else { "?" }, form::write([("state", state)]))
        }
    }
}
