//! Writes by query and by list.

use serde_json::{Value, json};

use crate::fixture::{BOTH, CHIEF, Shop};

// contract W2.4, contract W2.5, contract W2.12
#[tokio::test]
async fn a_query_names_the_rows_and_max_rows_bounds_them() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let body = json!({ "payload": { "stock": 9 }, "query": { "where": { "status": { "eq": "new" }, "tenant": { "eq": "a" } } } });
        let answer = shop.good("orders/update", &body).await;
        let ids: Vec<&Value> = answer["rows"].as_array().expect("rows").iter().map(|row| &row["id"]).collect();
        assert_eq!((&answer["count"], ids), (&json!(2), vec![&json!(1), &json!(3)]), "{backend:?}");
        let narrowed = json!({ "payload": { "stock": 8 }, "query": { "where": { "tenant": { "eq": "a" } } }, "constraint": { "where": { "id": { "lte": 2 } } } });
        assert_eq!(shop.good("orders/update", &narrowed).await["count"], json!(2), "{backend:?}");
        let (status, code, _) = shop.refusal("orders/update", &json!({ "payload": { "stock": 1 }, "all": true })).await;
        assert_eq!((status, code.as_str()), (409, "TOO_MANY_ROWS"), "{backend:?}");
        let (status, code, _) = shop.refusal("orders/delete", &json!({ "query": { "where": { "total": { "gte": 0 } } } })).await;
        assert_eq!((status, code.as_str()), (409, "TOO_MANY_ROWS"), "{backend:?}");
        let all = shop.good("items/update", &json!({ "increment": { "qty": 1 }, "all": true })).await;
        assert_eq!(all["rows"], json!([{ "orderId": 1, "line": 1, "qty": 4 }, { "orderId": 1, "line": 2, "qty": 5 }]), "{backend:?}");
        assert_eq!(
            shop.good("items/delete", &json!({ "query": { "where": { "line": { "gt": 1 } } }, "returning": false })).await,
            json!({ "count": 1 })
        );
    }
}

// contract W2.4
#[tokio::test]
async fn an_order_and_a_limit_choose_exact_rows() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let body = json!({
            "payload": { "stock": 77 },
            "query": { "where": { "status": { "in": ["new", "paid"] } }, "order": [{ "field": "total", "dir": "desc" }], "limit": 2 },
        });
        let answer = shop.good("orders/update", &body).await;
        let ids: Vec<&Value> = answer["rows"].as_array().expect("rows").iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, [&json!(5), &json!(3)], "{backend:?}");
        let by_relation = json!({ "query": { "where": { "customer": { "name": { "eq": "Ana" } } }, "order": [{ "field": "customer.name" }], "limit": 1 } });
        assert_eq!(shop.good("orders/delete", &by_relation).await["rows"][0]["id"], json!(1), "{backend:?}");
        assert_eq!(
            shop.good("orders/delete", &json!({ "query": { "where": { "id": { "eq": 2 } }, "limit": 0 } })).await["count"],
            json!(0)
        );
    }
}

// contract W2.12
#[tokio::test]
async fn order_and_limit_of_the_manifests_constraint_hold_for_writes() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let last = json!({ "query": { "where": { "id": { "gt": 0 } }, "limit": 1 }, "dryRun": true });
        assert_eq!(shop.good("tasks/delete", &last).await["rows"][0]["id"], json!(4), "{backend:?}");
        let all = shop.good("tasks/update", &json!({ "payload": { "text": "x" }, "all": true })).await;
        let ids: Vec<&Value> = all["rows"].as_array().expect("rows").iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, [&json!(4), &json!(3)], "{backend:?}");
        let three = json!({ "payload": [{ "id": 1, "text": "y" }, { "id": 2, "text": "y" }, { "id": 3, "text": "y" }] });
        assert_eq!(shop.refusal("tasks/update", &three).await.0, 404, "{backend:?}");
        assert_eq!(shop.good("tasks/update/1", &json!({ "payload": { "text": "y" } })).await["text"], json!("y"), "{backend:?}");
    }
}

// contract W2.6
#[tokio::test]
async fn a_list_changes_each_row_by_its_key() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let body =
            json!({ "payload": [{ "id": 3, "stock": 30 }, { "id": 1, "status": "paid", "note": "n" }, { "id": "2", "stock": null }] });
        let answer = shop.good("orders/update", &body).await;
        let seen: Vec<Value> =
            answer["rows"].as_array().expect("rows").iter().map(|row| json!([row["id"], row["stock"], row["version"]])).collect();
        assert_eq!(seen, [json!([3, 30, 2]), json!([1, 5, 2]), json!([2, null, 2])], "{backend:?}");
        for id in [5, 99] {
            let (status, code, _) =
                shop.refusal("orders/update", &json!({ "payload": [{ "id": 1, "stock": 1 }, { "id": id, "stock": 1 }] })).await;
            assert_eq!((status, code.as_str()), (404, "NOT_FOUND"), "{backend:?} {id}");
        }
        let faults = shop
            .refusal(
                "orders/update",
                &json!({ "payload": [{ "stock": 1 }, { "id": 1 }, { "id": 2, "stock": 1 }, { "id": 2, "stock": 2 }] }),
            )
            .await
            .2;
        let place = |code: &str, path: &str| (code.to_owned(), path.to_owned());
        assert!(faults.contains(&place("WR119", "/payload/0/id")) && faults.contains(&place("WR120", "/payload/3")), "{faults:?}");
        let keys = json!({ "payload": [{ "orderId": 1, "line": 2, "qty": 20 }, { "orderId": 1, "line": 1, "qty": 10 }] });
        let answer = shop.good("items/update", &keys).await;
        assert_eq!(answer["rows"], json!([{ "orderId": 1, "line": 2, "qty": 20 }, { "orderId": 1, "line": 1, "qty": 10 }]), "{backend:?}");
    }
}

// contract W2.4, contract W3.4
#[tokio::test]
async fn what_a_query_of_a_write_cannot_have_is_refused() {
    let shop = Shop::of_clerk(crate::support::Backend::Sqlite).await;
    let by_id = json!({ "id": { "eq": 1 } });
    for (path, body, code, pointer) in [
        ("orders/update", json!({ "payload": { "stock": 1 } }), "WR106", "/query"),
        ("orders/update", json!({ "payload": { "stock": 1 }, "query": {} }), "WR106", "/query/where"),
        ("orders/delete", json!({ "query": { "where": {} } }), "WR106", "/query/where"),
        ("orders/delete", json!({ "query": { "where": by_id, "offset": 1 } }), "QS111", "/query/offset"),
        ("orders/delete", json!({ "query": { "where": by_id, "relations": { "customer": true } } }), "QS111", "/query/relations"),
        (
            "orders/delete",
            json!({ "query": { "where": by_id, "aggregation": { "fields": [{ "fn": "count", "field": "*" }] } } }),
            "QS111",
            "/query/aggregation",
        ),
        ("orders/delete", json!({ "query": { "where": by_id }, "all": true }), "WR102", "/all"),
        ("orders/delete", json!({ "query": { "where": { "nope": { "eq": 1 } } } }), "QS302", "/query/where/nope"),
        ("orders/delete", json!({ "query": { "where": { "token": { "eq": 1 } } } }), "QS302", "/query/where/token"),
        ("orders/delete", json!({ "query": { "where": by_id }, "payload": {} }), "WR102", "/payload"),
        ("orders/delete/1", json!({ "query": { "where": by_id } }), "WR102", "/query"),
        ("orders/update/1", json!({ "payload": [{ "stock": 1 }] }), "WR100", "/payload"),
        ("orders/update", json!({ "payload": [{ "id": 1, "stock": 1 }], "query": { "where": by_id } }), "WR102", "/query"),
        ("orders/update", json!({ "payload": { "id": 1, "stock": 1 }, "query": { "where": by_id } }), "WR119", "/payload/id"),
        ("orders/update/x", json!({ "payload": { "stock": 1 } }), "QS313", "/id"),
    ] {
        let (status, problem, faults) = shop.refusal(path, &body).await;
        assert_eq!((status, problem.as_str()), (400, "INVALID_INPUT"), "{path} {body}");
        assert_eq!(faults, [(code.to_owned(), pointer.to_owned())], "{path} {body}");
    }
}
