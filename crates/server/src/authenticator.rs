//! Turns a request into its caller, by the hub, the satellite or the strategy `none`, and serves `/auth/me` and `/auth/verify`.

mod me;
mod verify;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use axum::routing::any;
use query::policy::Viewer;

use crate::budget::CallerKey;
use crate::http::client_address::ClientAddress;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::query_service::{QueryService, explain};
use crate::satellite::Satellite;

pub use crate::caller::Caller;

#[derive(Clone, Debug)]
pub enum Authenticator {
    /// Every caller is this viewer; tokens are ignored.
    Fixed(Arc<Viewer>),
    Hub(Hub),
    Satellite(Satellite),
}

impl Authenticator {
    /// Under the strategy `none`: every caller is the anonymous account.
    pub fn none() -> Self {
        Authenticator::fixed(Viewer::anonymous())
    }

    /// Under the strategy `none` on a listener that only this machine reaches: the anonymous account may also see SQL.
    pub(crate) fn none_on_loopback() -> Self {
        Authenticator::fixed(Viewer::new([explain::PERMISSION.to_owned()], Viewer::anonymous().account().clone()))
    }

    /// Takes every caller for this viewer, for tests and programs that embed the server.
    pub fn fixed(viewer: Viewer) -> Self {
        Authenticator::Fixed(Arc::new(viewer))
    }

    pub(crate) fn as_hub(&self) -> Option<&Hub> {
        if let Authenticator::Hub(hub) = self { Some(hub) } else { None }
    }

    pub fn as_satellite(&self) -> Option<&Satellite> {
        if let Authenticator::Satellite(satellite) = self { Some(satellite) } else { None }
    }

    /// Ends the streams of account changes. A program that embeds the server calls it before it stops.
    pub fn retire(&self) {
        if let Some(hub) = self.as_hub() {
            hub.retire();
        }
    }

    /// The caller of a request. A token that is not valid is refused on every endpoint; such a caller never counts as anonymous.
    pub async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Problem> {
        match self {
            Authenticator::Fixed(viewer) => Ok(Caller::unchecked(viewer.clone(), CallerKey::of_address(ClientAddress::of(extensions)))),
            Authenticator::Hub(hub) => Box::pin(hub.caller(headers, extensions)).await,
            Authenticator::Satellite(satellite) => satellite.caller(headers, extensions).await,
        }
    }
}

/// Extracts the caller of a request. A token that is not valid is refused before the handler runs.
impl<S: Sync> FromRequestParts<S> for Caller
where
    Authenticator: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Authenticator::from_ref(state).caller(&parts.headers, &parts.extensions).await
    }
}

/// `/auth/me` and `/auth/verify`, each also below `/api`.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    Arc<QueryService>: FromRef<S>,
{
    Router::new()
        .route("/auth/me", any(me::answer))
        .route("/auth/verify", any(verify::answer))
        .route("/api/auth/me", any(me::answer))
        .route("/api/auth/verify", any(verify::answer))
}
