//! Parses, validates and caches documents: only the requested operation and its fragments, so that others cost only their names.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use apollo_compiler::ast::{Document, OperationType};
use apollo_compiler::parser::Parser;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use lru::LruCache;

use crate::mutex::lock;
use crate::problem::{Problem, Refusal};

use super::graphql_error::GraphqlError;
use super::{limits, operation, variable_usage};

const MAX_CACHED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
const MAX_CACHED_BYTES: usize = 4 * 1024;
/// The fields of all cached documents: a tree is many times the size of its text.
const MAX_CACHED_FIELDS: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestMethod {
    Get,
    Post,
}

/// A valid document that holds one operation and its fragments.
pub(super) type ValidDocument = Arc<Valid<ExecutableDocument>>;

pub(super) struct DocumentCache(Mutex<CachedDocuments>);

struct CachedDocuments {
    documents: LruCache<DocumentKey, (ValidDocument, usize)>,
    fields: usize,
}

type DocumentKey = (Box<str>, Option<Box<str>>);

impl CachedDocuments {
    fn put(&mut self, key: DocumentKey, document: ValidDocument, fields: usize) {
        self.fields += fields;
        if let Some((_, (_, dropped))) = self.documents.push(key, (document, fields)) {
            self.fields -= dropped;
        }
        while self.fields > MAX_CACHED_FIELDS
            && let Some((_, (_, dropped))) = self.documents.pop_lru()
        {
            self.fields -= dropped;
        }
    }
}

impl DocumentCache {
    pub(super) fn new() -> Self {
        DocumentCache(Mutex::new(CachedDocuments { documents: LruCache::new(MAX_CACHED), fields: 0 }))
    }

    /// The cached document of this text. Only queries are cached, so that a GET may run every one of them.
    pub(super) fn get(&self, text: &str, operation: Option<&str>) -> Option<ValidDocument> {
        if text.len() > MAX_CACHED_BYTES {
            return None;
        }
        let mut cached = lock(&self.0);
        cached.documents.get(&(text.into(), operation.map(Into::into))).map(|(document, _)| document.clone())
    }

    pub(super) fn parse(
        &self,
        schema: &Valid<Schema>,
        text: &str,
        operation: Option<&str>,
        method: RequestMethod,
    ) -> Result<ValidDocument, Vec<GraphqlError>> {
        if text.len() > limits::MAX_DOCUMENT_BYTES {
            let message = format!(
                "the document has {} bytes; the maximum is {}; send long values as variables",
                text.len(),
                limits::MAX_DOCUMENT_BYTES
            );
            return Err(over_limit(message));
        }
        let mut parser = Parser::new().recursion_limit(limits::MAX_NESTING).token_limit(limits::MAX_TOKENS);
        let document = parser.parse_ast(text, "document").map_err(|invalid| GraphqlError::all(Refusal::Parse, &invalid.errors))?;
        limits::check_document(&document).map_err(over_limit)?;
        let (document, operation_type) = operation::select(&document, operation)?;
        if method == RequestMethod::Get && operation_type != OperationType::Query {
            return Err(Problem::MethodNotAllowed("POST").into());
        }
        let fields = limits::check_operation(&document).map_err(over_limit)?;
        let valid = validated(schema, &document)?;
        if operation_type == OperationType::Query && text.len() <= MAX_CACHED_BYTES {
            let key = (text.into(), operation.map(Into::into));
            lock(&self.0).put(key, valid.clone(), fields);
        }
        Ok(valid)
    }
}

fn validated(schema: &Valid<Schema>, document: &Document) -> Result<ValidDocument, Vec<GraphqlError>> {
    let valid =
        document.to_executable_validate(schema).map_err(|invalid| GraphqlError::all(Refusal::Validation, &invalid.errors)).map(Arc::new)?;
    let errors = variable_usage::check(schema, &valid);
    if errors.is_empty() { Ok(valid) } else { Err(errors) }
}

fn over_limit(message: String) -> Vec<GraphqlError> {
    vec![GraphqlError::new(Refusal::Limit, message)]
}
