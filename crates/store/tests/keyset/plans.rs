//! A page far from the first reads few rows.

use query::plan::Operation;
use query::sql::Dialect;
use serde_json::{Value, json};
use store::run::PlanDetail;

use crate::{Place, support};

const MANIFEST: &str = r#"
[resource.t.row]
table = "facts"
[resource.t.row.fields]
id = { type = "int", key = true }
a = "int"
b = { type = "int", null = false }
"#;

/// Half of `a` is one value, a tenth is NULL.
const CELLS: &str = "CASE WHEN n % 2 = 0 THEN 5 WHEN n % 10 = 1 THEN NULL ELSE n % 1000 END, n % 10";

fn postgres_script() -> String {
    format!(
        "CREATE TABLE facts (id int PRIMARY KEY, a int, b int NOT NULL);
         INSERT INTO facts SELECT n, {CELLS} FROM generate_series(1, 50000) n;
         CREATE INDEX ON facts (a, id); CREATE INDEX ON facts (b, a DESC, id); ANALYZE"
    )
}

fn sqlite_script() -> String {
    format!(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER NOT NULL);
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50000) INSERT INTO facts SELECT n, {CELLS} FROM n;
         CREATE INDEX facts_a ON facts (a, id); CREATE INDEX facts_b ON facts (b, a DESC, id); ANALYZE"
    )
}

/// Statements that continue after a row in the middle, among ties, and among NULLs.
async fn deep_pages(place: &Place) -> Vec<Value> {
    let mut pages = Vec::new();
    for order in [
        json!([{ "field": "a" }]),
        json!([{ "field": "a", "dir": "desc" }]),
        json!([{ "field": "b" }, { "field": "a", "dir": "desc" }]),
        json!([{ "field": "b", "dir": "desc" }, { "field": "a" }, { "field": "id", "dir": "desc" }]),
        json!([{ "field": "id" }]),
    ] {
        for offset in [25_000, 44_000, 49_000] {
            // A page of one row, of these two, ends at the first.
            let two = place.list("t.row", &json!({ "order": order, "offset": offset, "limit": 2 })).await;
            let only = json!({ "id": { "in": [two[0]["id"], two[1]["id"]] } });
            let page = place.page("t.row", &json!({ "order": order, "limit": 1, "where": only })).await.expect("a page");
            assert_eq!(page["rows"][0], two[0]);
            let cursor = &page["next"]["where"]["and"][0];
            let statement = json!({ "order": order, "limit": 20, "where": { "and": [cursor] } });
            assert_eq!(place.page("t.row", &statement).await.expect("a page")["rows"][0], two[1]);
            pages.push(statement);
        }
    }
    pages
}

// contract Q16.8
#[tokio::test(flavor = "multi_thread")]
async fn a_deep_page_reads_few_rows() {
    let server = support::Postgres::with(&postgres_script()).await;
    let file = support::Sqlite::with(&sqlite_script());
    for url in [&server.url, &file.url] {
        let place = Place::new(url, MANIFEST).await;
        for statement in deep_pages(&place).await {
            let query = place.planned("t.row", &statement, Operation::KeysetPaginate).expect("a plan");
            let plans = place.database.analyze(&query, PlanDetail::Figures).await.expect("a plan");
            let lines = &plans[0].1;
            let told = || format!("{statement}\n{}\n{}", query.root.sql.text(), lines.join("\n"));
            match place.database.dialect() {
                Dialect::Postgres | Dialect::Citus => {
                    let read: f64 = lines.iter().filter(|line| line.contains(" on facts")).map(|line| actual_rows(line)).sum();
                    assert!(read > 0.0 && read <= 100.0, "{read} rows: {}", told());
                    assert!(!lines.iter().any(|line| line.contains("Seq Scan")), "{}", told());
                }
                Dialect::Sqlite => {
                    let scans = lines.iter().filter(|line| line.starts_with("SCAN t"));
                    assert_eq!(scans.count(), 0, "{}", told());
                    assert!(lines.iter().any(|line| line.contains("SEARCH t0")), "{}", told());
                }
            }
        }
    }
    server.drop().await;
}

/// `rows=21 loops=1` of the measured part of a line.
fn actual_rows(line: &str) -> f64 {
    let measured = line.rsplit("(actual").next().unwrap_or_default();
    let figure = |name: &str| {
        let digits = measured.split(name).nth(1).unwrap_or("0").trim_end_matches(')');
        digits.split([' ', ')']).next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0)
    };
    if line.contains("(actual") { figure("rows=") * figure("loops=") } else { 0.0 }
}
