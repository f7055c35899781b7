//! Validates rows of answers with the schema of a row.

use oracle::{Answer, Generator, Random};
use query::describe::json_schema;
use query::json::build::compact;
use serde_json::Value;

use crate::{catalog, validator};

// contract E6.3
#[test]
fn every_row_of_an_answer_fits_its_schema() {
    let definitions = json_schema::definitions(catalog(), "#/$defs/");
    let validators: Vec<_> = definitions.resources.iter().map(|names| validator(catalog(), &names.row)).collect();
    let mut generator = Generator::new(41);
    let mut seen = 0;
    for _ in 0..600 {
        let case = generator.next();
        let viewer = oracle::viewer(case.viewer);
        let aggregates = case.query.as_ref().is_some_and(|query| query.get("aggregation").is_some_and(Value::is_object));
        if case.fault.is_some() || aggregates || !viewer.can_read(oracle::world().schema.resource(&case.resource)) {
            continue;
        }
        let rows: Vec<Value> = match case.answer() {
            Answer::Rows(rows) | Answer::Page { rows, .. } | Answer::KeysetPage { rows, .. } => rows,
            Answer::Row(row) => vec![row],
            Answer::NotFound | Answer::Forbidden => Vec::new(),
        };
        let id = catalog().by_name(&case.resource).expect("a resource");
        for row in rows {
            let errors: Vec<String> = validators[id].iter_errors(&row).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{}: {row}\n{}", case.resource, errors.join("\n"));
            seen += 1;
        }
    }
    assert!(seen > 1_000, "only {seen} rows");
}

/// The row without some of its fields, and its related rows without theirs.
fn narrowed(random: &mut Random, row: &Value) -> Value {
    match row {
        Value::Object(members) => {
            let kept = members.iter().filter(|_| !random.one_in(2)).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>();
            kept.into_iter()
                .map(|(key, value)| (key, if value.is_object() || value.is_array() { narrowed(random, &value) } else { value }))
                .collect()
        }
        Value::Array(items) if items.iter().all(Value::is_object) => items.iter().map(|item| narrowed(random, item)).collect(),
        other => other.clone(),
    }
}

// contract E6.11
#[test]
fn every_row_that_fields_narrows_fits_its_own_schema() {
    let definitions = json_schema::definitions(catalog(), "#/$defs/");
    let validators: Vec<_> = definitions.resources.iter().map(|names| validator(catalog(), &names.partial_row)).collect();
    let (mut generator, mut random, mut seen) = (Generator::new(42), Random::new(3), 0);
    for _ in 0..200 {
        let case = generator.next();
        let aggregates = case.query.as_ref().is_some_and(|query| query.get("aggregation").is_some_and(Value::is_object));
        if case.fault.is_some() || aggregates {
            continue;
        }
        let Answer::Rows(rows) = case.answer() else { continue };
        let id = catalog().by_name(&case.resource).expect("a resource");
        for row in rows {
            let row = narrowed(&mut random, &row);
            let errors: Vec<String> = validators[id].iter_errors(&row).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{}: {row}\n{}", case.resource, errors.join("\n"));
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} rows");
    let row = definitions.entries.iter().find(|(name, _)| *name == definitions.resources[0].partial_row).map(|(_, schema)| compact(schema));
    assert!(row.is_some_and(|schema| !schema.contains("\"required\"") && schema.contains("\"additionalProperties\":false")));
}
