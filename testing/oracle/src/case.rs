//! A generated request, with its fault if it has one.

use crate::answer::{Answer, Operation, Question, answer_in};
use crate::fixture::viewers::viewer;
use crate::fixture::world;
use serde_json::{Value, json};

/// The one fault of a statement: its code and the JSON Pointer into the body `{query, constraint}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub code: &'static str,
    pub path: String,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub viewer: &'static str,
    pub resource: String,
    pub operation: Operation,
    pub query: Option<Value>,
    pub constraint: Option<Value>,
    pub fault: Option<Fault>,
}

impl Case {
    pub fn question(&self) -> Question<'_> {
        Question {
            viewer: viewer(self.viewer),
            resource: &self.resource,
            operation: &self.operation,
            query: self.query.as_ref(),
            constraint: self.constraint.as_ref(),
        }
    }

    /// The oracle's answer to a case without fault.
    pub fn answer(&self) -> Answer {
        assert!(self.fault.is_none(), "a statement with a fault has no answer");
        answer_in(world(), self.question())
    }

    /// The body of the request.
    pub fn body(&self) -> Value {
        let mut body = json!({});
        if let Some(query) = &self.query {
            body["query"] = query.clone();
        }
        if let Some(constraint) = &self.constraint {
            body["constraint"] = constraint.clone();
        }
        body
    }
}
