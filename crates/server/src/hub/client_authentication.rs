//! Lets a client prove itself, the same way at every endpoint that asks it to.

use identity::client::{Authenticated, Client, authenticate};
use identity::error::ErrorCode;
use identity::event::Event;
use identity::parameters::Parameters;
use identity::throttle::Verdict;
use identity::token_request::Credentials;
use store::failures::Watch;

use crate::clock;
use crate::problem::oauth::OauthError;

use super::Hub;
use super::form_request::RequestContext;

/// The client whose credentials are presented, looked up and not yet believed.
#[derive(Debug)]
pub(super) struct Presented {
    found: Option<Client>,
    credentials: Credentials,
}

impl Presented {
    pub(super) async fn read(hub: &Hub, sender: &RequestContext, body: &Parameters) -> Result<Self, OauthError> {
        let credentials = read(hub, sender, body).await?;
        let found = store::clients::by_id(hub.records(), credentials.id()).await?;
        Ok(Presented { found, credentials })
    }

    /// Believes it, or refuses.
    pub(super) async fn prove(&self, hub: &Hub, sender: &RequestContext) -> Result<Authenticated<'_>, OauthError> {
        prove(hub, sender, self.found.as_ref(), &self.credentials).await
    }
}

/// The credentials that a request shows; one that shows none, or what cannot be read, is noted.
pub(super) async fn read(hub: &Hub, sender: &RequestContext, body: &Parameters) -> Result<Credentials, OauthError> {
    match Credentials::read(&sender.authorization(), sender.query.as_deref(), body) {
        Ok(credentials) => Ok(credentials),
        Err(error) => {
            if error.code() == ErrorCode::InvalidClient {
                hub.note_refusal(&Event::ClientRefused { client: None }, sender).await?;
            }
            Err(error.into())
        }
    }
}

/// Lets a client that was looked up prove itself; a failure is noted and counted, and after too many of them told to wait. Who shows the
/// right secret is never asked about failures: it costs nothing, and nobody can shut a client out.
pub(super) async fn prove<'c>(
    hub: &Hub,
    sender: &RequestContext,
    client: Option<&'c Client>,
    credentials: &Credentials,
) -> Result<Authenticated<'c>, OauthError> {
    let error = match authenticate(client, credentials.secret(), clock::now()) {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    let event = Event::ClientRefused { client: client.map(|client| client.id.clone()) };
    hub.note_refusal(&event, sender).await?;
    let watch = Watch::client(credentials.id(), &sender.address);
    match store::failures::client_failed(hub.records(), &watch, clock::now()).await? {
        Verdict::Try => Err(error.into()),
        Verdict::Wait(seconds) => Err(OauthError::Throttled(seconds)),
    }
}
