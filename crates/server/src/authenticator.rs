//! From a request to its caller. Under `none` everybody is the anonymous account, whatever a request claims; a hub asks its own records
//! about every token it is shown, a satellite its hub.

mod me;
pub(crate) mod routes;
mod verify;

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use identity::client::ClientId;
use query::policy::Viewer;
use serde_json::Value;
use uuid::Uuid;

use crate::budget::CallerKey;
use crate::http::client_address::ClientAddress;
use crate::hub::{Holder, Hub};
use crate::problem::Problem;
use crate::satellite::Satellite;

/// Turns a request into a caller.
#[derive(Clone, Debug)]
pub struct Gate(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Headers are not looked at.
    Everyone(Arc<Viewer>),
    /// Tokens are the hub's own.
    Hub(Hub, Arc<Viewer>),
    /// Tokens are those of a hub elsewhere.
    Satellite(Satellite, Arc<Viewer>),
}

/// Who asks, and how much of that they have shown.
#[derive(Clone, Debug)]
pub struct Caller {
    viewer: Arc<Viewer>,
    standing: Standing,
    /// Whom work and bytes are counted for.
    key: CallerKey,
    /// The client of a hub's own token that is not marked to change the hub's records.
    unmarked_client: Option<ClientId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// There is no authority to show anything to.
    Unasked,
    /// No token was shown.
    Nobody,
    /// The account of a token that was found good.
    Account(Uuid),
}

impl Gate {
    /// The gate of a process without an authority: headers are not looked at.
    pub fn open() -> Self {
        Gate::of(Viewer::anonymous())
    }

    /// A gate that takes every caller for this viewer. Only programs that embed us, tests among them, can make one.
    pub fn of(viewer: Viewer) -> Self {
        Gate(Kind::Everyone(Arc::new(viewer)))
    }

    /// The gate of a hub.
    pub(crate) fn hub(hub: Hub) -> Self {
        Gate(Kind::Hub(hub, Arc::new(Viewer::anonymous())))
    }

    /// The gate of a satellite.
    pub(crate) fn satellite(satellite: Satellite) -> Self {
        Gate(Kind::Satellite(satellite, Arc::new(Viewer::anonymous())))
    }

    /// The hub behind the gate, if there is one.
    pub(crate) fn as_hub(&self) -> Option<&Hub> {
        match &self.0 {
            Kind::Everyone(_) | Kind::Satellite(..) => None,
            Kind::Hub(hub, _) => Some(hub),
        }
    }

    /// The satellite behind the gate, if there is one.
    pub fn as_satellite(&self) -> Option<&Satellite> {
        match &self.0 {
            Kind::Everyone(_) | Kind::Hub(..) => None,
            Kind::Satellite(satellite, _) => Some(satellite),
        }
    }

    /// Ends what would go on for ever, streams of changes to satellites: whoever embeds us calls it when the process is about to end.
    pub fn retire(&self) {
        if let Some(hub) = self.as_hub() {
            hub.retire();
        }
    }

    /// The caller. A token that is there and not good is refused, whatever is asked: who tries to say who they are is never taken for
    /// nobody.
    pub async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Problem> {
        let address = CallerKey::of_address(ClientAddress::of(extensions));
        let anonymous = |viewer: &Arc<Viewer>, standing| Caller { viewer: viewer.clone(), standing, key: address, unmarked_client: None };
        let known = |viewer, id| Caller { viewer, standing: Standing::Account(id), key: CallerKey::Account(id), unmarked_client: None };
        match &self.0 {
            Kind::Everyone(viewer) => Ok(anonymous(viewer, Standing::Unasked)),
            Kind::Hub(hub, nobody) => match Box::pin(hub.bearer(headers, address)).await? {
                None => Ok(anonymous(nobody, Standing::Nobody)),
                Some(Holder { account, viewer, unmarked_client }) => Ok(Caller { unmarked_client, ..known(Arc::new(viewer), account) }),
            },
            Kind::Satellite(satellite, nobody) => match satellite.bearer(headers).await? {
                None => Ok(anonymous(nobody, Standing::Nobody)),
                Some(member) => Ok(known(member.viewer.clone(), member.id)),
            },
        }
    }
}

impl Caller {
    /// Refuses a token of a client that is not marked to change the hub's records: whoever runs such a client could act for every
    /// administrator who uses it.
    pub(crate) fn may_administer(&self) -> Result<(), Problem> {
        self.unmarked_client.clone().map_or(Ok(()), |client| Err(Problem::ClientMayNotAdminister(client)))
    }

    /// What the caller may see.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// The caller as budgets count it: the account, or the client address without one.
    pub(crate) fn key(&self) -> CallerKey {
        self.key
    }

    /// Whose token it was.
    pub fn account(&self) -> Option<Uuid> {
        match self.standing {
            Standing::Account(id) => Some(id),
            Standing::Unasked | Standing::Nobody => None,
        }
    }

    /// The account as JSON, as `$account.…` in a manifest sees it; of nobody, the anonymous one.
    pub fn details(&self) -> &Value {
        self.viewer.account()
    }

    /// Refuses a caller who lacks a permission: 401 without a token, 403 with one.
    pub fn require(&self, permission: &str) -> Result<(), Problem> {
        if self.viewer.holds(permission) { Ok(()) } else { Err(self.refusal()) }
    }

    /// What a caller hears who lacks a permission: who has not said who they are may try to.
    pub fn refusal(&self) -> Problem {
        match self.standing {
            Standing::Nobody => Problem::Unauthenticated,
            Standing::Unasked | Standing::Account(_) => Problem::Forbidden,
        }
    }
}
