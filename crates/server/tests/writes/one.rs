//! Writes by id: update, delete, restore; versions, `expect`, increments and dry runs.

use serde_json::{Value, json};

use crate::fixture::{BOTH, CHIEF, Shop, faults, request};

// contract W2.3, contract W2.9
#[tokio::test]
async fn an_update_changes_what_it_names_and_raises_the_version() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let before = shop.good("orders/find/1", &json!({})).await;
        let row = shop.good("orders/update/1", &json!({ "payload": { "status": "paid", "note": "hi" } })).await;
        assert_eq!(
            (&row["status"], &row["note"], &row["version"], &row["total"]),
            (&json!("paid"), &json!("hi"), &json!(2), &before["total"])
        );
        assert_ne!(row["updatedAt"], before["updatedAt"], "{backend:?}");
        // The key may stand in the payload if it is that of the address.
        let row = shop.good("orders/update/1", &json!({ "payload": { "id": 1, "status": "new" } })).await;
        assert_eq!(row["version"], json!(3), "{backend:?}");
        let (_, code, faults) = shop.refusal("orders/update/1", &json!({ "payload": { "id": 2, "status": "new" } })).await;
        assert_eq!((code.as_str(), faults), ("INVALID_INPUT", vec![("WR119".to_owned(), "/payload/id".to_owned())]));
    }
}

// contract W2.9, contract W2.8, contract W2.15
#[tokio::test]
async fn a_stale_version_etag_or_expectation_is_412() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let found = shop.send("orders/find/1", &json!({})).await;
        assert_eq!(found.header("etag"), Some("\"1\""), "{backend:?}");
        assert_eq!(shop.good("orders/update/1", &json!({ "payload": { "version": 1, "stock": 6 } })).await["version"], json!(2));
        let stale = [
            ("orders/update/1", json!({ "payload": { "version": 1, "stock": 7 } })),
            ("orders/update/1", json!({ "payload": { "stock": 7 }, "expect": { "status": { "eq": "paid" } } })),
            ("orders/delete/1", json!({ "expect": { "stock": { "gt": 6 } } })),
            ("orders/update", json!({ "payload": [{ "id": 2, "version": 1, "stock": 1 }, { "id": 1, "version": 1, "stock": 1 }] })),
            (
                "orders/update",
                json!({ "payload": { "stock": 1 }, "query": { "where": { "id": { "in": [1, 2] } } }, "expect": { "status": { "eq": "new" } } }),
            ),
        ];
        for (path, body) in stale {
            let (status, code, _) = shop.refusal(path, &body).await;
            assert_eq!((status, code.as_str()), (412, "STALE"), "{backend:?} {path} {body}");
        }
        let with = |etag: &str| request("orders/update/1", &json!({ "payload": { "stock": 8 } })).header("if-match", etag);
        assert_eq!(shop.server.send(&with("\"1\"")).await.status(), 412);
        assert_eq!(shop.server.send(&with("\"2\"")).await.status(), 200);
        for bad in ["2", "W/\"3\"", "*", "\"x\"", "\"+3\"", "\"03\""] {
            let response = shop.server.send(&with(bad)).await;
            assert_eq!((response.status(), faults(&response.json())), (400, vec![("WR121".to_owned(), String::new())]), "{bad}");
        }
        let delete = request("orders/delete/1", &json!({})).header("if-match", "\"2\"");
        assert_eq!(shop.server.send(&delete).await.status(), 412);
        let several = with("\"2\"").add_header("if-match", "\"2\"");
        assert_eq!(shop.server.send(&several).await.status(), 400);
        for path in ["orders/update", "orders/delete", "orders/create"] {
            let response = shop.server.send(&request(path, &json!({})).header("if-match", "\"2\"")).await;
            assert!(faults(&response.json()).contains(&("WR121".to_owned(), String::new())), "{path}");
        }
        // A resource without a version cannot check one.
        let item = request("items/update/1,1", &json!({ "payload": { "qty": 8 } })).header("if-match", "\"2\"");
        assert_eq!(shop.server.send(&item).await.status(), 400);
        let list = json!({ "payload": [{ "id": 2, "version": 1, "stock": 1 }, { "id": 1, "version": 3, "stock": 1 }] });
        assert_eq!(shop.good("orders/update", &list).await["count"], json!(2), "{backend:?}");
    }
}

// contract W2.7
#[tokio::test]
async fn increments_are_exact_and_keep_their_range() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        shop.good("orders/update/1", &json!({ "payload": { "big": "9007199254740993", "ratio": 0.5 } })).await;
        let row = shop
            .good("orders/update/1", &json!({ "increment": { "stock": -5, "total": "2.50", "big": "9007199254740993", "ratio": 0.25 } }))
            .await;
        assert_eq!((&row["stock"], &row["total"], &row["ratio"]), (&json!(0), &json!("12.50"), &json!(0.75)), "{backend:?}");
        assert_eq!(row["big"].to_string().trim_matches('"'), "18014398509481986", "{backend:?}");
        // NULL stays NULL.
        assert_eq!(
            shop.good("orders/update/3", &json!({ "increment": { "stock": 5 }, "payload": { "note": "x" } })).await["stock"],
            Value::Null
        );
        for (increment, path) in [
            (json!({ "stock": -1 }), "/increment/stock"),
            (json!({ "total": 988 }), "/increment/total"),
            (json!({ "big": "9223372036854775807" }), "/increment/big"),
            (json!({ "stock": 1, "total": 5000 }), "/increment/total"),
        ] {
            let (status, code, faults) = shop.refusal("orders/update/1", &json!({ "increment": increment })).await;
            assert_eq!((status, code.as_str()), (422, "OUT_OF_RANGE"), "{backend:?} {increment}");
            assert_eq!(faults, [("OUT_OF_RANGE".to_owned(), path.to_owned())], "{backend:?} {increment}");
        }
        shop.good("orders/update/1", &json!({ "payload": { "stock": 2_147_483_647 } })).await;
        let (_, code, _) = shop.refusal("orders/update/1", &json!({ "increment": { "stock": 1 } })).await;
        assert_eq!(code, "OUT_OF_RANGE", "{backend:?}");
    }
}

// contract W3.6, contract W2.3
#[tokio::test]
async fn a_soft_delete_keeps_the_row_for_a_restore() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let row = shop.good("orders/delete/1", &json!({ "returning": { "relations": { "customer": true } } })).await;
        assert_eq!(
            (&row["deletedAt"], &row["version"], &row["customer"]["name"]),
            (&Value::Null, &json!(1), &json!("Ana")),
            "the row before"
        );
        for (path, body) in [
            ("orders/find/1", json!({})),
            ("orders/update/1", json!({ "payload": { "stock": 1 } })),
            ("orders/delete/1", json!({})),
            ("orders/restore/2", json!({})),
        ] {
            assert_eq!(shop.send(path, &body).await.status(), 404, "{backend:?} {path}");
        }
        let none = shop.good("orders/update", &json!({ "payload": { "stock": 1 }, "query": { "where": { "id": { "eq": 1 } } } })).await;
        assert_eq!(none, json!({ "count": 0, "rows": [] }), "{backend:?}");
        let stale = request("orders/restore/1", &json!({})).header("if-match", "\"1\"");
        assert_eq!(shop.server.send(&stale).await.problem(412)["code"], json!("STALE"), "{backend:?}");
        let restore = request("orders/restore/1", &json!({})).header("if-match", "\"2\"");
        let row = shop.server.send(&restore).await.json();
        assert_eq!((&row["deletedAt"], &row["version"]), (&Value::Null, &json!(3)), "{backend:?}");
        assert_eq!(shop.good("orders/find/1", &json!({})).await["version"], json!(3));
    }
}

// contract W2.11
#[tokio::test]
async fn a_dry_run_answers_the_same_and_changes_nothing() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let before = shop.everything().await;
        for (path, body, status) in [
            ("orders/create", json!({ "payload": crate::fixture::order("DD-1") }), 201),
            ("orders/update/1", json!({ "payload": { "stock": 99 } }), 200),
            ("orders/delete/1", json!({}), 200),
            ("orders/delete", json!({ "query": { "where": { "tenant": { "eq": "b" } } } }), 200),
            ("orders/update/1", json!({ "payload": { "customerId": 99 } }), 422),
        ] {
            let mut dry = body.clone();
            dry["dryRun"] = json!(true);
            let response = shop.send(path, &dry).await;
            assert_eq!(response.status(), status, "{backend:?} {path}: {}", response.text());
            assert_eq!(response.header("dry-run"), Some("true"), "{path}");
        }
        assert_eq!(shop.everything().await, before, "{backend:?}");
        let real = shop.send("orders/update/1", &json!({ "payload": { "stock": 99 } })).await;
        assert_eq!((real.header("dry-run"), &real.json()["stock"]), (None, &json!(99)));
    }
}

// contract W2.9, contract W2.3
#[tokio::test]
async fn a_key_of_several_parts_may_stand_in_the_payload_in_part() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let place = "11111111-1111-4111-8111-111111111111";
        let parts = [json!({}), json!({ "no": 1 }), json!({ "place": place }), json!({ "place": place, "no": 1 })];
        for (version, part) in (1..).zip(parts) {
            let payload = crate::fixture::with(json!({ "name": "new", "version": version }), part.clone());
            let row = shop.good(&format!("slots/update/{place},1"), &json!({ "payload": payload })).await;
            assert_eq!(row["version"], json!(version + 1), "{backend:?} {part}");
        }
    }
}

// contract W2.9
#[tokio::test]
async fn a_row_carries_its_etag_also_where_fields_leave_out_the_version() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        for (path, shown) in [
            ("orders/find/1?fields=id", json!({ "id": 1 })),
            ("orders/find/1?fields=version", json!({ "version": 1 })),
            ("orders/find/1?fields=number,version", json!({ "number": "AA-1", "version": 1 })),
        ] {
            let found = shop.send(path, &json!({})).await;
            assert_eq!((found.header("etag"), found.json()), (Some("\"1\""), shown), "{backend:?} {path}");
        }
        let related = json!({ "query": { "relations": { "customer": true } } });
        let found = shop.send("orders/find/1?fields=customer.name", &related).await;
        assert_eq!((found.header("etag"), found.json()), (Some("\"1\""), json!({ "customer": { "name": "Ana" } })), "{backend:?}");
        // A group has no version, even under its name.
        let grouped = json!({ "query": { "aggregation": { "fields": [{ "fn": "count", "field": "*", "as": "version" }] } } });
        let found = shop.send("orders/find/1", &grouped).await;
        assert_eq!((found.header("etag"), found.json()), (None, json!({ "version": 1 })), "{backend:?}");
        // A hidden version is not told, and other reads have none.
        let vault = shop.again(&["shop.all"]).await;
        assert_eq!(vault.send(&request("orders/find", &json!({}))).await.header("etag"), None);
        assert_eq!(shop.send("items/find/1,1", &json!({})).await.header("etag"), None);
    }
}
