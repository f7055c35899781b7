//! SQLite keeps whatever it is given. A stored value that does not fit its field's type reads as null, matches nothing, and never
//! fails a query: a table of invalid_values must answer every statement exactly as the same table with NULL in their place. PostgreSQL keeps
//! invalid_values of enums only.
//!
//! Sorting is the one exception (decision 0004): it goes by what is stored, and only fitting values have a place they can count on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
#[path = "invalid_values/values.rs"]
mod values;

use std::fmt::Write;

use query::catalog::Catalog;
use query::policy::{self, Viewer};
use query::{parse, plan, sql};
use serde_json::{Value, json};
use store::Database;
use store::run::Format;
use values::{KINDS, Kind, STORED};

/// A field `v` of one type over a column of one declaration, kept twice: as it came, and with NULL for what does not fit.
struct Twins {
    _file: Option<support::Sqlite>,
    catalog: Catalog,
    database: Database,
}

fn manifest(kind: &Kind) -> String {
    let resource = |name: &str| {
        format!(
            "[resource.t.{name}]\ntable = \"{name}\"\n[resource.t.{name}.fields]\nid = {{ type = \"int\", key = true }}\nv = {}\n\
             [resource.t.{name}.relations]\nsame = {{ many = \"t.{name}\", on = {{ v = \"v\" }} }}\n\
             paired = {{ many = \"t.{name}\", through = \"{name}_pairs\", on = {{ v = \"a\" }}, to = {{ b = \"v\" }} }}\n",
            kind.declaration
        )
    };
    let kin = |name: &str| {
        kind.kin().map_or_else(String::new, |declaration| {
            format!(
                "kin = {{ many = \"t.{name}Kin\", on = {{ v = \"v\" }} }}\n[resource.t.{name}Kin]\ntable = \"{name}\"\n\
                 [resource.t.{name}Kin.fields]\nid = {{ type = \"int\", key = true }}\nv = {declaration}\n"
            )
        })
    };
    let text = ["dirty", "clean"].map(|name| resource(name) + &kin(name)).concat();
    if kind.links { text } else { text.lines().filter(|line| !line.contains(" many = ")).collect::<Vec<_>>().join("\n") }
}

/// The script of both tables; `invalid_values` are the ids whose value is replaced by NULL in the clean one.
fn script(column: &str, invalid_values: &[i64]) -> String {
    let rows: Vec<String> = STORED.iter().enumerate().map(|(index, stored)| format!("({}, {stored})", index + 1)).collect();
    let mut text = String::new();
    for name in ["dirty", "clean"] {
        _ = write!(text, "CREATE TABLE {name} (id INTEGER PRIMARY KEY, v {column});\nINSERT INTO {name} VALUES {};\n", rows.join(", "));
    }
    for id in invalid_values {
        _ = writeln!(text, "UPDATE clean SET v = NULL WHERE id = {id};");
    }
    for name in ["dirty", "clean"] {
        _ = write!(
            text,
            "CREATE INDEX {name}_v ON {name} (v);\nCREATE TABLE {name}_pairs (a {column}, b {column});\n\
             INSERT INTO {name}_pairs SELECT x.v, y.v FROM {name} x, {name} y WHERE x.id % 3 = y.id % 3;\n"
        );
    }
    text
}

impl Twins {
    async fn new(kind: &Kind, column: &str, invalid_values: &[i64]) -> Self {
        let file = support::Sqlite::with(&script(column, invalid_values));
        let database = support::open(&file.url);
        let catalog = support::catalog(&manifest(kind), &database).await;
        Twins { _file: Some(file), catalog, database }
    }

    async fn ask(&self, resource: &str, query: &Value) -> Value {
        ask(&self.catalog, &self.database, &format!("t.{resource}"), query).await
    }

    async fn text(&self, resource: &str, query: &Value) -> String {
        text(&self.catalog, &self.database, &format!("t.{resource}"), query).await
    }
}

async fn ask(catalog: &Catalog, database: &Database, resource: &str, query: &Value) -> Value {
    let text = text(catalog, database, resource, query).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{query}: {error}: {text}"))
}

async fn text(catalog: &Catalog, database: &Database, resource: &str, query: &Value) -> String {
    let viewer = Viewer::operator();
    let entrance = policy::authorize_read(catalog, catalog.by_name(resource).expect("a resource"), &viewer).expect("a way in");
    let body = parse::body(json!({ "query": query }).to_string().as_bytes()).expect("a body");
    let plan = plan::plan(entrance, body.query, plan::Operation::List, None).unwrap_or_else(|error| panic!("{query}: {error}"));
    let bytes = match Box::pin(database.run(sql::render(&plan, database.dialect()), Format::Json)).await {
        Ok(store::Answer::Whole(bytes) | store::Answer::Page(bytes, _)) => bytes.to_vec(),
        Ok(store::Answer::Chunks(chunks)) => support::whole(chunks).await.unwrap_or_else(|error| panic!("{query}: {error}")),
        Ok(store::Answer::Nothing) => panic!("a list has rows"),
        Err(error) => panic!("{query}: {error}"),
    };
    String::from_utf8(bytes).expect("UTF-8")
}

/// The ids of what reads as null; a JSON null is a value that looks so.
fn invalid_values(kind: &Kind, rows: &Value) -> Vec<i64> {
    let value = STORED.iter().position(|stored| *stored == "'null'" && kind.declaration == "\"json\"").map(|index| index as i64 + 1);
    let ids = rows.as_array().expect("rows").iter().filter(|row| row["v"].is_null()).map(|row| row["id"].as_i64().expect("an id"));
    ids.filter(|id| Some(*id) != value).collect()
}

/// Every operator the type admits, with every value, as it is, under `not`, and in an `or`.
fn filters(kind: &Kind) -> Vec<Value> {
    let mut leaves = vec![json!({ "isNull": true }), json!({ "isNull": false })];
    let given: Vec<Value> = kind.given.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    for operator in kind.operators {
        match *operator {
            "in" | "notIn" | "contains" | "overlap" => {
                leaves.extend([json!([]), json!(given), json!([given[0]]), json!([null])].map(|list| json!({ *operator: list })));
            }
            "between" => leaves.extend(given.iter().map(|value| json!({ "between": [given[0], value] }))),
            "iLike" => leaves.extend(["%", "", "a%", "_"].map(|pattern| json!({ "iLike": pattern }))),
            _ => leaves.extend(given.iter().map(|value| json!({ *operator: value }))),
        }
    }
    let shapes =
        |leaf: &Value| [json!({ "v": leaf }), json!({ "not": { "v": leaf } }), json!({ "or": [{ "v": leaf }, { "id": { "eq": 1 } }] })];
    leaves.iter().flat_map(shapes).collect()
}

fn by_id() -> Value {
    json!([{ "field": "id" }])
}

/// Filters, groups and functions.
fn statements(kind: &Kind) -> Vec<Value> {
    let mut all: Vec<Value> = filters(kind).into_iter().map(|clause| json!({ "where": clause, "order": by_id() })).collect();
    all.push(json!({ "aggregation": { "fields": [{ "fn": "count", "field": "v" }] } }));
    for function in kind.functions {
        all.push(json!({ "aggregation": { "fields": [{ "fn": function, "field": "v" }] } }));
    }
    if kind.groups {
        all.push(json!({ "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["v"] }, "order": [{ "field": "v" }] }));
    }
    all
}

/// Rows connected by the field: filtered, loaded, cut and counted.
fn connections(relation: &str) -> Vec<Value> {
    let order = by_id();
    let count = json!({ "fields": [{ "fn": "count", "field": format!("{relation}.id") }], "groupBy": ["id"] });
    vec![
        json!({ "where": { relation: {} }, "order": order }),
        json!({ "where": { "not": { relation: { "id": { "gt": 3 } } } }, "order": order }),
        json!({ "relations": { relation: { "order": order } }, "order": order }),
        json!({ "relations": { relation: { "order": order, "limit": 2, "offset": 1 } }, "order": order }),
        json!({ "aggregation": count, "order": order }),
    ]
}

/// Whatever the column is declared as.
const COLUMNS: [&str; 5] = ["", "INTEGER", "TEXT", "NUMERIC", "TEXT COLLATE NOCASE"];

/// Asks both twins everything and tells where they differ.
async fn differences(twins: &Twins, asked: Vec<Value>, about: &str) -> Vec<String> {
    let mut differences = Vec::new();
    for statement in asked {
        let (dirty, clean) = (twins.ask("dirty", &statement).await, twins.ask("clean", &statement).await);
        if dirty != clean {
            let rows = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let (dirty, clean) = (rows(&dirty), rows(&clean));
            let only = |some: &[Value], others: &[Value]| {
                let rows = some.iter().filter(|row| !others.contains(row)).take(3).map(Value::to_string);
                rows.collect::<Vec<_>>().join(" ")
            };
            differences.push(format!(
                "{about}: {statement}\n  only dirty: {}\n  only clean: {}",
                only(&dirty, &clean),
                only(&clean, &dirty)
            ));
        }
    }
    differences
}

async fn twins(kind: &Kind, column: &str) -> Twins {
    let probe = Twins::new(kind, column, &[]).await;
    let invalid = invalid_values(kind, &probe.ask("dirty", &json!({})).await);
    Twins::new(kind, column, &invalid).await
}

/// Nothing differs; else the first difference of each column and relation.
fn none(differences: &[String]) {
    let about = |difference: &String| difference.split(": ").next().unwrap_or_default().to_owned();
    let mut shown: Vec<&String> = Vec::new();
    for difference in differences {
        if shown.iter().filter(|other| about(other) == about(difference)).count() < 2 {
            shown.push(difference);
        }
    }
    let shown: Vec<&str> = shown.into_iter().map(String::as_str).collect();
    assert!(shown.is_empty(), "{} differences, such as\n{}", differences.len(), shown.join("\n"));
}

/// contract P3.3, trap 3: invalid_values are NULL to filters, groups and functions, and do not disturb the order of the others.
async fn invalid_values_are_null(kind: &Kind) {
    let mut all = Vec::new();
    for column in COLUMNS {
        let twins = twins(kind, column).await;
        all.extend(differences(&twins, statements(kind), &format!("{} in {column:?}", kind.declaration)).await);
        if kind.groups {
            for direction in ["asc", "desc"] {
                let order = json!({ "order": [{ "field": "v", "dir": direction }, { "field": "id" }] });
                let (dirty, clean) = (fitting(&twins.ask("dirty", &order).await), fitting(&twins.ask("clean", &order).await));
                if dirty != clean {
                    all.push(format!("{} in {column:?}: {order}\n  dirty {dirty:?}\n  clean {clean:?}", kind.declaration));
                }
            }
        }
    }
    none(&all);
}

fn fitting(rows: &Value) -> Vec<Value> {
    rows.as_array().expect("rows").iter().filter(|row| !row["v"].is_null()).map(|row| row["v"].clone()).collect()
}

/// contract P3.3: an invalid value connects no rows, as NULL connects none.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_connect_no_rows() {
    let mut all = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.links) {
        let twins = twins(kind, "").await;
        let kin = kind.kin().map_or_else(Vec::new, |_| connections("kin"));
        all.extend(differences(&twins, [connections("same"), kin].concat(), kind.declaration).await);
    }
    none(&all);
}

/// contract P3.3, contract Q7.4: nor do invalid_values in a pivot.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_connect_no_rows_through_a_pivot() {
    let mut all = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.links) {
        let twins = twins(kind, "").await;
        all.extend(differences(&twins, connections("paired"), kind.declaration).await);
    }
    none(&all);
}

/// contract P3.3: what is too deep to be compared is not shown either.
#[tokio::test(flavor = "multi_thread")]
async fn json_nested_too_deeply_reads_as_null() {
    let kind = &KINDS[12];
    for depth in [100, 300, 5_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let text = format!(
            "CREATE TABLE dirty (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO dirty VALUES (1, '{deep}'); CREATE TABLE clean (id INTEGER PRIMARY KEY, v TEXT)"
        );
        let file = support::Sqlite::with(&text);
        let database = support::open(&file.url);
        let twins = Twins { catalog: support::catalog(&manifest(kind), &database).await, database, _file: Some(file) };
        let shown = twins.text("dirty", &json!({})).await;
        let is_null = twins.text("dirty", &json!({ "where": { "v": { "isNull": true } } })).await;
        assert_eq!(shown.contains("\"v\":null"), is_null != "[]", "{depth} levels: shown as {shown:.60}, and isNull finds {is_null:.60}");
    }
}

/// contract P3.3: on PostgreSQL too, whatever the column is, and connecting no rows either.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_of_an_enum_are_null_on_postgres() {
    let kind = &KINDS[14];
    let mut all = Vec::new();
    for column in ["text", "varchar(9)", "char(9)", "citext", "name", "text COLLATE blunt", "mood", "sane"] {
        let mut text =
            "CREATE EXTENSION citext; CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n\
             CREATE TYPE mood AS ENUM ('ABC', 'é', 'abc', 'weird', '7', 'it''s', E'a\\\\b');\n\
             CREATE DOMAIN sane AS mood;\n"
                .to_owned();
        for (name, invalid_values) in [("dirty", "'weird'), (5, 'ABC'"), ("clean", "NULL), (5, NULL")] {
            _ = write!(
                text,
                "CREATE TABLE {name} (id int PRIMARY KEY, v {column}); CREATE INDEX ON {name} (v);\n\
                 INSERT INTO {name} VALUES (1, 'abc'), (2, '7'), (3, NULL), (4, {invalid_values}), (6, 'it''s'), (7, E'a\\\\b'), (8, 'é'), (9, 'abc');\n\
                 CREATE TABLE {name}_pairs AS SELECT x.v::text COLLATE \"default\" AS a, y.v::text COLLATE \"default\" AS b FROM {name} x, {name} y WHERE x.id % 3 = y.id % 3;\n"
            );
        }
        let server = support::Postgres::with(&text).await;
        let database = support::open(&server.url);
        let twins = Twins { catalog: support::catalog(&manifest(kind), &database).await, database, _file: None };
        let shown = fitting(&twins.ask("dirty", &json!({ "order": by_id() })).await);
        assert_eq!(json!(shown), json!(["abc", "7", "it's", "a\\b", "é", "abc"]), "{column}");
        let mut asked = statements(kind);
        for relation in ["same", "kin", "paired"] {
            asked.extend(connections(relation));
        }
        all.extend(differences(&twins, asked, column).await);
        drop(twins);
        server.drop().await;
    }
    none(&all);
}

macro_rules! each_type {
    ($($test:ident = $index:literal,)+) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $test() { invalid_values_are_null(&KINDS[$index]).await; })+

        #[test]
        fn every_kind_of_field_has_its_test() {
            assert_eq!(KINDS.len(), [$($index),+].len());
        }
    };
}

each_type! {
    invalid_values_of_a_bool_are_null = 0,
    invalid_values_of_an_int_are_null = 1,
    invalid_values_of_a_bigint_are_null = 2,
    invalid_values_of_a_float_are_null = 3,
    invalid_values_of_a_decimal_are_null = 4,
    invalid_values_of_a_text_are_null = 5,
    invalid_values_of_a_uuid_are_null = 6,
    invalid_values_of_a_date_are_null = 7,
    invalid_values_of_a_time_are_null = 8,
    invalid_values_of_a_timestamp_are_null = 9,
    invalid_values_of_a_timestamp_stored_as_datetime_are_null = 10,
    invalid_values_of_a_timestamp_stored_as_unix_are_null = 11,
    invalid_values_of_a_json_are_null = 12,
    invalid_values_of_an_array_are_null = 13,
    invalid_values_of_an_enum_are_null = 14,
}

/// contract P3.1, contract P3.2, contract P3.3: exactly these of the stored values fit, and this is what they read as.
#[tokio::test(flavor = "multi_thread")]
async fn only_valid_values_are_read() {
    for kind in &KINDS {
        let twins = Twins::new(kind, "", &[]).await;
        let rows = twins.ask("dirty", &json!({ "order": [{ "field": "id" }] })).await;
        let read: Vec<(&str, String)> = STORED
            .iter()
            .zip(rows.as_array().expect("rows"))
            .filter(|(_, row)| !row["v"].is_null())
            .map(|(stored, row)| (*stored, row["v"].to_string()))
            .collect();
        let expected: Vec<(&str, String)> = kind.fits.iter().map(|(stored, value)| (*stored, (*value).to_owned())).collect();
        assert_eq!(read, expected, "{}", kind.declaration);
    }
}

/// contract Q8.2, contract Q3.2: a column that SQLite would compare without regard to case is compared by code point everywhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_with_a_collation_of_its_own_compares_by_code_point() {
    let kind = &KINDS[5];
    let mut text = String::new();
    for (name, collation) in [("dirty", "NOCASE"), ("clean", "BINARY")] {
        _ = write!(
            text,
            "CREATE TABLE {name} (id INTEGER PRIMARY KEY, v TEXT COLLATE {collation});\n\
             INSERT INTO {name} VALUES (1, 'a'), (2, 'A'), (3, 'b'), (4, 'B'), (5, 'a'), (6, NULL), (7, 'a '), (8, 'B ');\n\
             CREATE INDEX {name}_v ON {name} (v);\n\
             CREATE TABLE {name}_pairs (a TEXT COLLATE {collation}, b TEXT COLLATE {collation});\n\
             INSERT INTO {name}_pairs VALUES ('a', 'B'), ('A', 'b'), ('a', 'b'), ('b', 'A'), ('b', 'a'), ('c', 'a');\n"
        );
    }
    let file = support::Sqlite::with(&text);
    let database = support::open(&file.url);
    let twins = Twins { catalog: support::catalog(&manifest(kind), &database).await, database, _file: Some(file) };
    let orders = ["asc", "desc"].map(|direction| json!({ "order": [{ "field": "v", "dir": direction }, { "field": "id" }] }));
    let asked = Kind { given: &["\"a\"", "\"A\"", "\"B\"", "\"b\""], ..KINDS[5] };
    let mut asked = statements(&asked);
    asked.extend(orders);
    asked.extend(connections("same"));
    asked.extend(connections("paired"));
    none(&differences(&twins, asked, "NOCASE and BINARY").await);
}

/// contract Q3.7, contract P3.3: elements are compared as values of the array's type, and one that does not fit is found by nothing.
#[tokio::test(flavor = "multi_thread")]
async fn elements_of_an_array_are_compared_as_its_type() {
    for (kind, stored, asked, found) in [
        ("text[]", r#"["1.50"]"#, r#""1.5""#, false),
        ("text[]", r#"["1.50"]"#, r#""1.50""#, true),
        ("text[]", "[1]", r#""1""#, false),
        ("text[]", "[true]", r#""true""#, false),
        ("int[]", r#"["1"]"#, "1", false),
        ("int[]", "[1.0]", "1", false),
        ("int[]", "[3000000000]", "3", false),
        ("bool[]", "[1]", "true", false),
        ("bool[]", "[true]", "true", true),
        ("float[]", "[1.50]", "1.5", true),
        ("float[]", "[1e2]", "100", true),
        ("decimal[]", r#"["1.50"]"#, "1.5", true),
        ("decimal[]", "[1.50]", r#""1.5""#, true),
        ("uuid[]", r#"["6F1C1D1E-8A1B-4C3D-9E2F-0A1B2C3D4E5F"]"#, r#""6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f""#, false),
        ("time[]", r#"["10:00:00.50"]"#, r#""10:00:00.5""#, true),
        ("timestamp[]", r#"["2024-02-29T10:00:00.000000Z"]"#, r#""2024-02-29T11:00:00+01:00""#, true),
        ("timestamp[]", r#"["soon"]"#, r#""2024-02-29""#, false),
    ] {
        let file = support::Sqlite::with(&format!(
            "CREATE TABLE dirty (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO dirty VALUES (1, '{stored}')"
        ));
        let database = support::open(&file.url);
        let manifest = format!(
            "[resource.t.dirty]\ntable = \"dirty\"\n[resource.t.dirty.fields]\nid = {{ type = \"int\", key = true }}\nv = \"{kind}\"\n"
        );
        let catalog = support::catalog(&manifest, &database).await;
        let asked: Value = serde_json::from_str(asked).expect("JSON");
        for operator in ["contains", "overlap"] {
            let rows = ask(&catalog, &database, "t.dirty", &json!({ "where": { "v": { operator: asked } } })).await;
            assert_eq!(rows.as_array().expect("rows").len() == 1, found, "{kind}: {stored} {operator} {asked}");
        }
    }
}
