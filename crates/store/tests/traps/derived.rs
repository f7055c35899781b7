//! Derived fields: values that random data rarely has, and how the databases run the lookups.

use std::fmt::Write;

use query::catalog::Catalog;
use query::parse;
use query::policy::{self, Viewer};
use query::sql::{Dialect, index_expression};
use query::statement::FieldSelection;
use query::{plan, sql};
use serde_json::{Value, json};
use store::run::Format;

use crate::plans::planned;
use crate::{agree, answer, both, support};

/// A resource `t.row` of the table `facts` with a relation to `items`, and derived fields over it.
fn manifest(items: &str, derived: &str) -> String {
    format!(
        "[resource.t.row]\ntable = \"facts\"\n[resource.t.row.fields]\nid = {{ type = \"int\", key = true }}\n{derived}\n\
         [resource.t.row.relations]\nitems = {{ many = \"t.item\", on = {{ id = \"rowId\" }} }}\n\
         [resource.t.item]\ntable = \"items\"\n[resource.t.item.fields]\nid = {{ type = \"int\", key = true }}\nrowId = \"int\"\n{items}\n"
    )
}

fn lines(all: impl Iterator<Item = String>) -> String {
    all.collect::<Vec<_>>().join("\n") + "\n"
}

/// Shows, sorts by and groups by each of the fields.
fn uses(fields: &[&str]) -> Vec<Value> {
    let order = json!([{ "field": "id" }]);
    let mut all = vec![json!({ "order": order })];
    for field in fields {
        all.push(json!({ "order": [{ "field": field, "dir": "desc" }], "limit": 50 }));
        all.push(json!({ "where": { *field: { "isNull": false } }, "order": order }));
        let fields = json!([{ "fn": "count", "field": "*" }, { "fn": "max", "field": field }]);
        all.push(json!({ "aggregation": { "groupBy": [field], "fields": fields }, "order": [{ "field": field }] }));
    }
    all
}

/// The values of one field of all rows of an answer.
fn column(answer: &Result<Value, String>, field: &str) -> Vec<Value> {
    answer.as_ref().expect("rows").as_array().expect("rows").iter().map(|row| row[field].clone()).collect()
}

/// contract P5.2, trap 9: sums and averages are exact beyond the types that they measure, and NULL over no values.
#[tokio::test(flavor = "multi_thread")]
async fn exact_numbers_stay_exact() {
    let derived = "n = { count = \"items\" }\nany = { exists = \"items\" }\nsumI = { sum = \"items.i\" }\navgI = { avg = \"items.i\" }\n\
                   sumB = { sum = \"items.b\" }\navgB = { avg = \"items.b\" }\nmaxB = { max = \"items.b\" }\nsumD = { sum = \"items.d\" }\navgD = { avg = \"items.d\" }\n\
                   minD = { min = \"items.d\" }";
    let manifest = manifest("i = \"int\"\nb = \"bigint\"\nd = \"decimal\"", derived);
    let large = "123456789012345678901234567890.123456789012345678";
    let rows = format!(
        "(1, 1, 2147483647, 9223372036854775807, '{large}'), (2, 1, 2147483647, 9223372036854775807, '{large}'), (3, 1, 2147483647, 9223372036854775806, '0'),
         (4, 3, NULL, NULL, NULL), (5, 3, NULL, NULL, NULL),
         (6, 4, 1, 1, '0.0000000000000001'), (7, 4, 0, 0, '0'), (8, 5, -2, -2, '-0.0000000000000001'), (9, 5, 0, 0, '0'), (10, 5, 0, 0, '0.00'),
         (11, 6, -1, -9223372036854775808, '-0.0000000000000001'), (12, 6, 0, -9223372036854775808, '0'),
         (13, 7, 5, 5, '1.50'), (14, 7, 5, 5, '1.6'), (15, 7, 5, 5, '100')"
    );
    let script = |decimal: &str| {
        format!(
            "CREATE TABLE facts (id INTEGER PRIMARY KEY); INSERT INTO facts VALUES (1), (2), (3), (4), (5), (6), (7);
             CREATE TABLE items (id INTEGER PRIMARY KEY, row_id INTEGER, i INTEGER, b BIGINT, d {decimal}); INSERT INTO items VALUES {rows}"
        )
    };
    let mut asked = uses(&["n", "any", "sumI", "avgI", "sumB", "avgB", "maxB", "sumD", "avgD", "minD"][2..]);
    asked.extend([
        json!({ "where": { "any": { "eq": false } } }),
        json!({ "where": { "not": { "any": { "ne": true } } }, "order": [{ "field": "n", "dir": "desc" }, { "field": "id" }] }),
        json!({ "where": { "avgI": { "in": ["-0.6666666666666667", "0.5"] } }, "order": [{ "field": "id" }] }),
        json!({ "where": { "sumB": { "gt": "18446744073709551615" } } }),
        json!({ "where": { "avgD": { "between": ["0.0000000000000001", "0.00000000000000010"] } } }),
        json!({ "aggregation": { "fields": [{ "fn": "avg", "field": "avgB" }, { "fn": "sum", "field": "sumD" }, { "fn": "sum", "field": "n" }, { "fn": "avg", "field": "sumI" }] } }),
    ]);
    let answers = both(&manifest, &script("numeric"), &script("TEXT"), &asked).await;
    agree(&answers);
    let of = |field: &str| column(&answers[0].1, field);
    assert_eq!(of("n"), [3, 0, 2, 2, 3, 2, 3].map(Value::from));
    assert_eq!(of("any"), [true, false, true, true, true, true, true].map(Value::from));
    assert_eq!(of("sumI"), [json!(6_442_450_941_i64), Value::Null, Value::Null, json!(1), json!(-2), json!(-1), json!(15)]);
    assert_eq!(
        of("avgI"),
        [json!("2147483647"), Value::Null, Value::Null, json!("0.5"), json!("-0.6666666666666667"), json!("-0.5"), json!("5")]
    );
    assert_eq!(of("sumB")[0], "27670116110564327420");
    assert_eq!(of("avgB")[0], "9223372036854775806.6666666666666667");
    assert_eq!(of("avgB")[5], "-9223372036854775808");
    assert_eq!(of("sumD")[0], "246913578024691357802469135780.246913578024691356");
    assert_eq!(of("avgD")[0], "82304526008230452600823045260.0823045260082305");
    // Half of the last decimal goes away from zero, less than half of it to zero.
    assert_eq!(of("avgD")[3..], [json!("0.0000000000000001"), json!("0"), json!("-0.0000000000000001"), json!("34.3666666666666667")]);
    assert_eq!((&of("sumD")[6], &of("minD")[6]), (&json!("103.10"), &json!("1.50")));
}

/// trap 9, contract Q14.3: sums of floats that leave the doubles are null, and an average inside them is not.
#[tokio::test(flavor = "multi_thread")]
async fn floats_out_of_range_are_null() {
    let derived = "sumF = { sum = \"items.f\" }\navgF = { avg = \"items.f\" }\nminF = { min = \"items.f\" }\nmaxF = { max = \"items.f\" }";
    let rows = "(1, 1, 1.7e308), (2, 1, 1.7e308), (3, 2, 1e-305), (4, 2, 1), (5, 3, 5e-324), (6, 3, 5e-324), (7, 4, 0.1), (8, 4, 0.2), (9, 4, 0.3),
                (10, 5, NULL), (11, 6, -1.7e308), (12, 6, -1.7e308), (13, 6, 1.7e308), (14, 7, 1e16), (15, 7, 1), (16, 7, -1e16)";
    let script = |float: &str| {
        format!(
            "CREATE TABLE facts (id INTEGER PRIMARY KEY); INSERT INTO facts VALUES (1), (2), (3), (4), (5), (6), (7), (8);
             CREATE TABLE items (id INTEGER PRIMARY KEY, row_id INTEGER, f {float}); INSERT INTO items VALUES {rows}"
        )
    };
    let mut asked = uses(&["sumF", "avgF", "minF", "maxF"]);
    asked.push(json!({ "where": { "avgF": { "gt": 1e308 } } }));
    asked.push(json!({ "where": { "maxF": { "eq": 0.3 } } }));
    let answers = both(&manifest("f = \"float\"", derived), &script("float8"), &script("REAL"), &asked).await;
    agree(&answers);
    let sums = column(&answers[0].1, "sumF");
    assert_eq!((&sums[0], &sums[1], &sums[4], &sums[7]), (&Value::Null, &json!(1), &Value::Null, &Value::Null));
    assert_eq!(column(&answers[0].1, "avgF")[0], json!(1.7e308));
    assert_eq!(column(&answers[asked.len() - 2].1, "id"), [1]);
    assert_eq!(column(&answers[asked.len() - 1].1, "id"), [4]);
}

/// trap 9, contract Q13.2: NaN and the infinities of PostgreSQL fail nothing and read as null.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_are_none_read_as_null() {
    let derived = "sumD = { sum = \"items.d\" }\navgD = { avg = \"items.d\" }\nmaxD = { max = \"items.d\" }\nsumF = { sum = \"items.f\" }\navgF = { avg = \"items.f\" }\nmaxF = { max = \"items.f\" }";
    let server = support::Postgres::with(
        "CREATE TABLE facts (id int PRIMARY KEY); INSERT INTO facts VALUES (1), (2), (3);
         CREATE TABLE items (id int PRIMARY KEY, row_id int, d numeric, f float8);
         INSERT INTO items VALUES (1, 1, 'NaN', 'NaN'), (2, 1, 1, 1), (3, 2, 1, 'Infinity'), (4, 2, 2, '-Infinity'), (5, 3, 1, 2)",
    )
    .await;
    let database = support::open(&server.url);
    let catalog = support::catalog(&manifest("d = \"decimal\"\nf = \"float\"", derived), &database).await;
    let fields = ["sumD", "avgD", "maxD", "sumF", "avgF", "maxF"];
    for query in uses(&fields) {
        answer(&catalog, &database, "t.row", &query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    }
    let rows = answer(&catalog, &database, "t.row", &json!({ "order": [{ "field": "id" }] })).await;
    let [first, second, third] = [0, 1, 2].map(|index| fields.map(|field| column(&rows, field)[index].clone()));
    assert_eq!(first, [const { Value::Null }; 6]);
    assert_eq!(second, [json!("3"), json!("1.5"), json!("2"), Value::Null, Value::Null, Value::Null]);
    assert_eq!(third, [json!("1"), json!("1"), json!("1"), json!(2), json!(2), json!(2)]);
    drop(database);
    server.drop().await;
}

/// contract Q6.1: a pair that a pivot holds twice counts once, and columns that take different texts for equal connect by the exact text.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_pairs_of_a_pivot_count_once() {
    let manifest = r#"
    [resource.t.left]
    table = "lefts"
    [resource.t.left.fields]
    k = { type = "text", key = true }
    n = { count = "rights" }
    any = { exists = "rights" }
    weight = { sum = "rights.w" }
    mean = { avg = "rights.w" }
    lastRight = { max = "rights.k", where = { w = { ne = 2 } } }
    heavy = { count = "rights", where = { w = { gt = 1 } } }
    [resource.t.left.relations]
    rights = { many = "t.right", through = "pairs", on = { k = "l" }, to = { r = "k" } }
    [resource.t.right]
    table = "rights"
    [resource.t.right.fields]
    k = { type = "text", key = true }
    w = "int"
    "#;
    let rows = "INSERT INTO lefts VALUES ('x'), ('X'), ('y'), ('z'); INSERT INTO rights VALUES ('a', 1), ('A', 2), ('b', 4), ('c', 8);
                INSERT INTO pairs VALUES ('x', 'a'), ('x', 'A'), ('x', 'A'), ('y', 'b'), ('X', 'B'), (NULL, 'a'), ('z', NULL), ('y', 'b'), ('y', 'none')";
    let sqlite = format!(
        "CREATE TABLE lefts (k TEXT PRIMARY KEY); CREATE TABLE rights (k TEXT PRIMARY KEY, w INTEGER); CREATE TABLE pairs (l TEXT, r TEXT); {rows}"
    );
    let file = support::Sqlite::with(&sqlite);
    let mut databases = vec![("SQLite".to_owned(), support::open(&file.url))];
    let mut servers = Vec::new();
    let blunt = "text COLLATE blunt";
    for (ends, pairs) in [("text", "text"), ("citext", "citext"), (blunt, blunt), ("text", "citext"), ("citext", "text")] {
        let server = support::Postgres::with(&format!(
            "CREATE EXTENSION citext; CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
             CREATE TABLE lefts (k {ends}); CREATE TABLE rights (k {ends}, w int); CREATE TABLE pairs (l {pairs}, r {pairs}); {rows}"
        ))
        .await;
        databases.push((format!("{ends} through {pairs}"), support::open(&server.url)));
        servers.push(server);
    }
    for (name, database) in &databases {
        let catalog = support::catalog(manifest, database).await;
        let found = async |query: Value| {
            let rows = answer(&catalog, database, "t.left", &query).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut rows = rows.as_array().expect("rows").clone();
            rows.sort_by_key(|row| row["k"].to_string());
            json!(rows)
        };
        let all = found(json!({})).await;
        let expected = json!([
            { "k": "X", "n": 0, "any": false, "weight": null, "mean": null, "lastRight": null, "heavy": 0 },
            { "k": "x", "n": 2, "any": true, "weight": 3, "mean": "1.5", "lastRight": "a", "heavy": 1 },
            { "k": "y", "n": 1, "any": true, "weight": 4, "mean": "4", "lastRight": "b", "heavy": 1 },
            { "k": "z", "n": 0, "any": false, "weight": null, "mean": null, "lastRight": null, "heavy": 0 },
        ]);
        assert_eq!(all, expected, "{name}");
        for clause in [
            json!({ "n": { "eq": 2 } }),
            json!({ "weight": { "eq": 3 } }),
            json!({ "lastRight": { "eq": "a" } }),
            json!({ "any": { "eq": true }, "mean": { "lt": 2 } }),
        ] {
            assert_eq!(found(json!({ "where": clause })).await, json!([expected[1]]), "{name}: {clause}");
        }
    }
    drop(databases);
    for server in servers {
        server.drop().await;
    }
}

/// contract Q14.4: `min` and `max` of PostgreSQL's own types compare, sort and group as the columns do.
#[tokio::test(flavor = "multi_thread")]
async fn extremes_of_native_types() {
    let items = "mood = { type = \"enum\", values = [\"sad\", \"ok\", \"happy\"] }\nasText = \"text\"\ncaseless = \"text\"\npadded = \"text\"\nat = \"timestamp\"\nsmall = \"int\"\nwide = \"int\"\nsingle = \"float\"\nshort = \"text\"\nrank = { type = \"enum\", values = [\"b\", \"a\"] }\nday = { bucket = \"day\", of = \"at\", zone = \"Europe/Berlin\" }";
    let names = ["mood", "asText", "caseless", "padded", "at", "small", "wide", "single", "short", "rank", "day"];
    let derived =
        lines(names.iter().map(|name| format!("min_{name} = {{ min = \"items.{name}\" }}\nmax_{name} = {{ max = \"items.{name}\" }}")));
    let server = support::Postgres::with(
        "CREATE EXTENSION citext; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE facts (id int PRIMARY KEY); INSERT INTO facts VALUES (1), (2), (3);
         CREATE TABLE items (id int PRIMARY KEY, row_id int, mood mood, as_text mood, caseless citext, padded char(5), at timestamp, small smallint, wide bigint, single real, short varchar(9), rank text);
         INSERT INTO items VALUES (1, 1, 'sad', 'sad', 'b', 'b', '2024-03-31 22:30:00', 1, 5000000000, 0.1, 'x', 'zzz'),
           (2, 1, 'happy', 'happy', 'A', 'a', '2024-03-01 00:00:00.5', 2, 7, 0.3, 'y', 'a'), (3, 1, 'ok', 'ok', 'B', 'c', '2024-03-15', -3, 8, 0.2, 'z', 'b'),
           (4, 2, 'ok', 'ok', 'q', 'q', '2024-01-01', 4, 4, 0.5, 'q', 'b')",
    )
    .await;
    let database = support::open(&server.url);
    let catalog = support::catalog(&manifest(items, &derived), &database).await;
    let fields: Vec<String> = names.iter().flat_map(|name| [format!("min_{name}"), format!("max_{name}")]).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    for query in uses(&fields) {
        answer(&catalog, &database, "t.row", &query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
    }
    let rows = answer(&catalog, &database, "t.row", &json!({ "order": [{ "field": "id" }] })).await.expect("rows");
    assert_eq!(
        rows[0],
        json!({ "id": 1, "min_mood": "sad", "max_mood": "happy", "min_asText": "happy", "max_asText": "sad", "min_caseless": "A", "max_caseless": "b",
                "min_padded": "a", "max_padded": "c", "min_at": "2024-03-01T00:00:00.5Z", "max_at": "2024-03-31T22:30:00Z", "min_small": -3, "max_small": 2,
                "min_wide": 7, "max_wide": 8, "min_single": 0.1, "max_single": 0.3, "min_short": "x", "max_short": "z", "min_rank": "a", "max_rank": "b",
                "min_day": "2024-02-29T23:00:00Z", "max_day": "2024-03-31T22:00:00Z" })
    );
    for (clause, expected) in [
        (json!({ "max_mood": { "eq": "happy" } }), vec![1]),
        (json!({ "max_mood": { "gt": "ok" } }), vec![1]),
        (json!({ "min_mood": { "in": ["ok"] } }), vec![2]),
        (json!({ "max_mood": { "iLike": "HAP%" } }), vec![1]),
        (json!({ "not": { "max_mood": { "eq": "happy" } } }), vec![2]),
        (json!({ "max_caseless": { "eq": "B" } }), vec![]),
        (json!({ "max_caseless": { "in": ["b", "Q"] } }), vec![1]),
        (json!({ "min_padded": { "eq": "a" } }), vec![1]),
        (json!({ "min_padded": { "eq": "a    " } }), vec![]),
        (json!({ "max_at": { "eq": "2024-03-31T22:30:00Z" } }), vec![1]),
        (json!({ "max_at": { "in": ["2024-01-01T00:00:00Z"] } }), vec![2]),
        (json!({ "min_at": { "between": ["2024-03-01T00:00:00Z", "2024-03-01T00:00:01Z"] } }), vec![1]),
        (json!({ "min_single": { "eq": 0.1 } }), vec![1]),
        (json!({ "max_single": { "in": [0.3, 0.5] } }), vec![1, 2]),
        (json!({ "max_wide": { "eq": 8 } }), vec![1]),
        (json!({ "min_small": { "lt": 0 } }), vec![1]),
        (json!({ "max_rank": { "in": ["b"] } }), vec![1, 2]),
        (json!({ "max_day": { "eq": "2024-03-31T22:00:00Z" } }), vec![1]),
    ] {
        let rows = answer(&catalog, &database, "t.row", &json!({ "where": clause, "order": [{ "field": "id" }] })).await;
        assert!(rows.is_ok(), "{clause}: {rows:?}");
        assert_eq!(column(&rows, "id"), expected.into_iter().map(Value::from).collect::<Vec<_>>(), "{clause}");
    }
    drop(database);
    server.drop().await;
}

/// contract P3.3: a value of SQLite that does not fit its type is not measured, and a related row counts all the same.
#[tokio::test(flavor = "multi_thread")]
async fn values_that_do_not_fit_are_not_measured() {
    let items = "i = \"int\"\nb = \"bigint\"\nd = \"decimal\"\nf = \"float\"\ns = \"text\"\nu = \"uuid\"\nday = \"date\"\nat = \"timestamp\"\ne = { type = \"enum\", values = [\"a\", \"b\"] }\nj = \"json\"\nk = { json = \"j\", path = [\"k\"], type = \"int\" }\nmonth = { bucket = \"month\", of = \"at\" }\nweek = { bucket = \"week\", of = \"day\" }";
    let derived = "n = { count = \"items\" }\nsumI = { sum = \"items.i\" }\nmaxI = { max = \"items.i\" }\navgB = { avg = \"items.b\" }\nmaxB = { max = \"items.b\" }\nsumD = { sum = \"items.d\" }\navgD = { avg = \"items.d\" }\nmaxD = { max = \"items.d\" }\nsumF = { sum = \"items.f\" }\navgF = { avg = \"items.f\" }\nmaxS = { max = \"items.s\" }\nmaxU = { max = \"items.u\" }\nmaxDay = { max = \"items.day\" }\nmaxAt = { max = \"items.at\" }\nmaxE = { max = \"items.e\" }\nsumK = { sum = \"items.k\" }\nmaxMonth = { max = \"items.month\" }\nmaxWeek = { max = \"items.week\" }\nfits = { count = \"items\", where = { i = { isNull = false } } }";
    let file = support::Sqlite::with(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY); INSERT INTO facts VALUES (1), (2);
         CREATE TABLE items (id INTEGER PRIMARY KEY, row_id INTEGER, i, b, d, f, s, u, day, at, e, j);
         INSERT INTO items VALUES
           (1, 1, 3, 4, '1.5', 0.5, 'm', '00000000-0000-4000-8000-000000000001', '2024-02-29', '2024-02-29T12:00:00.000000Z', 'a', '{\"k\": 2}'),
           (2, 1, 'zzz', 'zzz', 'zzz', 'zzz', x'7a7a', 'zzz', 'zzz', 'zzz', 'zzz', 'zzz'),
           (3, 1, 99999999999, 9.5, x'39', 'inf', 7, 'FFFFFFFF-0000-4000-8000-000000000001', '2024-02-30', '2025-02-29T12:00:00.000000Z', 7, '{\"k\": \"2\"}'),
           (4, 1, 3.0, '4', '1e400000', x'00', NULL, 5, 5, 5, 'B', '{\"k\": 2.5}'),
           (5, 2, 'x', 'x', 'x', 'x', x'00', 'x', 'x', 'x', 'x', '[')",
    );
    let database = support::open(&file.url);
    let catalog = support::catalog(&manifest(items, derived), &database).await;
    let rows = answer(&catalog, &database, "t.row", &json!({ "order": [{ "field": "id" }] })).await.expect("rows");
    assert_eq!(
        rows[0],
        json!({ "id": 1, "n": 4, "sumI": 3, "maxI": 3, "avgB": "4", "maxB": 4, "sumD": "1.5", "avgD": "1.5", "maxD": "1.5", "sumF": 0.5, "avgF": 0.5, "maxS": "m",
                "maxU": "00000000-0000-4000-8000-000000000001", "maxDay": "2024-02-29", "maxAt": "2024-02-29T12:00:00Z", "maxE": "a", "sumK": 2,
                "maxMonth": "2024-02-01T00:00:00Z", "maxWeek": "2024-02-26", "fits": 1 })
    );
    let second = rows[1].as_object().expect("a row");
    let filled: Vec<&String> = second.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
    assert_eq!(filled, ["fits", "id", "n"], "{second:?}");
    let fields = [
        "sumI", "maxI", "avgB", "maxB", "sumD", "avgD", "maxD", "sumF", "avgF", "maxS", "maxU", "maxDay", "maxAt", "maxE", "sumK",
        "maxMonth", "maxWeek",
    ];
    for query in uses(&fields) {
        let rows = answer(&catalog, &database, "t.row", &query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        if query.get("where").is_some() {
            assert_eq!(column(&Ok(rows), "id"), [1], "{query}");
        }
    }
}

/// Both databases hold these instants, the second in a file that stores them in three ways.
fn instants(texts: &[String]) -> (String, String) {
    let rows: Vec<String> =
        texts.iter().enumerate().map(|(id, text)| format!("({id}, '{text}', '{}')", text.trim_end_matches('Z'))).collect();
    let postgres =
        format!("CREATE TABLE facts (id int PRIMARY KEY, at timestamptz, plain timestamp); INSERT INTO facts VALUES {}", rows.join(", "));
    (postgres, format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, at TEXT, plain TEXT); INSERT INTO facts VALUES {}", rows.join(", ")))
}

const UNITS: [&str; 6] = ["hour", "day", "week", "month", "quarter", "year"];

/// contract P5.4: both databases agree on the start of every period, also where midnight comes twice or not at all; it is never after the row.
#[tokio::test(flavor = "multi_thread")]
async fn periods_start_at_the_same_instant_on_both_databases() {
    let zones = [
        "Europe/Berlin",
        "America/Havana",
        "Africa/Cairo",
        "America/Sao_Paulo",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Pacific/Apia",
        "Asia/Beirut",
        "America/Asuncion",
        "America/St_Johns",
        "Asia/Gaza",
        "Africa/Monrovia",
        "UTC",
    ];
    let mut fields = String::new();
    let mut names = Vec::new();
    for (number, zone) in zones.iter().enumerate() {
        for unit in UNITS {
            _ = writeln!(fields, "{unit}{number} = {{ bucket = \"{unit}\", of = \"at\", zone = \"{zone}\" }}");
            names.push(format!("{unit}{number}"));
        }
    }
    for unit in UNITS {
        _ = writeln!(
            fields,
            "{unit} = {{ bucket = \"{unit}\", of = \"at\" }}\nplain_{unit} = {{ bucket = \"{unit}\", of = \"plain\", zone = \"America/Havana\" }}"
        );
        names.extend([unit.to_owned(), format!("plain_{unit}")]);
    }
    let manifest = support::facts(&[("at", "timestamp"), ("plain", "timestamp")]) + &fields;
    // Around the changes of each zone, every half hour of three days.
    let days = [
        "2024-03-30",
        "2024-10-26",
        "2024-11-02",
        "2024-03-09",
        "2024-04-25",
        "2024-10-31",
        "2018-11-03",
        "2018-02-17",
        "2011-12-29",
        "2024-04-06",
        "2010-03-26",
        "2023-10-01",
        "2024-03-24",
        "1972-01-06",
        "2011-04-01",
        "2008-08-28",
        "1999-12-30",
    ];
    let mut texts = Vec::new();
    for day in days {
        let start: jiff::Timestamp = format!("{day}T00:00:00Z").parse().expect("a day");
        for step in 0..144 {
            let instant = start + jiff::SignedDuration::from_secs(step * 1_800) + jiff::SignedDuration::from_micros(step % 3 * 1_234_567);
            texts.push(format!("{instant:.6}"));
        }
    }
    texts.extend(
        ["1890-01-01T00:00:00.000000Z", "1900-06-15T23:59:59.999999Z", "2024-12-31T23:59:59.999999Z", "2025-01-01T00:00:00.000000Z"]
            .map(str::to_owned),
    );
    let (postgres, sqlite) = instants(&texts);
    let sqlite = sqlite.replace("')", "Z')");
    let answers = both(&manifest, &postgres, &sqlite, &[json!({ "order": [{ "field": "id" }] })]).await;
    let (_, first, second) = &answers[0];
    let (first, second) = (first.as_ref().expect("rows"), second.as_ref().expect("rows"));
    let mut differing = Vec::new();
    for (one, other) in first.as_array().expect("rows").iter().zip(second.as_array().expect("rows")) {
        for name in &names {
            if one[name] != other[name] {
                differing.push(format!("{name} of {}: PostgreSQL {}, SQLite {}", one["at"], one[name], other[name]));
            }
            let [start, at]: [jiff::Timestamp; 2] =
                [&one[name], &one["at"]].map(|value| value.as_str().expect("a timestamp").parse().expect("a timestamp"));
            assert!(start <= at, "{name} of {} starts later, at {}", one["at"], one[name]);
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing[..differing.len().min(20)].join("\n"));
}

/// contract P5.4: the ends of the calendar and infinite timestamps fail no statement.
#[tokio::test(flavor = "multi_thread")]
async fn periods_at_the_ends_of_the_calendar() {
    let fields = lines(UNITS
        .iter()
        .map(|unit| {
            let date = if *unit == "hour" { String::new() } else { format!("d_{unit} = {{ bucket = \"{unit}\", of = \"date\" }}\n") };
            format!("{unit} = {{ bucket = \"{unit}\", of = \"at\" }}\nw_{unit} = {{ bucket = \"{unit}\", of = \"at\", zone = \"America/Havana\" }}\ne_{unit} = {{ bucket = \"{unit}\", of = \"at\", zone = \"Asia/Tokyo\" }}\n{date}")
        }));
    let manifest = support::facts(&[("at", "timestamp"), ("date", "date")]) + &fields;
    let rows = "(1, '0002-01-08T00:00:00.000000Z', '0001-01-01'), (2, '9999-12-31T23:59:59.999999Z', '9999-12-31'), (3, '0002-12-31T10:00:00.000000Z', '0004-02-29'), (4, NULL, NULL), (5, '9999-01-01T00:00:00.000000Z', '9999-01-01')";
    let names: Vec<String> = UNITS.iter().flat_map(|unit| [(*unit).to_owned(), format!("w_{unit}"), format!("e_{unit}")]).collect();
    let mut asked = vec![json!({ "order": [{ "field": "id" }] })];
    asked.extend(names.iter().map(|name| json!({ "where": { name: { "isNull": false } }, "order": [{ "field": name }], "limit": 9 })));
    let answers = both(
        &manifest,
        &format!("CREATE TABLE facts (id int PRIMARY KEY, at timestamptz, date date); INSERT INTO facts VALUES {rows}"),
        &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, at TEXT, date TEXT); INSERT INTO facts VALUES {rows}"),
        &asked,
    )
    .await;
    agree(&answers);
    let server = support::Postgres::with(
        "CREATE TABLE facts (id int PRIMARY KEY, at timestamptz, date date); INSERT INTO facts VALUES (0, '0001-01-01', '0001-01-01'), (1, 'infinity', 'infinity'), (2, '-infinity', '-infinity'), \
         (3, '4713-01-01 BC', '4713-01-01 BC'), (4, '294276-12-31 23:59:59', '5874897-12-31')",
    )
    .await;
    let database = support::open(&server.url);
    let catalog = support::catalog(&manifest, &database).await;
    for query in &asked {
        let rows = answer(&catalog, &database, "t.row", query).await;
        assert!(rows.is_ok(), "{query}: {rows:?}");
    }
    drop(database);
    server.drop().await;
}

/// contract P5.4: timestamps that a file stores as seconds or in SQLite's own form have the same periods.
#[tokio::test(flavor = "multi_thread")]
async fn periods_of_timestamps_that_are_stored_otherwise() {
    let fields: String = UNITS
        .iter()
        .flat_map(|unit| {
            ["u", "d", "s"].map(|of| format!("{of}_{unit} = {{ bucket = \"{unit}\", of = \"{of}\", zone = \"Europe/Berlin\" }}\n"))
        })
        .collect();
    let manifest = format!(
        "[resource.t.row]\ntable = \"facts\"\n[resource.t.row.fields]\nid = {{ type = \"int\", key = true }}\ns = \"timestamp\"\n\
         u = {{ type = \"timestamp\", stored = \"unix\" }}\nd = {{ type = \"timestamp\", stored = \"datetime\" }}\n{fields}"
    );
    let file = support::Sqlite::with(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, s TEXT, u, d);
         INSERT INTO facts VALUES (1, '2024-03-31T22:30:00.000000Z', 1711924200, '2024-03-31 22:30:00'), (2, '1969-12-31T23:30:00.000000Z', -1800, '1969-12-31 23:30:00'),
           (3, '2024-10-27T00:30:00.500000Z', 1729989000.5, '2024-10-27 00:30:00.5'), (4, 'x', 'x', 'x'), (5, NULL, NULL, NULL)",
    );
    let database = support::open(&file.url);
    let catalog = support::catalog(&manifest, &database).await;
    let rows = answer(&catalog, &database, "t.row", &json!({ "order": [{ "field": "id" }] })).await.expect("rows");
    for row in rows.as_array().expect("rows") {
        for unit in UNITS {
            let [standard, unix, datetime] = ["s", "u", "d"].map(|of| &row[format!("{of}_{unit}")]);
            assert!(standard == unix && standard == datetime, "{unit}: {row}");
            assert_eq!(standard.is_null(), row["id"].as_i64() > Some(3), "{row}");
        }
    }
    assert_eq!(rows[0]["u_month"], "2024-03-31T22:00:00Z");
    for of in ["s", "u", "d"] {
        let found =
            answer(&catalog, &database, "t.row", &json!({ "where": { format!("{of}_day"): { "eq": "2024-03-31T22:00:00Z" } } })).await;
        assert_eq!(column(&found, "id"), [1], "{of}");
    }
}

/// Not every document can be read by the test itself.
const HIDDEN_JSON: &str = "[resource.t.row]\ntable = \"facts\"\n[resource.t.row.fields]\nid = { type = \"int\", key = true }\nv = { type = \"json\", hidden = true }\n";

/// trap 3: a value inside json has its declared type or is NULL, on both databases, in `jsonb` and in `json`.
#[tokio::test(flavor = "multi_thread")]
async fn values_inside_json_have_their_type_or_are_null() {
    let kinds = ["bool", "int", "bigint", "float", "decimal", "text", "uuid"];
    let typed = |kind: &&str| format!("as_{kind} = {{ json = \"v\", path = [\"a\"], type = \"{kind}\" }}");
    let mut fields = lines(kinds.iter().map(typed));
    fields.push_str("as_enum = { json = \"v\", path = [\"a\"], type = \"enum\", values = [\"x\", \"it's\"] }\n");
    let paths = [
        ("p0", r#"["0"]"#),
        ("p1", r#"["-1"]"#),
        ("p2", r#"["a", "1", "b"]"#),
        ("p3", r#"["01"]"#),
        ("p4", r#"["+1"]"#),
        ("p5", r#"[""]"#),
        ("p6", r#"["it's \"q\" \\ {x},"]"#),
        ("p7", r#"["é", "null"]"#),
        ("p8", r#"["1a"]"#),
        ("p9", r#"[" 1"]"#),
        ("p10", r#"["-0"]"#),
        ("p11", r#"["99999999999999999999"]"#),
        ("p12", r#"["-9223372036854775808"]"#),
        ("p13", r#"["1 "]"#),
        ("p14", r#"["2147483648"]"#),
        ("p15", r#"["NULL"]"#),
    ];
    for (name, path) in paths {
        _ = writeln!(fields, "{name} = {{ json = \"v\", path = {path}, type = \"text\" }}");
    }
    let manifest = HIDDEN_JSON.to_owned() + &fields;
    let values = [
        "1",
        "3.0",
        "3.5",
        "-0",
        "-0.0",
        "1e2",
        "1E+2",
        "1.50",
        "100e-2",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "1e18",
        "1e19",
        "1e400",
        "-1e400",
        "1e-400",
        "5e-324",
        "2e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "2.2250738585072014e-308",
        "0.1",
        "123456789012345678901234567890.12345678901234567890",
        "true",
        "false",
        "null",
        "\"\"",
        "\"x\"",
        "\"it''s\"",
        "\"NaN\"",
        "\"true\"",
        "\"1\"",
        "\"y\"",
        "[]",
        "{}",
        "[1]",
        "\"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6\"",
        "\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"",
        "\"f81d4fae7dec11d0a76500a0c91e6bf6\"",
        "\"{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}\"",
        "\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\\n\"",
        "\"\\ud83d\\ude00 \\\\ \\\" é\"",
        "[{\"b\": 1}, {\"b\": \"two\"}]",
    ];
    let mut texts: Vec<String> = values.iter().map(|value| format!("{{\"a\": {value}}}")).collect();
    texts.extend(
        [
            r#"{"a": 1, "a": "x"}"#, r#"{"a": "x", "a": null}"#, r#"{"a": {"a": 1}, "a": 2}"#, r#"["zero", "one", "two"]"#, "[]", r#"["only"]"#, "\"a\"", "5", "null", "true",
            r#"{"0": "zero", "-1": "last", "": "empty", "it''s \"q\" \\ {x},": "odd", "01": "padded", "+1": "plus", "é": {"null": "deep"}, "NULL": "null"}"#,
            r#"{"it''s \"q\" \\ {x},": "odd"}"#, r#"[["a"], ["b"]]"#, r#"{"-0": "minus", "1a": "letter", " 1": "blank"}"#,
        ]
        .map(str::to_owned),
    );
    let rows: Vec<String> = texts.iter().enumerate().map(|(id, text)| format!("({id}, '{text}')")).collect();
    let rows = rows.join(", ");
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| format!("as_{kind}"))
        .chain(["as_enum".to_owned()])
        .chain(paths.iter().map(|(name, _)| (*name).to_owned()))
        .collect();
    let mut asked = vec![json!({ "order": [{ "field": "id" }] })];
    for name in &names {
        asked.push(json!({ "where": { name: { "isNull": false } }, "order": [{ "field": name }], "limit": 99 }));
        asked.push(json!({ "where": { "not": { name: { "isNull": false } } }, "aggregation": { "fields": [{ "fn": "count", "field": name }, { "fn": "count", "field": "*" }] } }));
        asked.push(
            json!({ "aggregation": { "groupBy": [name], "fields": [{ "fn": "count", "field": "*" }] }, "order": [{ "field": name }] }),
        );
    }
    asked.extend([
        json!({ "where": { "as_int": { "in": [3, 100] } }, "order": [{ "field": "id" }] }),
        json!({ "where": { "as_decimal": { "eq": "1.5" } } }),
        json!({ "where": { "as_text": { "iLike": "nan" } } }),
        json!({ "where": { "as_enum": { "ne": "x" } } }),
        json!({ "where": { "as_uuid": { "eq": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" } }, "order": [{ "field": "id" }] }),
        json!({ "aggregation": { "fields": [{ "fn": "sum", "field": "as_int" }, { "fn": "sum", "field": "as_bigint" }, { "fn": "max", "field": "as_decimal" }, { "fn": "min", "field": "as_text" }, { "fn": "avg", "field": "as_int" }] } }),
    ]);
    for kind in ["jsonb", "json"] {
        let answers = both(
            &manifest,
            &format!("CREATE TABLE facts (id int PRIMARY KEY, v {kind}); INSERT INTO facts VALUES {rows}"),
            &format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO facts VALUES {rows}"),
            &asked,
        )
        .await;
        let by_field: Vec<String> = match (&answers[0].1, &answers[0].2) {
            (Ok(first), Ok(second)) => {
                let pairs = first.as_array().expect("rows").iter().zip(second.as_array().expect("rows")).zip(&texts);
                let mut found = Vec::new();
                for ((one, other), text) in pairs {
                    found.extend(
                        names
                            .iter()
                            .filter(|name| one[*name] != other[*name])
                            .map(|name| format!("{text} {name}: PostgreSQL {}, SQLite {}", one[name], other[name])),
                    );
                }
                found
            }
            (first, second) => vec![format!("{:?} {:?}", first.as_ref().err(), second.as_ref().err())],
        };
        assert!(by_field.is_empty(), "{kind}:\n{}", by_field.join("\n"));
        agree(&answers);
    }
}

/// trap 3, contract Q14.3: a `json` column may hold what `jsonb` refuses; a value inside it reads as null, and no statement fails.
#[tokio::test(flavor = "multi_thread")]
async fn json_that_jsonb_refuses_has_no_values_inside() {
    let long = "1".repeat(140_000);
    let deep = format!("{}1{}", "[".repeat(3_000), "]".repeat(3_000));
    let rows = r#"(1, '{"a": "x"}'), (2, '{"a": "\u0000"}'), (3, '{"a": 1e200000}'), (4, '{"a": 1, "b": "\u0000"}')"#.to_owned()
        + &format!(", (5, '{{\"a\": {long}}}'), (6, '{{\"a\": 0.{long}}}'), (7, '{{\"a\": {deep}}}')");
    let server =
        support::Postgres::with(&format!("CREATE TABLE facts (id int PRIMARY KEY, v json); INSERT INTO facts VALUES {rows}")).await;
    let file = support::Sqlite::with(&format!("CREATE TABLE facts (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO facts VALUES {rows}"));
    let typed = |kind: &&str| format!("as_{kind} = {{ json = \"v\", path = [\"a\"], type = \"{kind}\" }}");
    let fields = lines(["int", "float", "decimal", "text", "bool"].iter().map(typed));
    for database in [support::open(&server.url), support::open(&file.url)] {
        let catalog = support::catalog(&(HIDDEN_JSON.to_owned() + &fields), &database).await;
        for kind in ["int", "float", "decimal", "text", "bool"] {
            let field = format!("as_{kind}");
            for query in
                [json!({ "order": [{ "field": field }], "limit": 9 }), json!({ "where": { "not": { &field: { "isNull": true } } } })]
            {
                let rows = answer(&catalog, &database, "t.row", &query).await;
                assert!(rows.is_ok(), "{:?} {query}: {:?}", database.dialect(), rows.err());
            }
        }
        let found = answer(&catalog, &database, "t.row", &json!({ "where": { "as_text": { "eq": "x" } } })).await;
        assert_eq!(column(&found, "id"), [1]);
    }
    server.drop().await;
}

/// Strings with every kind of character are looked up as they are.
#[tokio::test(flavor = "multi_thread")]
async fn looked_up_strings_keep_every_character() {
    let texts = [
        "",
        " ",
        "null",
        "\"quoted\"",
        "back\\slash",
        "it''s",
        "tab\tnew\nline",
        "🎈\u{2028}\u{7f}\u{1}",
        "é\u{301}",
        "[1]",
        "{}",
        "1e5",
        "$1",
        "%_",
    ];
    let items: Vec<String> = texts.iter().enumerate().map(|(id, text)| format!("({id}, {id}, '{text}')")).collect();
    let ids: Vec<String> = (0..texts.len()).map(|id| format!("({id})")).collect();
    let script = format!(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY); INSERT INTO facts VALUES {}; CREATE TABLE items (id INTEGER PRIMARY KEY, row_id INTEGER, s TEXT); INSERT INTO items VALUES {}",
        ids.join(", "),
        items.join(", ")
    );
    let mut asked = uses(&["last"]);
    for text in texts {
        asked.push(json!({ "where": { "last": { "eq": text.replace("''", "'") } } }));
        asked.push(json!({ "where": { "last": { "in": [text.replace("''", "'"), "other"] }, "not": { "last": { "isNull": true } } } }));
    }
    let answers = both(&manifest("s = \"text\"", "last = { max = \"items.s\" }"), &script, &script, &asked).await;
    agree(&answers);
    for (index, text) in texts.iter().enumerate() {
        let found = &answers[4 + index * 2].1;
        assert_eq!(found, &Ok(json!([{ "id": index, "last": text.replace("''", "'") }])));
    }
}

fn shop() -> String {
    let derived = "n = { count = \"items\" }\nagain = { count = \"items\" }\nany = { exists = \"items\" }\ntotal = { sum = \"items.w\" }\nlazy = { max = \"items.w\", eager = false }\nsecret = { sum = \"items.w\", mask = \"redact\", unmask = \"t.secret\" }";
    manifest("w = \"int\"", derived)
}

const ROWS: &str = "
    CREATE TABLE facts (id int PRIMARY KEY); CREATE TABLE items (id int PRIMARY KEY, row_id int, w int);
    INSERT INTO facts SELECT n FROM generate_series(1, 5000) n; INSERT INTO items SELECT n, n % 5000 + 1, n % 7 FROM generate_series(1, 20000) n;
    CREATE INDEX ON items (row_id); ANALYZE;";

fn text(catalog: &Catalog, dialect: Dialect, query: &Value, fields: Option<&str>, viewer: &Viewer) -> String {
    let access = policy::authorize_read(catalog, catalog.by_name("t.row").expect("a resource"), viewer).expect("access");
    let body = parse::body(json!({ "query": query }).to_string().as_bytes()).expect("a body");
    let selection = fields.map(|fields| parse::field_selection(fields).expect("fields"));
    let plan = plan::plan(access, body.query.showing(selection), plan::Operation::List, None).expect("a plan");
    sql::render(&plan, dialect).root.sql.text().to_owned()
}

/// contract P5.1: equal lookups of a statement are made once; a page that shows none makes none.
#[tokio::test(flavor = "multi_thread")]
async fn a_value_is_looked_up_once() {
    let server = support::Postgres::with(ROWS).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(&shop(), &database).await;
    let operator = Viewer::operator();
    let lookups =
        |query: &Value, fields: Option<&str>| text(&catalog, Dialect::Postgres, query, fields, &operator).matches("\"items\"").count();
    let every_use =
        json!({ "where": { "n": { "gt": 1 }, "not": { "n": { "eq": 5 } } }, "order": [{ "field": "n", "dir": "desc" }], "limit": 5 });
    assert_eq!(
        lookups(&every_use, Some("id,n,again")),
        1,
        "{}",
        text(&catalog, Dialect::Postgres, &every_use, Some("id,n,again"), &operator)
    );
    assert_eq!(lookups(&every_use, Some("id,total")), 2);
    assert_eq!(lookups(&json!({ "order": [{ "field": "id" }], "limit": 5 }), Some("id")), 0);
    assert_eq!(lookups(&json!({ "where": { "any": { "eq": true } }, "order": [{ "field": "again" }] }), Some("id,n,any")), 2);
    assert_eq!(lookups(&json!({}), Some("lazy")), 1);
    assert_eq!(lookups(&json!({}), Some("id,n,again")), 1, "equal fields that are only shown share a value too");
    let shown = text(&catalog, Dialect::Postgres, &json!({}), None, &operator);
    assert!(!shown.contains("max("), "a field that is not eager is not looked up: {shown}");
    // Who asks for the total alone reads no row.
    let access = policy::authorize_read(&catalog, catalog.by_name("t.row").expect("a resource"), &operator).expect("access");
    let body = parse::body(br#"{"query": {"order": [{"field": "id"}]}}"#).expect("a body");
    let total = body.query.showing(Some(FieldSelection::of_document())).without_rows();
    let total = sql::render(&plan::plan(access, total, plan::Operation::Paginate, None).expect("a plan"), Dialect::Postgres);
    assert_eq!((total.root.sql.text().starts_with("SELECT 1 FROM"), total.limit), (true, Some(0)), "{}", total.root.sql.text());
    // A masked value is not even read.
    let nobody = Viewer::new([], json!({}));
    let query = json!({});
    assert!(!text(&catalog, Dialect::Postgres, &query, Some("id,secret"), &nobody).contains("items"));
    let answered = |fields: &'static str| {
        let access = policy::authorize_read(&catalog, catalog.by_name("t.row").expect("a resource"), &nobody).expect("access");
        let body = parse::body(br#"{"query": {"where": {"id": {"eq": 1}, "lazy": {"gte": 0}}}}"#).expect("a body");
        let selection = parse::field_selection(fields).expect("fields");
        plan::plan(access, body.query.showing(Some(selection)), plan::Operation::List, None)
            .map(|plan| sql::render(&plan, Dialect::Postgres))
    };
    let bytes = match database.run(answered("lazy,secret,again").expect("a plan"), Format::Json).await.expect("rows") {
        store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => bytes.to_vec(),
        store::Answer::Chunks(chunks) => support::whole(chunks).await.expect("rows"),
        store::Answer::Nothing => panic!("a list is always there"),
    };
    assert_eq!(serde_json::from_slice::<Value>(&bytes).expect("JSON"), json!([{ "lazy": 6, "secret": null, "again": 4 }]));
    drop(database);
    server.drop().await;
}

async fn explained(client: &tokio_postgres::Client, sql: &sql::Sql) -> String {
    client.batch_execute(&format!("DEALLOCATE ALL; PREPARE asked AS {}", sql.text())).await.expect("prepared");
    let nulls = vec!["NULL"; sql.params().len()].join(", ");
    let call = if nulls.is_empty() { String::new() } else { format!("({nulls})") };
    let lines = client.query(&format!("EXPLAIN EXECUTE asked{call}"), &[]).await.expect("a plan");
    lines.iter().map(|line| line.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// trap 15: the lookups of a page go by the index under the relation.
#[tokio::test(flavor = "multi_thread")]
async fn lookups_use_the_index_of_the_relation() {
    let server = support::Postgres::with(ROWS).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(&shop(), &database).await;
    let client = support::connect(&server.url).await;
    client.batch_execute("SET jit = off; SET plan_cache_mode = force_generic_plan").await.expect("a setting");
    for query in [
        json!({ "where": { "id": { "lte": 20 } }, "order": [{ "field": "id" }], "limit": 10 }),
        json!({ "where": { "id": { "lte": 20 }, "n": { "gt": 2 }, "any": { "eq": true } }, "order": [{ "field": "total" }] }),
    ] {
        let planned = planned(&catalog, &database, "t.row", &query);
        let plan = explained(&client, &planned.root.sql).await;
        assert!(plan.contains("items_row_id_idx") && !plan.contains("Seq Scan on items"), "{query}\n{plan}");
    }
    drop((database, client));
    server.drop().await;
    // On SQLite too.
    let file = support::Sqlite::with(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY); CREATE TABLE items (id INTEGER PRIMARY KEY, row_id INTEGER, w INTEGER); CREATE INDEX items_row ON items (row_id);",
    );
    let database = support::open(&file.url);
    let catalog = support::catalog(&shop(), &database).await;
    let query = json!({ "where": { "id": { "lte": 20 }, "n": { "gt": 2 } }, "order": [{ "field": "total" }] });
    for (path, lines) in
        database.analyze(&planned(&catalog, &database, "t.row", &query), store::run::PlanDetail::Figures).await.expect("a plan")
    {
        let scans: Vec<&String> = lines
            .iter()
            .filter(|line| (line.contains("SCAN t") && !line.contains("VIRTUAL TABLE")) || line.contains("AUTOMATIC"))
            .collect();
        assert!(scans.is_empty(), "{path}: {lines:?}");
        assert!(lines.iter().any(|line| line.contains("items_row")), "{path}: {lines:?}");
    }
}

/// contract P5.4: an index over the expression that `check` names serves filters and orders.
#[tokio::test(flavor = "multi_thread")]
async fn expression_indexes_are_used() {
    let manifest = support::facts(&[("v", "json"), ("at", "timestamp"), ("plain", "timestamp"), ("day", "date")])
        + "tier = { json = \"v\", path = [\"plan\", \"tier\"], type = \"text\" }\nseats = { json = \"v\", path = [\"seats\"], type = \"int\" }\n\
           month = { bucket = \"month\", of = \"at\" }\nlocal = { bucket = \"day\", of = \"at\", zone = \"Europe/Berlin\" }\n\
           week = { bucket = \"week\", of = \"plain\" }\nquarter = { bucket = \"quarter\", of = \"day\" }\nhour = { bucket = \"hour\", of = \"at\", zone = \"Europe/Berlin\" }\n";
    let server = support::Postgres::with(
        "CREATE TABLE facts (id int PRIMARY KEY, v jsonb, at timestamptz, plain timestamp, day date);
         INSERT INTO facts SELECT n, jsonb_build_object('plan', jsonb_build_object('tier', 't' || n), 'seats', n), timestamptz '1990-01-01Z' + n * interval '1 day', timestamp '1990-01-01' + n * interval '1 day', date '1500-01-01' + n * 30 FROM generate_series(1, 6000) n",
    )
    .await;
    let database = support::open(&server.url);
    let catalog = support::catalog(&manifest, &database).await;
    let client = support::connect(&server.url).await;
    let resource = catalog.resource(catalog.by_name("t.row").expect("a resource"));
    let cases = [
        ("tier", json!("t77")),
        ("seats", json!(77)),
        ("month", json!("1999-01-01T00:00:00Z")),
        ("local", json!("1999-01-01T23:00:00Z")),
        ("hour", json!("1999-01-01T00:00:00Z")),
        ("week", json!("1999-01-04T00:00:00Z")),
        ("quarter", json!("1600-01-01")),
    ];
    for (name, _) in &cases {
        let (_, field) = resource.field(name).expect("a field");
        let expression = index_expression(field, Dialect::Postgres).expect("an expression");
        client
            .batch_execute(&format!("CREATE INDEX by_{name} ON facts ({expression})"))
            .await
            .unwrap_or_else(|error| panic!("{name}: {expression}: {error:?}"));
    }
    client.batch_execute("ANALYZE; SET jit = off; SET plan_cache_mode = force_generic_plan").await.expect("statistics");
    for (name, value) in cases {
        let query = planned(&catalog, &database, "t.row", &json!({ "where": { name: { "eq": value } } }));
        let plan = explained(&client, &query.root.sql).await;
        assert!(plan.contains(&format!("by_{name}")), "{name}\n{}\n{plan}", query.root.sql.text());
        let query = planned(&catalog, &database, "t.row", &json!({ "order": [{ "field": name }], "limit": 5 }));
        let plan = explained(&client, &query.root.sql).await;
        assert!(plan.contains(&format!("by_{name}")), "{name}\n{}\n{plan}", query.root.sql.text());
    }
    drop((database, client));
    server.drop().await;
}

/// SQLite joins at most 64 tables: more lookups than that in one query are a fault, and as many as it takes may be shown.
#[tokio::test(flavor = "multi_thread")]
async fn many_derived_fields() {
    let derived = lines((0..80).map(|number| format!("n{number} = {{ count = \"items\", where = {{ w = {{ gte = {number} }} }} }}")));
    let manifest = manifest("w = \"int\"", &derived) + "[resource.t.item.relations]\nrow = { one = \"t.row\", on = { rowId = \"id\" } }\n";
    let script = "CREATE TABLE facts (id INTEGER PRIMARY KEY); CREATE TABLE items (id INTEGER PRIMARY KEY, row_id INTEGER, w INTEGER); CREATE INDEX items_row ON items (row_id);
                  INSERT INTO facts VALUES (1), (2); INSERT INTO items VALUES (1, 1, 5), (2, 1, 7), (3, 2, 100)";
    let filter = |count: usize| -> Value {
        (0..count).map(|number| (format!("n{number}"), json!({ "gte": 1 }))).collect::<serde_json::Map<_, _>>().into()
    };
    let asked = [
        json!({ "order": [{ "field": "id" }] }),
        json!({ "where": filter(5), "order": [{ "field": "n79" }], "limit": 5 }),
        json!({ "where": filter(59), "order": [{ "field": "id" }] }),
        json!({ "where": { "items": { "row": filter(55) } }, "order": [{ "field": "id" }] }),
        json!({ "relations": { "items": { "relations": { "row": { "where": filter(50), "order": [{ "field": "n3" }], "limit": 1 } } } }, "order": [{ "field": "id" }] }),
    ];
    let answers = both(&manifest, script, script, &asked).await;
    agree(&answers);
    assert_eq!(column(&answers[2].1, "id"), [2]);
    let too_many = [json!({ "where": filter(61) }), json!({ "where": { "items": { "row": filter(61) } } })];
    for (query, postgres, sqlite) in both(&manifest, script, script, &too_many).await {
        assert!(postgres.is_err() && sqlite.is_err(), "{query}");
        let message = sqlite.as_ref().expect_err("refused");
        assert!(message.contains("derived fields of related rows") && message.matches("QS").count() == 1, "{message}");
    }
}

/// A row without a related row has no value at all, not even a count of zero.
#[tokio::test(flavor = "multi_thread")]
async fn a_path_without_a_related_row_is_null() {
    let manifest = r#"
    [resource.t.row]
    table = "facts"
    [resource.t.row.fields]
    id = { type = "int", key = true }
    groupId = "int"
    [resource.t.row.relations]
    group = { one = "t.group", on = { groupId = "id" } }
    [resource.t.group]
    table = "groups"
    [resource.t.group.fields]
    id = { type = "int", key = true }
    n = { count = "rows" }
    any = { exists = "rows" }
    mean = { avg = "rows.id" }
    [resource.t.group.relations]
    rows = { many = "t.row", on = { id = "groupId" } }
    "#;
    let script = "CREATE TABLE groups (id INTEGER PRIMARY KEY); CREATE TABLE facts (id INTEGER PRIMARY KEY, group_id INTEGER); INSERT INTO groups VALUES (1), (2);
                  INSERT INTO facts VALUES (1, 1), (2, NULL), (3, 1), (4, 9), (5, 2)";
    let asked = [
        json!({ "order": [{ "field": "group.n", "dir": "desc" }, { "field": "group.any" }, { "field": "group.mean" }, { "field": "id" }] }),
        json!({ "aggregation": { "groupBy": ["group.n", "group.any"], "fields": [{ "fn": "count", "field": "*" }, { "fn": "sum", "field": "group.n" }, { "fn": "max", "field": "group.mean" }] }, "order": [{ "field": "group.n" }] }),
    ];
    let answers = both(manifest, script, script, &asked).await;
    agree(&answers);
    assert_eq!(column(&answers[0].1, "id"), [2, 4, 1, 3, 5]);
    assert_eq!(
        answers[1].1,
        Ok(json!([
            { "group.n": 1, "group.any": true, "count": 1, "sum_group_n": "1", "max_group_mean": "5" },
            { "group.n": 2, "group.any": true, "count": 2, "sum_group_n": "4", "max_group_mean": "2" },
            { "group.n": null, "group.any": null, "count": 2, "sum_group_n": null, "max_group_mean": null },
        ]))
    );
}
