//! PostgreSQL's `real`: what is shown is what is compared.

use serde_json::{Value, json};

use crate::{answer, support};

/// contract Q3.1, contract Q13.2: a single is compared as a single, and shown with its own digits in a list too.
#[tokio::test(flavor = "multi_thread")]
async fn reals_are_compared_as_they_are_shown() {
    let server = support::Postgres::with(
        "CREATE TABLE facts (id int PRIMARY KEY, v real, w real[]); \
         INSERT INTO facts VALUES (1, 0.1, '{0.1,2.5,NULL}'), (2, 0.3, '{}'), (3, 3e38, '{-3e38}'), (4, NULL, NULL)",
    )
    .await;
    let database = support::open(&server.url);
    let manifest = &support::facts(&[("v", "float"), ("w", "float[]")]);
    let catalog = support::catalog(manifest, &database).await;
    let rows = answer(&catalog, &database, "t.row", &json!({ "where": { "id": { "eq": 1 } } })).await;
    assert_eq!(rows, Ok(json!([{ "id": 1, "v": 0.1, "w": [0.1, 2.5, null] }])));
    let cases: [(Value, &[i64]); 12] = [
        (json!({ "v": { "eq": 0.1 } }), &[1]),
        (json!({ "v": { "gt": 0.1 } }), &[2, 3]),
        (json!({ "v": { "gte": 0.1 } }), &[1, 2, 3]),
        (json!({ "v": { "ne": 0.1 } }), &[2, 3]),
        (json!({ "v": { "in": [0.1, 0.3, 7] } }), &[1, 2]),
        (json!({ "v": { "notIn": [0.1] } }), &[2, 3]),
        (json!({ "v": { "between": [0.1, 0.3] } }), &[1, 2]),
        (json!({ "v": { "lt": 1e300 } }), &[1, 2, 3]),
        (json!({ "v": { "gt": -1e300, "lte": 0.3 } }), &[1, 2]),
        (json!({ "v": { "gt": 1e300 } }), &[]),
        (json!({ "w": { "contains": 0.1 } }), &[1]),
        (json!({ "w": { "overlap": [0.1, -3e38] } }), &[1, 3]),
    ];
    for (clause, expected) in cases {
        let rows = answer(&catalog, &database, "t.row", &json!({ "where": clause, "order": [{ "field": "id" }] })).await.expect("rows");
        let found: Vec<i64> = rows.as_array().expect("rows").iter().map(|row| row["id"].as_i64().expect("an id")).collect();
        assert_eq!(found, expected, "{clause}");
    }
    let fields = json!([{ "fn": "sum", "field": "v" }, { "fn": "avg", "field": "v" }, { "fn": "max", "field": "v" }]);
    let statement = json!({ "where": { "id": { "lt": 3 } }, "aggregation": { "fields": fields } });
    let measured = answer(&catalog, &database, "t.row", &statement).await;
    assert_eq!(measured, Ok(json!([{ "sum_v": 0.4, "avg_v": 0.2, "max_v": 0.3 }])), "and added up as they are shown");
    drop(database);
    server.drop().await;
}
