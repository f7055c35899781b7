//! `GET /authorize`: leads to the sign-in page or back to the client with a code. A fault is told to the person and never sent on.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response};
use identity::authorize::{self, Granted, Outcome};
use identity::client::Client;
use identity::error::{Error, ErrorCode};
use identity::event::Event;
use identity::form;
use identity::opaque::Code;
use store::apps::Admission;

use crate::chance;
use crate::error::oauth::{Fault, Redirection, redirect};
use crate::pages::hub as pages;

use super::incoming::{self, Sender};
use super::{Hub, session};

const ENDED: Error = Error::new(ErrorCode::AccessDenied, "the session has ended; sign in again");
const UNREADABLE: Error = Error::new(ErrorCode::InvalidRequest, "id_token_hint is no id_token of this hub");

pub(super) async fn answer(hub: &Hub, request: Request) -> Response<Body> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Fault::Method("GET").response();
    }
    let sender = incoming::bare(hub, request);
    match led(hub, &sender).await {
        Ok(address) => redirect(Redirection::Found, &address),
        Err(fault) if sender.wants_page() => pages::refusal(&fault),
        Err(fault) => fault.response(),
    }
}

/// The address to lead the browser to.
async fn led(hub: &Hub, sender: &Sender) -> Result<String, Fault> {
    let (found, checked) = asked(hub, sender).await?;
    let request = match checked {
        Ok(request) => request,
        Err(error) => return Err(refused(hub, sender, found.as_ref(), error).await?),
    };
    let Some(client) = &found else { return Err(Fault::Internal("a request was checked against no client")) };
    let session = session::live(hub, sender).await?.map(|(session, _)| session);
    match request.decide(session, hub.issuer(), chance::now()) {
        Outcome::SignIn(continuation) | Outcome::AskAgain(continuation) => {
            Ok(format!("/sign-in?continue={}", form::encode(continuation.as_str())))
        }
        Outcome::LoginRequired(address) => Ok(address),
        Outcome::Grant(granted) => issued(hub, sender, *granted, client).await,
    }
}

/// The client that is named, if it is known, and its request, checked.
async fn asked(hub: &Hub, sender: &Sender) -> Result<(Option<Client>, Result<authorize::Request, Error>), store::Error> {
    let parameters = match sender.parameters() {
        Ok(parameters) => parameters,
        Err(error) => return Ok((None, Err(error))),
    };
    let found = match authorize::client_id(&parameters) {
        Ok(id) => store::clients::by_id(hub.records(), id).await?,
        Err(error) => return Ok((None, Err(error))),
    };
    let checked = authorize::check(&parameters, found.as_ref()).and_then(|request| hinted(hub, request, parameters.get("id_token_hint")));
    Ok((found, checked))
}

/// The request with whom its hint names. One that cannot be read names nobody, and whoever is signed in must not stand in for them.
fn hinted(hub: &Hub, request: authorize::Request, hint: Option<&str>) -> Result<authorize::Request, Error> {
    let read = |text| hub.hint(text).map(|claims| claims.common.subject).ok_or(UNREADABLE);
    Ok(request.hinted(hint.map(read).transpose()?))
}

/// Notes a refusal: of what was sent, only the id of a client that is known.
async fn refused(hub: &Hub, sender: &Sender, client: Option<&Client>, error: Error) -> Result<Fault, store::Error> {
    let client = client.map(|client| client.id.clone());
    let event = match error.code() {
        ErrorCode::InvalidClient => Event::ClientRefused { client },
        error => Event::GrantRefused { client, grant: None, error },
    };
    hub.note_refusal(&event, sender).await?;
    Ok(error.into())
}

async fn issued(hub: &Hub, sender: &Sender, granted: Granted, client: &Client) -> Result<String, Fault> {
    if store::apps::admission(hub.records(), client, granted.account()).await? == Admission::Refused {
        let event = Event::GrantRefused { client: Some(granted.client().clone()), grant: None, error: ErrorCode::AccessDenied };
        store::events::append(hub.records(), &event, sender.occasion()).await?;
        return Ok(granted.deny());
    }
    let (row, address) = granted.issue(&Code::from_random(chance::random()?), chance::now());
    let kept = store::codes::insert(hub.records(), &row, sender.occasion()).await?;
    if kept { Ok(address) } else { Err(refused(hub, sender, Some(client), ENDED).await?) }
}
