//! Columns of PostgreSQL with collations of their own: some take different texts for equal, which has no patterns, and
//! two that differ do not compare by themselves.

use serde_json::{Value, json};

use super::{answer, support};

const SCRIPT: &str = r#"
    CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE COLLATION looser (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
    CREATE TABLE cities (code varchar(8) COLLATE looser PRIMARY KEY, name text COLLATE "C" UNIQUE);
    CREATE TABLE people (
        id int PRIMARY KEY, name text COLLATE loose, short char(4) COLLATE loose, state varchar COLLATE loose,
        city text COLLATE loose, born text COLLATE "POSIX");
    CREATE TABLE people_cities (person int, city text COLLATE "POSIX", PRIMARY KEY (person, city));
    INSERT INTO cities VALUES ('rom', 'Rome'), ('par', 'Paris');
    INSERT INTO people VALUES (1, 'Ada', 'ab', 'new', 'rom', 'Rome'), (2, 'ADA', 'AB', 'New', 'par', 'Paris'), (3, NULL, NULL, NULL, NULL, NULL);
    INSERT INTO people_cities VALUES (1, 'Rome'), (1, 'Paris'), (2, 'Rome');
"#;

const MANIFEST: &str = r#"
    [resource.t.row]
    table = "people"
    [resource.t.row.fields]
    id = { type = "int", key = true }
    name = "text"
    short = "text"
    state = { type = "enum", values = ["new", "New"] }
    city = "text"
    born = "text"
    [resource.t.row.relations]
    home = { one = "t.city", on = { city = "code" } }
    birth = { one = "t.city", on = { born = "name" } }
    cities = { many = "t.city", through = "people_cities", on = { id = "person" }, to = { city = "name" } }
    [resource.t.city]
    table = "cities"
    [resource.t.city.fields]
    code = { type = "text", key = true }
    name = "text"
    [resource.t.city.relations]
    rows = { many = "t.row", on = { code = "city" } }
    born = { many = "t.row", on = { name = "born" } }
"#;

/// contract Q14.3: whatever collation a column has, no statement fails.
#[tokio::test(flavor = "multi_thread")]
async fn no_collation_of_a_column_fails_a_statement() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let mut wheres = Vec::new();
    for field in ["name", "short", "city", "born"] {
        for operator in ["eq", "ne", "gt", "lt", "iLike"] {
            wheres.push(json!({ field: { operator: "ad%" } }));
        }
        wheres.push(json!({ "not": { field: { "iLike": "%d_" } } }));
        wheres.push(json!({ field: { "in": ["Ada", "rom"] } }));
        wheres.push(json!({ field: { "between": ["a", "z"] } }));
    }
    wheres.push(json!({ "state": { "eq": "new" } }));
    for relation in ["home", "birth", "cities"] {
        wheres.push(json!({ relation: { "name": { "iLike": "ROM%" } } }));
    }
    let mut asked: Vec<Value> = wheres.into_iter().map(|clause| json!({ "where": clause })).collect();
    for field in ["name", "short", "state", "born", "home.name", "birth.code"] {
        asked.push(json!({ "order": [{ "field": field }, { "field": "id" }] }));
        let fields = json!([{ "fn": "count", "field": "*" }, { "fn": "min", "field": "name" }, { "fn": "max", "field": "short" }]);
        asked.push(json!({ "aggregation": { "fields": fields, "groupBy": [field] } }));
    }
    let mut failing = Vec::new();
    for query in &asked {
        failing.extend(answer(&catalog, &database, "t.row", query).await.err().map(|error| format!("{query}: {error}")));
    }
    assert!(failing.is_empty(), "{}", failing.join("\n"));
    let found =
        answer(&catalog, &database, "t.row", &json!({ "where": { "name": { "iLike": "ad%" } }, "order": [{ "field": "id" }] })).await;
    assert_eq!(found.expect("rows").as_array().map(Vec::len), Some(2));
    let nested = json!({ "relations": { "home": { "relations": { "rows": true } }, "birth": { "relations": { "born": true } }, "cities": true }, "order": [{ "field": "id" }], "limit": 1 });
    let rows = answer(&catalog, &database, "t.row", &nested).await.expect("rows");
    assert_eq!((&rows[0]["home"]["rows"][0]["id"], &rows[0]["birth"]["born"][0]["id"]), (&json!(1), &json!(1)), "{rows}");
    assert_eq!(rows[0]["cities"].as_array().map(Vec::len), Some(2), "{rows}");
    drop(database);
    server.drop().await;
}
