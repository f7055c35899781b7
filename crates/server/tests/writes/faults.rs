//! Faults of payloads, and refusals of the database.

use serde_json::{Value, json};

use crate::fixture::{BOTH, CHIEF, Shop, order, with};
use crate::support::Backend;

fn place(code: &str, path: &str) -> (String, String) {
    (code.to_owned(), path.to_owned())
}

// contract W3.4, contract W1.4, contract W1.2
#[tokio::test]
async fn every_fault_of_a_payload_has_its_code_and_its_path() {
    let shop = Shop::of_clerk(Backend::Sqlite).await;
    for (members, code, field) in [
        (json!({ "nope": 1 }), "WR110", "nope"),
        (json!({ "id": 1 }), "WR111", "id"),
        (json!({ "ownerId": null }), "WR111", "ownerId"),
        (json!({ "version": 1 }), "WR111", "version"),
        (json!({ "note": "x" }), "WR111", "note"),
        (json!({ "discount": 1 }), "WR112", "discount"),
        (json!({ "total": null }), "WR115", "total"),
        (json!({ "total": "x" }), "WR114", "total"),
        (json!({ "stock": 1.5 }), "WR114", "stock"),
        (json!({ "status": "gone" }), "WR114", "status"),
        (json!({ "tags": "x" }), "WR114", "tags"),
        (json!({ "marks": ["x"] }), "WR114", "marks"),
        (json!({ "at": "yesterday" }), "WR114", "at"),
        (json!({ "total": 1000.01 }), "WR116", "total"),
        (json!({ "stock": -1 }), "WR116", "stock"),
        (json!({ "tags": ["1", "2", "3", "4"] }), "WR116", "tags"),
        (json!({ "number": "aa-1" }), "WR116", "number"),
        (json!({ "number": "AA-1x" }), "WR116", "number"),
        (json!({ "number": "AA-123456" }), "WR116", "number"),
        (json!({ "email": "a\u{0}b" }), "WR117", "email"),
        (json!({ "meta": { "a": ["\u{0}"] } }), "WR117", "meta"),
    ] {
        let (status, problem, faults) = shop.refusal("orders/create", &json!({ "payload": with(order("FF-1"), members.clone()) })).await;
        assert_eq!((status, problem.as_str()), (400, "INVALID_INPUT"), "{members}");
        assert_eq!(faults, [place(code, &format!("/payload/{field}"))], "{members}");
    }
    let (_, _, faults) = shop.refusal("orders/create", &json!({ "payload": [order("FF-1"), {}, { "number": 1, "nope": 1 }] })).await;
    for (code, path) in [
        ("WR113", "/payload/1/number"),
        ("WR113", "/payload/1/customerId"),
        ("WR113", "/payload/1/tenant"),
        ("WR113", "/payload/1/total"),
        ("WR114", "/payload/2/number"),
        ("WR110", "/payload/2/nope"),
        ("WR113", "/payload/2/total"),
    ] {
        assert!(faults.contains(&place(code, path)), "{code} {path}: {faults:?}");
    }
    // A hidden field that cannot be written reads as an unknown one.
    let message = |response: crate::support::Response| response.json()["errors"][0]["message"].as_str().expect("a message").to_owned();
    let unknown = message(shop.send("items/create", &json!({ "payload": { "orderId": 1, "line": 5, "qty": 1, "nope": 1 } })).await);
    assert!(unknown.contains("`shop.item` has no field `nope`"), "{unknown}");
    for (path, body, code, pointer) in [
        ("orders/create", json!({}), "WR103", ""),
        ("orders/create", json!({ "payload": [] }), "WR104", "/payload"),
        ("orders/create", json!({ "payload": 7 }), "WR100", "/payload"),
        ("orders/create", json!({ "payload": [7] }), "WR100", "/payload/0"),
        ("orders/create", json!({ "payload": order("FF-1"), "expect": {} }), "WR102", "/expect"),
        ("orders/create", json!({ "payload": order("FF-1"), "payloads": {} }), "WR101", "/payloads"),
        ("orders/create", json!({ "payload": order("FF-1"), "dryRun": "yes" }), "WR100", "/dryRun"),
        ("orders/create", json!({ "payload": order("FF-1"), "returning": { "fields": 1 } }), "WR101", "/returning/fields"),
        (
            "orders/create",
            json!({ "payload": order("FF-1"), "returning": { "relations": { "nope": true } } }),
            "QS303",
            "/returning/relations/nope",
        ),
        ("orders/update/1", json!({}), "WR103", ""),
        ("orders/update/1", json!({ "payload": {} }), "WR104", "/payload"),
        ("orders/update/1", json!({ "payload": { "number": "AA-9" } }), "WR111", "/payload/number"),
        ("orders/update/1", json!({ "increment": { "note": 1 } }), "WR118", "/increment/note"),
        ("orders/update/1", json!({ "increment": { "stock": "x" } }), "WR114", "/increment/stock"),
        ("orders/update/1", json!({ "increment": { "version": 1 } }), "WR111", "/increment/version"),
        ("orders/update/1", json!({ "increment": { "nope": 1 } }), "WR110", "/increment/nope"),
        ("orders/update/1", json!({ "increment": { "token": 1 } }), "WR110", "/increment/token"),
        ("orders/update/1", json!({ "increment": { "stock": 1 }, "payload": { "stock": 1 } }), "WR118", "/increment/stock"),
        ("orders/update/1", json!({ "payload": { "stock": 1 }, "expect": { "email": { "eq": "x" } } }), "QS304", "/expect/email"),
        ("orders/update/1", json!({ "payload": { "stock": 1 }, "expect": { "nope": { "eq": "x" } } }), "QS302", "/expect/nope"),
        ("orders/update/1", json!({ "payload": { "stock": 1 }, "expect": 7 }), "QS103", "/expect"),
        (
            "orders/update/1",
            json!({ "payload": { "stock": 1 }, "constraint": { "relations": { "nope": true } } }),
            "QS303",
            "/constraint/relations/nope",
        ),
        ("orders/delete/1", json!({ "constraint": { "order": [{ "field": "nope" }] } }), "QS302", "/constraint/order/0/field"),
        (
            "orders/delete",
            json!({ "query": { "where": { "nope": { "eq": 1 } }, "limit": 1 }, "constraint": { "where": { "id": { "gt": 0 } } } }),
            "QS302",
            "/query/where/nope",
        ),
        (
            "orders/delete",
            json!({ "query": { "where": { "id": { "eq": 1 } } }, "constraint": { "order": [{ "field": "nope" }] } }),
            "QS302",
            "/constraint/order/0/field",
        ),
    ] {
        let (status, problem, faults) = shop.refusal(path, &body).await;
        assert_eq!((status, problem.as_str(), faults), (400, "INVALID_INPUT", vec![place(code, pointer)]), "{path} {body}");
    }
    let many: Vec<Value> = (0..1_001).map(|index| order(&format!("M-{index}"))).collect();
    assert_eq!(shop.refusal("orders/create", &json!({ "payload": many })).await.2, [place("WR105", "/payload")]);
    assert_eq!(crate::fixture::faults(&shop.send("orders/create", &json!([1])).await.json()), [place("WR100", "")]);
}

// contract W3.5
#[tokio::test]
async fn every_unique_conflict_of_every_row_is_reported() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let uuid = "6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f";
        shop.good("orders/update/2", &json!({ "payload": { "ref": uuid, "day": "2024-01-01" } })).await;
        let payload = json!([
            with(order("AA-1"), json!({ "ref": uuid, "day": "2024-01-01" })),
            order("UU-1"),
            order("UU-1"),
            with(order("BB-5"), json!({ "customerId": 99 })),
        ]);
        let (status, code, faults) = shop.refusal("orders/create", &json!({ "payload": payload })).await;
        assert_eq!((status, code.as_str()), (409, "EXISTS"), "{backend:?}");
        let expected = [
            place("EXISTS", "/payload/0/number"),
            place("EXISTS", "/payload/0/day"),
            place("EXISTS", "/payload/0/ref"),
            place("EXISTS", "/payload/2/number"),
            place("EXISTS", "/payload/3/number"),
            place("NO_SUCH_ROW", "/payload/3/customerId"),
        ];
        let mut sorted = faults.clone();
        sorted.sort();
        let mut wanted = expected.to_vec();
        wanted.sort();
        assert_eq!(sorted, wanted, "{backend:?}");
        let (status, code, faults) = shop.refusal("orders/update/1", &json!({ "payload": { "ref": uuid, "day": "2024-01-01" } })).await;
        assert_eq!((status, code.as_str()), (409, "EXISTS"), "{backend:?}");
        assert!(faults.contains(&place("EXISTS", "/payload/ref")), "{backend:?} {faults:?}");
    }
}

// contract W3.5
#[tokio::test]
async fn constraints_of_the_database_are_faults_without_its_text() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let (status, code, faults) = shop.refusal("orders/create", &json!({ "payload": with(order("DB-1"), json!({ "big": 13 })) })).await;
        assert_eq!((status, code.as_str(), faults), (422, "REFUSED", vec![place("REFUSED", "/payload/big")]), "{backend:?}");
        let response = shop.send("orders/update/1", &json!({ "payload": { "big": 13 } })).await;
        let text = response.text();
        assert!(!text.contains("few_big") && !text.contains("constraint") && response.status() == 422, "{text}");
        // Items refer to order 1, which is deleted softly; the items themselves are removed.
        shop.database.execute("CREATE TABLE uses (order_id bigint NOT NULL, line int NOT NULL, FOREIGN KEY (order_id, line) REFERENCES items (order_id, line)); INSERT INTO uses VALUES (1, 1)").await;
        let (status, code, _) = shop.refusal("items/delete/1,1", &json!({})).await;
        assert_eq!((status, code.as_str()), (409, "IN_USE"), "{backend:?}");
        assert_eq!(shop.good("items/delete/1,2", &json!({})).await["qty"], json!(4), "{backend:?}");
    }
}
