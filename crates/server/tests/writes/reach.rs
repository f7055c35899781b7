//! The policy of writes: reach, scope, check, references.

use serde_json::json;

use crate::fixture::{BOTH, CHIEF, CLERK, Shop, order, request, with};

// contract W3.2, contract W1.5
#[tokio::test]
async fn a_row_out_of_reach_is_404_and_one_out_of_scope_403() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        for (path, body) in [("orders/update/5", json!({ "payload": { "stock": 1 } })), ("orders/delete/5", json!({}))] {
            let hidden = shop.send(path, &body).await;
            let absent = shop.send(&path.replace('5', "999"), &body).await;
            assert_eq!((hidden.status(), hidden.text()), (404, absent.text()), "{backend:?} {path}");
        }
        for (path, body) in [
            ("orders/update/4", json!({ "payload": { "stock": 1 } })),
            ("orders/delete/4", json!({})),
            ("orders/update", json!({ "payload": { "stock": 1 }, "query": { "where": { "id": { "in": [3, 4] } } } })),
            ("orders/update", json!({ "payload": [{ "id": 3, "stock": 1 }, { "id": 4, "stock": 1 }] })),
            ("orders/delete", json!({ "query": { "where": { "status": { "eq": "sent" } } } })),
        ] {
            let (status, code, _) = shop.refusal(path, &body).await;
            assert_eq!((status, code.as_str()), (403, "OUT_OF_SCOPE"), "{backend:?} {path}");
        }
    }
}

// contract W3.1, contract W1.5, contract W3.16
#[tokio::test]
async fn a_row_cannot_be_written_out_of_reach_or_against_the_check() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        for (path, body, pointer) in [
            ("orders/update/1", json!({ "payload": { "tenant": "b" } }), "/payload"),
            ("orders/update/1", json!({ "payload": { "total": "-1" } }), "/payload"),
            ("orders/update/1", json!({ "increment": { "total": "-100" } }), "/increment"),
            ("orders/update", json!({ "payload": [{ "id": 1, "stock": 1 }, { "id": 2, "tenant": "b" }] }), "/payload/1"),
            ("orders/create", json!({ "payload": with(order("CH-1"), json!({ "tenant": "b" })) }), "/payload"),
            ("orders/create", json!({ "payload": [order("CH-1"), with(order("CH-2"), json!({ "total": -1 }))] }), "/payload/1"),
        ] {
            let (status, code, faults) = shop.refusal(path, &body).await;
            assert_eq!((status, code.as_str()), (403, "CHECK_FAILED"), "{backend:?} {path} {body}");
            assert_eq!(faults, [("CHECK_FAILED".to_owned(), pointer.to_owned())], "{backend:?} {path} {body}");
        }
        // The permission of `unless` lifts constraint and check.
        let chief = shop.again(CHIEF).await;
        let moved = chief.send(&request("orders/update/1", &json!({ "payload": { "tenant": "b", "total": "-1" } }))).await;
        assert_eq!(moved.status(), 200, "{backend:?} {}", moved.text());
    }
}

// contract W3.3
#[tokio::test]
async fn a_reference_may_lead_to_any_row_of_the_payload() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        shop.good("tasks/create", &json!({ "payload": [{ "id": 5, "parentId": 6 }, { "id": 6 }] })).await;
        // Another row with a fault does not make this one wrong.
        let payload = json!([{ "id": 7, "parentId": 8 }, { "id": 8 }, { "id": 5 }, { "id": 9, "parentId": 99 }]);
        let (_, _, faults) = shop.refusal("tasks/create", &json!({ "payload": payload })).await;
        let expected = [("EXISTS", "/payload/2/id"), ("NO_SUCH_ROW", "/payload/3/parentId")];
        assert_eq!(faults, expected.map(|(code, path)| (code.to_owned(), path.to_owned())), "{backend:?}");
    }
}

// contract W3.3
#[tokio::test]
async fn a_missing_and_an_invisible_reference_give_the_same_fault() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        for reference in [3, 99] {
            for (path, body, pointer) in [
                ("orders/create", json!({ "payload": with(order("RE-1"), json!({ "customerId": reference })) }), "/payload/customerId"),
                (
                    "orders/create",
                    json!({ "payload": [order("RE-1"), with(order("RE-2"), json!({ "customerId": reference }))] }),
                    "/payload/1/customerId",
                ),
                ("orders/update/1", json!({ "payload": { "customerId": reference } }), "/payload/customerId"),
            ] {
                let (status, code, faults) = shop.refusal(path, &body).await;
                assert_eq!((status, code.as_str()), (422, "NO_SUCH_ROW"), "{backend:?} {path} {reference}");
                assert_eq!(faults, [("NO_SUCH_ROW".to_owned(), pointer.to_owned())], "{backend:?} {path} {reference}");
            }
        }
        let texts: Vec<String> = vec![
            shop.send("orders/create", &json!({ "payload": with(order("RE-1"), json!({ "customerId": 3 })) })).await.text(),
            shop.send("orders/create", &json!({ "payload": with(order("RE-1"), json!({ "customerId": 99 })) })).await.text(),
        ];
        assert_eq!(texts[0], texts[1], "{backend:?}");
        // A target that the viewer may not read at all: the foreign key decides.
        assert_eq!(shop.good("orders/update/1", &json!({ "payload": { "secretId": 7 } })).await["secretId"], json!(7), "{backend:?}");
        let (status, code, faults) = shop.refusal("orders/update/1", &json!({ "payload": { "secretId": 8 } })).await;
        assert_eq!(
            (status, code.as_str(), faults),
            (422, "NO_SUCH_ROW", vec![("NO_SUCH_ROW".to_owned(), "/payload/secretId".to_owned())]),
            "{backend:?}"
        );
        let (_, code, faults) =
            shop.refusal("orders/create", &json!({ "payload": [order("RE-1"), with(order("RE-2"), json!({ "secretId": 8 }))] })).await;
        assert_eq!(
            (code.as_str(), faults),
            ("NO_SUCH_ROW", vec![("NO_SUCH_ROW".to_owned(), "/payload/1/secretId".to_owned())]),
            "{backend:?}"
        );
        assert_eq!(shop.good("orders/update/1", &json!({ "payload": { "secretId": null } })).await["secretId"], json!(null));
    }
}

// contract W2.13
#[tokio::test]
async fn a_key_that_the_viewer_does_not_see_names_no_row() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let change = json!({ "payload": { "place": "south" } });
        for path in ["parcels/update/x", "parcels/delete/x", "vaults/update/x"] {
            let response = shop.send(path, &change).await;
            assert_eq!(response.problem(404)["code"], json!("NOT_FOUND"), "{backend:?} {path}");
        }
        for path in ["parcels/update", "vaults/update"] {
            let (status, _, faults) = shop.refusal(path, &json!({ "payload": [{ "code": "x", "place": "south" }] })).await;
            assert_eq!((status, faults), (400, vec![("WR119".to_owned(), "/payload".to_owned())]), "{backend:?} {path}");
            let by_query = json!({ "payload": { "place": "south" }, "query": { "where": { "place": { "eq": "north" } } } });
            assert_eq!(shop.good(path, &by_query).await["count"], json!(1), "{backend:?} {path}");
        }
        let chief = shop.again(CHIEF).await;
        assert_eq!(chief.send(&request("parcels/update/x", &change)).await.status(), 200, "{backend:?}");
    }
}

// contract W3.10
#[tokio::test]
async fn only_open_operations_and_json_are_taken_without_a_token() {
    for backend in BOTH {
        let shop = Shop::with(backend, CLERK).await;
        let anonymous = crate::support::Setup::new(crate::fixture::MANIFEST).serve(&shop.database).await;
        assert_eq!(anonymous.post("/api/shop/orders/create", "{}").await.status(), 403, "{backend:?}");
        let create = request("items/create", &json!({ "payload": { "orderId": 1, "line": 9, "qty": 1 } }));
        assert_eq!(anonymous.send(&create).await.status(), 201, "{backend:?}");
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            let response = anonymous.send(&request("items/delete/1,9", &json!({})).header("content-type", kind)).await;
            assert_eq!(response.status(), 415, "{kind}");
        }
        assert_eq!(anonymous.post("/api/shop/items/find/1,9", "{}").await.status(), 200);
    }
}

// contract W3.13, attack 93
#[tokio::test]
async fn a_page_of_another_origin_can_send_no_write() {
    for backend in BOTH {
        let shop = Shop::with(backend, CLERK).await;
        let server = crate::support::Setup::new(crate::fixture::MANIFEST).serve(&shop.database).await;
        let delete = || crate::support::Request::new("POST", "/api/shop/items/delete/1,1");
        let (kind, origin, site) = ("content-type", "origin", "sec-fetch-site");
        for refused in [
            delete().header(kind, "text/plain"),
            delete().header(kind, "application/x-www-form-urlencoded"),
            delete().header(kind, ""),
            delete().header(kind, "application/json, text/plain"),
            delete().header(kind, "application/json; charset=latin1"),
            delete().header(kind, "application/vnd.api+json").body("{}"),
            delete().header(origin, "http://evil.example"),
            delete().header(origin, "null"),
            delete().header(site, "cross-site"),
            // Even from the same origin: the rule needs no list of origins.
            delete().header(site, "same-origin"),
            // Under `none` there are no tokens.
            delete().header(origin, "http://evil.example").header("authorization", "Bearer x"),
            delete().body("{}"),
            delete().body(" "),
        ] {
            let response = server.send(&refused).await;
            assert_eq!(response.problem(415)["code"], json!("UNSUPPORTED_MEDIA_TYPE"), "{backend:?} {refused:?}");
        }
        for body in ["", "{}"] {
            let typed = delete().header(kind, "application/json; charset=utf-8").header(origin, "http://app.example").body(body);
            assert_eq!(server.send(&typed).await.status(), if body.is_empty() { 200 } else { 404 }, "{backend:?} {typed:?}");
        }
        let program = crate::support::Request::new("POST", "/api/shop/items/delete/1,2");
        assert_eq!(server.send(&program).await.status(), 200, "{backend:?}");
    }
}

// contract W2.12
#[tokio::test]
async fn the_limit_of_a_wire_constraint_bounds_what_keys_reach() {
    for backend in BOTH {
        let shop = Shop::of_clerk(backend).await;
        let limit = |limit: u64| json!({ "limit": limit });
        let list = json!([{ "id": 1, "stock": 9 }, { "id": 2, "stock": 9 }]);
        for (path, body) in [
            ("orders/update/1", json!({ "payload": { "stock": 9 }, "constraint": limit(0) })),
            ("orders/delete/1", json!({ "constraint": limit(0) })),
            ("orders/update", json!({ "payload": list, "constraint": limit(1) })),
        ] {
            let (status, code, _) = shop.refusal(path, &body).await;
            assert_eq!((status, code.as_str()), (404, "NOT_FOUND"), "{backend:?} {path}");
        }
        assert_eq!(shop.send("orders/find/1", &json!({ "constraint": limit(0) })).await.status(), 404, "as for a read");
        assert_eq!(shop.good("orders/update", &json!({ "payload": list, "constraint": limit(2) })).await["count"], json!(2));
        assert_eq!(shop.good("orders/update/1", &json!({ "payload": { "stock": 8 }, "constraint": limit(1) })).await["stock"], json!(8));
    }
}

// contract W2.10
#[tokio::test]
async fn a_writer_that_may_not_read_sees_no_more_of_a_key_than_a_reader() {
    for backend in BOTH {
        let shop = Shop::with(backend, &[]).await;
        let payload = json!({ "payload": { "text": "x" } });
        let row = shop.good("tickets/create", &payload).await;
        let reader = shop.again(&["shop.ticket.read"]).await;
        let read = reader.send(&request("tickets/create", &payload)).await.json();
        assert_eq!(row, json!({ "part": read["part"] }), "{backend:?}");
        assert_eq!(read["text"], json!("x"));
        let plain = shop.again(&["shop.ticket.plain"]).await;
        let row = plain.send(&request("tickets/create", &payload)).await.json();
        assert_eq!((row["part"].as_str().map(str::len), row.as_object().map(serde_json::Map::len)), (Some(36), Some(1)), "{row}");
    }
}
