//! A selected relation is loaded, under the rules for relations that the statement names.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Server, Setup, shop};
use crate::{data, errors, send};

// contract G1.4
#[tokio::test]
async fn a_selected_relation_is_loaded_on_every_typed_row() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = r#"{
            all: shopGetOrders(query: { order: [{ field: "id" }] }) { ...O }
            first: shopFindOrder(query: { where: { id: { eq: 11 } } }) { ...O }
            byKey: shopFindOrderById(id: 11) { ...O }
            lonely: shopFindOrderById(id: 13) { ...O }
            line: shopFindOrderLineById(id: "11,Ñu/1") { order { customer { name } } }
            nobody: shopFindOrderById(id: 99) { ...O } }
            fragment O on ShopOrder { id customer { name orders { id } } lines { sku order { id } } }"#;
        let answer = data(&server, document, Value::Null).await;
        let eleven = json!({
            "id": 11,
            "customer": {"name": "Ana", "orders": [{"id": 10}, {"id": 11}]},
            "lines": [{"sku": "Ñu/1", "order": {"id": 11}}],
        });
        assert_eq!(answer["all"].as_array().map(Vec::len), Some(4), "{backend:?}");
        assert_eq!((&answer["all"][1], &answer["first"], &answer["byKey"]), (&eleven, &eleven, &eleven), "{backend:?}");
        assert_eq!(answer["lonely"], json!({"id": 13, "customer": null, "lines": []}), "{backend:?}");
        assert_eq!(answer["line"], json!({"order": {"customer": {"name": "Ana"}}}), "{backend:?}");
        assert_eq!(answer["nobody"], json!(null), "{backend:?}");
    }
}

// contract G1.4
#[tokio::test]
async fn relations_of_the_statement_shapes_a_selected_relation() {
    let document = "query ($r: JSON, $c: QueryStatementInput) {
        shopFindCustomer(query: { where: { id: { eq: 1 } }, relations: $r }, constraint: $c) { orders { id lines { sku } } bills { id } } }";
    let whole = json!([{"id": 10, "lines": [{"sku": "a,b"}, {"sku": "plain"}]}, {"id": 11, "lines": [{"sku": "Ñu/1"}]}]);
    let last = json!([whole[1]]);
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for (relations, orders, bills) in [
            (json!(null), &whole, 2),
            (json!({}), &whole, 2),
            (json!({"orders": true}), &whole, 2),
            (json!({"orders": {"relations": null}}), &whole, 2),
            (json!({"orders": {"where": {"id": {"gt": 10}}}}), &last, 2),
            (json!({"orders": {"order": [{"field": "id", "dir": "desc"}], "limit": 1}, "bills": {"limit": 1}}), &last, 1),
        ] {
            let answer = data(&server, document, json!({"r": relations})).await["shopFindCustomer"].take();
            assert_eq!((&answer["orders"], answer["bills"].as_array().map(Vec::len)), (orders, Some(bills)), "{backend:?} {relations}");
        }
        let narrowed = data(&server, document, json!({"c": {"relations": {"orders": {"where": {"id": {"gt": 10}}}}}})).await;
        assert_eq!(narrowed["shopFindCustomer"]["orders"], last, "{backend:?}");
        // A relation that nobody selects is loaded and left out.
        let other = "{ shopFindCustomer(query: { where: { id: { eq: 1 } }, relations: { orders: true } }) { id } }";
        assert_eq!(data(&server, other, Value::Null).await["shopFindCustomer"], json!({"id": 1}), "{backend:?}");
        for relations in [json!([]), json!("orders"), json!({"orders": null}), json!({"orders": false}), json!({"orders": {"limit": -1}})] {
            let refused = send(&server, document, json!({"r": relations})).await;
            let path = errors(&refused)[0]["extensions"]["errors"][0]["path"].clone();
            assert!(path.as_str().is_some_and(|path| path.starts_with("/query/relations")), "{backend:?} {relations} {path}");
        }
    }
}

// contract G1.4
#[tokio::test]
async fn only_relations_that_are_left_after_directives_are_loaded() {
    // The caller may not read `plans`, so that loading it is an error.
    let document = "query ($yes: Boolean = true, $no: Boolean = false) { shopFindCustomer(query: { where: { id: { eq: 1 } } }) {
        id plans @skip(if: $yes) { id } ... @include(if: $no) { plans { id } } ...P @include(if: $no)
        last: orders { number: id } first: orders { lines { sku } } ...Q ... on ShopCustomer { orders { total customer { id } } } } }
        fragment P on ShopCustomer { plans { id } }
        fragment Q on ShopCustomer { orders { id } }";
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let answer = data(&server, document, json!({})).await["shopFindCustomer"].take();
        assert_eq!(
            answer,
            json!({
                "id": 1,
                "last": [{"number": 10}, {"number": 11}],
                "first": [{"lines": [{"sku": "a,b"}, {"sku": "plain"}]}, {"lines": [{"sku": "Ñu/1"}]}],
                "orders": [{"id": 10, "total": "19.99", "customer": {"id": 1}}, {"id": 11, "total": "5.00", "customer": {"id": 1}}],
            }),
            "{backend:?}"
        );
        for variables in [json!({"yes": false}), json!({"no": true})] {
            let refused = send(&server, document, variables).await;
            assert_eq!(errors(&refused)[0]["extensions"]["errors"][0]["path"], "/query/relations/plans", "{backend:?}");
        }
    }
}

/// The faults of a statement over REST.
async fn rest_faults(server: &Server, path: &str, relations: &Value) -> Value {
    server.post(path, json!({"query": {"relations": relations}}).to_string()).await.problem(400)["errors"].take()
}

/// A selection and the same relations in a statement: orders and bills of a customer, their lines and customer, and so on.
fn deep(levels: usize) -> (String, Value) {
    if levels == 0 {
        return ("id".to_owned(), json!({}));
    }
    let (selection, relations) = deep(levels - 1);
    let node = |relations: &Value| if relations == &json!({}) { json!(true) } else { json!({"relations": relations}) };
    let order = json!({"relations": {"customer": node(&relations), "lines": true}});
    let order_selection = format!("{{ customer {{ {selection} }} lines {{ sku }} }}");
    (format!("bills {order_selection} orders {order_selection}"), json!({"bills": order, "orders": order}))
}

// contract G1.4, contract Q11.1, contract Q11.3
#[tokio::test]
async fn the_limits_of_statements_hold_for_selected_relations() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let (selection, relations) = deep(3);
    data(&server, &format!("{{ shopGetCustomers {{ {selection} }} }}"), Value::Null).await;
    assert!(server.post("/api/shop/customers/list", json!({"query": {"relations": relations}}).to_string()).await.status() == 200);
    let (selection, relations) = deep(5);
    let many = (format!("{{ shopGetCustomers {{ {selection} }} }}"), "/api/shop/customers/list", relations);
    let nested = "customer { orders { ".repeat(5);
    let document = format!("{{ shopGetOrders {{ {nested} customer {{ id }} {} }} }}", "} }".repeat(5));
    let node = |name: &str, inner: Value| json!({ name: {"relations": inner} });
    let relations = (0..5).fold(json!({"customer": true}), |inner, _| node("customer", node("orders", inner)));
    for (document, path, relations) in [many, (document, "/api/shop/orders/list", relations)] {
        let answer = send(&server, &document, Value::Null).await;
        let expected = rest_faults(&server, path, &relations).await;
        assert_eq!(errors(&answer)[0]["extensions"]["errors"], expected, "{document}");
        assert!(expected[0]["code"].as_str().is_some_and(|code| code.starts_with("QS2")), "{expected}");
    }
}

// contract G1.4, contract G2.1
#[tokio::test]
async fn permissions_and_policies_of_a_target_hold_for_a_selected_relation() {
    let document = "{ shopFindCustomer(query: { where: { id: { eq: 1 } } }) { id plans { title } } }";
    let masked = "{ shopFindOrderById(id: 10) { customer { email } } }";
    for backend in BACKENDS {
        let (server, database) = shop::open(backend).await;
        let refused = send(&server, document, Value::Null).await;
        let expected = rest_faults(&server, "/api/shop/customers/find", &json!({"plans": true})).await;
        assert_eq!(errors(&refused)[0]["extensions"]["errors"], expected, "{backend:?}");
        assert_eq!(refused.good()["data"], json!({"shopFindCustomer": null}), "{backend:?}");
        let email = data(&server, masked, Value::Null).await["shopFindOrderById"]["customer"]["email"].take();
        assert_eq!(email, "a***@example.org", "{backend:?}");

        let server = Setup::new(shop::MANIFEST).viewer(&["vault.secretPlan.get"]).serve(&database).await;
        let seen = data(&server, document, Value::Null).await;
        assert_eq!(seen["shopFindCustomer"], json!({"id": 1, "plans": [{"title": "move the moon"}]}), "{backend:?}");
        // A constraint of the target narrows the rows.
        let constrained = shop::MANIFEST.replace(
            "[resource.vault.secretPlan]\n",
            "[resource.vault.secretPlan]\nconstraint = { where = { title = { eq = \"paint it\" } } }\n",
        );
        let server = Setup::new(&constrained).viewer(&["vault.secretPlan.get"]).serve(&database).await;
        let seen = data(&server, document, Value::Null).await;
        assert_eq!(seen["shopFindCustomer"], json!({"id": 1, "plans": []}), "{backend:?}");
    }
}

// contract G1.5
#[tokio::test]
async fn a_group_has_no_relations_to_load() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let document = r#"{ shopGetOrders(query: { aggregation: { fields: [{ fn: count, field: "*" }] } }) { _aggregation customer { id } lines { sku } } }"#;
    let answer = data(&server, document, Value::Null).await;
    assert_eq!(answer["shopGetOrders"], json!([{"_aggregation": {"count": 4}, "customer": null, "lines": null}]));
}
