//! `create`: one row, lists, presets, defaults, and every type read back.

use serde_json::{Value, json};

use crate::fixture::{BOTH, CHIEF, CLERK, Shop, order, request, with};

// contract W2.1, contract W1.3
#[tokio::test]
async fn a_new_row_is_answered_with_its_key_defaults_and_presets() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let response = shop.send("orders/create", &json!({ "payload": order("CC-1") })).await;
        assert_eq!(response.status(), 201, "{backend:?}: {}", response.text());
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("etag"), Some("\"1\""));
        let row = response.json();
        assert_eq!(row["id"], json!(101), "{backend:?}");
        for (field, value) in [
            ("status", json!("new")),
            ("version", json!(1)),
            ("source", json!("api")),
            ("ownerId", json!("77777777-7777-4777-8777-777777777777")),
            ("total", json!("5")),
            ("stock", Value::Null),
            ("deletedAt", Value::Null),
        ] {
            assert_eq!(row[field], value, "{backend:?} {field}");
        }
        assert!(row["updatedAt"].is_string() && row.get("token").is_none(), "{row}");
        assert_eq!(shop.good("orders/find/101", &json!({})).await, row, "a read answers the same: {backend:?}");
    }
}

// contract W2.1, contract W2.2, contract W1.3
#[tokio::test]
async fn a_list_keeps_its_order_and_rows_may_have_different_keys() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let payload: Vec<Value> = (0..50)
            .map(|index| match index % 3 {
                0 => order(&format!("LL-{index}")),
                1 => with(order(&format!("LL-{index}")), json!({ "status": "paid", "tags": ["x", null, "a\"b\\{,}"], "marks": [1, null] })),
                _ => with(order(&format!("LL-{index}")), json!({ "stock": index, "tags": null, "meta": [index] })),
            })
            .collect();
        let answer = shop.good("orders/create", &json!({ "payload": payload })).await;
        assert_eq!(answer["count"], json!(50));
        let rows = answer["rows"].as_array().expect("rows");
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row["number"], json!(format!("LL-{index}")), "{backend:?}");
            assert_eq!(row["updatedAt"], rows[0]["updatedAt"], "one instant for all rows");
            assert_eq!(row["status"], json!(if index % 3 == 1 { "paid" } else { "new" }));
        }
        assert_eq!(rows[1]["tags"], json!(["x", null, "a\"b\\{,}"]), "{backend:?}");
        assert_eq!((&rows[1]["marks"], &rows[2]["meta"], &rows[2]["tags"]), (&json!([1, null]), &json!([2]), &Value::Null), "{backend:?}");
        // A list of one is a list.
        let one = shop.good("orders/create", &json!({ "payload": [order("LM-1")] })).await;
        assert_eq!((&one["count"], &one["rows"][0]["number"]), (&json!(1), &json!("LM-1")));
        let thousand: Vec<Value> = (0..1_000).map(|index| order(&format!("TH-{index}"))).collect();
        assert_eq!(shop.good("orders/create", &json!({ "payload": thousand, "returning": false })).await, json!({ "count": 1_000 }));
    }
}

// contract W3.9
#[tokio::test]
async fn every_type_reads_back_as_it_was_written() {
    let values = json!({
        "stock": 2_147_483_647, "big": "9223372036854775807", "ratio": 0.1, "tags": [], "marks": [-2_147_483_648, 0],
        "meta": { "b": [1, 2.50, null, true], "a": { "x": "é\n" } }, "email": "ana@example.org", "day": "2024-02-29", "clock": "17:30:00.250001",
        "at": "2024-02-29T17:30:00.000001+02:00", "ref": "6F1C1D1E-8A1B-4C3D-9E2F-0A1B2C3D4E5F", "active": true, "total": "12.50",
    });
    let mut answers = Vec::new();
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let single = shop.good("orders/create", &json!({ "payload": with(order("TY-1"), values.clone()) })).await;
        let several = [
            with(order("TY-2"), with(values.clone(), json!({ "day": "2024-03-01" }))),
            with(order("TY-3"), with(values.clone(), json!({ "day": null }))),
        ];
        let several = shop.good("orders/create", &json!({ "payload": several })).await;
        let stable = |row: &Value| {
            let mut row = row.clone();
            for key in ["updatedAt", "id"] {
                row.as_object_mut().expect("a row").remove(key);
            }
            row
        };
        answers.push([stable(&single), stable(&several["rows"][0]), stable(&several["rows"][1])]);
        assert_eq!(single["big"].to_string().trim_matches('"'), "9223372036854775807");
        assert_eq!(
            (&single["at"], &single["ref"]),
            (&json!("2024-02-29T15:30:00.000001Z"), &json!("6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f"))
        );
        assert_eq!(
            (&single["clock"], &single["day"], &single["meta"]["a"]["x"]),
            (&json!("17:30:00.250001"), &json!("2024-02-29"), &json!("é\n"))
        );
        // An update writes the same values.
        let updated = shop.good("orders/update/1", &json!({ "payload": with(values.clone(), json!({ "day": "2024-04-01" })) })).await;
        for key in ["stock", "big", "ratio", "tags", "marks", "meta", "email", "clock", "at", "ref", "active", "total"] {
            assert_eq!(updated[key], single[key], "{backend:?} {key}");
        }
        let emptied: Value = json!({ "payload": { "stock": null, "tags": null, "meta": null, "at": null, "active": null, "ref": null } });
        let emptied = shop.good("orders/update/1", &emptied).await;
        assert!(["stock", "tags", "meta", "at", "active", "ref"].iter().all(|key| emptied[*key].is_null()), "{backend:?} {emptied}");
        assert_eq!(emptied["email"], json!("ana@example.org"), "absent stays");
    }
    assert_eq!(answers[0], answers[1], "the same on both databases");
}

// contract W1.2, contract W2.10
#[tokio::test]
async fn hidden_and_masked_fields_go_in_and_do_not_come_out() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let row = shop
            .good("orders/create", &json!({ "payload": with(order("HH-1"), json!({ "token": "s3", "email": "ana@example.org" })) }))
            .await;
        assert_eq!((row.get("token"), &row["email"]), (None, &json!("a***@example.org")), "{backend:?}");
        assert_eq!(shop.database.texts("SELECT token || email FROM orders WHERE number = 'HH-1'").await, ["s3ana@example.org"]);
        let row = shop
            .good("orders/create", &json!({ "payload": order("HH-2"), "returning": { "relations": { "customer": true, "items": true } } }))
            .await;
        assert_eq!((&row["customer"]["name"], &row["items"]), (&json!("Ana"), &json!([])), "{backend:?}");
        assert_eq!(shop.good("orders/create", &json!({ "payload": order("HH-3"), "returning": false })).await, json!({ "count": 1 }));
        // A viewer that may create and not read gets the key alone.
        let writer = shop.again(&["shop.order.create", "shop.order.update"]).await;
        let response = writer.send(&request("orders/create", &json!({ "payload": order("HH-4") }))).await;
        assert_eq!(response.status(), 201, "{}", response.text());
        assert_eq!(response.json().as_object().map(|row| row.keys().cloned().collect::<Vec<_>>()), Some(vec!["id".to_owned()]));
        let refused = writer
            .send(&request("orders/update", &json!({ "payload": { "total": 1 }, "query": { "where": { "number": { "eq": "AA-1" } } } })))
            .await;
        assert_eq!(refused.status(), 403, "a condition reads: {}", refused.text());
    }
}

// contract W1.3, contract W1.1
#[tokio::test]
async fn an_absent_account_variable_refuses_the_write() {
    for backend in BOTH {
        let shop = Shop::with(backend, &["shop.log.create"]).await;
        let (status, code, _) = shop.refusal("logs/create", &json!({ "payload": { "text": "x" } })).await;
        assert_eq!((status, code.as_str()), (403, "FORBIDDEN"), "{backend:?}");
        assert!(shop.database.texts("SELECT id FROM logs").await.is_empty());
        for path in ["logs/update/1", "logs/delete", "customers/create", "items/restore/1,1", "orders/upsert"] {
            assert_eq!(shop.send(path, &json!({})).await.status(), 404, "{path}");
        }
        let reader = shop.again(&["shop.read"]).await;
        for (path, permission) in [
            ("create", "shop.order.create"),
            ("update/1", "shop.order.update"),
            ("delete", "shop.order.delete"),
            ("restore/1", "shop.order.restore"),
        ] {
            let response = reader.post(&format!("/api/shop/orders/{path}"), "{").await;
            assert_eq!(response.status(), 403, "permission comes before the body: {path} {permission}");
        }
        let clerk = shop.again(CLERK).await;
        assert_eq!(clerk.post("/api/shop/orders/restore/1", "{}").await.status(), 403);
        assert_eq!(clerk.get("/api/shop/orders/create").await.status(), 405);
    }
}

// contract W2.2, contract W1.2
#[tokio::test]
async fn clients_choose_keys_where_the_manifest_says_so() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let row = shop.good("items/create", &json!({ "payload": { "orderId": 2, "line": 7, "qty": 1 } })).await;
        assert_eq!(row, json!({ "orderId": 2, "line": 7, "qty": 1 }), "{backend:?}");
        assert_eq!(shop.good("items/update/2,7", &json!({ "increment": { "qty": 4 } })).await["qty"], json!(5));
        assert_eq!(shop.good("items/delete/2,7", &json!({})).await["qty"], json!(5));
        assert_eq!(shop.send("items/delete/2,7", &json!({})).await.status(), 404);
        let (status, code, faults) = shop.refusal("items/create", &json!({ "payload": { "orderId": 1, "line": 2, "qty": 1 } })).await;
        assert_eq!((status, code.as_str()), (409, "EXISTS"), "{backend:?}");
        assert_eq!(faults, [("EXISTS".to_owned(), "/payload/orderId".to_owned()), ("EXISTS".to_owned(), "/payload/line".to_owned())]);
    }
}
