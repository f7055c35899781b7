//! Answers: order, relations, aggregation, masks, constraints and their merge.

use crate::world::{ana, ask, rows};
use oracle::{Answer, Operation, Viewer};
use serde_json::{Value, json};

#[test]
fn nulls_sort_last_ascending_and_first_descending() {
    let order = |order: Value| -> Vec<i64> {
        let rows = rows("t.thing", &json!({ "order": order, "limit": 9 }));
        rows.iter().map(|row| row["id"].as_i64().expect("an id")).collect()
    };
    assert_eq!(order(json!([{ "field": "size" }])), [6, 1, 4, 3, 2]);
    assert_eq!(order(json!([{ "field": "size", "dir": "desc" }])), [2, 3, 1, 4, 6]);
    // Group 9 is not visible, so its thing sorts like one without a group.
    assert_eq!(order(json!([{ "field": "group.rank", "dir": "asc" }])), [2, 1, 3, 4, 6]);
    assert_eq!(order(json!([{ "field": "group.rank", "dir": "desc" }, { "field": "id", "dir": "desc" }])), [6, 4, 3, 1, 2]);
}

#[test]
fn a_limit_in_a_node_is_for_each_parent_and_pivots_count_once() {
    let query = json!({ "order": [{ "field": "id" }], "relations": { "things": { "order": [{ "field": "size", "dir": "desc" }], "limit": 1, "relations": { "marks": true, "group": true } } } });
    let groups = rows("t.group", &query);
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0]["things"][0]["id"], 3);
    assert_eq!(groups[0]["things"].as_array().map(Vec::len), Some(1));
    assert_eq!(groups[1]["things"][0]["id"], 2);
    assert_eq!(groups[1]["things"][0]["marks"], json!([]));
    assert_eq!(groups[1]["things"][0]["group"]["id"], 2);
    let things = rows(
        "t.thing",
        &json!({ "where": { "id": { "in": [1, 4] } }, "order": [{ "field": "id" }], "relations": { "marks": { "order": [{ "field": "id" }] }, "group": true } }),
    );
    assert_eq!(things[0]["marks"], json!([{ "id": 1, "points": 10 }, { "id": 2, "points": 20 }]));
    assert_eq!(things[1]["group"], Value::Null);
    assert!(things[0].get("nothing").is_none());
}

#[test]
fn aggregation_is_exact_and_joins_once() {
    let group = |aggregation: Value| rows("t.thing", &json!({ "aggregation": aggregation })).remove(0);
    let fields = json!({ "fields": [
        { "fn": "count", "field": "*" }, { "fn": "count", "field": "size" }, { "fn": "sum", "field": "size" }, { "fn": "avg", "field": "size" },
        { "fn": "sum", "field": "big" }, { "fn": "avg", "field": "big" }, { "fn": "sum", "field": "price", "as": "p" }, { "fn": "avg", "field": "price" },
        { "fn": "min", "field": "name" }, { "fn": "max", "field": "price" } ] });
    assert_eq!(
        group(fields),
        json!({ "count": 5, "count_size": 4, "sum_size": 17, "avg_size": "4.25", "sum_big": "18446744073709551615", "avg_big": "6148914691236517205",
                "p": "3.51", "avg_price": "1.17", "min_name": "B", "max_price": "2.00" })
    );
    let joined = json!({ "fields": [{ "fn": "count", "field": "*" }, { "fn": "count", "field": "marks.id" }, { "fn": "sum", "field": "marks.points" }] });
    assert_eq!(group(joined), json!({ "count": 6, "count_marks_id": 3, "sum_marks_points": 50 }));
    let none = rows(
        "t.thing",
        &json!({ "where": { "id": { "lt": 0 } }, "aggregation": { "fields": [{ "fn": "count", "field": "*" }, { "fn": "sum", "field": "big" }] } }),
    );
    assert_eq!(none, [json!({ "count": 0, "sum_big": null })]);
    let none = rows(
        "t.thing",
        &json!({ "where": { "id": { "lt": 0 } }, "aggregation": { "groupBy": ["size"], "fields": [{ "fn": "count", "field": "*" }] } }),
    );
    assert!(none.is_empty());
}

#[test]
fn groups_are_sorted_cut_and_counted() {
    let query = json!({ "aggregation": { "groupBy": ["group.rank", "size"], "fields": [{ "fn": "count", "field": "*" }] },
        "order": [{ "field": "group.rank", "dir": "desc" }], "limit": 3 });
    let Answer::Page { total, count, rows } = ask(&ana(), "t.thing", &Operation::Paginate, &query, None) else { panic!("a page") };
    assert_eq!((total, count), (5, 3));
    let expected = json!([{ "group.rank": null, "size": 0, "count": 1 }, { "group.rank": null, "size": 5, "count": 1 }, { "group.rank": 2, "size": 5, "count": 1 }]);
    assert_eq!(Value::Array(rows), expected);
}

#[test]
fn masks_and_hidden_fields() {
    let groups = rows("t.group", &json!({ "order": [{ "field": "id" }] }));
    assert_eq!(groups[0], json!({ "id": 1, "owner": "ana", "rank": 2, "secret": "***", "mail": "a***@x.org", "amount": null }));
    assert_eq!(groups[1], json!({ "id": 2, "owner": "bob", "rank": 1, "secret": "***", "mail": null, "amount": null }));
    let mut viewer = ana();
    viewer.permissions.push("t.pii".to_owned());
    let query = json!({ "where": { "mail": { "eq": "ana@x.org" } } });
    let Answer::Row(row) = ask(&viewer, "t.group", &Operation::Find, &query, None) else { panic!("a row") };
    assert_eq!(row["mail"], "ana@x.org");
}

#[test]
fn constraints_fail_closed() {
    for account in [
        json!({}),
        json!({ "dTenants": "ana" }),
        json!({ "dTenants": [1] }),
        json!({ "dTenants": ["ana", 1] }),
        json!({ "dTenants": null }),
    ] {
        let viewer = Viewer { name: "crooked", permissions: vec!["t.safe.get".to_owned()], account };
        assert_eq!(ask(&viewer, "t.group", &Operation::List, &json!({}), None), Answer::Rows(vec![]));
        // The other branch of the `or` is true, but the whole constraint is closed.
        assert_eq!(ask(&viewer, "t.safe", &Operation::List, &json!({}), None), Answer::Rows(vec![]));
    }
    assert_eq!(ask(&ana(), "t.safe", &Operation::List, &json!({}), None), Answer::Rows(vec![json!({ "id": 1 })]));
    let nobody = Viewer { name: "nobody", permissions: vec![], account: json!({}) };
    assert_eq!(ask(&nobody, "t.safe", &Operation::Find, &json!({}), None), Answer::Forbidden);
}

#[test]
fn query_and_constraint_merge() {
    let query = json!({ "where": { "size": { "gte": 5 } }, "order": [{ "field": "size" }], "limit": 4, "offset": 1,
        "relations": { "marks": { "where": { "points": { "gt": 5 } }, "order": [{ "field": "id" }], "limit": 5, "offset": 1 } } });
    let constraint = json!({ "where": { "id": { "ne": 4 } }, "order": [{ "field": "size", "dir": "desc" }, { "field": "id" }], "limit": 2, "offset": 7,
        "relations": { "marks": { "limit": 1, "where": { "points": { "lt": 99 } } }, "group": true } });
    let Answer::Page { total, count, rows } = ask(&ana(), "t.thing", &Operation::Paginate, &query, Some(&constraint)) else {
        panic!("a page")
    };
    assert_eq!((total, count), (2, 1));
    assert_eq!((&rows[0]["id"], &rows[0]["group"]["id"], &rows[0]["marks"]), (&json!(3), &json!(1), &json!([])));
    let query = json!({ "relations": { "marks": { "order": [{ "field": "id" }], "offset": 1 } } });
    let Answer::Row(row) = ask(&ana(), "t.thing", &Operation::FindById("1".to_owned()), &query, Some(&constraint_without_offset())) else {
        panic!("a row")
    };
    assert_eq!(row["marks"], json!([{ "id": 2, "points": 20 }]));
    assert_eq!(ask(&ana(), "t.thing", &Operation::FindById("5".to_owned()), &json!({}), None), Answer::NotFound);
    assert_eq!(ask(&ana(), "t.thing", &Operation::FindById("1".to_owned()), &json!({ "limit": 0 }), None), Answer::NotFound);
}

fn constraint_without_offset() -> Value {
    json!({ "relations": { "marks": { "limit": 1 } } })
}

#[test]
fn the_manifest_constraint_of_the_fixture_loads_sorts_and_limits_the_root() {
    let answer = |name: &str, query: Value| oracle::answer(oracle::viewer(name), "org.document", &Operation::Paginate, Some(&query), None);
    let Answer::Page { total, count, rows } = answer("full", json!({})) else { panic!("a page") };
    assert!(total > 25 && count == 25, "{total} {count}");
    assert!(rows.iter().all(|row| row.get("author").is_some() && row["keywords"].is_null() && row.get("internalCode").is_none()));
    let Answer::Page { rows, .. } = answer("anonymous", json!({})) else { panic!("a page") };
    assert!(rows.iter().all(|row| row.get("author").is_none() && row["isPublic"] == true));
    let groups = json!({ "aggregation": { "groupBy": ["id"], "fields": [{ "fn": "count", "field": "*" }] }, "order": [{ "field": "id" }] });
    let Answer::Page { total, count, .. } = answer("full", groups) else { panic!("a page") };
    assert!(total > 25 && count == 25, "{total} {count}");
}
