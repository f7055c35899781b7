//! Dot-paths by the dozen, and orders that the manifest adds.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{agree, both, support};

/// contract Q11.3, contract Q14.3: no database meets more tables in one join than it can take.
#[tokio::test(flavor = "multi_thread")]
async fn dot_paths_lead_to_sixty_tables_at_most() {
    let mut manifest = support::facts(&[]) + "[resource.t.row.relations]\n";
    for number in 0..70 {
        _ = writeln!(manifest, "r{number} = {{ one = \"t.row\", on = {{ id = \"id\" }} }}");
        _ = writeln!(manifest, "m{number} = {{ many = \"t.row\", through = \"pairs\", on = {{ id = \"a\" }}, to = {{ b = \"id\" }} }}");
    }
    let paths = |relations: usize, letter: &str| -> Vec<String> { (0..relations).map(|number| format!("{letter}{number}.id")).collect() };
    let order = |relations| json!({ "order": paths(relations, "r").iter().map(|field| json!({ "field": field })).collect::<Vec<_>>() });
    let groups = |relations| json!({ "aggregation": { "fields": [{ "fn": "count", "field": "*" }], "groupBy": paths(relations, "r") } });
    let fields = |relations| {
        let fields: Vec<Value> = paths(relations, "m").iter().map(|field| json!({ "fn": "max", "field": field })).collect();
        json!({ "aggregation": { "fields": fields } })
    };
    let mut filtered = order(60);
    filtered["where"] = json!({ "and": (0..70).map(|number| json!({ format!("r{number}"): {} })).collect::<Vec<_>>() });
    let script = "CREATE TABLE facts (id INTEGER PRIMARY KEY); CREATE TABLE pairs (a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (a, b)); \
                  CREATE INDEX pairs_b ON pairs (b); INSERT INTO facts VALUES (1), (2); INSERT INTO pairs VALUES (1, 2), (2, 2)";
    let answers = both(&manifest, script, script, &[order(60), groups(60), fields(30), filtered]).await;
    agree(&answers);
    assert_eq!(answers[0].1, Ok(json!([{ "id": 1 }, { "id": 2 }])));
    assert_eq!(answers[2].1.as_ref().map(|rows| rows[0]["max_m29_id"].clone()), Ok(json!(2)));
    let refused = both(&manifest, script, script, &[order(70), groups(61), fields(31)]).await;
    let places = ["/query/order/60/field", "/query/aggregation/groupBy/60", "/query/aggregation/fields/30/field"];
    for ((_, postgres, sqlite), place) in refused.iter().zip(places) {
        assert_eq!(postgres, sqlite);
        let message = postgres.as_ref().expect_err("refused");
        assert!(message.contains("QS207") && message.contains(place), "{message}");
        assert_eq!(message.matches("QS").count(), 1, "{message}");
    }
}

/// contract Q12.3: the manifest's order sorts groups too, by what they are grouped by.
#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_the_manifest_sorts_groups() {
    let manifest = "[resource.t.row]\ntable = \"facts\"\n\
                    constraint = { order = [{ field = \"kind\", dir = \"desc\" }, { field = \"id\" }, { field = \"up.kind\", dir = \"desc\" }] }\n\
                    [resource.t.row.fields]\nid = { type = \"int\", key = true }\nkind = \"int\"\n\
                    [resource.t.row.relations]\nup = { one = \"t.row\", on = { kind = \"id\" } }\n";
    let script =
        "CREATE TABLE facts (id INTEGER PRIMARY KEY, kind INTEGER); INSERT INTO facts VALUES (1, 1), (2, 3), (3, 2), (4, 3), (5, 2)";
    let count = json!([{ "fn": "count", "field": "*" }]);
    let answers = both(
        manifest,
        script,
        script,
        &[
            json!({ "aggregation": { "fields": count, "groupBy": ["kind"] } }),
            json!({ "aggregation": { "fields": count, "groupBy": ["kind"] }, "order": [{ "field": "kind" }], "limit": 2 }),
            json!({ "aggregation": { "fields": count, "groupBy": ["up.kind"] } }),
            json!({ "aggregation": { "fields": count } }),
        ],
    )
    .await;
    agree(&answers);
    let groups = |answer: usize, name: &str| -> Vec<i64> {
        let rows = answers[answer].1.as_ref().expect("rows").as_array().expect("rows");
        rows.iter().map(|row| row[name].as_i64().expect("a number")).collect()
    };
    assert_eq!(groups(0, "kind"), [3, 2, 1]);
    assert_eq!(groups(1, "kind"), [1, 2], "the query's own order comes first");
    assert_eq!(groups(2, "up.kind"), [3, 2, 1]);
}

/// contract Q14.3: the two sides of a pivot may share a column, as they do where every key begins with a tenant.
#[tokio::test(flavor = "multi_thread")]
async fn a_pivot_whose_sides_share_a_column_is_counted_through() {
    let manifest = "[resource.t.row]\ntable = \"teams\"\n[resource.t.row.fields]\ntenantId = { type = \"int\", key = true }\n\
                    id = { type = \"int\", key = true }\n[resource.t.row.relations]\nusers = { many = \"t.user\", through = \"members\", \
                    on = { tenantId = \"tenant_id\", id = \"team_id\" }, to = { tenant_id = \"tenantId\", user_id = \"id\" } }\n\
                    [resource.t.user]\ntable = \"users\"\n[resource.t.user.fields]\ntenantId = { type = \"int\", key = true }\n\
                    id = { type = \"int\", key = true }\nname = \"text\"\n";
    let script = "CREATE TABLE users (tenant_id INTEGER, id INTEGER, name text, PRIMARY KEY (tenant_id, id)); \
                  CREATE TABLE teams (tenant_id INTEGER, id INTEGER, PRIMARY KEY (tenant_id, id)); \
                  CREATE TABLE members (tenant_id INTEGER, user_id INTEGER, team_id INTEGER, PRIMARY KEY (tenant_id, user_id, team_id)); \
                  INSERT INTO users VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c'); INSERT INTO teams VALUES (1, 1), (2, 1); \
                  INSERT INTO members VALUES (1, 1, 1), (1, 2, 1), (2, 1, 1)";
    let asked = [
        json!({ "aggregation": { "fields": [{ "fn": "count", "field": "users.id" }], "groupBy": ["tenantId"] }, "order": [{ "field": "tenantId" }] }),
        json!({ "aggregation": { "fields": [{ "fn": "max", "field": "users.name" }] } }),
        json!({ "where": { "users": { "name": { "eq": "b" } } } }),
    ];
    let answers = both(manifest, script, script, &asked).await;
    agree(&answers);
    assert_eq!(answers[0].1, Ok(json!([{ "tenantId": 1, "count_users_id": 2 }, { "tenantId": 2, "count_users_id": 1 }])));
    assert_eq!(answers[1].1, Ok(json!([{ "max_users_name": "c" }])));
    assert_eq!(answers[2].1, Ok(json!([{ "tenantId": 1, "id": 1 }])));
}
