//! Pages that end at a value that no statement can name.

use serde_json::json;
use store::Error;

use crate::{Place, support};

const MANIFEST: &str = r#"
[resource.t.row]
table = "facts"
[resource.t.row.fields]
id = { type = "int", key = true }
f = "float"
at = "timestamp"
day = "date"
tm = "time"
d = "decimal"
k = { type = "enum", values = ["high", "low"] }
"#;

fn is_unrepresentable(error: &Error, name: &str) -> bool {
    matches!(error, Error::PageEnd(error) if error.faults[0].message.contains(&format!("`{name}`")) && error.faults[0].path == "/query/order/0/field")
}

// contract Q16.7
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_ends_at_a_value_that_postgresql_alone_can_say_is_an_error() {
    let server = support::Postgres::with(
        "CREATE TABLE facts (id int PRIMARY KEY, f float8, at timestamptz, day date, tm time, d numeric, k text);
         INSERT INTO facts VALUES (1, 1, '2024-01-01', '2024-01-01', '10:00', 1, 'high'),
            (2, 'NaN', 'infinity', 'infinity', '24:00', 'NaN', 'middle'), (3, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    .await;
    let place = Place::new(&server.url, MANIFEST).await;
    for field in ["f", "at", "day", "tm", "d", "k"] {
        let order = json!([{ "field": field }]);
        let error = place.page("t.row", &json!({ "order": order, "limit": 2 })).await.expect_err(field);
        assert!(is_unrepresentable(&error, field), "{field}: {error}");
        // Before and after it nothing is left out.
        let first = place.page("t.row", &json!({ "order": order, "limit": 1 })).await.expect("a page");
        let rest = place.page("t.row", &json!({ "order": order, "where": first["next"]["where"], "limit": 2 })).await.expect("a page");
        let ids: Vec<_> = rest["rows"].as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
        assert_eq!((ids, &rest["next"]), (vec![json!(2), json!(3)], &json!(null)), "{field}");
    }
    server.drop().await;
}

// contract Q16.7
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_ends_at_an_invalid_value_of_sqlite_is_an_error() {
    let manifest = "[resource.t.row]\ntable = \"facts\"\n[resource.t.row.fields]\nid = { type = \"int\", key = true }\nn = \"int\"\nf = \"float\"\nt = \"text\"\n\
        s = { type = \"timestamp\", stored = \"unix\" }\nd = \"decimal\"\n";
    // 2.5 and 'x' are no integers, 9007199254740993 is no double, and a part of a microsecond is not shown.
    let file = support::Sqlite::with(
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, n, f, t, s, d);
         INSERT INTO facts VALUES (1, 2, 1.5, 'a', 1700000000.25, '1'), (2, 2.5, 9007199254740993, 'a' || char(0), 1700000000.4000003, 'x'),
            (3, 3, 1e300, 'b', 1700000001, '2'), (4, 'x', NULL, x'00', NULL, NULL)",
    );
    let place = Place::new(&file.url, manifest).await;
    for field in ["n", "f", "t", "s"] {
        let order = json!([{ "field": field }]);
        let listed = place.list("t.row", &json!({ "order": order, "limit": 10 })).await;
        assert_eq!(listed[1]["id"], 2, "{field}: {listed:?}");
        let error = place.page("t.row", &json!({ "order": order, "limit": 2 })).await.expect_err(field);
        assert!(is_unrepresentable(&error, field), "{field}: {error}");
        let first = place.page("t.row", &json!({ "order": order, "limit": 1 })).await.expect("a page");
        let next = json!({ "order": order, "where": first["next"]["where"], "limit": 2 });
        let second = place.page("t.row", &next).await.expect("a page");
        let third = place.page("t.row", &second["next"]).await.expect("a page");
        let shown = [&first, &second, &third].map(|page| page["rows"].as_array().expect("rows").clone()).concat();
        assert_eq!(shown, listed, "{field}");
    }
    // A decimal is sorted by the value that is read, so an invalid one is NULL.
    let order = json!([{ "field": "d" }]);
    let walked = place.walk("t.row", &json!({ "order": order, "limit": 1 })).await.expect("rows");
    assert_eq!(walked, place.list("t.row", &json!({ "order": order, "limit": 10 })).await);
}
