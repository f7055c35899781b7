//! The errors of the document: their shape, and one answer for each status with the codes it may bear.

use query::error::Code;
use query::json::Json;
use query::json::build::texts;
use query::object;

use crate::operations::InputCode;
use crate::problem::{self, ProblemKind};

use super::Serving;

/// The body of every error.
pub(super) fn schema(serving: Serving) -> Json {
    let text = |description: &str| object! { "type" => "string", "description" => description };
    let mut codes: Vec<&str> = told(serving).iter().map(|told| told.code).collect();
    codes.sort_unstable();
    let mut kinds: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    if serving == Serving::Hub {
        kinds.extend(InputCode::ALL.iter().map(|code| code.as_str()));
    }
    let fault = object! {
        "type" => "object",
        "properties" => object! {
            "code" => object! { "enum" => texts(kinds), "description" => "The kind of fault" },
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

/// Every problem of a process.
fn told(serving: Serving) -> Vec<ProblemKind> {
    let mut told = problem::read_problems();
    if serving == Serving::Hub {
        told.extend(problem::administration_problems());
    }
    told
}

/// All statuses there are, each once.
fn statuses(serving: Serving) -> Vec<u16> {
    let mut statuses: Vec<u16> = told(serving).iter().map(|told| told.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    statuses
}

/// One answer a status: `Problem400`, `Problem403`, …
pub(super) fn responses(serving: Serving) -> Json {
    let responses = statuses(serving).into_iter().map(|status| {
        let all = told(serving);
        let these: Vec<&ProblemKind> = all.iter().filter(|told| told.status == status).collect();
        let words: Vec<String> = these.iter().map(|told| format!("`{}`: {}", told.code, told.title)).collect();
        let mut headers = vec![("X-Request-Id".to_owned(), object! { "$ref" => "#/components/headers/RequestId" })];
        if let Some((name, description)) = these.iter().find_map(|told| told.header) {
            let schema = object! { "type" => "string" };
            headers.push((name.to_owned(), object! { "description" => description, "schema" => schema }));
        }
        let content =
            object! { "application/problem+json" => object! { "schema" => object! { "$ref" => "#/components/schemas/Problem" } } };
        (format!("Problem{status}"), object! { "description" => words.join("; "), "headers" => headers, "content" => content })
    });
    Json::Object(responses.collect())
}

/// References to the answers of these statuses.
pub(super) fn references(statuses: &[u16]) -> Vec<(String, Json)> {
    let reference = |status: &u16| (status.to_string(), object! { "$ref" => format!("#/components/responses/Problem{status}") });
    statuses.iter().map(reference).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const CHOSEN: &str = include_str!("../problem.rs");
    const GUIDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/errors.md"));

    #[test]
    fn every_code_that_is_chosen_is_described() {
        // contract E6.6
        let is_code = |text: &&str| text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let chosen: BTreeSet<&str> = CHOSEN.split('"').filter(is_code).collect();
        assert!(chosen.contains("INVALID_STATEMENT") && chosen.contains("LAST_ADMINISTRATOR"), "{chosen:?}");
        let told: BTreeSet<&str> = told(Serving::Hub).iter().map(|told| told.code).collect();
        assert_eq!(told, chosen);
        let unexplained: Vec<&&str> = told.iter().filter(|code| !GUIDE.contains(&format!("`{code}`"))).collect();
        assert!(unexplained.is_empty(), "{unexplained:?}");
    }
}
