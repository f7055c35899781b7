//! The golden cases of the language, run on both databases and held against the oracle: equal rows, equal totals, equal faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../query/tests/support/case.rs"]
#[allow(dead_code, unreachable_pub)]
mod case;
mod support;

use case::GoldenCase;
use oracle::{Answer, Case, Operation};
use query::catalog::Catalog;
use query::{merge, parse, plan, policy, sql};
use serde_json::Value;
use store::Database;
use store::run::Format;

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
    let bytes = match Box::pin(database.run(query, Format::Json)).await.map_err(|error| vec![format!("the database fails: {error}")])? {
        store::Answer::Nothing => return Ok(Answer::NotFound),
        store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => bytes.to_vec(),
        store::Answer::Chunks(chunks) => support::whole(chunks).await.map_err(|error| vec![format!("the stream fails: {error}")])?,
    };
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| vec![format!("no JSON: {error}")])?;
    Ok(match operation {
        plan::Operation::Find => Answer::Row(value),
        plan::Operation::List => Answer::Rows(value.as_array().expect("an array").clone()),
        plan::Operation::KeysetPaginate => Answer::KeysetPage {
            count: value["count"].as_u64().expect("a count"),
            rows: value["rows"].as_array().expect("rows").clone(),
            follows: !value["next"].is_null(),
        },
        plan::Operation::Paginate => Answer::Page {
            total: value["total"].as_u64().expect("a total"),
            count: value["count"].as_u64().expect("a count"),
            rows: value["rows"].as_array().expect("rows").clone(),
        },
    })
}

async fn judge(golden: &GoldenCase, catalog: &Catalog, database: &Database) -> Result<(), String> {
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

// contract Q14.3, contract Q14.4, contract P3.1, trap 2, trap 5, trap 6, trap 7, trap 8, trap 13
#[tokio::test(flavor = "multi_thread")]
async fn both_databases_and_the_oracle_agree_on_every_golden_case() {
    agree_holding(store::DatabaseSettings::default().memory).await;
}

// contract E4.1
#[tokio::test(flavor = "multi_thread")]
async fn they_agree_with_any_memory_limit_for_related_rows() {
    // Nothing at all, a row or two, and a few.
    for memory in [0, 250, 1_000] {
        agree_holding(memory).await;
    }
}

async fn agree_holding(memory: usize) {
    let server = support::Postgres::with(&oracle::postgres_script()).await;
    // Without statistics PostgreSQL takes `IS NULL` to hold for one row in two hundred, and nests loops ten deep.
    support::connect(&server.url).await.batch_execute("ANALYZE").await.expect("statistics");
    let file = support::Sqlite::with(&oracle::sqlite_script());
    let (postgres, sqlite) = (support::open_narrow(&server.url, memory), support::open_narrow(&file.url, memory));
    let catalogs = (support::catalog(oracle::MANIFEST, &postgres).await, support::catalog(oracle::MANIFEST, &sqlite).await);
    let (mut failures, mut count) = (Vec::new(), 0);
    for theme in case::themes() {
        for golden in case::cases(&theme) {
            count += 1;
            for (place, catalog, database) in [("PostgreSQL", &catalogs.0, &postgres), ("SQLite", &catalogs.1, &sqlite)] {
                if let Err(difference) = judge(&golden, catalog, database).await {
                    failures.push(format!("{theme}: {} on {place}: {difference}", golden.name));
                }
            }
        }
    }
    drop((postgres, sqlite));
    server.drop().await;
    assert!(failures.is_empty(), "{} of {count} cases:\n{}", failures.len(), failures.join("\n\n"));
    assert!(count >= 220, "only {count} cases");
}
