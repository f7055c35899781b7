//! From a document's text to the operation that is asked for, known to fit the schema. Documents that come again are looked up.
//!
//! Only the operation that is asked for is validated, with its fragments: a document may bring others, which cost nothing but their names.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use apollo_compiler::ast::{Document, OperationType};
use apollo_compiler::parser::Parser;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use lru::LruCache;

use crate::problem::{Problem, Refusal};

use super::failure::Failure;
use super::{limits, operation, variables};

/// The documents that are remembered.
const MAX_REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
/// The longest text that is remembered.
const MAX_REMEMBERED_BYTES: usize = 4 * 1024;
/// The fields of all documents that are remembered: a tree is many times the size of its text.
const MAX_REMEMBERED_FIELDS: usize = 20_000;

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    ByGet,
    ByPost,
}

/// A valid document that holds one operation and its fragments.
pub(super) type ValidDocument = Arc<Valid<ExecutableDocument>>;

/// Documents that were valid before.
pub(super) struct Documents(Mutex<Remembered>);

struct Remembered {
    documents: LruCache<Key, (ValidDocument, usize)>,
    fields: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    text: Box<str>,
    operation: Option<Box<str>>,
}

impl Key {
    fn new(text: &str, operation: Option<&str>) -> Self {
        Key { text: text.into(), operation: operation.map(Into::into) }
    }
}

impl Remembered {
    fn put(&mut self, key: Key, document: ValidDocument, fields: usize) {
        self.fields += fields;
        if let Some((_, (_, dropped))) = self.documents.push(key, (document, fields)) {
            self.fields -= dropped;
        }
        while self.fields > MAX_REMEMBERED_FIELDS
            && let Some((_, (_, dropped))) = self.documents.pop_lru()
        {
            self.fields -= dropped;
        }
    }
}

impl Documents {
    pub(super) fn new() -> Self {
        Documents(Mutex::new(Remembered { documents: LruCache::new(MAX_REMEMBERED), fields: 0 }))
    }

    /// The document of this text, if it was valid before. Those that are remembered hold queries only: there is nothing a GET may not run.
    pub(super) fn known(&self, text: &str, operation: Option<&str>) -> Option<ValidDocument> {
        if text.len() > MAX_REMEMBERED_BYTES {
            return None;
        }
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.documents.get(&Key::new(text, operation)).map(|(document, _)| document.clone())
    }

    /// The document of this text with the operation that is asked for, or what is wrong with it.
    pub(super) fn read(&self, schema: &Valid<Schema>, text: &str, asked: Option<&str>, came: Came) -> Result<ValidDocument, Vec<Failure>> {
        if text.len() > limits::MOST_BYTES {
            let message = format!(
                "the document has {} bytes; at most {} are read, and values can be sent as variables",
                text.len(),
                limits::MOST_BYTES
            );
            return Err(vec![Failure::new(Refusal::Limit, message)]);
        }
        let mut parser = Parser::new().recursion_limit(limits::MOST_NESTING).token_limit(limits::MOST_TOKENS);
        let document = parser.parse_ast(text, "document").map_err(|invalid| Failure::all(Refusal::Parse, &invalid.errors))?;
        limits::check_document(&document).map_err(too_much)?;
        let (document, operation_type) = operation::select(&document, asked)?;
        if came == Came::ByGet && operation_type != OperationType::Query {
            return Err(vec![Problem::MethodNotAllowed("POST").into()]);
        }
        let fields = limits::check_operation(&document).map_err(too_much)?;
        let valid = validated(schema, &document)?;
        if operation_type == OperationType::Query && text.len() <= MAX_REMEMBERED_BYTES {
            let key = Key::new(text, asked);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key, valid.clone(), fields);
        }
        Ok(valid)
    }
}

fn validated(schema: &Valid<Schema>, document: &Document) -> Result<ValidDocument, Vec<Failure>> {
    let valid =
        document.to_executable_validate(schema).map_err(|invalid| Failure::all(Refusal::Validation, &invalid.errors)).map(Arc::new)?;
    let misused = variables::check(schema, &valid);
    if misused.is_empty() { Ok(valid) } else { Err(misused) }
}

fn too_much(message: String) -> Vec<Failure> {
    vec![Failure::new(Refusal::Limit, message)]
}
