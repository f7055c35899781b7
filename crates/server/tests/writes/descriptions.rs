//! Writes in `GET /api/openapi.json`, compared with the answers of the server.

use serde_json::{Value, json};

use crate::fixture::{CHIEF, Shop, order, request, with};
use crate::support::Backend;

fn operation<'d>(document: &'d Value, path: &str) -> &'d Value {
    &document["paths"][format!("/api/shop/{path}")]["post"]
}

/// A validator of a schema at a place of the document.
fn validator(document: &Value, place: &str) -> jsonschema::Validator {
    let mut schema = document.pointer(place).unwrap_or_else(|| panic!("{place}")).clone();
    schema["components"] = document["components"].clone();
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{place}: {error}"))
}

fn place(path: &str, status: u16, key: &str) -> String {
    let path = format!("/api/shop/{path}").replace('/', "~1");
    format!("/paths/{path}/post/responses/{status}/content/application~1json/{key}")
}

// contract E6.10
#[tokio::test]
async fn the_document_has_every_write_of_every_resource() {
    let shop = Shop::with(Backend::Sqlite, CHIEF).await;
    let document = shop.server.get("/api/openapi.json").await.good();
    let expected = [
        ("orders/create", "shopCreateOrder", "shop.order.create"),
        ("orders/update/{id}", "shopUpdateOrderById", "shop.order.update"),
        ("orders/update", "shopUpdateOrders", "shop.order.update"),
        ("orders/delete/{id}", "shopDeleteOrderById", "shop.order.delete"),
        ("orders/delete", "shopDeleteOrders", "shop.order.delete"),
        ("orders/restore/{id}", "shopRestoreOrderById", "shop.order.restore"),
        ("logs/create", "shopCreateLog", "shop.log.create"),
    ];
    for (path, id, permission) in expected {
        let described = operation(&document, path);
        assert_eq!((&described["operationId"], &described["x-permission"]), (&json!(id), &json!([permission])), "{path}");
    }
    assert!(operation(&document, "items/create").get("x-permission").is_none(), "everyone may create an item");
    for absent in ["items/restore/{id}", "logs/update", "logs/delete/{id}", "customers/create"] {
        assert!(operation(&document, absent).is_null(), "{absent}");
    }
    let statuses = |path: &str| operation(&document, path)["responses"].as_object().expect("responses").keys().cloned().collect::<Vec<_>>();
    assert!(statuses("orders/update/{id}").contains(&"412".to_owned()) && !statuses("orders/create").contains(&"412".to_owned()));
    let names = |path: &str| {
        operation(&document, path)["parameters"].as_array().expect("parameters").iter().map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("orders/update/{id}"), ["id", "If-Match"]);
    assert_eq!(names("orders/restore/{id}"), ["id", "If-Match"]);
    assert!(statuses("orders/restore/{id}").contains(&"412".to_owned()));
    assert_eq!(names("items/update/{id}"), ["id"], "a resource without a version");
    assert_eq!(names("orders/explain"), ["analyze", "operation", "fields", "id", "If-Match"]);
    let body = |path: &str| operation(&document, path)["requestBody"]["content"]["application/json"]["schema"]["$ref"].clone();
    assert_eq!(body("orders/keyset-paginate"), "#/components/schemas/ShopOrderKeysetRequest");
    assert_eq!(body("orders/paginate"), "#/components/schemas/ShopOrderRequest");
    let explained = &operation(&document, "orders/explain");
    assert_eq!(
        explained["parameters"][1]["schema"]["enum"],
        json!(["paginate", "keyset-paginate", "create", "update", "delete", "restore"])
    );
    assert!(explained["requestBody"]["content"]["application/json"]["schema"]["anyOf"].as_array().is_some_and(|bodies| bodies.len() == 7));
    assert!(operation(&document, "orders/find/{id}")["responses"]["200"]["headers"]["ETag"].is_object());
    // The database has a default for `status`, and none for `total`.
    let required = document["components"]["schemas"]["ShopOrderCreateInput"]["required"].as_array().expect("required fields");
    assert!(required.contains(&json!("total")) && !required.contains(&json!("status")));
}

// contract E6.10
#[tokio::test]
async fn requests_answers_and_problems_are_as_described() {
    let shop = Shop::with(Backend::Sqlite, CHIEF).await;
    let document = shop.server.get("/api/openapi.json").await.good();
    let list = json!({ "payload": [order("AB-2"), order("AB-3")] });
    let row = json!({ "where": { "id": { "eq": 2 } } });
    let sent = [
        ("orders/create", "orders/create", json!({ "payload": order("AB-1") }), "schema"),
        ("orders/create", "orders/create", list.clone(), "x-list"),
        ("orders/create", "orders/create", with(json!({ "payload": order("AB-4") }), json!({ "returning": false })), "x-returning-false"),
        ("orders/update/{id}", "orders/update/1", json!({ "payload": { "note": "a" }, "increment": { "stock": 1 } }), "schema"),
        ("orders/update", "orders/update", json!({ "payload": { "note": "b" }, "query": row }), "schema"),
        ("orders/update", "orders/update", json!({ "payload": [{ "id": 1, "note": "c" }, { "id": 2, "note": "d" }] }), "schema"),
        ("orders/update", "orders/update", json!({ "increment": { "stock": 1 }, "query": row, "returning": false }), "x-returning-false"),
        ("orders/delete/{id}", "orders/delete/1", json!({ "dryRun": true, "returning": { "relations": { "items": true } } }), "schema"),
        ("orders/delete", "orders/delete", json!({ "query": row, "expect": { "status": { "eq": "paid" } } }), "schema"),
        ("orders/restore/{id}", "orders/restore/2", json!({}), "schema"),
    ];
    for (described, path, body, key) in sent {
        let of_body =
            format!("/paths/{}/post/requestBody/content/application~1json/schema", format!("/api/shop/{described}").replace('/', "~1"));
        assert!(validator(&document, &of_body).is_valid(&body), "{path} {body}");
        let answer = shop.server.send(&request(path, &body)).await;
        let status = answer.status();
        let found = answer.json();
        assert!(status < 300, "{path} {body}: {found}");
        let schema = validator(&document, &place(described, status, key));
        let errors: Vec<String> = schema.iter_errors(&found).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{path} {body}: {found}\n{}", errors.join("\n"));
        let headers =
            &document.pointer(&format!("/paths/{}/post/responses/{status}/headers", format!("/api/shop/{described}").replace('/', "~1")));
        for name in ["ETag", "Dry-Run"].into_iter().filter(|name| answer.header(&name.to_lowercase()).is_some()) {
            assert!(headers.is_some_and(|headers| headers.get(name).is_some()), "{path} {name}");
        }
    }
    let problem = validator(&document, "/components/schemas/Problem");
    let refused = [
        ("orders/create", "orders/create", json!({ "payload": order("AA-1") }), 409),
        ("orders/create", "orders/create", json!({ "payload": { "number": "x" } }), 400),
        ("orders/create", "orders/create", json!({ "payload": with(order("AC-1"), json!({ "customerId": 99 })) }), 422),
        ("orders/update/{id}", "orders/update/4", json!({ "payload": { "note": "a" } }), 403),
        ("orders/update/{id}", "orders/update/999", json!({ "payload": { "note": "a" } }), 404),
        ("orders/update/{id}", "orders/update/1", json!({ "payload": { "note": "a", "version": 77 } }), 412),
        ("orders/update/{id}", "orders/update/1", json!({ "increment": { "stock": -100 } }), 422),
        ("orders/delete", "orders/delete", json!({ "query": { "where": { "id": { "gt": 0 } } } }), 409),
    ];
    for (described, path, body, status) in refused {
        let answer = shop.server.send(&request(path, &body)).await;
        let found = answer.json();
        assert_eq!(answer.status(), status, "{path} {body}: {found}");
        assert!(problem.is_valid(&found), "{path} {body}: {found}");
        assert!(operation(&document, described)["responses"].get(status.to_string()).is_some(), "{path} {status}");
    }
}
