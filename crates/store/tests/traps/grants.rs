//! A database user with few rights.

use serde_json::json;

use crate::{answer, support};

const SCRIPT: &str = "
    CREATE SCHEMA kinds;
    CREATE EXTENSION citext SCHEMA kinds;
    CREATE TYPE kinds.mood AS ENUM ('sad', 'glad');
    CREATE TABLE facts (id int PRIMARY KEY, mood kinds.mood, moods kinds.mood[], name kinds.citext UNIQUE, friend kinds.citext);
    INSERT INTO facts VALUES (1, 'sad', '{sad}', 'Ana', 'Bo'), (2, 'glad', '{sad,glad}', 'Bo', 'bo'), (3, NULL, NULL, NULL, NULL);";

const MANIFEST: &str = r#"
    [resource.t.row]
    table = "facts"
    [resource.t.row.fields]
    id = { type = "int", key = true }
    mood = { type = "enum", values = ["sad", "glad"] }
    moods = { type = "enum[]", values = ["sad", "glad"] }
    name = "text"
    friend = "text"
    [resource.t.row.relations]
    known = { one = "t.row", on = { friend = "name" } }
"#;

/// contract Q14.3: the schema of a type may be closed to whoever reads its values; no statement needs to name it then.
#[tokio::test(flavor = "multi_thread")]
async fn types_that_may_not_be_named_are_compared_all_the_same() {
    let server = support::Postgres::with(SCRIPT).await;
    let owner = support::connect(&server.url).await;
    let role = format!("few_{}", server.name);
    owner.batch_execute(&format!("CREATE ROLE {role} LOGIN; GRANT SELECT ON facts TO {role}")).await.expect("a role");
    let database = support::open(&server.url.replace("//postgres@", &format!("//{role}@")));
    let catalog = support::catalog(MANIFEST, &database).await;
    for (clause, expected) in [
        (json!({ "mood": { "eq": "sad" } }), json!([1])),
        (json!({ "mood": { "in": ["glad"] } }), json!([2])),
        (json!({ "mood": { "ne": "glad" } }), json!([1])),
        (json!({ "not": { "mood": { "eq": "sad" } } }), json!([2])),
        (json!({ "mood": { "between": ["glad", "glad"] } }), json!([2])),
        (json!({ "moods": { "contains": ["glad"] } }), json!([2])),
        (json!({ "name": { "eq": "Ana" } }), json!([1])),
        (json!({ "name": { "in": ["ana", "Bo"] } }), json!([2])),
        (json!({ "known": { "id": { "eq": 2 } } }), json!([1])),
    ] {
        let statement = json!({ "where": clause, "order": [{ "field": "id" }], "relations": { "known": true } });
        let rows = answer(&catalog, &database, "t.row", &statement).await.unwrap_or_else(|error| panic!("{clause}: {error}"));
        let found: Vec<_> = rows.as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
        assert_eq!(json!(found), expected, "{clause}");
    }
    drop(database);
    drop(owner);
    server.drop().await;
    support::connect(&support::cluster()).await.batch_execute(&format!("DROP ROLE {role}")).await.expect("dropped");
}
