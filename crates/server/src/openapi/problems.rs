//! The problems of the document: their schema, and one response for each status with its codes.

use std::collections::BTreeSet;

use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::error::Code;
use query::json::Json;
use query::json::build::texts;
use query::object;

use crate::admin_operations::InputCode;
use crate::problem::{self, ProblemKind};

/// Whether some resource has writes.
pub(super) fn has_writes(catalog: &Catalog) -> bool {
    catalog.resources().iter().any(|resource| resource.write_rules().is_some())
}

/// The problems that this server answers.
pub(super) struct Described {
    kinds: Vec<ProblemKind>,
    /// The codes of faults in `errors`.
    fault_codes: Vec<&'static str>,
}

impl Described {
    pub(super) fn of(catalog: &Catalog, strategy: Strategy) -> Self {
        let mut kinds = problem::read_problems();
        let mut fault_codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        if strategy == Strategy::LocalProvider {
            kinds.extend(problem::administration_problems());
            fault_codes.extend(InputCode::ALL.iter().map(|code| code.as_str()));
        }
        if has_writes(catalog) {
            kinds.extend(problem::write_problems());
            fault_codes.extend(problem::write_fault_codes());
        }
        // Writes share some problems with the others.
        let mut seen = BTreeSet::new();
        kinds.retain(|kind| seen.insert((kind.status, kind.code, kind.title)));
        Described { kinds, fault_codes }
    }

    pub(super) fn schema(&self) -> Json {
        let codes: BTreeSet<&str> = self.kinds.iter().map(|kind| kind.code).collect();
        schema(codes, &self.fault_codes)
    }

    /// One response for each status: `Problem400`, `Problem403`, …
    pub(super) fn responses(&self) -> Json {
        let statuses: BTreeSet<u16> = self.kinds.iter().map(|kind| kind.status).collect();
        Json::Object(statuses.into_iter().map(|status| (format!("Problem{status}"), self.response(status))).collect())
    }

    fn response(&self, status: u16) -> Json {
        let these: Vec<&ProblemKind> = self.kinds.iter().filter(|kind| kind.status == status).collect();
        let lines: Vec<String> = these.iter().map(|kind| format!("`{}`: {}", kind.code, kind.title)).collect();
        let mut headers = vec![("X-Request-Id".to_owned(), object! { "$ref" => "#/components/headers/RequestId" })];
        if let Some((name, description)) = these.iter().find_map(|kind| kind.header) {
            let schema = object! { "type" => "string" };
            headers.push((name.to_owned(), object! { "description" => description, "schema" => schema }));
        }
        let content =
            object! { "application/problem+json" => object! { "schema" => object! { "$ref" => "#/components/schemas/Problem" } } };
        object! { "description" => lines.join("; "), "headers" => headers, "content" => content }
    }
}

fn schema(codes: BTreeSet<&str>, fault_codes: &[&str]) -> Json {
    let text = |description: &str| object! { "type" => "string", "description" => description };
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
            "errors" => object! { "type" => "array", "items" => fault, "description" => "The faults of a statement or an input" },
        },
        "required" => texts(["type", "title", "status", "detail", "code"]),
    }
}

pub(super) fn references(statuses: &[u16]) -> Vec<(String, Json)> {
    statuses.iter().map(|status| reference(&status.to_string())).collect()
}

pub(super) fn reference(status: &str) -> (String, Json) {
    (status.to_owned(), object! { "$ref" => format!("#/components/responses/Problem{status}") })
}

#[cfg(test)]
mod tests {
    use query::manifest::Manifest;

    use super::*;

    const CHOSEN: [&str; 2] = [include_str!("../problem.rs"), include_str!("../problem/write.rs")];
    const GUIDE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/errors.md"));
    const WRITABLE: &str = "[resource.a.b.write]\ncreate = true\n[resource.a.b.fields]\nid = { type = \"int\", key = true }";

    fn catalog(manifest: &str) -> Catalog {
        Catalog::resolve(&Manifest::read(manifest).expect("a manifest")).expect("a catalog")
    }

    #[test]
    fn every_code_of_a_problem_is_described() {
        // contract E6.6, contract E6.10
        let is_code = |text: &&str| text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let chosen: BTreeSet<&str> = CHOSEN.iter().flat_map(|text| text.split('"')).filter(is_code).collect();
        assert!(
            chosen.contains("INVALID_STATEMENT") && chosen.contains("LAST_ADMINISTRATOR") && chosen.contains("OUT_OF_SCOPE"),
            "{chosen:?}"
        );
        let described = Described::of(&catalog(WRITABLE), Strategy::LocalProvider);
        let codes: BTreeSet<&str> = described.kinds.iter().map(|kind| kind.code).collect();
        assert_eq!(codes, chosen);
        let explained = |code: &str| GUIDE.contains(&format!("`{code}`"));
        let unexplained: Vec<&&str> = codes.iter().chain(&described.fault_codes).filter(|code| !explained(code)).collect();
        assert!(unexplained.is_empty(), "{unexplained:?}");
    }

    #[test]
    fn a_server_without_writes_has_no_problems_of_writes() {
        let of_reads = Described::of(&Catalog::default(), Strategy::None);
        assert!(!of_reads.kinds.iter().any(|kind| kind.code == "OUT_OF_SCOPE" || kind.status == 412));
    }
}
