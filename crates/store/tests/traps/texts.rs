//! PostgreSQL's `char(n)` and `citext`: compared as the texts they show, and found by their indexes all the same.

use serde_json::{Value, json};

use crate::plans::{levels, planned};
use crate::{answer, support};

const SCRIPT: &str = "
    CREATE EXTENSION citext SCHEMA public;
    CREATE TABLE countries (code char(3) PRIMARY KEY, name citext UNIQUE);
    CREATE TABLE cities (id int PRIMARY KEY, country char(3) REFERENCES countries, mayor citext);
    INSERT INTO countries SELECT lpad(to_hex(n), 3, 'x'), 'Land ' || n FROM generate_series(2, 4000) n;
    INSERT INTO countries VALUES ('D', 'Denmark'), ('d', 'DUNE');
    INSERT INTO cities SELECT n, lpad(to_hex(n % 3999 + 2), 3, 'x'), 'Mayor ' || n FROM generate_series(1, 20000) n;
    INSERT INTO cities VALUES (20001, 'D', 'Ada'), (20002, 'd', 'ADA'), (20003, NULL, NULL);
    CREATE INDEX ON cities (country);
    CREATE INDEX ON cities (mayor);
    ANALYZE;";

const MANIFEST: &str = r#"
    [resource.t.country]
    table = "countries"
    [resource.t.country.fields]
    code = { type = "text", key = true }
    name = "text"
    [resource.t.country.relations]
    cities = { many = "t.city", on = { code = "country" } }
    [resource.t.city]
    table = "cities"
    [resource.t.city.fields]
    id = { type = "int", key = true }
    country = "text"
    mayor = "text"
    [resource.t.city.relations]
    land = { one = "t.country", on = { country = "code" } }
"#;

/// contract Q3.1: trailing blanks and the case of letters count, whatever the column's type thinks of them.
#[tokio::test(flavor = "multi_thread")]
async fn padded_and_caseless_texts_compare_as_they_are_shown() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let cases: [(Value, &[i64]); 9] = [
        (json!({ "mayor": { "eq": "Ada" } }), &[20_001]),
        (json!({ "mayor": { "in": ["ADA", "ada"] } }), &[20_002]),
        (json!({ "mayor": { "iLike": "ada" } }), &[20_001, 20_002]),
        (json!({ "country": { "eq": "D" } }), &[20_001]),
        (json!({ "country": { "eq": "D  " } }), &[]),
        (json!({ "country": { "in": ["D", "d "] } }), &[20_001]),
        (json!({ "not": { "country": { "ne": "D" } }, "id": { "gt": 20_000 } }), &[20_001]),
        (json!({ "not": { "mayor": { "eq": "Ada" } }, "id": { "gt": 20_000 } }), &[20_002]),
        (json!({ "land": { "name": { "eq": "DUNE" } } }), &[20_002]),
    ];
    for (clause, expected) in cases {
        let rows = answer(&catalog, &database, "t.city", &json!({ "where": clause, "order": [{ "field": "id" }] })).await.expect("rows");
        let found: Vec<i64> = rows.as_array().expect("rows").iter().map(|row| row["id"].as_i64().expect("an id")).collect();
        assert_eq!(found, expected, "{clause}");
    }
    // Sorted and told apart as they compare.
    let order = json!([{ "field": "mayor", "dir": "desc" }, { "field": "id" }]);
    let rows = answer(&catalog, &database, "t.city", &json!({ "where": { "id": { "gt": 20_000 } }, "order": order, "limit": 3 })).await;
    let sorted: Vec<Value> = rows.expect("rows").as_array().expect("rows").iter().map(|row| row["mayor"].clone()).collect();
    let least = json!([{ "fn": "min", "field": "mayor" }, { "fn": "max", "field": "mayor" }]);
    let ends =
        answer(&catalog, &database, "t.city", &json!({ "where": { "id": { "gt": 20_000 } }, "aggregation": { "fields": least } })).await;
    let ends = ends.expect("a group");
    assert_eq!(sorted, [Value::Null, ends[0]["max_mayor"].clone(), ends[0]["min_mayor"].clone()]);
    let counted = json!({ "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["mayor"] });
    let groups = answer(&catalog, &database, "t.city", &json!({ "where": { "id": { "gt": 20_000 } }, "aggregation": counted })).await;
    assert_eq!(groups.expect("groups").as_array().map(Vec::len), Some(3));
    let asked = json!({ "where": { "code": { "in": ["D", "d"] } }, "order": [{ "field": "code" }], "relations": { "cities": true } });
    let rows = answer(&catalog, &database, "t.country", &asked).await.expect("rows");
    let mayors: Vec<&Value> = rows.as_array().expect("rows").iter().map(|row| &row["cities"][0]["mayor"]).collect();
    assert_eq!(mayors, ["Ada", "ADA"]);
    drop(database);
    server.drop().await;
}

/// trap 15: equal texts are found by an index of `char(n)` or `citext`, in filters, relation filters and loaded relations.
#[tokio::test(flavor = "multi_thread")]
async fn padded_and_caseless_texts_are_found_by_their_indexes() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let client = support::connect(&server.url).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan").await.expect("a setting");
    let asked = [
        ("t.city", json!({ "where": { "mayor": { "eq": "Ada" } } })),
        ("t.city", json!({ "where": { "mayor": { "in": ["Ada", "ADA"] } } })),
        (
            "t.country",
            json!({ "where": { "code": { "eq": "D" } }, "relations": { "cities": { "order": [{ "field": "id" }], "limit": 3 } } }),
        ),
        ("t.country", json!({ "where": { "code": { "eq": "D" }, "cities": { "mayor": { "iLike": "a%" } } } })),
        ("t.city", json!({ "where": { "id": { "eq": 1 } }, "order": [{ "field": "land.name" }], "relations": { "land": true } })),
    ];
    for (number, (resource, asked)) in asked.into_iter().enumerate() {
        let query = planned(&catalog, &database, resource, &asked);
        for (depth, level) in levels(&query.root).into_iter().enumerate() {
            client.batch_execute(&format!("PREPARE s{number}_{depth} AS {}", level.sql.text())).await.expect("prepared");
            let nulls = vec!["NULL"; level.sql.params().len()].join(", ");
            let lines = client.query(&format!("EXPLAIN EXECUTE s{number}_{depth}({nulls})"), &[]).await.expect("a plan");
            let plan: Vec<String> = lines.iter().map(|line| line.get(0)).collect();
            assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{asked}\n{}\n{}", level.sql.text(), plan.join("\n"));
        }
    }
    drop((database, client));
    server.drop().await;
}
