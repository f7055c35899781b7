//! Dates, times and timestamps inside json: the same strings are values on both databases.

use query::json::text;
use serde_json::{Value, json};

use crate::{agree, both, support};

const TEXTS: [&str; 62] = [
    "2024-02-29",
    "2023-02-29",
    "1900-02-29",
    "2000-02-29",
    "0000-01-01",
    "0000-02-29",
    "0001-01-01",
    "9999-12-31",
    "2024-13-01",
    "2024-00-10",
    "2024-04-31",
    "2024-04-00",
    "2024-1-1",
    "20240229",
    "2024-02-29 ",
    " 2024-02-29",
    "2024-02-29\n",
    "２０２４-02-29",
    "x",
    "",
    "infinity",
    "now",
    "12:30:00",
    "00:00:00",
    "23:59:59.999999",
    "12:30:00.5",
    "12:30:00.000001",
    "12:30:00.1234567",
    "12:30:00.",
    "24:00:00",
    "23:59:60",
    "12:30",
    "12:30:00Z",
    "2024-02-29T12:30:00Z",
    "2024-02-29t12:30:00z",
    "2024-02-29 12:30:00",
    "2024-02-29T12:30:00",
    "2024-02-29T12:30:00.25Z",
    "2024-02-29T12:30:00.123456789Z",
    "2024-02-29T12:30:00.1234565Z",
    "2024-02-29T12:30:00.1234564999Z",
    "2024-02-29T23:59:59.9999995Z",
    "2024-02-29T12:30:00+02:00",
    "2024-02-29T12:30:00.5-05:30",
    "2024-02-29T12:30:00-0030",
    "2024-02-29T12:30:00-00:30",
    "2024-02-29T12:30:00+23",
    "2024-02-29T12:30:00+24",
    "2024-02-29T12:30:00+00:60",
    "2024-02-29T12:30:00+1",
    "2024-02-29T12:30:00 Z",
    "2024-02-29T12:30Z",
    "2024-02-29T24:00:00Z",
    "2024-02-29T23:59:60Z",
    "2023-02-29T12:30:00Z",
    "2024-02-29T12:30:00.Z",
    "0001-01-01T00:00:00+00:01",
    "0001-01-01T00:00:00-00:01",
    "9999-12-31T23:59:59-01:00",
    "9999-12-31T23:59:59.9999994Z",
    "9999-12-31T23:59:59.9999996Z",
    "2024-02-29T12:30:00Z[Europe/Berlin]",
];

fn values(rows: &Result<Value, String>, field: &str) -> Vec<(String, String)> {
    let rows = rows.as_ref().expect("rows").as_array().expect("rows").iter();
    let shown = rows
        .filter(|row| !row[field].is_null())
        .map(|row| (row["raw"].as_str().unwrap_or_default().to_owned(), row[field].as_str().unwrap_or_default().to_owned()));
    shown.collect()
}

/// contract P5.4, contract Q5.3: a string inside json is a date if a statement takes it for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_date_inside_json_is_what_a_statement_takes() {
    let fields = "raw = { json = \"v\", path = [\"at\"], type = \"text\" }\nd = { json = \"v\", path = [\"at\"], type = \"date\" }\n\
                  tm = { json = \"v\", path = [\"at\"], type = \"time\" }\nts = { json = \"v\", path = [\"at\"], type = \"timestamp\" }\n";
    let manifest = support::facts(&[("v", "json")]) + fields;
    let documents = TEXTS.iter().map(|value| format!("{{\"at\": {}}}", text(value)));
    let others = ["{\"at\": 20240229}", "{\"at\": null}", "{\"at\": [\"2024-02-29\"]}", "{\"other\": \"2024-02-29\"}", "\"2024-02-29\""];
    let documents = documents.chain(others.map(str::to_owned)).enumerate();
    let rows: Vec<String> = documents.map(|(id, document)| format!("({id}, '{document}')")).collect();
    let script = |kind: &str| format!("CREATE TABLE facts (id int PRIMARY KEY, v {kind}); INSERT INTO facts VALUES {}", rows.join(", "));
    let order = json!([{ "field": "id" }]);
    let mut asked = vec![json!({ "order": order })];
    for (field, low, value) in
        [("d", "2000-01-01", "2024-02-29"), ("tm", "12:00:00", "12:30:00.5"), ("ts", "2024-01-01", "2024-02-29T12:30:00.123457Z")]
    {
        asked.extend([
            json!({ "where": { field: { "eq": value } }, "order": order }),
            json!({ "where": { field: { "gt": low } }, "order": [{ "field": field, "dir": "desc" }, { "field": "id" }] }),
            json!({ "where": { "not": { field: { "in": [value] } } }, "order": [{ "field": field }, { "field": "id" }] }),
            json!({ "where": { field: { "isNull": true } }, "order": order }),
            json!({ "aggregation": { "groupBy": [field], "fields": [{ "fn": "count", "field": "*" }, { "fn": "max", "field": field }] }, "order": [{ "field": field }] }),
        ]);
    }
    for kind in ["jsonb", "json"] {
        let answers = both(&manifest, &script(kind), &script("TEXT"), &asked).await;
        agree(&answers);
        let all = &answers[0].1;
        let said = |values: Vec<(String, String)>| values.into_iter().map(|(raw, _)| raw).collect::<Vec<_>>();
        assert_eq!(said(values(all, "d")), ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"], "{kind}");
        assert_eq!(
            values(all, "tm"),
            [
                ("12:30:00", "12:30:00"),
                ("00:00:00", "00:00:00"),
                ("23:59:59.999999", "23:59:59.999999"),
                ("12:30:00.5", "12:30:00.5"),
                ("12:30:00.000001", "12:30:00.000001"),
            ]
            .map(|(raw, shown)| (raw.to_owned(), shown.to_owned())),
            "{kind}"
        );
        let instants = values(all, "ts");
        for (raw, shown) in [
            ("2024-02-29", "2024-02-29T00:00:00Z"),
            ("2024-02-29T12:30:00.1234565Z", "2024-02-29T12:30:00.123457Z"),
            ("2024-02-29T12:30:00.1234564999Z", ""),
            ("2024-02-29T23:59:59.9999995Z", "2024-03-01T00:00:00Z"),
            ("2024-02-29T12:30:00.5-05:30", "2024-02-29T18:00:00.5Z"),
            ("2024-02-29T12:30:00-0030", "2024-02-29T13:00:00Z"),
            ("0001-01-01T00:00:00-00:01", "0001-01-01T00:01:00Z"),
            ("0001-01-01T00:00:00+00:01", ""),
            ("9999-12-31T23:59:59.9999996Z", ""),
        ] {
            let found = instants.iter().find(|(other, _)| other == raw).map_or("", |(_, shown)| shown);
            assert_eq!(found, shown, "{kind} {raw}");
        }
    }
}

/// contract P5.4, contract P3.3: a document with arrays in more than 256 levels fails nothing, and is read to that depth.
#[tokio::test(flavor = "multi_thread")]
async fn a_deeply_nested_document_fails_no_statement() {
    let manifest = support::facts(&[("v", "json")]) + "a = { json = \"v\", path = [\"a\"], type = \"int\" }\n";
    let nested = |depth: usize| format!("{{\"d\": {}{}, \"a\": 7}}", "[".repeat(depth), "]".repeat(depth));
    let rows: Vec<String> =
        [1, 100, 250, 300, 5_000].iter().enumerate().map(|(id, depth)| format!("({id}, '{}')", nested(*depth))).collect();
    let script = |kind: &str| format!("CREATE TABLE facts (id int PRIMARY KEY, v {kind}); INSERT INTO facts VALUES {}", rows.join(", "));
    // Groups show the key alone: our own reader of answers takes no such document.
    let groups = json!({ "groupBy": ["id"], "fields": [{ "fn": "count", "field": "*" }] });
    let asked = [json!({ "where": { "a": { "eq": 7 } }, "aggregation": groups, "order": [{ "field": "id" }] })];
    let ids = |answer: &Result<Value, String>| -> Vec<Value> {
        answer.as_ref().expect("rows").as_array().expect("rows").iter().map(|row| row["id"].clone()).collect()
    };
    for (kind, expected) in [("json", vec![0, 1, 2]), ("jsonb", vec![0, 1, 2, 3, 4])] {
        for (_, postgres, sqlite) in both(&manifest, &script(kind), &script("TEXT"), &asked).await {
            assert_eq!(ids(&postgres), expected, "{kind}");
            assert_eq!(ids(&sqlite), [0, 1, 2], "SQLite");
        }
    }
}

/// contract P5.4: a string of json that is no value of an enum is null wherever the field is used.
#[tokio::test(flavor = "multi_thread")]
async fn a_string_that_is_no_value_of_an_enum_is_null_in_json() {
    let manifest =
        support::facts(&[("v", "json")]) + "k = { json = \"v\", path = [\"k\"], type = \"enum\", values = [\"x\", \"y\", \"it's\"] }\n";
    let rows = r#"(1, '{"k": "y"}'), (2, '{"k": "weird"}'), (3, '{"k": ""}'), (4, '{"k": "x"}'), (5, '{}'), (6, '{"k": "it''s"}'), (7, '{"k": "zz"}')"#;
    let script = |kind: &str| format!("CREATE TABLE facts (id int PRIMARY KEY, v {kind}); INSERT INTO facts VALUES {rows}");
    let asked = [
        json!({ "order": [{ "field": "k" }, { "field": "id" }] }),
        json!({ "order": [{ "field": "k", "dir": "desc" }, { "field": "id" }] }),
        json!({ "where": { "k": { "isNull": true } }, "order": [{ "field": "id" }] }),
        json!({ "where": { "not": { "k": { "eq": "x" } } }, "order": [{ "field": "id" }] }),
        json!({ "where": { "k": { "iLike": "%" } }, "order": [{ "field": "id" }] }),
        json!({ "aggregation": { "groupBy": ["k"], "fields": [{ "fn": "count", "field": "*" }, { "fn": "min", "field": "k" }] }, "order": [{ "field": "k" }] }),
    ];
    for kind in ["jsonb", "json"] {
        let answers = both(&manifest, &script(kind), &script("TEXT"), &asked).await;
        agree(&answers);
        let ids: Vec<_> = answers[0].1.as_ref().expect("rows").as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
        assert_eq!(ids, [6, 4, 1, 2, 3, 5, 7].map(Value::from), "{kind}");
    }
}
