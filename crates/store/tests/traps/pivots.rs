//! Through tables whose columns take different texts for equal: they connect by the exact text all the same.

use serde_json::{Value, json};

use crate::plans::{levels, planned};
use crate::{answer, support};

const MANIFEST: &str = r#"
    [resource.t.left]
    table = "lefts"
    [resource.t.left.fields]
    k = { type = "text", key = true }
    [resource.t.left.relations]
    rights = { many = "t.right", through = "pairs", on = { k = "l" }, to = { r = "k" } }
    [resource.t.right]
    table = "rights"
    [resource.t.right.fields]
    k = { type = "text", key = true }
    w = "int"
"#;

/// contract Q6.1: a filter, a loaded relation and an aggregation see the same pairs, each once.
#[tokio::test(flavor = "multi_thread")]
async fn a_pivot_connects_by_exact_strings_whatever_its_collation() {
    let blunt = "text COLLATE blunt";
    for (ends, pairs) in [
        ("citext", "citext"),
        (blunt, blunt),
        ("text", "citext"),
        ("text", blunt),
        ("citext", "text"),
        ("end_of", "citext"),
        ("end_of", blunt),
    ] {
        let server = support::Postgres::with(&format!(
            "CREATE EXTENSION citext; CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
             CREATE TYPE end_of AS ENUM ('x', 'X', 'y', 'a', 'A', 'b'); CREATE TABLE lefts (k {ends}); CREATE TABLE rights (k {ends}, w int); CREATE TABLE pairs (l {pairs}, r {pairs});
             INSERT INTO lefts VALUES ('x'), ('X'), ('y'); INSERT INTO rights VALUES ('a', 1), ('A', 2), ('b', 4);
             INSERT INTO pairs VALUES ('x', 'a'), ('x', 'A'), ('x', 'A'), ('y', 'b'), ('X', 'B')"
        ))
        .await;
        let database = support::open(&server.url);
        let values = r#"k = { type = "enum", values = ["x", "X", "y", "a", "A", "b"]"#;
        let manifest = if ends == "end_of" { MANIFEST.replace(r#"k = { type = "text""#, values) } else { MANIFEST.to_owned() };
        let catalog = support::catalog(&manifest, &database).await;
        let ask = async |statement: Value| answer(&catalog, &database, "t.left", &statement).await.expect("rows");
        let weights = |rows: &Value, name: &str| {
            let row = rows.as_array().expect("rows").iter().find(|row| row["k"] == name).expect("a row");
            let mut weights: Vec<_> = row["rights"].as_array().expect("rows").iter().filter_map(|right| right["w"].as_i64()).collect();
            weights.sort_unstable();
            weights
        };
        for node in [json!(true), json!({ "order": [{ "field": "w" }], "limit": 9 })] {
            let rows = ask(json!({ "relations": { "rights": node } })).await;
            for (name, expected) in [("x", [1, 2].as_slice()), ("X", &[]), ("y", &[4])] {
                assert_eq!(weights(&rows, name), expected, "{ends} through {pairs}: {name} of {rows}");
            }
        }
        assert_eq!(ask(json!({ "where": { "rights": { "k": { "eq": "A" } } } })).await, json!([{ "k": "x" }]), "{ends} through {pairs}");
        let both = ask(json!({ "where": { "rights": {} } })).await;
        assert_eq!(both.as_array().map(Vec::len), Some(2), "{ends} through {pairs}: {both}");
        let total = ask(json!({ "aggregation": { "fields": [{ "fn": "sum", "field": "rights.w", "as": "w" }] } })).await;
        assert_eq!(total, json!([{ "w": 7 }]), "{ends} through {pairs}");
        drop(database);
        server.drop().await;
    }
}

/// trap 15: the indexes of `citext` columns find what is connected, on either side of a pivot.
#[tokio::test(flavor = "multi_thread")]
async fn caseless_pivots_are_found_by_their_indexes() {
    let server = support::Postgres::with(
        "CREATE EXTENSION citext; CREATE TABLE lefts (k citext PRIMARY KEY); CREATE TABLE rights (k citext PRIMARY KEY, w int);
         CREATE TABLE pairs (l citext, r citext, PRIMARY KEY (l, r));
         INSERT INTO lefts SELECT 'l' || n FROM generate_series(1, 5000) n; INSERT INTO rights SELECT 'r' || n, n FROM generate_series(1, 5000) n;
         INSERT INTO pairs SELECT 'l' || n, 'r' || n * 7 % 5000 FROM generate_series(1, 5000) n; ANALYZE",
    )
    .await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let client = support::connect(&server.url).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan").await.expect("a setting");
    for (number, asked) in [
        json!({ "where": { "k": { "eq": "l1" } }, "relations": { "rights": { "order": [{ "field": "w" }], "limit": 3 } } }),
        json!({ "where": { "k": { "eq": "l1" }, "rights": { "w": { "gt": 3 } } } }),
    ]
    .into_iter()
    .enumerate()
    {
        let query = planned(&catalog, &database, "t.left", &asked);
        for (depth, level) in levels(&query.root).into_iter().enumerate() {
            client.batch_execute(&format!("PREPARE s{number}_{depth} AS {}", level.sql.text())).await.expect("prepared");
            let nulls = vec!["NULL"; level.sql.params().len()].join(", ");
            let lines = client.query(&format!("EXPLAIN EXECUTE s{number}_{depth}({nulls})"), &[]).await.expect("a plan");
            let plan: Vec<String> = lines.iter().map(|line| line.get(0)).collect();
            assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{asked}\n{}\n{}", level.sql.text(), plan.join("\n"));
        }
    }
    drop((database, client));
    server.drop().await;
}

/// contract Q3.7: the extension `intarray` has operators of its own for arrays of integers, which fail where there is a NULL.
#[tokio::test(flavor = "multi_thread")]
async fn arrays_of_integers_are_compared_alike_beside_intarray() {
    let server = support::Postgres::with(
        "CREATE EXTENSION intarray; CREATE TABLE facts (id int PRIMARY KEY, nums int[]); INSERT INTO facts VALUES (1, '{1,NULL}'), (2, '{2}'), (3, NULL)",
    )
    .await;
    let database = support::open(&server.url);
    let manifest = &support::facts(&[("nums", "int[]")]);
    let catalog = support::catalog(manifest, &database).await;
    for (clause, expected) in [
        (json!({ "contains": 1 }), json!([1])),
        (json!({ "contains": [] }), json!([1, 2])),
        (json!({ "overlap": [2, null] }), json!([2])),
        (json!({ "overlap": [1, 2] }), json!([1, 2])),
    ] {
        let statement = json!({ "where": { "nums": clause }, "order": [{ "field": "id" }] });
        let rows = answer(&catalog, &database, "t.row", &statement).await.unwrap_or_else(|error| panic!("{clause}: {error}"));
        let found: Vec<_> = rows.as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
        assert_eq!(json!(found), expected, "{clause}");
    }
    drop(database);
    server.drop().await;
}

/// contract P3.3: a value of a SQLite pivot that is kept in another way connects nothing, wherever it is looked at.
#[tokio::test(flavor = "multi_thread")]
async fn a_pivot_of_numbers_as_texts_connects_nothing_anywhere() {
    // Which pairs connect, by what the columns of the pivot make of its values.
    let cases = [
        ("bigint", "INTEGER", "l, r", vec![(1, 1)]),
        ("bigint", "INTEGER", "l TEXT, r TEXT", vec![]),
        ("bigint", "INTEGER", "l INTEGER, r", vec![(1, 1), (1, 2), (2, 3), (3, 1)]),
        ("float", "REAL", "l, r", vec![(1, 1), (3, 3)]),
        ("float", "REAL", "l TEXT, r TEXT", vec![]),
        ("float", "REAL", "l INTEGER, r", vec![(1, 1), (1, 2), (2, 3), (3, 1), (3, 3)]),
    ];
    for (kind, ends, columns, expected) in cases {
        let file = support::Sqlite::with(&format!(
            "CREATE TABLE lefts (k {ends} PRIMARY KEY); CREATE TABLE rights (k {ends} PRIMARY KEY, w INTEGER); CREATE TABLE pairs ({columns});
             INSERT INTO lefts VALUES (1), (2), (3); INSERT INTO rights VALUES (1, 1), (2, 2), (3, 4);
             INSERT INTO pairs VALUES (1, 1), ('1', 2), (2, '2'), ('02', 3), (3, 3.0), ('3.0', 1), (1, '3')"
        ));
        let database = support::open(&file.url);
        let catalog = support::catalog(&MANIFEST.replace("k = { type = \"text\"", &format!("k = {{ type = \"{kind}\"")), &database).await;
        let ask = async |statement: Value| answer(&catalog, &database, "t.left", &statement).await.expect("rows");
        let number = |row: &Value| row["k"].as_f64().expect("a number") as i64;
        for right in 1..=3 {
            let rows = ask(json!({ "where": { "rights": { "k": { "eq": right } } }, "order": [{ "field": "k" }] })).await;
            let found: Vec<_> = rows.as_array().expect("rows").iter().map(|left| (number(left), right)).collect();
            let of_right: Vec<_> = expected.iter().copied().filter(|pair: &(i64, i64)| pair.1 == right).collect();
            assert_eq!(found, of_right, "{kind} by {columns}, filtered");
        }
        let rows = ask(json!({ "relations": { "rights": { "order": [{ "field": "k" }] } }, "order": [{ "field": "k" }] })).await;
        let rights = |left: &Value| left["rights"].as_array().expect("rows").iter().map(|right| (number(left), number(right))).collect();
        let loaded: Vec<_> = rows.as_array().expect("rows").iter().flat_map(|left| -> Vec<_> { rights(left) }).collect();
        assert_eq!(loaded, expected, "{kind} by {columns}, loaded");
        let total = ask(json!({ "aggregation": { "fields": [{ "fn": "sum", "field": "rights.w", "as": "w" }] } })).await;
        let weights: i64 = expected.iter().map(|(_, right)| [1, 2, 4][*right as usize - 1]).sum();
        assert_eq!(total[0]["w"].as_i64().unwrap_or(0), weights, "{kind} by {columns}, summed");
    }
}
