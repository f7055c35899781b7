//! The golden cases of the language, run on both databases and held against the oracle: equal rows, equal totals, equal faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, unreachable_pub)]
#[path = "support/golden.rs"]
mod golden_cases;
mod support;

use case::GoldenCase;
use golden_cases::{case, judge};
use serde_json::Value;

// contract Q14.3, contract Q14.4, contract P3.1, trap 2, trap 5, trap 6, trap 7, trap 8, trap 13
#[tokio::test(flavor = "multi_thread")]
async fn both_databases_and_the_oracle_agree_on_every_golden_case() {
    agree_holding(store::DatabaseSettings::default().memory, |_| true).await;
}

// contract E4.1
#[tokio::test(flavor = "multi_thread")]
async fn they_agree_with_any_memory_limit_for_related_rows() {
    let loads_relations = |golden: &GoldenCase| {
        let names = |statement: &Option<Value>| statement.as_ref().is_some_and(|statement| statement.get("relations").is_some());
        names(&golden.query) || names(&golden.constraint)
    };
    // Nothing at all, a row or two, and a few.
    for memory in [0, 250, 1_000] {
        agree_holding(memory, loads_relations).await;
    }
}

async fn agree_holding(memory: usize, is_chosen: fn(&GoldenCase) -> bool) {
    let server = support::Postgres::with(&oracle::postgres_script()).await;
    // Without statistics PostgreSQL takes `IS NULL` to hold for one row in two hundred, and nests loops ten deep.
    support::connect(&server.url).await.batch_execute("ANALYZE").await.expect("statistics");
    let file = support::Sqlite::with(&oracle::sqlite_script());
    let (postgres, sqlite) = (support::open_narrow(&server.url, memory), support::open_narrow(&file.url, memory));
    let catalogs = (support::catalog(oracle::MANIFEST, &postgres).await, support::catalog(oracle::MANIFEST, &sqlite).await);
    let (mut failures, mut count) = (Vec::new(), 0);
    for theme in case::themes() {
        for golden in case::cases(&theme).iter().filter(|golden| is_chosen(golden)) {
            count += 1;
            for (place, catalog, database) in [("PostgreSQL", &catalogs.0, &postgres), ("SQLite", &catalogs.1, &sqlite)] {
                if let Err(difference) = judge(golden, catalog, database).await {
                    failures.push(format!("{theme}: {} on {place}: {difference}", golden.name));
                }
            }
        }
    }
    drop((postgres, sqlite));
    server.drop().await;
    assert!(failures.is_empty(), "{} of {count} cases:\n{}", failures.len(), failures.join("\n\n"));
    assert!(count >= 100, "only {count} cases");
}
