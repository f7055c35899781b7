//! The problems of the document: their schema, and one response for each status with its codes.

use std::collections::BTreeSet;

use identity::strategy::Strategy;
use query::error::Code;
use query::json::Json;
use query::json::build::texts;
use query::object;

use crate::admin_operations::InputCode;
use crate::problem::{self, ProblemKind};

pub(super) fn schema(strategy: Strategy) -> Json {
    let text = |description: &str| object! { "type" => "string", "description" => description };
    let mut codes: Vec<&str> = kinds(strategy).iter().map(|kind| kind.code).collect();
    codes.sort_unstable();
    let mut fault_codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    if strategy == Strategy::LocalProvider {
        fault_codes.extend(InputCode::ALL.iter().map(|code| code.as_str()));
    }
    let fault = object! {
        "type" => "object",
        "properties" => object! {
            "code" => object! { "enum" => texts(fault_codes), "description" => "The kind of fault" },
            "path" => text("A JSON Pointer into the body"),
            "message" => text("What was found and what is accepted"),
        },
        "required" => texts(["code", "path", "message"]),
    };
    object! {
        "type" => "object",
        "description" => "RFC 9457",
        "properties" => object! {
            "type" => text("`urn:peristyle:problem:` and the code in lower kebab-case"),
            "title" => text("The kind of problem, for people"),
            "status" => object! { "type" => "integer", "description" => "The HTTP status again" },
            "detail" => text("This problem, for people"),
            "code" => object! { "enum" => texts(codes), "description" => "The kind of problem, for programs" },
            "errors" => object! { "type" => "array", "items" => fault, "description" => "The faults of a statement" },
        },
        "required" => texts(["type", "title", "status", "detail", "code"]),
    }
}

fn kinds(strategy: Strategy) -> Vec<ProblemKind> {
    let mut kinds = problem::read_problems();
    if strategy == Strategy::LocalProvider {
        kinds.extend(problem::administration_problems());
    }
    kinds
}

/// One response for each status: `Problem400`, `Problem403`, …
pub(super) fn responses(strategy: Strategy) -> Json {
    let all = kinds(strategy);
    let statuses: BTreeSet<u16> = all.iter().map(|kind| kind.status).collect();
    let responses = statuses.into_iter().map(|status| {
        let these: Vec<&ProblemKind> = all.iter().filter(|kind| kind.status == status).collect();
        let lines: Vec<String> = these.iter().map(|kind| format!("`{}`: {}", kind.code, kind.title)).collect();
        let mut headers = vec![("X-Request-Id".to_owned(), object! { "$ref" => "#/components/headers/RequestId" })];
        if let Some((name, description)) = these.iter().find_map(|kind| kind.header) {
            let schema = object! { "type" => "string" };
            headers.push((name.to_owned(), object! { "description" => description, "schema" => schema }));
        }
        let content =
            object! { "application/problem+json" => object! { "schema" => object! { "$ref" => "#/components/schemas/Problem" } } };
        (format!("Problem{status}"), object! { "description" => lines.join("; "), "headers" => headers, "content" => content })
    });
    Json::Object(responses.collect())
}

pub(super) fn references(statuses: &[u16]) -> Vec<(String, Json)> {
    statuses.iter().map(|status| reference(&status.to_string())).collect()
}

pub(super) fn reference(status: &str) -> (String, Json) {
    (status.to_owned(), object! { "$ref" => format!("#/components/responses/Problem{status}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOSEN: &str = include_str!("../problem.rs");
    const GUIDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/errors.md"));

    #[test]
    fn every_code_of_a_problem_is_described() {
        // contract E6.6
        let is_code = |text: &&str| text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let chosen: BTreeSet<&str> = CHOSEN.split('"').filter(is_code).collect();
        assert!(chosen.contains("INVALID_STATEMENT") && chosen.contains("LAST_ADMINISTRATOR"), "{chosen:?}");
        let described: BTreeSet<&str> = kinds(Strategy::LocalProvider).iter().map(|kind| kind.code).collect();
        assert_eq!(described, chosen);
        let unexplained: Vec<&&str> = described.iter().filter(|code| !GUIDE.contains(&format!("`{code}`"))).collect();
        assert!(unexplained.is_empty(), "{unexplained:?}");
    }
}
