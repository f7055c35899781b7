//! A `float` on SQLite whose column keeps integers of more digits than a double has: what counts is the double that is shown.

use serde_json::{Value, json};

use super::{agree, both};

const MANIFEST: &str = r#"
[resource.t.row]
table = "facts"
[resource.t.row.fields]
id = { type = "int", key = true }
v = "float"
w = "float"
[resource.t.row.relations]
equal = { many = "t.row", on = { v = "w" } }
paired = { many = "t.row", through = "pairs", on = { v = "a" }, to = { b = "id" } }
"#;

/// 2^53 and what is next to it on both sides, as integers and as doubles.
const ROWS: &str = "(1, 9007199254740993, 9007199254740992.0), (2, 9007199254740992, 9007199254740993), (3, 9007199254740991, 1),
    (4, -9007199254740993, 9007199254740994), (5, 9223372036854775807, -9007199254740992), (6, 9223372036854775807.0, 3), (7, 3, 3.0),
    (8, 9007199254740995, NULL), (9, NULL, 9007199254740996), (10, 9007199254740996.0, 9007199254740995)";
const PAIRS: &str =
    "INSERT INTO pairs VALUES (9007199254740993, 1), (9007199254740992.0, 2), (3, 3), (9223372036854775807, 4), (9007199254740991, 5)";

fn wheres() -> Vec<Value> {
    let numbers = [
        9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        9_007_199_254_740_996.0,
        9_223_372_036_854_775_807.0,
        3.0,
        -9_007_199_254_740_992.0,
    ];
    let mut all = Vec::new();
    for number in numbers {
        all.extend(["eq", "ne", "gt", "gte", "lt", "lte"].map(|operator| json!({ "v": { operator: number } })));
        all.push(json!({ "v": { "gte": number, "lte": number } }));
        all.push(json!({ "v": { "between": [number, 9_007_199_254_740_994.0] } }));
        all.push(json!({ "v": { "in": [number, null, 1.5] } }));
        all.push(json!({ "v": { "notIn": [number] } }));
    }
    all.extend([
        json!({ "v": { "in": [] } }),
        json!({ "v": { "in": [null] } }),
        json!({ "v": { "eq": null } }),
        json!({ "equal": {} }),
        json!({ "paired": {} }),
    ]);
    let negated: Vec<Value> = all.iter().map(|clause| json!({ "not": clause })).collect();
    all.extend(negated);
    all
}

/// contract Q5.5, contract Q14.4
#[tokio::test(flavor = "multi_thread")]
async fn a_float_is_compared_as_the_double_that_is_shown() {
    let order = json!([{ "field": "id" }]);
    let mut questions: Vec<Value> = wheres().into_iter().map(|clause| json!({ "where": clause, "order": order })).collect();
    for relation in ["equal", "paired"] {
        questions.push(json!({ "order": order, "relations": { relation: { "order": order } } }));
        questions.push(json!({ "order": order, "relations": { relation: { "order": order, "limit": 1 } } }));
    }
    questions.push(json!({ "order": [{ "field": "v" }], "aggregation": { "fields": [{ "fn": "count", "field": "*" }, { "fn": "max", "field": "w" }], "groupBy": ["v"] } }));
    for declared in ["INTEGER", "NUMERIC", "REAL", ""] {
        let answers = both(
            MANIFEST,
            &format!(
                "CREATE TABLE facts (id int PRIMARY KEY, v float8, w float8); INSERT INTO facts VALUES {ROWS}; CREATE TABLE pairs (a float8, b int); {PAIRS}"
            ),
            &format!(
                "CREATE TABLE facts (id INTEGER PRIMARY KEY, v {declared}, w {declared}); INSERT INTO facts VALUES {ROWS};
                 CREATE TABLE pairs (a {declared}, b INTEGER); {PAIRS}; CREATE INDEX facts_v ON facts (v)"
            ),
            &questions,
        )
        .await;
        agree(&answers);
    }
}
