//! Refusals of GraphQL: its own codes, and the status of a request that is refused as a whole.

use axum::http::StatusCode;
use axum::response::Response;

use super::{Problem, ProblemHead};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request is not what GraphQL over HTTP carries.
    Request,
    NotAcceptable,
    Parse,
    Validation,
    Limit,
    Introspection,
    Operation,
    Input,
    Answer,
    Total,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    /// `application/json`
    Json,
    /// `application/graphql-response+json`
    Graphql,
}

impl Refusal {
    pub(super) fn head(self) -> ProblemHead {
        match self {
            Refusal::Request => (StatusCode::BAD_REQUEST, "BAD_REQUEST", "Not a GraphQL request"),
            Refusal::NotAcceptable => (StatusCode::NOT_ACCEPTABLE, "NOT_ACCEPTABLE", "No such media type"),
            Refusal::Parse => (StatusCode::BAD_REQUEST, "GRAPHQL_PARSE_FAILED", "The document cannot be read"),
            Refusal::Validation => (StatusCode::BAD_REQUEST, "GRAPHQL_VALIDATION_FAILED", "The document does not fit the schema"),
            Refusal::Limit => (StatusCode::BAD_REQUEST, "GRAPHQL_LIMIT_EXCEEDED", "The document asks for too much"),
            Refusal::Introspection => (StatusCode::BAD_REQUEST, "INTROSPECTION_DISABLED", "The schema is not shown"),
            Refusal::Operation => (StatusCode::BAD_REQUEST, "OPERATION_RESOLUTION_FAILURE", "No such operation"),
            Refusal::Input => (StatusCode::BAD_REQUEST, "BAD_USER_INPUT", "A value does not fit its type"),
            Refusal::Answer => (StatusCode::BAD_REQUEST, "ANSWER_TOO_LARGE", "The answer is too large"),
            Refusal::Total => (StatusCode::BAD_REQUEST, "TOTAL_TOO_LARGE", "The total is too large"),
        }
    }
}

impl Problem {
    pub(crate) fn apply_to_graphql(&self, media_type: MediaType, response: &mut Response) {
        let (status, ..) = self.head();
        let of_the_document = matches!(
            self,
            Problem::Graphql(
                Refusal::Parse | Refusal::Validation | Refusal::Limit | Refusal::Introspection | Refusal::Operation | Refusal::Input,
                _
            )
        );
        // Clients of `application/json` take any other status for a network failure.
        *response.status_mut() = if of_the_document && media_type == MediaType::Json { StatusCode::OK } else { status };
        self.set_header(response);
    }
}
