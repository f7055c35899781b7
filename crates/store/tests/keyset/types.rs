//! Walks over each type in both directions, with NULLs and ties.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{Place, support};

const MANIFEST: &str = r#"
[resource.t.row]
table = "facts"
[resource.t.row.fields]
id = { type = "bigint", key = true }
flag = "bool"
n = "int"
big = "bigint"
f = "float"
d = "decimal"
t = "text"
u = "uuid"
day = "date"
tm = "time"
at = "timestamp"
k = { type = "enum", values = ["low", "high", "mid"] }
up = "bigint"
[resource.t.row.relations]
above = { one = "t.row", on = { up = "id" } }

[resource.t.pair]
table = "pairs"
[resource.t.pair.fields]
a = { type = "text", key = true }
b = { type = "bool", key = true }
c = { type = "int", key = true }
v = "int"
"#;

const FIELDS: [&str; 14] = ["flag", "n", "big", "f", "d", "t", "u", "day", "tm", "at", "k", "above.t", "above.at", "above.flag"];

/// One value of each type, by a number from 0; beyond the last it is NULL.
const VALUES: [[&str; 11]; 4] = [
    [
        "0",
        "-3",
        "-9007199254740995",
        "-0.1",
        "'-1.50'",
        "''",
        "'00000000-0000-4000-8000-00000000000a'",
        "'0001-01-01'",
        "'00:00:00'",
        "'1969-12-31T23:59:59.999999Z'",
        "'low'",
    ],
    [
        "1",
        "0",
        "9007199254740993",
        "0.30000000000000004",
        "'0'",
        "'Z%_\\\"'",
        "'a0000000-0000-4000-8000-00000000000a'",
        "'2024-02-29'",
        "'17:30:00.250001'",
        "'2024-02-29T17:30:00.000001Z'",
        "'high'",
    ],
    [
        "0",
        "7",
        "9007199254740994",
        "1e300",
        "'10'",
        "'z'",
        "'ffffffff-ffff-4fff-bfff-ffffffffffff'",
        "'9999-12-31'",
        "'23:59:59.999999'",
        "'2024-02-29T17:30:00.000002Z'",
        "'mid'",
    ],
    [
        "1",
        "2147483647",
        "9223372036854775807",
        "2",
        "'9.99999999999999999999'",
        "'é'",
        "'0fffffff-ffff-4fff-bfff-ffffffffffff'",
        "'2024-03-01'",
        "'09:00:00'",
        "'9999-12-31T23:59:59.999999Z'",
        "'low'",
    ],
];

fn inserts(is_postgres: bool) -> String {
    let mut script = String::new();
    for id in 1..=40_usize {
        let cell = |column: usize| {
            // Each column has its own rhythm, and every fifth value is NULL.
            let number = (id * (column + 3) / 2 + id / 7) % 5;
            let value = VALUES.get(number).map_or("NULL", |values| values[column]);
            match (column, is_postgres, value) {
                (0, true, "0") => "false".to_owned(),
                (0, true, "1") => "true".to_owned(),
                (_, _, value) => value.to_owned(),
            }
        };
        let cells: Vec<String> = (0..11).map(cell).collect();
        let up = if id % 3 == 0 { "NULL".to_owned() } else { (id / 2).to_string() };
        _ = writeln!(script, "INSERT INTO facts VALUES ({id}, {}, {up});", cells.join(", "));
    }
    for (number, a) in ["x", "X", "y"].iter().enumerate() {
        for b in 0..2 {
            for c in 0..3 {
                let b = if is_postgres { (b == 1).to_string() } else { b.to_string() };
                let v = if c == 2 { "NULL".to_owned() } else { (number % 2).to_string() };
                _ = writeln!(script, "INSERT INTO pairs VALUES ('{a}', {b}, {c}, {v});");
            }
        }
    }
    script
}

fn postgres_script() -> String {
    let tables = "CREATE TYPE level AS ENUM ('low', 'high', 'mid');
        CREATE TABLE facts (id bigint PRIMARY KEY, flag bool, n int, big bigint, f float8, d numeric, t text, u uuid, day date, tm time,
            at timestamptz, k level, up bigint);
        CREATE TABLE pairs (a text, b bool, c int, v int, PRIMARY KEY (a, b, c));\n";
    tables.to_owned() + &inserts(true)
}

fn sqlite_script() -> String {
    let tables =
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, flag INTEGER, n INTEGER, big INTEGER, f REAL, d TEXT, t TEXT, u TEXT, day TEXT,
            tm TEXT, at TEXT, k TEXT, up INTEGER);
        CREATE TABLE pairs (a TEXT NOT NULL, b INTEGER NOT NULL, c INTEGER NOT NULL, v INTEGER, PRIMARY KEY (a, b, c));\n";
    let fixed = inserts(false);
    tables.to_owned() + &fixed
}

/// The pages of a walk are the rows of the list with the same order.
async fn walk_is_list(place: &Place, resource: &str, order: &Value, limit: usize) {
    let walked = place.walk(resource, &json!({ "order": order, "limit": limit })).await;
    let walked = walked.unwrap_or_else(|error| panic!("{error}: {order}"));
    let listed = place.list(resource, &json!({ "order": order, "limit": 1_000 })).await;
    assert_eq!(walked, listed, "{:?} {order} by {limit}", place.database.dialect());
}

// contract Q16.6, contract Q16.5
#[tokio::test(flavor = "multi_thread")]
async fn walks_over_each_type_are_the_list_in_both_directions() {
    let server = support::Postgres::with(&postgres_script()).await;
    let file = support::Sqlite::with(&sqlite_script());
    for url in [&server.url, &file.url] {
        let place = Place::new(url, MANIFEST).await;
        for field in FIELDS {
            for dir in ["asc", "desc"] {
                for limit in [1, 3, 8] {
                    walk_is_list(&place, "t.row", &json!([{ "field": field, "dir": dir }]), limit).await;
                }
            }
        }
        for pair in FIELDS.windows(3) {
            for dirs in [["asc", "desc", "asc"], ["desc", "desc", "asc"], ["desc", "asc", "desc"]] {
                let order: Vec<Value> = pair.iter().zip(dirs).map(|(field, dir)| json!({ "field": field, "dir": dir })).collect();
                walk_is_list(&place, "t.row", &Value::from(order), 3).await;
            }
        }
        // More sort keys than segments.
        let every: Vec<Value> =
            FIELDS.iter().enumerate().map(|(index, field)| json!({ "field": field, "dir": (["asc", "desc"][index % 2]) })).collect();
        walk_is_list(&place, "t.row", &Value::from(every), 4).await;
    }
    server.drop().await;
}

// contract Q16.2, contract Q16.5
#[tokio::test(flavor = "multi_thread")]
async fn composite_keys_break_ties_also_where_the_order_names_a_part() {
    let server = support::Postgres::with(&postgres_script()).await;
    let file = support::Sqlite::with(&sqlite_script());
    for url in [&server.url, &file.url] {
        let place = Place::new(url, MANIFEST).await;
        for order in [
            json!([{ "field": "v" }]),
            json!([{ "field": "v", "dir": "desc" }]),
            json!([{ "field": "b", "dir": "desc" }, { "field": "v" }]),
            json!([{ "field": "c", "dir": "desc" }, { "field": "b" }, { "field": "a", "dir": "desc" }, { "field": "v" }]),
            json!([{ "field": "b" }, { "field": "b", "dir": "desc" }]),
        ] {
            for limit in [1, 2, 5, 18, 19] {
                walk_is_list(&place, "t.pair", &order, limit).await;
            }
        }
        // Without an order the key orders.
        let walked = place.walk("t.pair", &json!({ "limit": 4 })).await.expect("rows");
        let key = json!([{ "field": "a" }, { "field": "b" }, { "field": "c" }]);
        assert_eq!(walked, place.list("t.pair", &json!({ "order": key })).await);
        assert_eq!(
            place.page("t.pair", &json!({ "limit": 1 })).await.expect("a page")["next"]["order"],
            json!([
                { "field": "a", "dir": "asc" }, { "field": "b", "dir": "asc" }, { "field": "c", "dir": "asc" }
            ])
        );
    }
    server.drop().await;
}

/// Columns of PostgreSQL that compare in ways of their own.
const NATIVES: &str = r#"
[resource.t.row]
table = "natives"
[resource.t.row.fields]
id = { type = "int", key = true }
r = "float"
padded = "text"
ci = "text"
named = "text"
posix = "text"
bare = "timestamp"
small = "int"
wide = "int"
label = { type = "enum", values = ["high", "low"] }
"#;

// contract Q16.5
#[tokio::test(flavor = "multi_thread")]
async fn columns_of_postgresql_with_an_order_of_their_own_are_walked_in_it() {
    let server = support::Postgres::with(
        "CREATE EXTENSION citext; CREATE TYPE level AS ENUM ('low', 'high');
         CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TABLE natives (id int PRIMARY KEY, r real, padded char(5), ci citext, named name, posix text COLLATE \"caseless\",
            bare timestamp, small smallint, wide bigint, label level);
         INSERT INTO natives SELECT n, (ARRAY[0.1, 0.2, 16777217, 3e30, NULL])[n % 5 + 1], (ARRAY['a', 'a b', 'B', '', NULL])[n % 5 + 1],
            (ARRAY['a', 'A', 'b', 'B', NULL])[n % 5 + 1], (ARRAY['a', 'B', '_x', 'é', NULL])[n % 5 + 1],
            (ARRAY['a', 'A', 'b', 'B', NULL])[n % 5 + 1],
            (ARRAY['2024-01-01 00:00:00.000001', '2024-01-01', '1999-12-31 23:59:59', NULL]::timestamp[])[n % 4 + 1],
            n % 3, CASE WHEN n % 4 > 0 THEN n % 4 END, (ARRAY['low', 'high', NULL]::level[])[n % 3 + 1]
         FROM generate_series(1, 30) n",
    )
    .await;
    let place = Place::new(&server.url, NATIVES).await;
    for field in ["r", "padded", "ci", "named", "posix", "bare", "small", "wide", "label"] {
        for dir in ["asc", "desc"] {
            walk_is_list(&place, "t.row", &json!([{ "field": field, "dir": dir }]), 4).await;
        }
    }
    server.drop().await;
}

const STORED: &str = r#"
[resource.t.row]
table = "stored"
[resource.t.row.fields]
id = { type = "int", key = true }
written = { type = "timestamp", stored = "datetime" }
seconds = { type = "timestamp", stored = "unix" }
"#;

// contract Q16.5
#[tokio::test(flavor = "multi_thread")]
async fn timestamps_of_sqlite_are_walked_in_each_stored_form() {
    let file = support::Sqlite::with(
        "CREATE TABLE stored (id INTEGER PRIMARY KEY, written TEXT, seconds NUMERIC);
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30)
         INSERT INTO stored SELECT n, CASE n % 4 WHEN 0 THEN '2024-01-01 10:00:00' WHEN 1 THEN '2023-01-01 10:00:00.5' WHEN 2 THEN '2024-01-01' END,
            CASE n % 4 WHEN 0 THEN 1700000000 WHEN 1 THEN 1700000000.25 WHEN 2 THEN -5 END FROM n",
    );
    let place = Place::new(&file.url, STORED).await;
    for field in ["written", "seconds"] {
        for dir in ["asc", "desc"] {
            walk_is_list(&place, "t.row", &json!([{ "field": field, "dir": dir }]), 4).await;
        }
    }
}

const PERIODS: &str = r#"
[resource.t.event]
table = "events"
[resource.t.event.fields]
id = { type = "bigint", key = true }
at = { type = "timestamp", null = false }
month = { bucket = "month", of = "at" }
"#;

// contract Q16.6
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_without_a_period_sorts_as_null() {
    let rows = |unfit: &str| {
        format!(
            "INSERT INTO events VALUES (1, '2024-02-29T17:30:00.000000Z'), (2, {unfit}), (3, '2024-02-01T00:00:00.000000Z'), (4, {unfit}), (5, '2023-01-01T00:00:00.000000Z');"
        )
    };
    let server = support::Postgres::with(
        &("CREATE TABLE events (id bigint PRIMARY KEY, at timestamptz NOT NULL);".to_owned() + &rows("'infinity'")),
    )
    .await;
    let file = support::Sqlite::with(&("CREATE TABLE events (id INTEGER PRIMARY KEY, at TEXT NOT NULL);".to_owned() + &rows("'some day'")));
    for url in [&server.url, &file.url] {
        let place = Place::new(url, PERIODS).await;
        for (dir, ids) in [("asc", [5, 1, 3, 2, 4]), ("desc", [2, 4, 1, 3, 5])] {
            let order = json!([{ "field": "month", "dir": dir }]);
            for limit in [1, 2, 3] {
                walk_is_list(&place, "t.event", &order, limit).await;
            }
            let listed = place.list("t.event", &json!({ "order": order })).await;
            let listed: Vec<&Value> = listed.iter().map(|row| &row["id"]).collect();
            assert_eq!(listed, ids, "{:?} {dir}", place.database.dialect());
        }
    }
    server.drop().await;
}
