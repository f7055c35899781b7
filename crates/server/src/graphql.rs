//! GraphQL: the declared resources as a schema. A field of the root takes the same Query Statement as REST, and the same engine answers.
//! A library parses and validates documents. The fields are resolved here, because rows are JSON bytes that pass unchanged.

mod answer;
mod answer_budget;
mod arguments;
mod context;
mod document;
mod execute;
mod graphql_error;
mod http;
mod limits;
mod operation;
mod output;
mod response_notes;
mod root_fields;
mod row_shape;
mod schema;
mod selected_relations;
mod selection;
mod unreadable;
mod variable_usage;
mod writes;

use std::collections::HashMap;
use std::sync::Arc;

use apollo_compiler::Schema;
use apollo_compiler::schema::Implementers;
use apollo_compiler::validation::Valid;
use query::catalog::{Catalog, ResourceId};
use query::manifest::ManifestError;
use query::payload::WriteForm;

use crate::authenticator::Authenticator;
use crate::boot_error::BootError;
use crate::config::Introspection;
use crate::http::etag::StaticDocument;
use crate::query_service::QueryService;

pub(crate) use http::{respond, routes};

use document::DocumentCache;
use schema::{MutationField, QueryField};

/// The fields of the root query, by the resource and the operation that each answers.
pub(crate) type QueryFields<'e> = HashMap<(ResourceId, &'static str), &'e str>;

/// The mutations that write rows, by the resource and the form of the write.
pub(crate) type WriteFields<'e> = HashMap<(ResourceId, &'static str), &'e str>;

#[derive(Clone, Debug)]
pub(crate) struct GraphqlService {
    pub(crate) queries: Arc<QueryService>,
    pub(crate) authenticator: Authenticator,
    pub(crate) engine: Arc<Engine>,
}

/// The schema and the cache of documents. Made once, at boot.
pub struct Engine {
    schema: Valid<Schema>,
    sdl: StaticDocument,
    implementers: apollo_compiler::collections::HashMap<apollo_compiler::Name, Implementers>,
    roots: HashMap<String, (ResourceId, QueryField)>,
    mutations: HashMap<String, MutationField>,
    documents: DocumentCache,
    introspection: Introspection,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("roots", &self.roots.len()).field("introspection", &self.introspection).finish_non_exhaustive()
    }
}

impl Engine {
    pub fn new(catalog: &Catalog, introspection: Introspection) -> Result<Self, BootError> {
        let declared = schema::declare(catalog).map_err(|error| BootError(error.to_string()))?;
        for what in &declared.left_out {
            tracing::warn!("{what} has a name that GraphQL reserves; REST serves it, GraphQL does not");
        }
        let schema = Schema::parse_and_validate(&declared.sdl, "schema.graphql")
            .map_err(|invalid| BootError(format!("this manifest makes an invalid GraphQL schema: {}", invalid.errors)))?;
        let implementers = schema.implementers_map();
        Ok(Engine {
            schema,
            sdl: StaticDocument::new("text/plain; charset=utf-8", declared.sdl),
            implementers,
            roots: declared.roots,
            mutations: declared.mutations,
            documents: DocumentCache::new(),
            introspection,
        })
    }

    /// The fields of the root query.
    pub(crate) fn query_fields(&self) -> QueryFields<'_> {
        let named = |(name, (resource, field)): (_, &(ResourceId, QueryField))| Some(((*resource, field.operation()?.name()), name));
        self.roots.iter().map(|(name, found)| (name.as_str(), found)).filter_map(named).collect()
    }

    /// The mutations that write rows. A create has the one for one row.
    pub(crate) fn write_fields(&self) -> WriteFields<'_> {
        let mut fields = WriteFields::new();
        for (name, field) in &self.mutations {
            if let MutationField::Write(write) = field
                && (write.form != WriteForm::Create || !write.is_list)
            {
                fields.insert((write.resource, write.form.as_str()), name.as_str());
            }
        }
        fields
    }
}

pub fn sdl(catalog: &Catalog) -> Result<String, ManifestError> {
    schema::declare(catalog).map(|declared| declared.sdl)
}
