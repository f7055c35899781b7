//! GraphQL: the declared resources as a schema, asked by the same Query Statement and answered by the same engine as REST.
//!
//! A document is parsed and validated by a library; what it asks is answered here, since rows are JSON bytes already and
//! are passed on as such.

mod answer;
mod arguments;
mod budget;
mod document;
mod execute;
mod failure;
mod http;
mod limits;
mod mutations;
mod operation;
mod output;
mod questions;
mod schema;
mod selection;
mod shape;
mod variables;

use std::collections::HashMap;
use std::sync::Arc;

use apollo_compiler::Schema;
use apollo_compiler::schema::Implementers;
use apollo_compiler::validation::Valid;
use query::catalog::{Catalog, ResourceId};
use query::manifest::ManifestError;

use crate::authenticator::Authenticator;
use crate::boot_error::BootError;
use crate::config::Introspection;
use crate::operations::Operation;
use crate::query_service::QueryService;

pub(crate) use http::routes;

use document::Documents;
use schema::Question;

/// What answering a GraphQL request needs. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct GraphqlService {
    pub(crate) queries: QueryService,
    pub(crate) authenticator: Authenticator,
    pub(crate) engine: Arc<Engine>,
}

/// The schema, and what answering by it needs. Made once, at boot.
pub struct Engine {
    schema: Valid<Schema>,
    implementers: apollo_compiler::collections::HashMap<apollo_compiler::Name, Implementers>,
    roots: HashMap<String, (ResourceId, Question)>,
    mutations: HashMap<String, &'static Operation>,
    documents: Documents,
    introspection: Introspection,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("roots", &self.roots.len()).field("introspection", &self.introspection).finish_non_exhaustive()
    }
}

impl Engine {
    /// Makes the schema of a catalog.
    pub fn new(catalog: &Catalog, introspection: Introspection) -> Result<Self, BootError> {
        let declared = schema::declare(catalog).map_err(|error| BootError(error.to_string()))?;
        for what in &declared.left_out {
            tracing::warn!("{what} has a name that GraphQL keeps for itself; REST serves it, GraphQL does not");
        }
        let schema = Schema::parse_and_validate(declared.sdl, "schema.graphql")
            .map_err(|invalid| BootError(format!("the GraphQL schema of this manifest is not valid: {}", invalid.errors)))?;
        let implementers = schema.implementers_map();
        Ok(Engine {
            schema,
            implementers,
            roots: declared.roots,
            mutations: declared.mutations,
            documents: Documents::new(),
            introspection,
        })
    }
}

/// The schema of a catalog in the schema definition language: the same text for the same catalog.
pub fn sdl(catalog: &Catalog) -> Result<String, ManifestError> {
    schema::declare(catalog).map(|declared| declared.sdl)
}
