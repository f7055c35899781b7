//! Columns that are given another type while the server runs.

use serde_json::json;

use crate::{answer, support};

/// contract P3.4: a value of another type than the column had at the start reads as null, and never as something that nobody stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_gets_another_type_reads_as_null() {
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
    let names: Vec<String> = (0..changes.len()).map(|index| format!("v{index}")).collect();
    let fields: Vec<_> = names.iter().map(String::as_str).zip(changes.iter().map(|(_, kind, ..)| *kind)).collect();
    let manifest = support::facts(&fields);
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

/// contract P3.4: related rows are found by the bytes of their keys. Where these look otherwise since the start, the statement is refused,
/// and no row is left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_gets_another_type_fails_the_statement() {
    let server = support::Postgres::with(
        "CREATE TABLE books (id bigint PRIMARY KEY); INSERT INTO books VALUES (1), (2); \
         CREATE TABLE pages (id bigint PRIMARY KEY, book_id bigint); INSERT INTO pages VALUES (10, 1), (11, 1), (12, 2), (13, NULL)",
    )
    .await;
    let database = support::open(&server.url);
    let manifest = r#"
        [resource.t.book]
        table = "books"
        [resource.t.book.fields]
        id = { type = "bigint", key = true }
        [resource.t.book.relations]
        pages = { many = "t.page", on = { id = "bookId" } }
        [resource.t.page]
        table = "pages"
        [resource.t.page.fields]
        id = { type = "bigint", key = true }
        bookId = { type = "bigint", column = "book_id", null = true }
    "#;
    let catalog = support::catalog(manifest, &database).await;
    let statement = json!({ "relations": { "pages": true }, "limit": 5 });
    let pages = |book: u64, ids: &[u64]| json!(ids.iter().map(|id| json!({ "id": id, "bookId": book })).collect::<Vec<_>>());
    let expected = json!([{ "id": 1, "pages": pages(1, &[10, 11]) }, { "id": 2, "pages": pages(2, &[12]) }]);
    assert_eq!(answer(&catalog, &database, "t.book", &statement).await, Ok(expected.clone()));
    let client = support::connect(&server.url).await;
    client.batch_execute("ALTER TABLE pages ALTER book_id TYPE int").await.expect("changed");
    answer(&catalog, &database, "t.book", &statement).await.expect_err("keys that look otherwise");
    client.batch_execute("ALTER TABLE pages ALTER book_id TYPE bigint").await.expect("changed");
    assert_eq!(answer(&catalog, &database, "t.book", &statement).await, Ok(expected));
    drop(database);
    server.drop().await;
}
