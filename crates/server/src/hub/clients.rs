//! Lets a client prove itself, the same way at every endpoint that asks it to.

use identity::client::{self, Client};
use identity::error::{Error, ErrorCode};
use identity::event::Event;
use identity::parameters::Parameters;
use identity::token_request::Credentials;

use crate::chance;
use crate::error::oauth::Fault;

use super::Hub;
use super::incoming::Sender;

/// The client whose credentials are presented, looked up and not yet believed.
#[derive(Debug)]
pub(super) struct Presented {
    found: Option<Client>,
    credentials: Credentials,
}

impl Presented {
    pub(super) async fn read(hub: &Hub, sender: &Sender, body: &Parameters) -> Result<Self, Fault> {
        let credentials = Credentials::read(&sender.authorization(), sender.query.as_deref(), body)?;
        let found = store::clients::by_id(hub.records(), credentials.id()).await?;
        Ok(Presented { found, credentials })
    }

    /// Believes it, or refuses and says so in the log.
    pub(super) async fn prove(&self, hub: &Hub, sender: &Sender) -> Result<client::Authenticated<'_>, Fault> {
        match client::authenticate(self.found.as_ref(), self.credentials.secret(), chance::now()) {
            Ok(client) => Ok(client),
            Err(error) => Err(refused(hub, self.found.as_ref(), sender, error).await?),
        }
    }
}

/// Notes that a client did not prove itself.
pub(super) async fn refused(hub: &Hub, client: Option<&Client>, sender: &Sender, error: Error) -> Result<Fault, Fault> {
    if error.code() == ErrorCode::InvalidClient {
        let event = Event::ClientRefused { client: client.map(|client| client.id.clone()) };
        store::events::append(hub.records(), &event, sender.occasion()).await?;
    }
    Ok(error.into())
}
