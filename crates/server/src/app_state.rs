//! What a process is composed of: the state that all routes share.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::app_files::AppFiles;
use crate::authenticator::Authenticator;
use crate::graphql::{Engine, GraphqlService};
use crate::query_service::QueryService;
use crate::traces::Tracer;

#[derive(Clone, Debug)]
pub struct AppState {
    pub queries: Arc<QueryService>,
    pub authenticator: Authenticator,
    pub graphql: Arc<Engine>,
    pub app_files: Option<AppFiles>,
    pub tracer: Option<Tracer>,
}

impl FromRef<AppState> for Arc<QueryService> {
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
