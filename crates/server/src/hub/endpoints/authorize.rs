//! `/authorize`, by GET or POST: leads to the sign-in page or back to the client with a code. A fault is told to the person and never sent on.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response};
use identity::authorize::{self, Granted, Outcome};
use identity::client::Client;
use identity::error::{Error, ErrorCode};
use identity::event::Event;
use identity::form;
use identity::opaque::Code;
use identity::parameters::Parameters;
use store::apps::Admission;

use crate::clock;
use crate::hub::form_request::{self, RequestContext};
use crate::hub::{Hub, session_cookie};
use crate::pages::hub as pages;
use crate::problem::oauth::OauthError;
use crate::random;
use crate::response::{Redirection, redirect};

const ENDED: Error = Error::new(ErrorCode::AccessDenied, "the session has ended; sign in again");
const UNREADABLE: Error = Error::new(ErrorCode::InvalidRequest, "id_token_hint is no id_token of this hub");

pub(super) async fn answer(State(hub): State<Hub>, request: Request) -> Response<Body> {
    let hub = &hub;
    let is_page = form_request::wants_page(request.headers());
    match answered(hub, request).await {
        Ok(response) => response,
        Err(fault) if is_page => pages::refusal(&fault),
        Err(fault) => fault.response(),
    }
}

async fn answered(hub: &Hub, request: Request) -> Result<Response<Body>, OauthError> {
    match *request.method() {
        Method::GET | Method::HEAD => {
            let sender = form_request::bare(hub, request);
            let asked = Asked::read(hub, sender.parameters()).await?;
            Ok(redirect(Redirection::Found, &led(hub, &sender, asked).await?)?)
        }
        Method::POST => {
            let (sender, pairs) = form_request::posted_pairs(hub, request).await?;
            let of_address = form::pairs(sender.query.as_deref().unwrap_or_default());
            let all = pairs.and_then(|pairs| Ok(pairs.into_iter().chain(of_address?)));
            let parameters = all.and_then(Parameters::read);
            // From a page of another site a browser sends the cookie with a GET alone: whoever is signed in would be asked to sign in.
            let again = parameters.as_ref().ok().filter(|_| sender.is_cross_site()).map(authorize::address);
            let asked = Asked::read(hub, parameters).await?;
            match again {
                Some(address) if asked.checked.is_ok() => Ok(redirect(Redirection::SeeOther, &address)?),
                _ => Ok(redirect(Redirection::Found, &led(hub, &sender, asked).await?)?),
            }
        }
        _ => Err(OauthError::Method("GET, POST")),
    }
}

/// The address to lead the browser to.
async fn led(hub: &Hub, sender: &RequestContext, asked: Asked) -> Result<String, OauthError> {
    let Asked { client: found, checked } = asked;
    let request = match checked {
        Ok(request) => request,
        Err(error) => return Err(refused(hub, sender, found.as_ref(), error).await?),
    };
    let Some(client) = &found else { return Err(OauthError::Internal("a request was checked against no client")) };
    let session = session_cookie::live(hub, sender).await?.map(|(session, _)| session);
    match request.decide(session, hub.issuer(), clock::now()) {
        Outcome::SignIn(continuation) | Outcome::AskAgain(continuation) => {
            Ok(format!("/sign-in?continue={}", form::encode(continuation.as_str())))
        }
        Outcome::LoginRequired(address) => Ok(address),
        Outcome::Grant(granted) => issued(hub, sender, *granted, client).await,
    }
}

/// What is asked for.
struct Asked {
    /// The client that is named, if it is known.
    client: Option<Client>,
    /// Its request, checked.
    checked: Result<authorize::Request, Error>,
}

impl Asked {
    async fn read(hub: &Hub, parameters: Result<Parameters, Error>) -> Result<Self, store::Error> {
        let refused = |error| Ok(Asked { client: None, checked: Err(error) });
        let parameters = match parameters {
            Ok(parameters) => parameters,
            Err(error) => return refused(error),
        };
        let client = match authorize::client_id(&parameters) {
            Ok(id) => store::clients::by_id(hub.records(), id).await?,
            Err(error) => return refused(error),
        };
        let checked = authorize::check(&parameters, client.as_ref());
        Ok(Asked { checked: checked.and_then(|request| hinted(hub, request, parameters.get("id_token_hint"))), client })
    }
}

/// The request with whom its hint names. One that cannot be read names nobody, and whoever is signed in must not stand in for them.
fn hinted(hub: &Hub, request: authorize::Request, hint: Option<&str>) -> Result<authorize::Request, Error> {
    let read = |text| hub.hint(text).map(|claims| claims.common.subject).ok_or(UNREADABLE);
    Ok(request.hinted(hint.map(read).transpose()?))
}

/// Notes a refusal: of what was sent, only the id of a client that is known.
async fn refused(hub: &Hub, sender: &RequestContext, client: Option<&Client>, error: Error) -> Result<OauthError, store::Error> {
    let client = client.map(|client| client.id.clone());
    let event = match error.code() {
        ErrorCode::InvalidClient => Event::ClientRefused { client },
        error => Event::GrantRefused { client, grant: None, error },
    };
    hub.note_refusal(&event, sender).await?;
    Ok(error.into())
}

async fn issued(hub: &Hub, sender: &RequestContext, granted: Granted, client: &Client) -> Result<String, OauthError> {
    if store::apps::admission(hub.records(), client, granted.account()).await? == Admission::Refused {
        let event = Event::GrantRefused { client: Some(granted.client().clone()), grant: None, error: ErrorCode::AccessDenied };
        store::events::append(hub.records(), &event, sender.occasion()).await?;
        return Ok(granted.deny());
    }
    let (row, address) = granted.issue(&Code::from_random(random::bytes()?), clock::now());
    let kept = store::codes::insert(hub.records(), &row, sender.occasion()).await?;
    if kept { Ok(address) } else { Err(refused(hub, sender, Some(client), ENDED).await?) }
}
