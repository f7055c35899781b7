//! Columns of PostgreSQL types that no field type reads.

use query::catalog::Catalog;
use serde_json::{Value, json};
use store::Database;

use crate::{answer, support};

const SCRIPT: &str = "
    CREATE EXTENSION hstore SCHEMA public;
    CREATE EXTENSION ltree SCHEMA public;
    CREATE TYPE pair AS (a int, b text);
    CREATE DOMAIN bytes AS bytea;
    CREATE TABLE things (id int PRIMARY KEY, raw bytea, blob bytes, span interval, host inet, net cidr, price money, during int4range,
        at timetz, doc xml, tags hstore, path ltree, bits bit(3), words tsvector, spot point, two pair, hosts inet[], spans interval[]);
    INSERT INTO things VALUES (1, decode(repeat('ff', 60), 'hex'), '\\x00', '1 year 2 mons 3 days 04:05:06.5', '10.0.0.1/8', '10.0.0.0/8', 12.5,
        '[1,5)', '10:00+02', '<a/>', 'a=>1', 'top.sub', B'101', 'a b', '(1,2)', '(1,x)', '{10.0.0.1,10.0.0.2}', '{1 day}');
    INSERT INTO things (id, span) VALUES (2, '0'), (3, '-1 mon -00:00:00.25'), (4, '24:00:00'), (5, '1 day'), (6, NULL);
    CREATE DOMAIN address AS inet;
    CREATE TABLE hosts (id int PRIMARY KEY, host inet, place address, two pair);
    INSERT INTO hosts VALUES (1, '10.0.0.1', '::1', '(1,x)'), (2, '10.0.0.1/8', '::1/64', '(1,)'), (3, NULL, NULL, '(,)'), (4, NULL, NULL, NULL);";

const MANIFEST: &str = r#"
    [resource.t.thing]
    [resource.t.thing.fields]
    id = { type = "int", key = true }
    raw = "text"
    blob = "text"
    span = "text"
    host = "text"
    net = "text"
    price = "text"
    during = "text"
    at = "text"
    doc = "text"
    tags = "text"
    path = "text"
    bits = "text"
    words = "text"
    spot = "text"
    two = "text"
    hosts = "text"
    spans = "text"
"#;

async fn ids(catalog: &Catalog, database: &Database, clause: Value) -> Vec<i64> {
    ids_of(catalog, database, ("t.thing", clause)).await
}

async fn ids_of(catalog: &Catalog, database: &Database, (resource, clause): (&str, Value)) -> Vec<i64> {
    let query = json!({ "where": clause, "order": [{ "field": "id" }] });
    let rows = answer(catalog, database, resource, &query).await.expect("rows");
    rows.as_array().expect("rows").iter().map(|row| row["id"].as_i64().expect("an id")).collect()
}

/// contract P3.5
#[tokio::test(flavor = "multi_thread")]
async fn columns_of_other_types_are_read_as_text() {
    let server = support::Postgres::with(SCRIPT).await;
    // Another style of the session changes nothing.
    let url = format!("{}{}options=-c%20intervalstyle%3Dsql_standard", server.url, if server.url.contains('?') { "&" } else { "?" });
    let database = support::open(&url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let rows = answer(&catalog, &database, "t.thing", &json!({ "order": [{ "field": "id" }] })).await.expect("rows");
    let shown = &rows[0];
    assert_eq!(shown["raw"], format!("{}", "/".repeat(80)));
    let expected = json!({ "blob": "AA==", "span": "P1Y2M3DT4H5M6.5S", "host": "10.0.0.1/8", "net": "10.0.0.0/8", "during": "[1,5)", "at": "10:00:00+02",
        "doc": "<a/>", "tags": "\"a\"=>\"1\"", "path": "top.sub", "bits": "101", "words": "'a' 'b'", "spot": "(1,2)", "two": "(1,x)", "hosts": "{10.0.0.1,10.0.0.2}" });
    for (field, value) in expected.as_object().expect("fields") {
        assert_eq!(&shown[field], value, "{field}");
    }
    let spans: Vec<&Value> = rows.as_array().expect("rows").iter().map(|row| &row["span"]).collect();
    assert_eq!(json!(spans), json!(["P1Y2M3DT4H5M6.5S", "PT0S", "P-1MT-0.25S", "PT24H", "P1D", null]));
    // Texts are compared: a day is not 24 hours.
    assert_eq!(ids(&catalog, &database, json!({ "span": { "eq": "P1D" } })).await, [5]);
    assert_eq!(ids(&catalog, &database, json!({ "span": { "ne": "P1D" } })).await, [1, 2, 3, 4]);
    assert_eq!(ids(&catalog, &database, json!({ "span": { "in": ["PT24H", "PT0S", "no interval"] } })).await, [2, 4]);
    assert_eq!(ids(&catalog, &database, json!({ "span": { "isNull": true } })).await, [6]);
    assert_eq!(ids(&catalog, &database, json!({ "host": { "eq": "10.0.0.1/8" }, "blob": { "notIn": ["AQ=="] } })).await, [1]);
    let refused = [
        json!({ "where": { "span": { "gt": "P1D" } } }),
        json!({ "where": { "host": { "iLike": "10%" } } }),
        json!({ "where": { "host": { "between": ["a", "b"] } } }),
        json!({ "order": [{ "field": "host" }] }),
        json!({ "aggregation": { "fields": [{ "fn": "max", "field": "host" }] } }),
        json!({ "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": ["host"] } }),
    ];
    for query in refused {
        assert!(answer(&catalog, &database, "t.thing", &query).await.is_err(), "{query}");
    }
    let counted =
        answer(&catalog, &database, "t.thing", &json!({ "aggregation": { "fields": [{ "fn": "count", "field": "span" }] } })).await;
    assert_eq!(counted, Ok(json!([{ "count_span": 5 }])));
    server.drop().await;
}

/// contract P3.5
#[tokio::test(flavor = "multi_thread")]
async fn an_address_and_a_composite_compare_as_they_are_shown() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let manifest = "[resource.t.host.fields]\nid = { type = \"int\", key = true }\nhost = \"text\"\nplace = \"text\"\ntwo = \"text\"\n";
    let catalog = support::catalog(manifest, &database).await;
    let rows = answer(&catalog, &database, "t.host", &json!({ "order": [{ "field": "id" }] })).await.expect("rows");
    let expected = json!([
        { "id": 1, "host": "10.0.0.1", "place": "::1", "two": "(1,x)" },
        { "id": 2, "host": "10.0.0.1/8", "place": "::1/64", "two": "(1,)" },
        { "id": 3, "host": null, "place": null, "two": "(,)" },
        { "id": 4, "host": null, "place": null, "two": null },
    ]);
    assert_eq!(rows, expected);
    for (clause, found) in [
        (json!({ "host": { "eq": "10.0.0.1" } }), vec![1]),
        (json!({ "host": { "eq": "10.0.0.1/32" } }), vec![]),
        (json!({ "place": { "in": ["::1/64", "::1/128"] } }), vec![2]),
        (json!({ "two": { "isNull": true } }), vec![4]),
        (json!({ "two": { "isNull": false } }), vec![1, 2, 3]),
        (json!({ "not": { "two": { "isNull": true } } }), vec![1, 2, 3]),
        (json!({ "not": { "two": { "isNull": false } } }), vec![4]),
        (json!({ "host": { "isNull": true } }), vec![3, 4]),
    ] {
        assert_eq!(ids_of(&catalog, &database, ("t.host", clause.clone())).await, found, "{clause}");
    }
    server.drop().await;
}
