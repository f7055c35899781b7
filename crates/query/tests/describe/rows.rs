//! Validates rows of answers with the schema of a row.

use oracle::{Answer, Generator};
use query::describe::json_schema;
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
