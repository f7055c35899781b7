//! What a process is composed of: the state that all routes share.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::app_files::AppFiles;
use crate::authenticator::Authenticator;
use crate::graphql::{Engine, GraphqlService};
use crate::query_service::QueryService;

/// What a process is composed of. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AppState {
    /// Answers Query Statements.
    pub queries: QueryService,
    /// Turns requests into callers.
    pub authenticator: Authenticator,
    /// The declared resources as a GraphQL schema.
    pub graphql: Arc<Engine>,
    /// The app that is served beside the API.
    pub app_files: Option<AppFiles>,
}

impl FromRef<AppState> for QueryService {
    fn from_ref(state: &AppState) -> Self {
        state.queries.clone()
    }
}

impl FromRef<AppState> for Authenticator {
    fn from_ref(state: &AppState) -> Self {
        state.authenticator.clone()
    }
}

impl FromRef<AppState> for GraphqlService {
    fn from_ref(state: &AppState) -> Self {
        let AppState { queries, authenticator, graphql, .. } = state.clone();
        GraphqlService { queries, authenticator, engine: graphql }
    }
}
