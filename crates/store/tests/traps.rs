//! What bit others (`traps.md`): statements whose answer or failure would depend on the rows a database holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "traps/collations.rs"]
mod collations;
#[path = "traps/crowds.rs"]
mod crowds;
#[path = "traps/derived.rs"]
mod derived;
#[path = "traps/doubles.rs"]
mod doubles;
#[path = "traps/drift.rs"]
mod drift;
#[path = "traps/grants.rs"]
mod grants;
#[path = "traps/json_dates.rs"]
mod json_dates;
#[path = "traps/links.rs"]
mod links;
#[path = "traps/nulls.rs"]
mod nulls;
#[path = "traps/pairs.rs"]
mod pairs;
#[path = "traps/paths.rs"]
mod paths;
#[path = "traps/periods.rs"]
mod periods;
#[path = "traps/pivots.rs"]
mod pivots;
#[path = "traps/plans.rs"]
mod plans;
#[path = "traps/read_as_text.rs"]
mod read_as_text;
#[path = "traps/scales.rs"]
mod scales;
#[path = "traps/singles.rs"]
mod singles;
mod support;
#[path = "traps/texts.rs"]
mod texts;
#[path = "traps/value_indexes.rs"]
mod value_indexes;
#[path = "traps/wide.rs"]
mod wide;

use query::catalog::Catalog;
use query::policy::{self, Viewer};
use query::{parse, plan, sql};
use serde_json::{Value, json};
use store::Database;
use store::run::Format;

async fn answer(catalog: &Catalog, database: &Database, resource: &str, query: &Value) -> Result<Value, String> {
    let viewer = Viewer::operator();
    let entrance = policy::authorize_read(catalog, catalog.by_name(resource).expect("a resource"), &viewer).expect("a way in");
    let body = parse::body(json!({ "query": query }).to_string().as_bytes()).expect("a body");
    let plan = plan::plan(entrance, body.query, plan::Operation::List, None).map_err(|error| error.to_string())?;
    let bytes =
        match Box::pin(database.run(sql::render(&plan, database.dialect()), Format::Json)).await.map_err(|error| error.to_string())? {
            store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => bytes.to_vec(),
            store::Answer::Chunks(chunks) => support::whole(chunks).await.map_err(|error| error.to_string())?,
            store::Answer::Nothing => return Err("nothing".to_owned()),
        };
    serde_json::from_slice(&bytes).map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&bytes)))
}

/// A statement and what PostgreSQL and SQLite made of it.
type Compared = (Value, Result<Value, String>, Result<Value, String>);

/// The same statements on both databases, each with a script of its own.
async fn both(manifest: &str, postgres: &str, sqlite: &str, asked: &[Value]) -> Vec<Compared> {
    let server = support::Postgres::with(postgres).await;
    let file = support::Sqlite::with(sqlite);
    let databases = (support::open(&server.url), support::open(&file.url));
    let catalogs = (support::catalog(manifest, &databases.0).await, support::catalog(manifest, &databases.1).await);
    let mut answers = Vec::new();
    for query in asked {
        let first = answer(&catalogs.0, &databases.0, "t.row", query).await;
        answers.push((query.clone(), first, answer(&catalogs.1, &databases.1, "t.row", query).await));
    }
    drop(databases);
    server.drop().await;
    answers
}

fn agree(answers: &[Compared]) {
    let differing: Vec<String> = answers
        .iter()
        .filter(|(_, postgres, sqlite)| postgres.is_err() || postgres != sqlite)
        .map(|(query, postgres, sqlite)| format!("{query}\n  PostgreSQL {postgres:?}\n  SQLite     {sqlite:?}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

const ORDER: &str = r#"[{ "field": "id" }]"#;

fn asked(wheres: &[Value]) -> Vec<Value> {
    let order: Value = serde_json::from_str(ORDER).expect("JSON");
    wheres.iter().map(|clause| json!({ "where": clause, "order": order })).collect()
}

/// trap 3, contract Q14.3: a `json` column may hold what `jsonb` refuses; no cast of it fails a statement.
#[tokio::test(flavor = "multi_thread")]
async fn json_that_jsonb_refuses_fails_no_statement() {
    let manifest = &support::facts(&[("v", "json")]);
    let long = "1".repeat(140_000);
    let rows = r#"(1, '"a"'), (2, '"\u0000"'), (3, '1e200000'), (4, '[1, "\u0000"]'), (5, '{"a": 1}')"#.to_owned()
        + &format!(", (6, '0.{long}'), (7, '{{\"a\": {long}}}'), (8, '[1, {long}e-999]')");
    let answers = both(
        manifest,
        &format!("CREATE TABLE facts (id int PRIMARY KEY, v json); INSERT INTO facts VALUES {rows}"),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO facts VALUES {rows}"),
        &[
            json!({ "where": { "v": { "eq": "a" } } }),
            json!({ "where": { "v": { "in": ["a", 1] } } }),
            json!({ "where": { "v": { "contains": [1] } } }),
            json!({ "where": { "v": { "overlap": ["a", 1] } } }),
            json!({ "where": { "not": { "v": { "contains": [1] } } }, "aggregation": { "fields": [{ "fn": "count", "field": "*" }] } }),
        ],
    )
    .await;
    let failing: Vec<String> = answers
        .iter()
        .flat_map(|(query, postgres, sqlite)| [("PostgreSQL", query, postgres), ("SQLite", query, sqlite)])
        .filter_map(|(place, query, answer)| answer.as_ref().err().map(|error| format!("{place}: {query}: {error}")))
        .collect();
    assert!(failing.is_empty(), "{}", failing.join("\n"));
}

/// contract Q14.3: a database may take backslashes in literals for escapes. Those of our own statements mean the same there.
#[tokio::test(flavor = "multi_thread")]
async fn backslashes_are_no_escapes_whatever_the_database_says() {
    let manifest = &support::facts(&[("v", "json"), ("s", "text")]);
    let rows = r#"(1, '"a"', 'a\b'), (2, '"\u0000"', 'a_b'), (3, '[1, "\\u0000"]', 'a\\b'), (4, '{"a": 1}', 'ab')"#;
    let setting = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database()); END $$;";
    let mut wheres = Vec::new();
    for text in ["a\\b", "a\\\\b", "a\\_b", "a_b", "\\u0000"] {
        wheres.extend([json!({ "s": { "eq": text } }), json!({ "s": { "iLike": text } }), json!({ "v": { "contains": [text] } })]);
    }
    wheres.push(json!({ "v": { "in": ["a", 1] } }));
    let answers = both(
        manifest,
        &format!("{setting} CREATE TABLE facts (id int PRIMARY KEY, v json, s text); INSERT INTO facts VALUES {rows}"),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT, s TEXT); INSERT INTO facts VALUES {rows}"),
        &asked(&wheres),
    )
    .await;
    agree(&answers);
    let found = answers.iter().filter(|(_, rows, _)| rows.as_ref().is_ok_and(|rows| rows.as_array().is_some_and(|rows| !rows.is_empty())));
    assert!(found.count() > 5, "{answers:#?}");
}

/// trap 3, contract Q14.4: what merely looks like something that `jsonb` refuses is found in a `json` column.
#[tokio::test(flavor = "multi_thread")]
async fn json_that_only_looks_odd_is_compared() {
    let manifest = &support::facts(&[("v", "json")]);
    let rows = r#"(1, '"invoice2024"'), (2, '"\\u0000"'), (3, '"\ud83d\ude00"'), (4, '["say \"e99999\"", "line1234"]'),
        (5, '["\ud83d", 1]'), (6, '12e3'), (7, '"\\\\ud83d"'), (8, '["\ud83d\ude00\ud83d\ude01"]')"#;
    let answers = both(
        manifest,
        &format!("CREATE TABLE facts (id int PRIMARY KEY, v json); INSERT INTO facts VALUES {rows}"),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO facts VALUES {rows}"),
        &[
            json!({ "where": { "v": { "in": ["invoice2024", "\\u0000", "😀", 12000, "\\\\ud83d"] } }, "aggregation": { "fields": [{ "fn": "count", "field": "id" }] } }),
            json!({ "where": { "v": { "contains": ["line1234"] } }, "aggregation": { "fields": [{ "fn": "sum", "field": "id" }] } }),
            json!({ "where": { "v": { "overlap": ["😀😁", "say \"e99999\""] } }, "aggregation": { "fields": [{ "fn": "sum", "field": "id" }] } }),
        ],
    )
    .await;
    agree(&answers);
    let found: Vec<&Value> = answers.iter().map(|(_, postgres, _)| &postgres.as_ref().expect("rows")[0]).collect();
    assert_eq!(found, [&json!({ "count_id": 5 }), &json!({ "sum_id": 4 }), &json!({ "sum_id": 12 })]);
}

/// trap 3, contract Q14.3, contract Q13.4: nor does an element of an array of them, which is shown as it is stored.
#[tokio::test(flavor = "multi_thread")]
async fn arrays_of_json_fail_no_statement() {
    let manifest = &support::facts(&[("v", "json[]")]);
    let arrays = [r#"ARRAY['"a"', '1.50', '"\u0000"']"#, "ARRAY[]", "NULL", r#"ARRAY['{"b": 1.50, "a": [2.0]}', '"b"']"#];
    let texts = [r#"'["a", 1.50, "\u0000"]'"#, "'[]'", "NULL", r#"'[{"b": 1.50, "a": [2.0]}, "b"]'"#];
    let rows = |kind: &str, values: [&str; 4]| {
        let values = values.iter().enumerate().map(|(id, value)| format!("({id}, {value}{kind})"));
        format!("INSERT INTO facts VALUES {}", values.collect::<Vec<_>>().join(", "))
    };
    let order = json!([{ "field": "id" }]);
    let answers = both(
        manifest,
        &format!("CREATE TABLE facts (id int PRIMARY KEY, v json[]); {}", rows("::json[]", arrays)),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT); {}", rows("", texts)),
        &[
            json!({ "order": order, "where": { "id": { "gt": 0 } } }),
            json!({ "where": { "v": { "contains": ["a", 1.5] } }, "aggregation": { "fields": [{ "fn": "count", "field": "id" }] } }),
            json!({ "order": order, "where": { "v": { "overlap": ["b", 7] } } }),
            json!({ "where": { "v": { "contains": [] } }, "aggregation": { "fields": [{ "fn": "count", "field": "id" }] } }),
            json!({ "order": order, "where": { "not": { "v": { "overlap": ["a"] } } } }),
        ],
    )
    .await;
    agree(&answers);
    assert_eq!(answers[1].1, Ok(json!([{ "count_id": 1 }])));
    assert_eq!(answers[2].1.as_ref().expect("rows").as_array().map(Vec::len), Some(1));
    assert_eq!(answers[3].1, Ok(json!([{ "count_id": 3 }])));
    assert_eq!(answers[4].1.as_ref().expect("rows").as_array().map(Vec::len), Some(2));
    let shown = answers[0].1.as_ref().expect("rows").to_string();
    assert!(shown.contains("\"a\":[2.0]"), "{shown}");
}

/// contract P2.1: a flag marks a row as deleted when it is true.
#[tokio::test(flavor = "multi_thread")]
async fn a_flag_deletes_when_it_is_true() {
    let manifest = "[resource.t.row]\ntable = \"facts\"\nsoft-delete = \"gone\"\n[resource.t.row.fields]\n\
                    id = { type = \"int\", key = true }\ngone = \"bool\"\n";
    let answers = both(
        manifest,
        "CREATE TABLE facts (id int PRIMARY KEY, gone bool); INSERT INTO facts VALUES (1, true), (2, false), (3, NULL)",
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, gone INTEGER); INSERT INTO facts VALUES (1, 1), (2, 0), (3, NULL), \
         (4, 'true'), (5, 't'), (6, 2)",
        &[json!({ "order": [{ "field": "id" }] })],
    )
    .await;
    agree(&answers);
    assert_eq!(answers[0].1, Ok(json!([{ "id": 2, "gone": false }, { "id": 3, "gone": null }])));
}

/// contract Q14.4: a native enum that is declared as a text sorts as it compares.
#[tokio::test(flavor = "multi_thread")]
async fn an_enum_that_is_read_as_text_sorts_as_text() {
    let manifest = &support::facts(&[("v", "text")]);
    let rows = "INSERT INTO facts VALUES (1, 'sad'), (2, 'ok'), (3, 'happy')";
    let answers = both(
        manifest,
        &format!("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE facts (id int PRIMARY KEY, v mood); {rows}"),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT); {rows}"),
        &[
            json!({ "order": [{ "field": "v" }] }),
            json!({ "where": { "v": { "gt": "ok" } } }),
            json!({ "aggregation": { "fields": [{ "fn": "min", "field": "v" }, { "fn": "max", "field": "v" }] } }),
        ],
    )
    .await;
    agree(&answers);
    assert_eq!(answers[2].1, Ok(json!([{ "min_v": "happy", "max_v": "sad" }])));
}

/// trap 9, contract Q14.3, contract Q13.2: sums of floats that leave the doubles, NaN and the infinities are null, not an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_sum_of_floats_that_overflows_is_null() {
    let manifest = &support::facts(&[("v", "float")]);
    let functions = ["sum", "avg", "min", "max", "count"];
    let fields: Vec<Value> = functions.iter().map(|function| json!({ "fn": function, "field": "v" })).collect();
    let answers = both(
        manifest,
        "CREATE TABLE facts (id int PRIMARY KEY, v float8); INSERT INTO facts VALUES (1, 1.7e308), (2, 1.7e308), (3, 1)",
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, v REAL); INSERT INTO facts VALUES (1, 1.7e308), (2, 1.7e308), (3, 1)",
        &[json!({ "aggregation": { "fields": fields[..1] } }), json!({ "aggregation": { "fields": fields[2..] } })],
    )
    .await;
    agree(&answers);
    assert_eq!(answers[0].1, Ok(json!([{ "sum_v": null }])));
}

/// trap 9, contract Q14.3: tiny floats fail no sum, and both databases add up alike.
#[tokio::test(flavor = "multi_thread")]
async fn sums_of_floats_are_the_same_on_both_databases() {
    let manifest = &support::facts(&[("kind", "int"), ("v", "float")]);
    let rows = "INSERT INTO facts VALUES (1, 1, 1e-305), (2, 1, 1), (3, 2, 5e-324), (4, 2, 5e-324), (5, 3, 0.1), (6, 3, 0.2), (7, 3, 0.3), \
                (8, 4, 1e16), (9, 4, 1), (10, 4, -1e16), (11, 5, NULL)";
    let answers = both(
        manifest,
        &format!("CREATE TABLE facts (id int PRIMARY KEY, kind int, v float8); {rows}"),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, kind INTEGER, v REAL); {rows}"),
        &[json!({
            "aggregation": { "fields": [{ "fn": "sum", "field": "v" }, { "fn": "avg", "field": "v" }], "groupBy": ["kind"] },
            "order": [{ "field": "kind" }]
        })],
    )
    .await;
    agree(&answers);
    let sums: Vec<&Value> = answers[0].1.as_ref().unwrap().as_array().unwrap().iter().map(|group| &group["sum_v"]).collect();
    assert_eq!(sums[0], &json!(1), "what is too small counts for nothing");
    assert_eq!(sums[4], &Value::Null);
}

/// contract Q11.1: relation filters in each other are not compared row by row where a table has no statistics.
#[tokio::test(flavor = "multi_thread")]
async fn ten_relation_filters_in_each_other_are_answered() {
    let manifest = "[resource.t.row]\ntable = \"things\"\nsoft-delete = \"deletedAt\"\n[resource.t.row.fields]\n\
                    id = { type = \"int\", key = true }\nparentId = \"int\"\ndeletedAt = \"timestamp\"\n\
                    [resource.t.row.relations]\nchildren = { many = \"t.row\", on = { id = \"parentId\" } }\n";
    let nested = |levels, innermost: Value| (0..levels).fold(innermost, |inner, _| json!({ "children": inner }));
    let asked = asked(&[nested(10, json!({})), json!({ "not": nested(9, json!({ "id": { "gt": 3 } })) })]);
    // Wide rows without statistics: PostgreSQL expects one of each table.
    let columns: Vec<String> = (0..40).map(|number| format!("c{number} text")).collect();
    let script = |series: &str| {
        let columns = columns.join(", ");
        format!(
            "CREATE TABLE things (id INTEGER PRIMARY KEY, parent_id INTEGER, deleted_at TIMESTAMPTZ, {columns}); \
             INSERT INTO things (id, parent_id) {series}"
        )
    };
    let postgres = script("SELECT n, CASE WHEN n > 20 THEN n END FROM generate_series(1, 24) n");
    let sqlite =
        script("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 24) SELECT n, CASE WHEN n > 20 THEN n END FROM n");
    agree(&both(manifest, &postgres, &sqlite, &asked).await);
}

/// trap 9, contract Q13.2: NaN and the infinities of a numeric read as null and disturb nothing but their own sums.
#[tokio::test(flavor = "multi_thread")]
async fn numerics_that_are_no_numbers_read_as_null() {
    let server = support::Postgres::with(
        "CREATE TABLE facts (id int PRIMARY KEY, v numeric); INSERT INTO facts VALUES (1, 'NaN'), (2, 1.50), (3, 2)",
    )
    .await;
    let database = support::open(&server.url);
    let manifest = &support::facts(&[("v", "decimal")]);
    let catalog = support::catalog(manifest, &database).await;
    let rows = answer(&catalog, &database, "t.row", &json!({ "order": [{ "field": "id" }] })).await;
    assert_eq!(rows, Ok(json!([{ "id": 1, "v": null }, { "id": 2, "v": "1.50" }, { "id": 3, "v": "2" }])));
    let fields = json!([{ "fn": "sum", "field": "v" }, { "fn": "avg", "field": "v" }, { "fn": "max", "field": "v" }]);
    let sums = answer(&catalog, &database, "t.row", &json!({ "aggregation": { "fields": fields } })).await;
    assert_eq!(sums, Ok(json!([{ "sum_v": null, "avg_v": null, "max_v": null }])));
    drop(database);
    server.drop().await;
}

/// trap 9, contract Q10.6, contract Q10.5: a mean of large numbers keeps sixteen decimals, a sum every digit.
#[tokio::test(flavor = "multi_thread")]
async fn means_and_sums_of_large_numbers_are_exact() {
    let manifest = &support::facts(&[("v", "decimal"), ("b", "bigint")]);
    let rows = |quote: &str| {
        let v = ["100000000000000000000.01", "0.01", "0.333"].map(|digits| format!("{quote}{digits}{quote}"));
        format!("(1, {}, 9223372036854775807), (2, {}, 9223372036854775807), (3, {}, 1)", v[0], v[1], v[2])
    };
    let fields =
        json!([{ "fn": "sum", "field": "v" }, { "fn": "avg", "field": "v" }, { "fn": "sum", "field": "b" }, { "fn": "avg", "field": "b" }]);
    let answers = both(
        manifest,
        &format!("CREATE TABLE facts (id int PRIMARY KEY, v numeric, b bigint); INSERT INTO facts VALUES {}", rows("")),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT, b INTEGER); INSERT INTO facts VALUES {}", rows("'")),
        &[json!({ "aggregation": { "fields": fields } })],
    )
    .await;
    agree(&answers);
    let expected = json!([{
        "sum_v": "100000000000000000000.353",
        "avg_v": "33333333333333333333.451",
        "sum_b": "18446744073709551615",
        "avg_b": "6148914691236517205",
    }]);
    assert_eq!(answers[0].1, Ok(expected));
}

/// trap 5, trap 8, contract Q3.7, contract Q3.9: lists whose texts look like numbers, and lists in lists.
#[tokio::test(flavor = "multi_thread")]
async fn lists_are_compared_by_value_on_both_databases() {
    let manifest = &support::facts(&[("t", "text[]"), ("j", "json")]);
    let answers = both(
        manifest,
        r#"CREATE TABLE facts (id int PRIMARY KEY, t text[], j jsonb); INSERT INTO facts VALUES
           (1, '{1.50,a}', '["1.50", 1.50]'), (2, '{1.5}', '[[1], 2]'), (3, '{"1e2",NULL}', '{"1": 2}'), (4, '{}', '[1e2]'), (5, NULL, NULL)"#,
        r#"CREATE TABLE facts (id INTEGER PRIMARY KEY, t TEXT, j TEXT); INSERT INTO facts VALUES
           (1, '["1.50","a"]', '["1.50", 1.50]'), (2, '["1.5"]', '[[1], 2]'), (3, '["1e2",null]', '{"1": 2}'), (4, '[]', '[1e2]'), (5, NULL, NULL)"#,
        &asked(&[
            json!({ "t": { "contains": "1.5" } }),
            json!({ "t": { "overlap": ["100", "1.500"] } }),
            json!({ "not": { "t": { "overlap": ["1.5"] } } }),
            json!({ "j": { "contains": [1.5] } }),
            json!({ "j": { "contains": ["1.5"] } }),
            json!({ "j": { "overlap": [1, 100, "1"] } }),
            json!({ "not": { "j": { "overlap": [1, 100] } } }),
        ]),
    )
    .await;
    // json is written as each database keeps it; the rows are what counts here.
    let rows = |answer: &Result<Value, String>| -> Vec<Value> {
        let rows = answer.as_ref().unwrap_or_else(|error| panic!("{error}"));
        rows.as_array().expect("rows").iter().map(|row| row["id"].clone()).collect()
    };
    let differing: Vec<String> = answers
        .iter()
        .map(|(query, postgres, sqlite)| (query, rows(postgres), rows(sqlite)))
        .filter(|(_, postgres, sqlite)| postgres != sqlite)
        .map(|(query, postgres, sqlite)| format!("{query}\n  PostgreSQL {postgres:?}\n  SQLite     {sqlite:?}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// trap 14, contract Q14.2: lists of every length share one prepared text, and ten thousand values are one parameter.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_values_are_one_parameter() {
    let manifest = &support::facts(&[]);
    let values: Vec<i32> = (1..=10_000).collect();
    let answers = both(
        manifest,
        "CREATE TABLE facts (id int PRIMARY KEY); INSERT INTO facts SELECT generate_series(9999, 10001)",
        "CREATE TABLE facts (id INTEGER PRIMARY KEY); INSERT INTO facts VALUES (9999), (10000), (10001)",
        &asked(&[json!({ "id": { "in": values } }), json!({ "id": { "notIn": values } }), json!({ "id": { "in": [10_001] } })]),
    )
    .await;
    agree(&answers);
    assert_eq!(answers[1].1, Ok(json!([{ "id": 10_001 }])));
}

/// trap 10, contract Q13.3, contract Q5.3: a timestamp reads the same with and without a time zone, nested or not, whatever the session's zone.
#[tokio::test(flavor = "multi_thread")]
async fn timestamps_do_not_depend_on_the_session() {
    let relations =
        "[resource.t.row.relations]\nself = { one = \"t.row\", on = { id = \"id\" } }\npeers = { many = \"t.row\", on = { z = \"p\" } }\n";
    let manifest = &(support::facts(&[("z", "timestamp"), ("p", "timestamp")]) + relations);
    let answers = both(
        manifest,
        "CREATE TABLE facts (id int PRIMARY KEY, z timestamptz, p timestamp); CREATE INDEX ON facts (z); CREATE INDEX ON facts (p);
         INSERT INTO facts VALUES (1, '2024-02-29T23:30:00.120000Z', '2024-02-29 23:30:00.12'), (2, '2024-03-01T00:00:00+05:45', '2024-03-01')",
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, z TEXT, p TEXT); CREATE INDEX z ON facts (z); CREATE INDEX p ON facts (p);
         INSERT INTO facts VALUES (1, '2024-02-29T23:30:00.120000Z', '2024-02-29T23:30:00.120000Z'), (2, '2024-02-29T18:15:00.000000Z', '2024-03-01T00:00:00.000000Z')",
        &[
            json!({ "order": [{ "field": "z" }], "relations": { "self": true, "peers": true } }),
            json!({ "where": { "z": { "lt": "2024-02-29T18:15:00.000001" }, "p": { "eq": "2024-03-01" } } }),
            json!({ "where": { "peers": { "p": { "eq": "2024-02-29T23:30:00.12Z" } } } }),
            json!({ "aggregation": { "fields": [{ "fn": "min", "field": "p" }, { "fn": "max", "field": "z" }], "groupBy": ["p"] }, "order": [{ "field": "p" }] }),
        ],
    )
    .await;
    agree(&answers);
    let first = &answers[0].1.as_ref().expect("rows")[1];
    assert_eq!(first["self"]["z"], first["z"]);
    assert_eq!(first["z"], "2024-02-29T23:30:00.12Z");
    assert_eq!(first["peers"][0]["p"], "2024-02-29T23:30:00.12Z");
}
