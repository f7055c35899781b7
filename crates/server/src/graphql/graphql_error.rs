//! The entries of `errors` in a GraphQL response.

use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::parser::LineColumn;
use apollo_compiler::validation::DiagnosticList;
use serde::Serialize;

use crate::problem::{Problem, Refusal};

use super::limits::{MAX_NESTING, MAX_TOKENS};
use super::row_shape;

pub(super) const MAX_ERRORS: usize = 20;

/// The end of the validator's message for an empty selection.
const EMPTY_SELECTION: &str = "must have a subselection set";

#[derive(Debug)]
pub(super) struct GraphqlError {
    pub(super) problem: Problem,
    pub(super) locations: Vec<LineColumn>,
    /// The way to the field, from the root.
    pub(super) path: Vec<PathPart>,
}

/// A response key, or the index of an item of a list.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum PathPart {
    Key(String),
    Index(usize),
}

impl From<&str> for PathPart {
    fn from(key: &str) -> Self {
        PathPart::Key(key.to_owned())
    }
}

impl From<Problem> for GraphqlError {
    fn from(problem: Problem) -> Self {
        GraphqlError { problem, locations: Vec::new(), path: Vec::new() }
    }
}

/// A problem of the whole request: a *request error* of the specification.
impl From<Problem> for Vec<GraphqlError> {
    fn from(problem: Problem) -> Self {
        vec![problem.into()]
    }
}

impl GraphqlError {
    pub(super) fn new(refusal: Refusal, detail: impl Into<String>) -> Self {
        Problem::Graphql(refusal, detail.into()).into()
    }

    pub(super) fn is_overload(&self) -> bool {
        matches!(self.problem, Problem::Overloaded(_))
    }

    pub(super) fn all(refusal: Refusal, diagnostics: &DiagnosticList) -> Vec<GraphqlError> {
        let mut errors = Vec::new();
        for diagnostic in diagnostics.iter() {
            if errors.iter().filter(|(is_empty, _)| !is_empty).count() >= MAX_ERRORS || errors.len() >= 10 * MAX_ERRORS {
                break;
            }
            let message = diagnostic.error.to_string();
            let location = diagnostic.error.location().and_then(|location| location.line_column(diagnostic.sources));
            let locations = location.into_iter().collect();
            if let Some(limit) = limit(refusal, &message) {
                // The parser stopped here, so that its other errors mean nothing.
                return vec![GraphqlError { locations, ..GraphqlError::new(Refusal::Limit, limit) }];
            }
            // The suggestion could only repeat the field that was written.
            let message = message.split(" Did you mean").next().unwrap_or_default();
            errors.push((message.ends_with(EMPTY_SELECTION), GraphqlError { locations, ..GraphqlError::new(refusal, message) }));
        }
        // The validator also calls a selection of unknown names empty; the unknown names come first.
        errors.sort_by_key(|(is_empty, _)| *is_empty);
        errors.into_iter().take(MAX_ERRORS).map(|(_, error)| error).collect()
    }
}

fn limit(refusal: Refusal, message: &str) -> Option<String> {
    match message {
        _ if refusal != Refusal::Parse => None,
        _ if message.contains("token limit reached") => Some(format!("the document has more than {MAX_TOKENS} tokens")),
        _ if message.contains("recursion limit reached") => Some(format!("the document nests deeper than {MAX_NESTING} levels")),
        _ => None,
    }
}

#[derive(Serialize)]
struct WireError<'f, E: Serialize> {
    message: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    locations: &'f [LineColumn],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    path: &'f [PathPart],
    extensions: E,
}

pub(super) fn write(errors: &[GraphqlError], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, error) in errors.iter().enumerate() {
        row_shape::comma(index, out);
        let (message, extensions) = error.problem.extensions();
        let wire = WireError { message, locations: &error.locations, path: &error.path, extensions };
        out.extend_from_slice(&serde_json::to_vec(&wire).unwrap_or_else(|_| b"{\"message\":\"internal error\"}".to_vec()));
    }
    out.push(b']');
}
