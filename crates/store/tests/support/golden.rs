//! Runs golden cases as requests do, and holds their answers against the oracle.

#[path = "../../../query/tests/support/case.rs"]
pub mod case;

use case::GoldenCase;
use oracle::{Answer, Case, Operation};
use query::catalog::Catalog;
use query::{merge, parse, plan, policy, sql};
use serde_json::Value;
use store::Database;
use store::run::Format;

use crate::support;

/// What a case asks for, as the oracle understands it.
fn asked(golden: &GoldenCase) -> Case {
    Case {
        viewer: golden.viewer,
        resource: golden.resource.clone(),
        operation: golden.operation.clone(),
        query: golden.query.clone(),
        constraint: golden.constraint.clone(),
        fault: None,
    }
}

/// Sends a case's own bytes as a request would; the faults of a statement that is refused.
async fn run(golden: &GoldenCase, catalog: &Catalog, database: &Database) -> Result<Answer, Vec<String>> {
    let resource = catalog.by_name(&golden.resource).expect("a resource");
    let viewer = support::viewer(golden.viewer);
    let entrance = policy::authorize_read(catalog, resource, &viewer).map_err(|_| vec!["denied".to_owned()])?;
    let operation = match golden.operation {
        Operation::Paginate => plan::Operation::Paginate,
        Operation::KeysetPaginate => plan::Operation::KeysetPaginate,
        Operation::List => plan::Operation::List,
        Operation::Find | Operation::FindById(_) => plan::Operation::Find,
    };
    let id = golden.id(catalog.resource(resource).key.len());
    let query = parse::body(golden.body().as_bytes())
        .and_then(|body| plan::plan(entrance, merge::merged(body), operation, id.as_deref()))
        .map(|plan| sql::render(&plan, database.dialect()))
        .map_err(|error| error.faults.iter().map(|fault| format!("{} {}", fault.code.as_str(), fault.path)).collect::<Vec<_>>())?;
    let bytes = match Box::pin(database.run(query, Format::Json)).await.map_err(|error| vec![failure(&error)])? {
        store::Answer::Nothing => return Ok(Answer::NotFound),
        store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => bytes.to_vec(),
        store::Answer::Chunks(chunks) => support::whole(chunks).await.map_err(|error| vec![format!("the stream fails: {error}")])?,
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| vec![format!("no JSON: {error}")])?;
    Ok(support::decoded(operation, value))
}

fn failure(error: &store::Error) -> String {
    match error {
        store::Error::Unsupported(refusal) => format!("{UNSUPPORTED}: {refusal}"),
        error => format!("the database fails: {error}"),
    }
}

/// What the difference of a case begins with that the database refuses.
pub const UNSUPPORTED: &str = "the database does not support it";

pub async fn judge(golden: &GoldenCase, catalog: &Catalog, database: &Database) -> Result<(), String> {
    let actual = match run(golden, catalog, database).await {
        Err(faults) if faults == golden.faults => return Ok(()),
        Err(faults) => return Err(format!("expected the faults {:?}, found {faults:?}", golden.faults)),
        Ok(_) if !golden.faults.is_empty() => return Err(format!("expected the faults {:?}, found an answer", golden.faults)),
        Ok(actual) => actual,
    };
    let case = asked(golden);
    oracle::compare(&case, &case.answer(), &actual).map_err(|difference| format!("{difference}\n{actual:?}"))?;
    let empty = match actual {
        Answer::Page { rows, .. } | Answer::KeysetPage { rows, .. } | Answer::Rows(rows) => rows.is_empty(),
        Answer::NotFound => true,
        Answer::Row(_) | Answer::Forbidden => false,
    };
    if empty == golden.empty { Ok(()) } else { Err(format!("the case says empty = {}, which is not so", golden.empty)) }
}
