//! What GraphQL's `errors` list is made of.

use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::parser::LineColumn;
use apollo_compiler::validation::DiagnosticList;
use serde::Serialize;

use crate::error::{Problem, Refusal};

/// At most so many errors of one document are told.
const MOST_TOLD: usize = 20;

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

    /// The failures a parser or a validator found.
    pub(super) fn all(refusal: Refusal, errors: &DiagnosticList) -> Vec<Failure> {
        let mut failures = Vec::new();
        for diagnostic in errors.iter().take(MOST_TOLD) {
            let message = diagnostic.to_string_plain();
            // The parser's own words for its two limits.
            let refusal = if refusal == Refusal::Parse && message.ends_with("limit reached") { Refusal::Limit } else { refusal };
            let location = diagnostic.error.location().and_then(|location| location.line_column(diagnostic.sources));
            failures.push(Failure { locations: location.into_iter().collect(), ..Failure::new(refusal, message) });
        }
        failures
    }
}

trait Plain {
    fn to_string_plain(&self) -> String;
}

impl<T: ToCliReport> Plain for apollo_compiler::diagnostic::Diagnostic<'_, T> {
    /// The message alone, without a drawing of the document.
    fn to_string_plain(&self) -> String {
        let message = self.error.to_string();
        // "Did you mean" would only ever repeat the field that was written, but no message guesses.
        message.split(" Did you mean").next().unwrap_or_default().to_owned()
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
