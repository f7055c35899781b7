//! Compares the schemas of the bodies of writes with their plan, in both directions.

use std::sync::OnceLock;

use jsonschema::Validator;
use oracle::Random;
use query::catalog::Catalog;
use query::describe::json_schema;
use query::error::{Code, Fault};
use query::manifest::Manifest;
use query::payload::{self, WriteForm};
use query::plan::write::{ServerValues, WriteAddress, WriteError, plan_write};
use query::policy::{Viewer, authorize_write};
use serde_json::{Value, json};

use crate::write_bodies::{self, MANIFEST};
use crate::{inexpressible, mutate, validator};

/// The faults of a body that no schema can express, wherever they are.
const INEXPRESSIBLE: [Code; 6] =
    [Code::DuplicateKey, Code::Depth, Code::FilterNodes, Code::RelationNodes, Code::JsonDepth, Code::RepeatedRow];

/// Words of the fixture, beside those of bodies.
const WORDS: &str = "payload increment query all expect constraint returning dryRun where order limit offset relations aggregation and or not id \
    number customerId status channel step total price stock big code ratio note name token day clock at ref active tags marks states \
    documents meta settings ownerId source seenAt frozen secret deletedAt version lineCount orderId sku quantity text customer lines eq";

pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| Catalog::resolve(&Manifest::read(MANIFEST).expect("a manifest")).expect("a catalog"))
}

/// One write and the validator of its body.
pub(crate) struct Write {
    pub(crate) resource: usize,
    pub(crate) form: WriteForm,
    schema: Validator,
}

fn writes() -> &'static [Write] {
    static WRITES: OnceLock<Vec<Write>> = OnceLock::new();
    WRITES.get_or_init(|| {
        let mut writes = Vec::new();
        for (resource, defined) in json_schema::definitions(catalog(), "#/$defs/").resources.into_iter().enumerate() {
            for (form, name) in defined.writes.into_iter().flat_map(|writes| writes.requests) {
                writes.push(Write { resource, form, schema: validator(catalog(), &name) });
            }
        }
        writes
    })
}

/// The write of a resource at the end of its path.
pub(crate) fn write(resource: &str, form: WriteForm) -> &'static Write {
    let id = catalog().by_name(resource).expect("a resource");
    writes().iter().find(|write| write.resource == id && write.form == form).expect("a described write")
}

impl Write {
    pub(crate) fn accepts(&self, body: &Value) -> bool {
        self.schema.is_valid(body)
    }

    /// The faults that the plan reports to a viewer with every permission.
    pub(crate) fn faults(&self, body: &str) -> Vec<Fault> {
        let viewer = Viewer::administrator(json!({ "id": "77777777-7777-4777-8777-777777777777" }));
        let access = authorize_write(catalog(), self.resource, self.form.operation(), &viewer).expect("every permission");
        let id = write_bodies::id(catalog().resource(self.resource));
        let address = WriteAddress { id: self.form.takes_id().then_some(&id), if_match: None };
        let server_values = ServerValues { now: 0, random: &mut || [0; 16] };
        let planned = payload::body(self.form, body.as_bytes())
            .map_err(WriteError::from)
            .and_then(|body| plan_write(access, self.form, &body, address, server_values));
        match planned {
            Ok(_) => Vec::new(),
            Err(WriteError::Faults(error)) => error.faults,
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Whether no schema can express this fault.
    fn is_inexpressible(&self, body: &Value, fault: &Fault) -> bool {
        let found = body.pointer(&fault.path);
        let field = fault.path.rsplit('/').next().and_then(|name| catalog().resource(self.resource).field(name));
        match fault.code {
            // The key in the path is not in the body.
            Code::WriteIdentifier => self.form == WriteForm::UpdateById,
            // A condition may hold for every row in many ways.
            Code::EmptyWhere => found.is_some_and(|found| found.as_object().is_some_and(|entries| !entries.is_empty())),
            // A schema compares numbers, and no strings.
            Code::ValueRule => {
                found.is_some_and(Value::is_string)
                    && field.is_some_and(|(_, field)| !["text", "enum"].contains(&field.kind.scalar().name()))
            }
            code => INEXPRESSIBLE.contains(&code) || found.is_some_and(leaves_the_calendar),
        }
    }
}

fn leaves_the_calendar(value: &Value) -> bool {
    inexpressible::INSTANTS.iter().any(|instant| value == instant)
}

/// How often schema and plan agree.
#[derive(Debug, Default)]
struct Tally {
    accepted: usize,
    refused: usize,
    inexpressible: usize,
}

impl Tally {
    fn judge(&mut self, write: &Write, body: &Value) {
        let faults = write.faults(&body.to_string());
        let name = format!("{} {}", catalog().resource(write.resource).full_name, write.form.as_str());
        match (faults.is_empty(), write.accepts(body)) {
            (true, true) => self.accepted += 1,
            (false, false) => self.refused += 1,
            (true, false) => {
                let errors: Vec<String> =
                    write.schema.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect();
                panic!("plan accepts and the schema of {name} refuses\n{body}\n{}", errors.join("\n"));
            }
            (false, true) => {
                let is_known = faults.iter().all(|fault| write.is_inexpressible(body, fault));
                assert!(is_known, "the schema of {name} accepts and plan refuses\n{body}\n{faults:?}");
                self.inexpressible += 1;
            }
        }
    }
}

// contract E6.8
#[test]
fn the_schema_of_a_write_accepts_what_plan_accepts_and_refuses_what_plan_refuses() {
    let mut random = Random::new(20_260_401);
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut values = mutate::values();
    values.extend([json!("AA-12345678"), json!("aa-1"), json!("🎈🎈🎈🎈"), json!("2019-12-31"), json!("12:00:01"), json!(101), json!(-6)]);
    values.extend([
        json!({ "a\u{0}": 1 }),
        json!([["a\u{0}"]]),
        json!({ "stock": 1 }),
        json!([{ "id": 1, "stock": 2 }]),
        json!(0.05),
        json!("-1"),
    ]);
    let mut of_forms = WriteForm::ALL.map(|form| (form, Tally::default()));
    for round in 0..16_000 {
        let write = &writes()[round % writes().len()];
        let (_, tally) = of_forms.iter_mut().find(|(form, _)| *form == write.form).expect("a form");
        let body = write_bodies::body(&mut random, catalog().resource(write.resource), write.form);
        tally.judge(write, &body);
        for _ in 0..2 {
            tally.judge(write, &mutate::mutated_with(&mut random, &body, &words, &values));
        }
    }
    for (form, tally) in of_forms {
        assert!(tally.accepted > 300 && tally.refused > 300, "too one-sided to mean much: {form:?} {tally:?}");
        assert!(tally.inexpressible < 300, "the exceptions are exceptions: {form:?} {tally:?}");
    }
}
