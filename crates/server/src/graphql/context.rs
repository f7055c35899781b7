//! What the fields of one request share.

use std::sync::Mutex;

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast::OperationType;

use crate::caller::Caller;

use super::GraphqlService;
use super::answer_budget::AnswerBudget;
use super::arguments::Variables;
use super::graphql_error::GraphqlError;
use super::response_notes::ResponseNotes;

pub(super) struct ExecutionContext<'a> {
    pub(super) service: &'a GraphqlService,
    pub(super) caller: &'a Caller,
    pub(super) budget: &'a AnswerBudget,
    pub(super) notes: &'a ResponseNotes,
    pub(super) client_address: &'a str,
    /// The bytes of the request, a measure of the work to read them.
    pub(super) input_bytes: usize,
    /// Whether the request has `If-Match`, which no mutation takes.
    pub(super) has_if_match: bool,
}

pub(super) struct FieldContext<'a> {
    pub(super) execution: &'a ExecutionContext<'a>,
    pub(super) document: &'a ExecutableDocument,
    pub(super) variables: &'a Variables,
    pub(super) kind: OperationType,
    /// The errors of fields below the root, beside the answers of their rows.
    pub(super) errors: &'a Mutex<Vec<GraphqlError>>,
}
