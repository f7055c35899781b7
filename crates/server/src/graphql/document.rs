//! From a document's text to one that is known to fit the schema; texts that come again are looked up.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use apollo_compiler::ast::{Definition, Document, OperationType};
use apollo_compiler::parser::Parser;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use lru::LruCache;

use crate::error::{Problem, Refusal};

use super::failure::Failure;
use super::{limits, variables};

/// How many documents are remembered, and how long each may be: a tree is many times the size of its text.
const MOST_REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
const LONGEST_REMEMBERED: usize = 4 * 1024;

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    ByGet,
    ByPost,
}

/// Documents that were valid before.
pub(super) struct Documents(Mutex<LruCache<Box<str>, Arc<Valid<ExecutableDocument>>>>);

impl Documents {
    pub(super) fn new() -> Self {
        Documents(Mutex::new(LruCache::new(MOST_REMEMBERED)))
    }

    /// The document of this text, or everything that is wrong with it.
    pub(super) fn read(
        &self,
        schema: &Valid<Schema>,
        text: &str,
        operation: Option<&str>,
        came: Came,
    ) -> Result<Arc<Valid<ExecutableDocument>>, Vec<Failure>> {
        if text.len() > limits::MOST_BYTES {
            let message = format!(
                "the document has {} bytes; at most {} are read, and values can be sent as variables",
                text.len(),
                limits::MOST_BYTES
            );
            return Err(vec![Failure::new(Refusal::Limit, message)]);
        }
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(text) {
            // Those that are remembered hold queries only: there is nothing a GET may not run.
            return Ok(known.clone());
        }
        let mut parser = Parser::new().recursion_limit(limits::MOST_NESTING).token_limit(limits::MOST_TOKENS);
        let document = parser.parse_ast(text, "document").map_err(|invalid| Failure::all(Refusal::Parse, &invalid.errors))?;
        if came == Came::ByGet && !is_query(&document, operation) {
            return Err(vec![Problem::MethodNotAllowed("POST").into()]);
        }
        limits::check(&document).map_err(|message| vec![Failure::new(Refusal::Limit, message)])?;
        let valid =
            document.to_executable_validate(schema).map_err(|invalid| Failure::all(Refusal::Validation, &invalid.errors)).map(Arc::new)?;
        let misused = variables::check(schema, &valid);
        if !misused.is_empty() {
            return Err(misused);
        }
        let queries_only = valid.operations.iter().all(|operation| operation.is_query());
        if queries_only && text.len() <= LONGEST_REMEMBERED {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).put(text.into(), valid.clone());
        }
        Ok(valid)
    }
}

/// Whether the operation that would run is a query. One that cannot be found is refused later, with its own message.
fn is_query(document: &Document, name: Option<&str>) -> bool {
    let operations = document.definitions.iter().filter_map(|definition| match definition {
        Definition::OperationDefinition(operation) => Some(operation),
        _ => None,
    });
    let mut meant = operations.filter(|operation| name.is_none() || operation.name.as_deref() == name);
    meant.all(|operation| operation.operation_type == OperationType::Query)
}
