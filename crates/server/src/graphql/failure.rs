//! What GraphQL's `errors` list is made of.

use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::parser::LineColumn;
use apollo_compiler::validation::DiagnosticList;
use serde::Serialize;

use crate::problem::{Problem, Refusal};

use super::limits::{MOST_NESTING, MOST_TOKENS};

/// At most so many errors of one document are told.
pub(super) const MOST_TOLD: usize = 20;

/// How the validator's words for an empty selection end.
const NOTHING_SELECTED: &str = "must have a subselection set";

/// An entry of `errors`.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problem: Problem,
    pub(super) locations: Vec<LineColumn>,
    /// The response keys that lead to the field, from the root.
    pub(super) path: Vec<String>,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure { problem, locations: Vec::new(), path: Vec::new() }
    }
}

impl Failure {
    pub(super) fn new(refusal: Refusal, detail: impl Into<String>) -> Self {
        Problem::Graphql(refusal, detail.into()).into()
    }

    /// Whether a budget of the process was used up.
    pub(super) fn is_overload(&self) -> bool {
        matches!(self.problem, Problem::Overloaded(_))
    }

    /// The failures a parser or a validator found, as many as are told.
    pub(super) fn all(refusal: Refusal, errors: &DiagnosticList) -> Vec<Failure> {
        let mut failures = Vec::new();
        for diagnostic in errors.iter() {
            if failures.iter().filter(|(is_empty, _)| !is_empty).count() >= MOST_TOLD || failures.len() >= 10 * MOST_TOLD {
                break;
            }
            let message = diagnostic.error.to_string();
            let location = diagnostic.error.location().and_then(|location| location.line_column(diagnostic.sources));
            let locations = location.into_iter().collect();
            if let Some(limit) = limit(refusal, &message) {
                // What else the parser found comes of its having stopped there.
                return vec![Failure { locations, ..Failure::new(Refusal::Limit, limit) }];
            }
            // "Did you mean" would only ever repeat the field that was written, but no message guesses.
            let message = message.split(" Did you mean").next().unwrap_or_default();
            failures.push((message.ends_with(NOTHING_SELECTED), Failure { locations, ..Failure::new(refusal, message) }));
        }
        // A selection of unknown names only is also called empty; the names are what its author has to mend.
        failures.sort_by_key(|(is_empty, _)| *is_empty);
        failures.into_iter().take(MOST_TOLD).map(|(_, failure)| failure).collect()
    }
}

/// Our words for the parser's two limits.
fn limit(refusal: Refusal, message: &str) -> Option<String> {
    match message {
        _ if refusal != Refusal::Parse => None,
        _ if message.contains("token limit reached") => Some(format!("the document has more than {MOST_TOKENS} tokens")),
        _ if message.contains("recursion limit reached") => Some(format!("the document nests deeper than {MOST_NESTING} levels")),
        _ => None,
    }
}

#[derive(Serialize)]
struct Wire<'f, E: Serialize> {
    message: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    locations: &'f [LineColumn],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    path: &'f [String],
    extensions: E,
}

/// Writes failures as a JSON array.
pub(super) fn write(failures: &[Failure], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, failure) in failures.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let (message, extensions) = failure.problem.extensions();
        let wire = Wire { message, locations: &failure.locations, path: &failure.path, extensions };
        out.extend_from_slice(&serde_json::to_vec(&wire).unwrap_or_else(|_| b"{\"message\":\"internal error\"}".to_vec()));
    }
    out.push(b']');
}
