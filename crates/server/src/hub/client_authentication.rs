//! Authenticates a client by its secret, the same way at every endpoint.

use identity::audit_event::AuditEvent;
use identity::client::{self, Authenticated, Client};
use identity::error::ErrorCode;
use identity::parameters::Parameters;
use identity::throttle::ThrottleDecision;
use identity::token_request::Credentials;
use store::hub_records::clients;
use store::hub_records::throttle::{self, ThrottleKeys};

use crate::clock;
use crate::problem::oauth::OauthError;

use super::Hub;
use super::form_request::RequestContext;

#[derive(Debug)]
pub(super) struct UnverifiedClient {
    found: Option<Client>,
    credentials: Credentials,
}

impl UnverifiedClient {
    pub(super) async fn read(hub: &Hub, context: &RequestContext, body: &Parameters) -> Result<Self, OauthError> {
        let credentials = read(hub, context, body).await?;
        let found = clients::by_id(hub.records(), credentials.id()).await?;
        Ok(UnverifiedClient { found, credentials })
    }

    pub(super) async fn authenticate(&self, hub: &Hub, context: &RequestContext) -> Result<Authenticated<'_>, OauthError> {
        authenticate(hub, context, self.found.as_ref(), &self.credentials).await
    }
}

/// Reads the credentials of a request. Records a request without readable ones.
pub(super) async fn read(hub: &Hub, context: &RequestContext, body: &Parameters) -> Result<Credentials, OauthError> {
    let read = Credentials::read(&context.authorization(), context.query.as_deref(), body);
    if read.as_ref().is_err_and(|error| error.code() == ErrorCode::InvalidClient) {
        hub.note_refusal(&AuditEvent::ClientRefused { client: None }, context.audit_context()).await?;
    }
    Ok(read?)
}

/// Authenticates a client that was looked up. A failure is recorded and counted; after too many the client must wait. The right secret
/// always passes, so that nobody can lock a client out.
pub(super) async fn authenticate<'c>(
    hub: &Hub,
    context: &RequestContext,
    client: Option<&'c Client>,
    credentials: &Credentials,
) -> Result<Authenticated<'c>, OauthError> {
    let error = match client::authenticate(client, credentials.secret(), clock::now()) {
        Ok(client) => return Ok(client),
        Err(error) => error,
    };
    let event = AuditEvent::ClientRefused { client: client.map(|client| client.id.clone()) };
    hub.note_refusal(&event, context.audit_context()).await?;
    let keys = ThrottleKeys::client(credentials.id(), &context.address);
    match throttle::client_failed(hub.records(), &keys, clock::now()).await? {
        ThrottleDecision::Try => Err(error.into()),
        ThrottleDecision::Wait(seconds) => Err(OauthError::Throttled(seconds)),
    }
}
