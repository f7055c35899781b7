//! What the handlers of requests have in common.

use std::sync::Arc;

use query::catalog::Catalog;

use crate::app_files::AppFiles;
use crate::auth::Gate;
use crate::graphql::Engine;
use crate::reader::Reader;

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
    /// The app that is served beside them.
    pub app: Option<AppFiles>,
}
