//! `check` asks PostgreSQL whether an index finds the values inside a column, and whether it knows a zone.

use query::catalog::Catalog;
use store::Database;

use crate::support;

const SCRIPT: &str = r#"
    CREATE TABLE customers (id bigint PRIMARY KEY, profile jsonb, note json, at timestamptz, other timestamptz);
    CREATE SCHEMA "Odd one"; CREATE TABLE "Odd one"."a ""b""" (id bigint PRIMARY KEY, "the note" json);
    CREATE VIEW views AS SELECT id, profile FROM customers;
    CREATE INDEX ON customers ((profile #>> '{plan,tier}'));
    CREATE INDEX ON customers ((date_trunc('month', at AT TIME ZONE 'UTC')));
    CREATE INDEX ON customers (at);"#;

const MANIFEST: &str = r#"[resource.t.customer.fields]
id = { type = "bigint", key = true }
profile = "json"
note = "json"
at = "timestamp"
tier = { json = "profile", path = ["plan", "tier"], type = "text" }
odd = { json = "note", path = ["it's", "a \"b\""], type = "bigint" }
month = { bucket = "month", of = "at" }
day = { bucket = "day", of = "at", zone = "Europe/Berlin" }
[resource.t.odd]
table = "Odd one.a \"b\""
[resource.t.odd.fields]
id = { type = "bigint", key = true }
note = { type = "json", column = "the note" }
date = { json = "note", path = ["x"], type = "date" }
instant = { json = "note", path = ["x"], type = "timestamp" }
[resource.t.view.fields]
id = { type = "bigint", key = true }
profile = "json"
tier = { json = "profile", path = ["plan", "tier"], type = "text" }
"#;

async fn found(database: &Database, catalog: &Catalog) -> Vec<String> {
    let schema = database.schema().await.expect("the schema");
    let findings = database.check_derived(catalog, &schema).await.expect("findings");
    findings.iter().map(|finding| format!("{} {}: {}", finding.line, finding.severity.as_str(), finding.message)).collect()
}

/// contract P5.6
#[tokio::test(flavor = "multi_thread")]
async fn an_index_counts_if_the_planner_uses_it() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let client = support::connect(&server.url).await;
    // The natural indexes find nothing, since an invalid value reads as null.
    let mut warnings = found(&database, &catalog).await;
    let (table, odd_table) = (("t.customer", "\"public\".\"customers\""), ("t.odd", "\"Odd one\".\"a \"\"b\"\"\""));
    let fields = [(6, "tier", table), (7, "odd", table), (8, "month", table), (9, "day", table), (15, "date", odd_table)];
    for (line, name, (resource, table)) in fields {
        let start =
            format!("{line} warning: field `{name}` of `{resource}`: no index finds rows by it; if statements filter or sort by it, run ");
        let advice = warnings.remove(0);
        // The advice is SQL that works, and answers the warning.
        let statement = advice.strip_prefix(&start).unwrap_or_else(|| panic!("{advice}"));
        assert!(statement.starts_with(&format!("CREATE INDEX ON {table} ((")), "{statement}");
        client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{error}: {statement}"));
        assert_eq!(found(&database, &catalog).await, warnings);
    }
    let too_long = "16 warning: field `instant` of `t.odd`: no index finds rows by it; if statements filter or sort by it, make its column jsonb, since the expression over a json column is too long for an index";
    assert_eq!(warnings, [too_long]);
    drop((client, database));
    server.drop().await;
}

/// contract P5.6
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_the_database_lacks_is_an_error() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let manifest = MANIFEST.replace("Europe/Berlin", "Mars/Base");
    let manifest = query::manifest::Manifest::read(&manifest).expect("a manifest");
    let catalog = Catalog::resolve(&manifest).expect("a catalog");
    let message = "9 error: field `day` of `t.customer`: PostgreSQL knows no `zone` \"Mars/Base\"; name another zone, or install the package with its names, such as tzdata-legacy";
    assert!(found(&database, &catalog).await.contains(&message.to_owned()));
    drop(database);
    server.drop().await;
}
