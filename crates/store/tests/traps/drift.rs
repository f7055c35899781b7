//! Columns that are given another type while the server runs.

use serde_json::json;

use crate::{answer, support};

/// contract P3.4: a value of another type than the column had at the start reads as null, and never as something that nobody stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_is_given_another_type_reads_as_null() {
    let changes = [
        ("jsonb", "json", "text", r#"'1},{"id":99,"v":2'"#),
        ("json", "json", "text", "'hello'"),
        ("text", "text", "jsonb", "'{}'"),
        ("text", "text", "bigint", "5"),
        ("bigint", "bigint", "float8", "1.5"),
        ("bigint", "bigint", "timestamptz", "now()"),
        ("int", "int", "date", "'2024-01-01'"),
        ("int", "int", "real", "1.5"),
        ("float8", "float", "bigint", "5"),
        ("numeric", "decimal", "float8", "1.5"),
        ("float8", "float", "numeric", "1.5"),
        ("timestamptz", "timestamp", "bigint", "5"),
        ("timestamptz", "timestamp", "date", "'2024-01-01'"),
        ("time", "time", "bigint", "5"),
        ("date", "date", "int", "5"),
        ("uuid", "uuid", "text", "'abcdefghijklmnop'"),
        ("bool", "bool", "text", "'abc'"),
        ("bigint[]", "bigint[]", "float8[]", "'{1.5}'"),
        ("text[]", "text[]", "text", "'{a}'"),
    ];
    let columns: Vec<String> = changes.iter().enumerate().map(|(index, (before, ..))| format!("v{index} {before}")).collect();
    let values = vec!["NULL"; changes.len()].join(", ");
    let server = support::Postgres::with(&format!(
        "CREATE TABLE facts (id int PRIMARY KEY, {}); INSERT INTO facts VALUES (1, {values})",
        columns.join(", ")
    ))
    .await;
    let database = support::open(&server.url);
    let fields: Vec<String> = changes.iter().enumerate().map(|(index, (_, kind, ..))| format!("v{index} = \"{kind}\"\n")).collect();
    let manifest =
        format!("[resource.t.row]\ntable = \"facts\"\n[resource.t.row.fields]\nid = {{ type = \"int\", key = true }}\n{}", fields.concat());
    let catalog = support::catalog(&manifest, &database).await;
    let expected = answer(&catalog, &database, "t.row", &json!({})).await.expect("rows");
    let client = support::connect(&server.url).await;
    for (index, (_, _, after, value)) in changes.iter().enumerate() {
        client.batch_execute(&format!("ALTER TABLE facts ALTER v{index} TYPE {after} USING {value}")).await.expect("changed");
    }
    assert_eq!(answer(&catalog, &database, "t.row", &json!({})).await, Ok(expected), "all of them null, and one row");
    for (index, (before, kind, after, _)) in changes.iter().enumerate() {
        let field = format!("v{index}");
        for function in ["min", "max", "sum", "avg"] {
            let statement = json!({ "aggregation": { "fields": [{ "fn": function, "field": field, "as": "x" }] } });
            // A database may refuse it, which is an error and no value.
            if let Ok(rows) = answer(&catalog, &database, "t.row", &statement).await {
                assert_eq!(rows, json!([{ "x": null }]), "{function} of {kind}, {before} then {after}");
            }
        }
    }
    drop(database);
    server.drop().await;
}
