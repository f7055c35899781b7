//! Compares descriptions with parse and plan: the schema of a statement accepts exactly what they accept, except for a list of things that
//! no schema can express.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "describe/inexpressible.rs"]
mod inexpressible;
#[path = "describe/mutate.rs"]
mod mutate;
#[path = "describe/rows.rs"]
mod rows;
#[path = "describe/shapes.rs"]
mod shapes;
mod support;
#[path = "describe/values.rs"]
mod values;
#[path = "describe/write_bodies.rs"]
mod write_bodies;
#[path = "describe/write_inexpressible.rs"]
mod write_inexpressible;
#[path = "describe/writes.rs"]
mod writes;

use std::sync::OnceLock;

use jsonschema::Validator;
use oracle::{Generator, Random};
use query::catalog::Catalog;
use query::describe::json_schema;
use query::error::Code;
use query::json::build::compact;
use query::plan::{self, Operation};
use query::policy::{self, Viewer};
use query::sql::Dialect;
use serde_json::{Value, json};

/// The faults that no schema can express.
pub(crate) const INEXPRESSIBLE: [Code; 7] =
    [Code::DuplicateKey, Code::Depth, Code::FilterNodes, Code::RelationNodes, Code::JsonDepth, Code::EqualKeys, Code::OrderGroup];

pub(crate) fn catalog() -> &'static Catalog {
    support::catalog(Dialect::Sqlite)
}

/// A validator of one definition.
pub(crate) fn validator(catalog: &Catalog, definition: &str) -> Validator {
    let mut schema: Value = serde_json::from_str(&compact(&json_schema::document(catalog))).expect("a document");
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{definition}: {error}"))
}

/// The validators of the body of every resource, by resource id.
pub(crate) fn requests() -> &'static [Validator] {
    static REQUESTS: OnceLock<Vec<Validator>> = OnceLock::new();
    REQUESTS.get_or_init(|| {
        let definitions = json_schema::definitions(catalog(), "#/$defs/");
        definitions.resources.iter().map(|names| validator(catalog(), &names.request)).collect()
    })
}

/// The codes that parse and plan report to a viewer with every permission.
pub(crate) fn faults(resource: &str, body: &str) -> Vec<Code> {
    let id = catalog().by_name(resource).expect("a resource");
    let viewer = Viewer::operator();
    let access = policy::authorize_read(catalog(), id, &viewer).expect("the operator may read everything");
    let planned = support::merged(body.as_bytes()).and_then(|statement| plan::plan(access, statement, Operation::List, None));
    planned.map_or_else(|error| error.faults.iter().map(|fault| fault.code).collect(), |_| Vec::new())
}

/// Whether the schema accepts the body.
pub(crate) fn accepts(resource: &str, body: &Value) -> bool {
    requests()[catalog().by_name(resource).expect("a resource")].is_valid(body)
}

// contract E6.1
#[test]
fn the_schema_of_keyset_pages_accepts_what_they_take() {
    let definitions = json_schema::definitions(catalog(), "#/$defs/");
    let viewer = Viewer::operator();
    let bodies = [
        json!({}),
        json!({ "query": { "limit": 3, "offset": null, "aggregation": null } }),
        json!({ "query": { "offset": 0 } }),
        json!({ "query": { "aggregation": { "fields": [{ "fn": "count", "field": "*" }] } } }),
        json!({ "constraint": { "limit": 3 } }),
        json!({ "constraint": { "aggregation": { "fields": [{ "fn": "count", "field": "*" }] } } }),
    ];
    let mut checked = 0;
    for (id, defined) in definitions.resources.iter().enumerate() {
        let Some(keyset) = &defined.keyset else { continue };
        let schema = validator(catalog(), &keyset.request);
        for body in &bodies {
            let access = policy::authorize_read(catalog(), id, &viewer).expect("the operator may read everything");
            let planned = support::merged(body.to_string().as_bytes())
                .and_then(|statement| plan::plan(access, statement, Operation::KeysetPaginate, None));
            assert_eq!(planned.is_ok(), schema.is_valid(body), "{}: {body}", catalog().resource(id).full_name);
            checked += 1;
        }
    }
    assert!(checked > 12, "{checked}");
}

/// How often schema and plan agree.
#[derive(Debug, Default)]
struct Tally {
    accepted: usize,
    refused: usize,
    inexpressible: usize,
}

impl Tally {
    /// Compares both; fails on a difference that is not on the list.
    fn judge(&mut self, resource: &str, body: &Value) {
        let text = body.to_string();
        let faults = faults(resource, &text);
        match (faults.is_empty(), accepts(resource, body)) {
            (true, true) => self.accepted += 1,
            (false, false) => self.refused += 1,
            (true, false) => {
                let validator = &requests()[catalog().by_name(resource).expect("a resource")];
                let errors: Vec<String> = validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
                panic!("plan accepts and the schema of {resource} refuses\n{text}\n{}", errors.join("\n"));
            }
            (false, true) => {
                let known = faults.iter().all(|code| INEXPRESSIBLE.contains(code))
                    || inexpressible::INSTANTS.iter().any(|value| text.contains(value));
                assert!(
                    known,
                    "the schema of {resource} accepts and plan refuses {faults:?}
{text}"
                );
                self.inexpressible += 1;
            }
        }
    }
}

// contract E6.1
#[test]
fn the_schema_accepts_what_plan_accepts_and_refuses_what_plan_refuses() {
    let mut tally = Tally::default();
    let mut generator = Generator::new(20_260_101);
    let mut random = Random::new(7);
    for _ in 0..4_000 {
        let case = generator.next();
        let body = case.body();
        tally.judge(&case.resource, &body);
        for _ in 0..3 {
            tally.judge(&case.resource, &mutate::mutated(&mut random, &body));
        }
    }
    assert!(tally.accepted > 2_500 && tally.refused > 2_500, "too one-sided to mean much: {tally:?}");
    assert!(tally.inexpressible < 300, "the exceptions are exceptions: {tally:?}");
}

// contract E6.1
#[test]
fn the_schema_agrees_on_every_golden_case() {
    let mut tally = Tally::default();
    for theme in support::case::themes() {
        for case in support::case::cases(&theme) {
            // Cases with their own bytes are not valid JSON values.
            if let Ok(body) = serde_json::from_str::<Value>(&case.body())
                && !case.is_raw()
            {
                tally.judge(&case.resource, &body);
            }
        }
    }
    assert!(tally.accepted > 100 && tally.refused > 100, "{tally:?}");
}
