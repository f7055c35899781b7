//! An `int` on a column of 64 bits: what does not fit 32 of them reads as NULL, as on SQLite.

use serde_json::{Value, json};

use super::{agree, both, support};

const MANIFEST: &str = r#"
[resource.t.row]
table = "facts"
[resource.t.row.fields]
id = { type = "int", key = true }
v = "int"
w = "bigint"
list = "int[]"
[resource.t.row.relations]
same = { many = "t.row", on = { v = "v" } }
wider = { many = "t.row", on = { v = "w" } }
narrower = { many = "t.row", on = { w = "v" } }
paired = { many = "t.row", through = "pairs", on = { v = "a" }, to = { b = "id" } }
reached = { many = "t.row", through = "pairs", on = { id = "b" }, to = { a = "id" } }
"#;

const ROWS: &str = "(1, 5, 5, LIST5), (2, 3000000000, 3000000000, LIST2), (3, -3000000000, 1, NULL), (4, NULL, 3000000000, LIST2),
    (5, 2147483647, NULL, LIST5), (6, 3000000000, -3000000000, LIST2), (7, -2147483648, 5, LIST5), (8, 5, 2147483647, NULL)";
const PAIRS: &str =
    "CREATE TABLE pairs (a bigint, b bigint); INSERT INTO pairs VALUES (5, 1), (5, 2), (3000000000, 3), (2147483647, 4), (1, 1)";

fn operators() -> Vec<Value> {
    let mut all = Vec::new();
    for value in [5, 0, i32::MAX, i32::MIN] {
        all.extend(["eq", "ne", "gt", "gte", "lt", "lte"].map(|operator| json!({ "v": { operator: value } })));
    }
    all.extend([
        json!({ "v": { "in": [5, 7, i32::MAX] } }),
        json!({ "v": { "notIn": [5, 7] } }),
        json!({ "v": { "notIn": [] } }),
        json!({ "v": { "between": [i32::MIN, i32::MAX] } }),
        json!({ "v": { "isNull": true } }),
        json!({ "v": { "isNull": false } }),
        json!({ "v": { "gt": 0, "lt": i32::MAX } }),
        json!({ "and": [{ "v": { "lt": 9 } }, { "v": { "gt": -9 } }] }),
        json!({ "or": [{ "v": { "gt": 5 } }, { "w": { "gt": 5 } }] }),
        json!({ "list": { "contains": [5] } }),
        json!({ "list": { "overlap": [5, 6] } }),
        json!({ "same": {} }),
        json!({ "same": { "v": { "gt": 5 } } }),
        json!({ "wider": {} }),
        json!({ "narrower": {} }),
        json!({ "paired": { "id": { "gt": 0 } } }),
        json!({ "reached": {} }),
        json!({ "wider": { "narrower": { "v": { "ne": 1 } } } }),
    ]);
    let negated: Vec<Value> = all.iter().map(|clause| json!({ "not": clause })).collect();
    all.extend(negated);
    all
}

fn questions() -> Vec<Value> {
    let order = json!([{ "field": "id" }]);
    let mut all: Vec<Value> = operators().into_iter().map(|clause| json!({ "where": clause, "order": order })).collect();
    for relation in ["same", "wider", "narrower", "paired", "reached"] {
        all.push(json!({ "order": order, "relations": { relation: { "order": order } } }));
        all.push(json!({ "order": order, "relations": { relation: { "order": order, "limit": 2 } } }));
    }
    let fields = |functions: &[&str], field: &str| -> Vec<Value> {
        functions.iter().map(|function| json!({ "fn": function, "field": field })).collect()
    };
    all.push(json!({ "aggregation": { "fields": fields(&["count", "sum", "avg", "min", "max"], "v") } }));
    all.push(
        json!({ "aggregation": { "fields": fields(&["count", "sum", "max"], "wider.v"), "groupBy": ["v"] }, "order": [{ "field": "v" }] }),
    );
    all
}

/// contract P3.3, contract Q14.4
#[tokio::test(flavor = "multi_thread")]
async fn an_int_beyond_32_bits_reads_as_null() {
    let rows = |list5: &str, list2: &str| ROWS.replace("LIST5", list5).replace("LIST2", list2);
    let answers = both(
        MANIFEST,
        &format!(
            "CREATE TABLE facts (id int PRIMARY KEY, v bigint, w bigint, list bigint[]); INSERT INTO facts VALUES {}; {PAIRS}",
            rows("'{5,3000000000}'", "'{3000000000,NULL}'")
        ),
        &format!(
            "CREATE TABLE facts (id INTEGER PRIMARY KEY, v INTEGER, w INTEGER, list TEXT); INSERT INTO facts VALUES {}; {PAIRS}",
            rows("'[5,3000000000]'", "'[3000000000,null]'")
        ),
        &questions(),
    )
    .await;
    agree(&answers);
    let of = |clause: Value| {
        let found = answers.iter().find(|(query, ..)| query["where"] == clause).expect("it was asked");
        let rows = found.1.as_ref().expect("rows").as_array().expect("rows");
        rows.iter().filter_map(|row| row["id"].as_i64()).collect::<Vec<_>>()
    };
    assert_eq!(of(json!({ "v": { "gt": 5 } })), [5]);
    assert_eq!(of(json!({ "v": { "ne": 5 } })), [5, 7]);
    assert_eq!(of(json!({ "v": { "isNull": true } })), [2, 3, 4, 6]);
    assert_eq!(of(json!({ "not": { "v": { "gt": 5 } } })), [1, 7, 8]);
    assert_eq!(of(json!({ "same": {} })), [1, 5, 7, 8]);
    let all = answers.iter().find(|(query, ..)| query["where"] == json!({ "v": { "notIn": [] } })).expect("it was asked");
    let shown = all.1.as_ref().expect("rows").as_array().expect("rows");
    assert_eq!(shown[1], json!({ "id": 2, "v": null, "w": 3_000_000_000_i64, "list": [null, null] }));
}

/// contract P3.3: an index on the column serves all the same.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_serves_an_int_on_a_wide_column() {
    let script = "CREATE TABLE facts (id int PRIMARY KEY, v bigint, w bigint, list bigint[]);
        INSERT INTO facts SELECT n, n::bigint * 100000, n, NULL FROM generate_series(1, 50000) n;
        CREATE INDEX facts_v ON facts (v); CREATE TABLE pairs (a bigint, b bigint); ANALYZE facts";
    let server = support::Postgres::with(script).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    for clause in [
        json!({ "v": { "eq": 100_000 } }),
        json!({ "v": { "in": [100_000, 200_000] } }),
        json!({ "v": { "lt": 300_000 } }),
        json!({ "v": { "gte": 2_147_400_000 } }),
        json!({ "v": { "between": [100_000, 300_000] } }),
    ] {
        let query = super::plans::planned(&catalog, &database, "t.row", &json!({ "where": clause }));
        let plans = database.analyze(&query, store::run::PlanDetail::Figures).await.expect("a plan");
        assert!(plans[0].1.iter().any(|line| line.contains("facts_v")), "{clause}: {plans:#?}");
    }
    drop(database);
    server.drop().await;
}
