//! The language and writes on tables that Citus distributes, held against the oracle. `scripts/test --citus` starts a cluster for them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "citus/cluster.rs"]
mod cluster;
#[allow(dead_code, unreachable_pub)]
#[path = "support/golden.rs"]
mod golden_cases;
#[path = "citus/shop.rs"]
mod shop;
mod support;

use std::time::Duration;

use cluster::DistributedDatabase;
use golden_cases::{UNSUPPORTED, case, judge};

/// Which tables of the fixture are distributed how: co-located ones, ones that are not, reference tables and local tables.
///
/// Foreign keys lead to tables that are not co-located, which Citus refuses.
const FIXTURE: &str = "
    DO $$
    DECLARE statement text;
    BEGIN
        FOR statement IN
            SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint WHERE contype = 'f'
        LOOP EXECUTE statement; END LOOP;
    END $$;
    SET citus.shard_count = 2;
    SELECT create_reference_table('labels'), create_reference_table('departments');
    SELECT create_distributed_table('customers', 'id', colocate_with => 'none');
    SELECT create_distributed_table('customers_labels', 'customer_id', colocate_with => 'customers');
    SELECT create_distributed_table('orders', 'id', colocate_with => 'none');
    SELECT create_distributed_table('order_lines', 'order_id', colocate_with => 'orders');
    SELECT create_distributed_table('shipments', 'id', colocate_with => 'none');
    SELECT create_distributed_table('employees', 'id', colocate_with => 'none');
    SELECT create_distributed_table('documents', 'id', colocate_with => 'none');
    SELECT create_distributed_table('reviews', 'id', colocate_with => 'none');
    SELECT create_distributed_table('visits', 'id', colocate_with => 'none');
    ANALYZE;";

/// Slower statements are printed.
const SLOW: Duration = Duration::from_secs(2);

// contract Q14.3
#[tokio::test(flavor = "multi_thread")]
async fn distributed_tables_answer_every_golden_case() {
    agree_holding(store::DatabaseSettings::default().memory, |_| true).await;
}

// contract E4.1
#[tokio::test(flavor = "multi_thread")]
async fn they_answer_them_in_portions_too() {
    // Only these use a cursor: statements with relations, and pages, which may need a total of the same snapshot.
    let uses_cursor =
        |golden: &case::GoldenCase| matches!(golden.operation, oracle::Operation::Paginate) || golden.body().contains("relations");
    agree_holding(8_000, uses_cursor).await;
}

async fn agree_holding(memory: usize, is_asked: impl Fn(&case::GoldenCase) -> bool) {
    let server = DistributedDatabase::with(&oracle::postgres_script(), FIXTURE).await;
    let database = support::open_narrow(&server.url, memory);
    let catalog = support::catalog(oracle::MANIFEST, &database).await;
    assert_eq!(database.dialect(), query::sql::Dialect::Citus);
    let (mut failures, mut count, mut all, mut refused) = (Vec::new(), 0, 0, 0);
    for theme in case::themes() {
        let golden = case::cases(&theme);
        all += golden.len();
        for golden in golden.into_iter().filter(&is_asked) {
            count += 1;
            let started = std::time::Instant::now();
            let judged = judge(&golden, &catalog, &database).await;
            if judged.as_ref().is_err_and(|difference| is_limit(difference)) {
                refused += 1;
            } else if let Err(difference) = judged {
                failures.push(format!("{theme}: {}: {difference}", golden.name));
            }
            if started.elapsed() > SLOW {
                println!("{theme}: {} took {:?}", golden.name, started.elapsed());
            }
        }
    }
    drop(database);
    server.drop().await;
    println!("Citus refused {refused} of {count} cases");
    assert!(count > 0 && refused * 20 < all, "{refused} of {all} cases are refused, {count} of them asked");
    assert!(failures.is_empty(), "{} of {count} cases:\n{}", failures.len(), failures.join("\n\n"));
}

/// Whether Citus refused a case because of a limit that the guide names.
fn is_limit(difference: &str) -> bool {
    let limits = ["no matching oid", "pseudoconstant quals"];
    difference.contains(UNSUPPORTED) && limits.iter().any(|limit| difference.contains(limit))
}
