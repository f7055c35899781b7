//! Nulls among the elements of arrays.

use serde_json::{Value, json};

use super::{agree, asked, both, support};

/// The ids of the rows of an answer.
fn ids(answer: &Result<Value, String>) -> Vec<i64> {
    answer.as_ref().expect("rows").as_array().expect("rows").iter().filter_map(|row| row["id"].as_i64()).collect()
}

/// contract Q3.7, contract Q3.9, contract Q14.4: an array's null is found by nobody, whether PostgreSQL keeps it as NULL or as JSON null;
/// one in a json column is a value.
#[tokio::test(flavor = "multi_thread")]
async fn a_null_is_found_in_json_and_not_in_an_array_of_json() {
    let manifest = &support::facts(&[("list", "json[]"), ("data", "json")]);
    let wheres = [
        json!({ "list": { "contains": null } }),
        json!({ "list": { "contains": [1, null] } }),
        json!({ "list": { "overlap": null } }),
        json!({ "list": { "overlap": [null] } }),
        json!({ "list": { "overlap": [null, 1] } }),
        json!({ "not": { "list": { "contains": null } } }),
        json!({ "not": { "list": { "overlap": [null] } } }),
        json!({ "data": { "contains": null } }),
        json!({ "data": { "overlap": [null, 7] } }),
        json!({ "not": { "data": { "contains": [null] } } }),
    ];
    for kind in ["json", "jsonb"] {
        let answers = both(
            manifest,
            &format!(
                "CREATE TABLE facts (id int PRIMARY KEY, list {kind}[], data {kind});
                 INSERT INTO facts VALUES (1, ARRAY['1', NULL]::{kind}[], '[1, null]'), (2, ARRAY['1', 'null']::{kind}[], '[null]'),
                 (3, ARRAY['2']::{kind}[], 'null'), (4, NULL, NULL), (5, '{{}}', '[]')"
            ),
            "CREATE TABLE facts (id INTEGER PRIMARY KEY, list TEXT, data TEXT);
             INSERT INTO facts VALUES (1, '[1,null]', '[1, null]'), (2, '[1,null]', '[null]'), (3, '[2]', 'null'), (4, NULL, NULL), (5, '[]', '[]')",
            &asked(&wheres),
        )
        .await;
        agree(&answers);
        let found: Vec<Vec<i64>> = answers.iter().map(|(_, postgres, _)| ids(postgres)).collect();
        let expected: [&[i64]; 10] = [&[], &[], &[], &[], &[1, 2], &[1, 2, 3, 5], &[1, 2, 3, 5], &[1, 2], &[1, 2], &[3, 5]];
        assert_eq!(found, expected, "{kind}");
    }
}
