//! Who is asking. Under `none` everybody is the anonymous account, whatever a request claims; a hub asks its own records about every
//! token it is shown.

use std::sync::Arc;

use axum::http::HeaderMap;
use query::policy::Viewer;
use uuid::Uuid;

use crate::error::Problem;
use crate::hub::Hub;

/// Turns a request into a caller.
#[derive(Clone, Debug)]
pub struct Gate(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Headers are not looked at.
    Everyone(Arc<Viewer>),
    /// Tokens are the hub's own.
    Hub(Hub, Arc<Viewer>),
}

/// Who asks, and how much of that they have shown.
#[derive(Clone, Debug)]
pub struct Caller {
    viewer: Arc<Viewer>,
    standing: Standing,
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

    /// The hub behind the gate, if there is one.
    pub(crate) fn as_hub(&self) -> Option<&Hub> {
        match &self.0 {
            Kind::Everyone(_) => None,
            Kind::Hub(hub, _) => Some(hub),
        }
    }

    /// The caller. A token that is there and not good is refused, whatever is asked: who tries to say who they are is never taken for
    /// nobody.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        match &self.0 {
            Kind::Everyone(viewer) => Ok(Caller { viewer: viewer.clone(), standing: Standing::Unasked }),
            Kind::Hub(hub, nobody) => match Box::pin(hub.bearer(headers)).await? {
                None => Ok(Caller { viewer: nobody.clone(), standing: Standing::Nobody }),
                Some((account, viewer)) => Ok(Caller { viewer: Arc::new(viewer), standing: Standing::Account(account) }),
            },
        }
    }
}

impl Caller {
    /// What the caller may see.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// Whose token it was.
    pub fn account(&self) -> Option<Uuid> {
        match self.standing {
            Standing::Account(id) => Some(id),
            Standing::Unasked | Standing::Nobody => None,
        }
    }

    /// What a caller hears who lacks a permission: who has not said who they are may try to.
    pub fn refusal(&self) -> Problem {
        match self.standing {
            Standing::Nobody => Problem::Unauthenticated,
            Standing::Unasked | Standing::Account(_) => Problem::Forbidden,
        }
    }
}
