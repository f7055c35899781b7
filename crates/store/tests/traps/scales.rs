//! Equal decimals with different scales: an answer shows the largest scale, whichever row comes first.

use serde_json::{Value, json};

use crate::{agree, both};

const MANIFEST: &str = r#"
[resource.t.row]
table = "facts"
[resource.t.row.fields]
id = { type = "int", key = true }
low = { min = "items.d" }
high = { max = "items.d" }
inner = { max = "items.half" }
[resource.t.row.relations]
items = { many = "t.item", on = { id = "rowId" } }
[resource.t.item]
table = "items"
[resource.t.item.fields]
id = { type = "int", key = true }
rowId = "int"
d = "decimal"
v = "json"
half = { json = "v", path = ["half"], type = "decimal" }
"#;

/// contract Q10.7, contract Q14.4: `min`, `max` and a group key have the largest scale of the values that equal them.
#[tokio::test(flavor = "multi_thread")]
async fn equal_decimals_show_their_largest_scale() {
    let values = [
        (1, "'1.0'"),
        (1, "'1.00'"),
        (1, "'1'"),
        (2, "'1.00'"),
        (2, "'1.0'"),
        (3, "'0'"),
        (3, "'0.00000'"),
        (3, "'0.0'"),
        (4, "'-2.50'"),
        (4, "'-2.5'"),
        (4, "'7'"),
        (4, "'7.000'"),
        (5, "NULL"),
        (5, "'12345678901234567890.10'"),
        (5, "'12345678901234567890.1'"),
    ];
    let rows: Vec<String> = (1..)
        .zip(values)
        .map(|(id, (row, value))| format!("({id}, {row}, {value}, '{{\"half\": {}}}')", value.trim_matches('\'').replace("NULL", "null")))
        .collect();
    let script = |decimal: &str, json: &str| {
        format!(
            "CREATE TABLE facts (id int PRIMARY KEY); INSERT INTO facts VALUES (1), (2), (3), (4), (5), (6);
             CREATE TABLE items (id int PRIMARY KEY, row_id int, d {decimal}, v {json}); INSERT INTO items VALUES {}",
            rows.join(", ")
        )
    };
    let order = json!([{ "field": "id" }]);
    let asked = [
        json!({ "order": order }),
        json!({ "order": [{ "field": "low" }, { "field": "high", "dir": "desc" }, { "field": "id" }] }),
        json!({ "where": { "high": { "eq": "1.000" } }, "order": order }),
        json!({ "aggregation": { "groupBy": ["low"], "fields": [{ "fn": "count", "field": "*" }, { "fn": "max", "field": "high" }] }, "order": [{ "field": "low" }] }),
        json!({ "aggregation": { "groupBy": ["items.d"], "fields": [{ "fn": "count", "field": "*" }, { "fn": "min", "field": "items.d" }] } , "order": [] }),
        json!({ "aggregation": { "fields": [{ "fn": "min", "field": "items.d" }, { "fn": "max", "field": "items.d" }, { "fn": "max", "field": "items.half" }] } }),
    ];
    let sorted = |answers: Vec<_>| -> Vec<_> {
        let sort = |answer: Result<Value, String>| {
            answer.map(|rows| {
                let mut rows = rows.as_array().cloned().unwrap_or_default();
                rows.sort_by_key(Value::to_string);
                Value::Array(rows)
            })
        };
        answers.into_iter().map(|(query, first, second)| (query, sort(first), sort(second))).collect()
    };
    for json in ["jsonb", "json"] {
        let answers = both(MANIFEST, &script("numeric", json), &script("TEXT", "TEXT"), &asked).await;
        agree(&answers[..4]);
        agree(&sorted(answers.clone()));
        let rows = answers[0].1.as_ref().expect("rows").as_array().expect("rows");
        let shown: Vec<_> = rows.iter().map(|row| (row["low"].as_str(), row["high"].as_str(), row["inner"].as_str())).collect();
        let large = Some("12345678901234567890.10");
        assert_eq!(
            shown,
            [
                (Some("1.00"), Some("1.00"), Some("1.00")),
                (Some("1.00"), Some("1.00"), Some("1.00")),
                (Some("0.00000"), Some("0.00000"), Some("0.00000")),
                (Some("-2.50"), Some("7.000"), Some("7.000")),
                (large, large, large),
                (None, None, None),
            ],
            "{json}"
        );
        assert_eq!(answers[3].1.as_ref().map(|groups| groups[2]["low"].clone()), Ok(json!("1.00")));
    }
    // A column of one scale.
    let fixed = script("numeric(24, 3)", "jsonb").replace("'12345678901234567890", "'1234567890");
    let answers = both(MANIFEST, &fixed, &script("TEXT", "TEXT"), &asked[..1]).await;
    assert_eq!(answers[0].1.as_ref().map(|rows| rows[3]["low"].clone()), Ok(json!("-2.500")));
}
