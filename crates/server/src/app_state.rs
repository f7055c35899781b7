//! What the handlers of requests have in common.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use query::catalog::Catalog;

use crate::app_files::AppFiles;
use crate::authenticator::{Caller, Gate};
use crate::budget::Budgets;
use crate::graphql::Engine;
use crate::problem::Problem;
use crate::query_service::reader::Reader;

/// What answering a request needs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    /// The declared resources.
    pub catalog: Arc<Catalog>,
    /// Where reads go.
    pub reader: Reader,
    /// Who asks.
    pub gate: Gate,
    /// The resources as a GraphQL schema.
    pub graphql: Arc<Engine>,
    /// What the process may hold at once.
    pub budgets: Budgets,
    /// The app that is served beside them.
    pub app: Option<AppFiles>,
}

/// The caller of a request, for handlers of a program that embeds us: its state must give our [`Service`]. A token that is there and not
/// good is refused before the handler runs.
impl<S: Sync> FromRequestParts<S> for Caller
where
    Service: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Service::from_ref(state).gate.caller(&parts.headers, &parts.extensions).await
    }
}
