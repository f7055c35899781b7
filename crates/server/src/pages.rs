//! Pages of every process: `/docs`, the page at `/graphql`, and refusals as pages. The binary holds everything on them.

mod docs;
mod graphql;
mod refusal;
mod resources;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;

use crate::authenticator::Authenticator;
use crate::graphql::GraphqlService;
use crate::query_service::QueryService;

pub(crate) use docs::SignIn;
pub(crate) use refusal::RefusalPages;

pub(crate) fn routes<S>(sign_in: SignIn) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Authenticator: FromRef<S>,
    GraphqlService: FromRef<S>,
    Arc<QueryService>: FromRef<S>,
{
    docs::routes(sign_in).merge(graphql::routes(sign_in))
}
