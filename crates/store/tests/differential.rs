//! Three readings of the same statement: PostgreSQL, SQLite and the oracle must agree on rows, totals and faults.
//!
//! A thousand statements in every run; `PERISTYLE_STATEMENTS=100000 PERISTYLE_SEED=7` for any number from any seed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use oracle::{Answer, Case, Generator};
use support::Outcome;

#[expect(clippy::disallowed_methods, reason = "the number of statements is chosen on the command line of a test run")]
fn setting(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn judge(place: &str, case: &Case, outcome: &Outcome) -> Result<(), String> {
    let told = || format!("{place}: {case:#?}\nbody: {}\noutcome: {outcome:#?}", case.body());
    match (&case.fault, outcome) {
        (Some(fault), Outcome::Faults(found)) if found.len() == 1 && found[0] == (fault.code, fault.path.clone()) => Ok(()),
        (Some(_), _) => Err(told()),
        (None, Outcome::Faults(_)) => Err(told()),
        (None, Outcome::Answer(actual)) => {
            oracle::compare(case, &case.answer(), actual).map_err(|difference| format!("{difference}\n{}", told()))
        }
    }
}

// contract Q1.7, contract Q2.1, contract P3.1
#[tokio::test(flavor = "multi_thread")]
async fn both_databases_and_the_oracle_agree_on_random_statements() {
    let (count, seed) = (setting("PERISTYLE_STATEMENTS", 1_000), setting("PERISTYLE_SEED", 1));
    let server = support::Postgres::with(&oracle::postgres_script()).await;
    let file = support::Sqlite::with(&oracle::sqlite_script());
    let (postgres, sqlite) = (support::open(&server.url), support::open(&file.url));
    // Every other statement is answered by those who hold next to nothing at once.
    let narrow = (support::open_narrow(&server.url, 300), support::open_narrow(&file.url, 300));
    let catalogs = (support::catalog(oracle::MANIFEST, &postgres).await, support::catalog(oracle::MANIFEST, &sqlite).await);
    let mut generator = Generator::new(seed);
    let mut failures = Vec::new();
    let mut answered = 0;
    for number in 0..count {
        let case = generator.next();
        let (postgres, sqlite) = if number % 2 == 0 { (&postgres, &sqlite) } else { (&narrow.0, &narrow.1) };
        let outcomes = (support::run(&catalogs.0, postgres, &case).await, support::run(&catalogs.1, sqlite, &case).await);
        if matches!(&outcomes.0, Outcome::Answer(Answer::Page { .. } | Answer::Rows(_) | Answer::Row(_))) {
            answered += 1;
        }
        for (place, outcome) in [("PostgreSQL", &outcomes.0), ("SQLite", &outcomes.1)] {
            if let Err(difference) = judge(place, &case, outcome) {
                failures.push(format!("statement {number} of seed {seed}: {difference}"));
            }
        }
        if failures.len() >= 5 {
            break;
        }
    }
    drop((postgres, sqlite, narrow));
    server.drop().await;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(answered * 2 > count, "only {answered} of {count} statements were answered with rows: the generator has gone stale");
}
