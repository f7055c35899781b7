//! Many-to-many relations through a table that names each pair once, by a key, and through one that repeats them: the same rows.

use serde_json::{Value, json};

use super::{both, support};

const MANIFEST: &str = r#"
[resource.t.row]
table = "lefts"
plural = "rows"
[resource.t.row.fields]
id = { type = "int", key = true }
[resource.t.row.relations]
once  = { many = "t.other", through = "once", on = { id = "l" }, to = { r = "id" } }
often = { many = "t.other", through = "often", on = { id = "l" }, to = { r = "id" } }
[resource.t.other]
table = "rights"
plural = "others"
[resource.t.other.fields]
id = { type = "int", key = true }
name = { type = "text", null = false }
weight = "int"
"#;

const SCRIPT: &str = "CREATE TABLE lefts (id int PRIMARY KEY); CREATE TABLE rights (id int PRIMARY KEY, name text NOT NULL, weight int); \
                      CREATE TABLE once (l int, r int, PRIMARY KEY (r, l)); CREATE TABLE often (l int, r int); \
                      INSERT INTO lefts VALUES (1), (2), (3), (4); \
                      INSERT INTO rights VALUES (1, 'b', 10), (2, 'a', 7), (3, 'c', NULL), (4, 'a', 1); \
                      INSERT INTO once VALUES (1, 1), (1, 2), (1, 4), (2, 2), (2, 3), (3, 3), (3, 4), (9, 1), (2, 9); \
                      INSERT INTO often SELECT l, r FROM once; INSERT INTO often SELECT l, r FROM once; INSERT INTO often VALUES (NULL, 1)";

fn asked(relation: &str) -> Vec<Value> {
    let ordered = json!([{ "field": "name", "dir": "asc" }, { "field": "id", "dir": "asc" }]);
    let counted = json!([{ "fn": "count", "field": "*", "as": "n" }, { "fn": "sum", "field": format!("{relation}.weight"), "as": "s" }]);
    let by_id = json!([{ "field": "id", "dir": "asc" }]);
    vec![
        json!({ "order": by_id, "relations": { relation: { "order": ordered } } }),
        json!({ "order": by_id, "relations": { relation: { "order": ordered, "limit": 1, "offset": 1 } } }),
        json!({ "order": by_id, "where": { relation: { "name": { "eq": "a" } } } }),
        json!({ "order": by_id, "where": { "not": { relation: {} } } }),
        json!({ "aggregation": { "fields": counted, "groupBy": [format!("{relation}.name")] } }),
        json!({ "where": { "id": { "in": [1, 3] } }, "aggregation": { "fields": counted } }),
    ]
}

// contract Q7.4
#[tokio::test]
async fn a_repeated_pair_counts_once_with_and_without_a_key() {
    let statements: Vec<Value> = ["once", "often"].into_iter().flat_map(asked).collect();
    let answers = both(MANIFEST, SCRIPT, SCRIPT, &statements).await;
    let told: Vec<(String, String)> = answers
        .into_iter()
        .map(|(query, postgres, sqlite)| {
            // Groups come in any order.
            let plain = |answer: Result<Value, String>| {
                let rows = answer.unwrap_or_else(|error| panic!("{query}: {error}"));
                let mut rows: Vec<String> =
                    rows.as_array().expect("rows").iter().map(|row| row.to_string().replace("often", "once")).collect();
                if query.get("aggregation").is_some() {
                    rows.sort_unstable();
                }
                rows.join(" ")
            };
            (plain(postgres), plain(sqlite))
        })
        .collect();
    let (once, often) = told.split_at(told.len() / 2);
    assert_eq!(once, often);
    assert!(told.iter().all(|(postgres, sqlite)| postgres == sqlite), "{told:#?}");
    let cut = [
        r#"{"id":1,"once":[{"id":4,"name":"a","weight":1}]}"#,
        r#"{"id":2,"once":[{"id":3,"name":"c","weight":null}]}"#,
        r#"{"id":3,"once":[{"id":3,"name":"c","weight":null}]}"#,
        r#"{"id":4,"once":[]}"#,
    ];
    assert_eq!(once[1].0, cut.join(" "));
    assert_eq!(once[5].0, r#"{"n":5,"s":19}"#);
}

#[tokio::test]
async fn pairs_with_a_unique_key_need_no_distinct() {
    let server = support::Postgres::with(SCRIPT).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    for (relation, is_distinct) in [("once", false), ("often", true)] {
        for place in [0, 1, 4] {
            let query = super::plans::planned(&catalog, &database, "t.row", &asked(relation)[place]);
            let texts = [query.root.sql.text()].into_iter().chain(query.root.children.iter().map(|child| child.level.sql.text()));
            assert_eq!(texts.collect::<String>().contains("DISTINCT"), is_distinct, "{relation} {place}");
        }
    }
    server.drop().await;
}
