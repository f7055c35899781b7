//! The same writes over GraphQL.

use serde_json::{Value, json};

use crate::fixture::{BOTH, CHIEF, Shop, order};
use crate::support::Backend;

async fn ask(shop: &Shop, document: &str, variables: Value) -> Value {
    shop.server.post("/graphql", json!({ "query": document, "variables": variables }).to_string()).await.good()
}

// contract W3.12
#[tokio::test]
async fn mutations_write_as_rest_does() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let create =
            "mutation($p: ShopOrderCreateInput!) { shopCreateOrder(payload: $p) { id number version customer { name } items { qty } } }";
        let answer = ask(&shop, create, json!({ "p": order("GG-1") })).await;
        assert_eq!(
            answer["data"]["shopCreateOrder"],
            json!({ "id": 101, "number": "GG-1", "version": 1, "customer": { "name": "Ana" }, "items": [] }),
            "{backend:?}"
        );
        let several = "mutation($p: [ShopOrderCreateInput!]!) { shopCreateOrders(payload: $p) { __typename count rows { number customer { name } } } }";
        let answer = ask(&shop, several, json!({ "p": [order("GG-2"), order("GG-3")] })).await;
        let row = |number: &str| json!({ "number": number, "customer": { "name": "Ana" } });
        assert_eq!(
            answer["data"]["shopCreateOrders"],
            json!({ "__typename": "ShopOrderRows", "count": 2, "rows": [row("GG-2"), row("GG-3")] })
        );
        let update = "mutation($p: ShopOrderUpdateInput!) { shopUpdateOrderById(payload: $p, increment: {stock: 2}, expect: {status: {eq: \"new\"}}) { id status stock version note } }";
        let answer = ask(&shop, update, json!({ "p": { "id": 1, "version": 1, "status": "paid" } })).await;
        assert_eq!(
            answer["data"]["shopUpdateOrderById"],
            json!({ "id": 1, "status": "paid", "stock": 7, "version": 2, "note": null }),
            "{backend:?}"
        );
        let stale = ask(&shop, update, json!({ "p": { "id": 1, "version": 1, "status": "paid" } })).await;
        assert_eq!((&stale["data"]["shopUpdateOrderById"], &stale["errors"][0]["extensions"]["code"]), (&Value::Null, &json!("STALE")));
        let many = "mutation { shopUpdateOrders(payload: {stock: 3}, query: {where: {tenant: {eq: \"a\"}, status: {in: [\"new\", \"paid\"]}}, order: [{field: \"id\"}], limit: 2}) { count rows { id stock } } }";
        let answer = ask(&shop, many, json!({})).await;
        assert_eq!(
            answer["data"]["shopUpdateOrders"],
            json!({ "count": 2, "rows": [{ "id": 1, "stock": 3 }, { "id": 2, "stock": 3 }] }),
            "{backend:?}"
        );
        let each = "mutation { shopUpdateOrders(payload: [{id: 2, stock: 4}, {id: 1, stock: 5}]) { rows { id stock } } }";
        assert_eq!(
            ask(&shop, each, json!({})).await["data"]["shopUpdateOrders"]["rows"],
            json!([{ "id": 2, "stock": 4 }, { "id": 1, "stock": 5 }])
        );
        let sequence = "mutation { a: shopDeleteOrderById(id: 1) { id } b: shopDeleteOrderById(id: 1) { id } c: shopRestoreOrderById(id: 1) { id deletedAt } d: shopDeleteOrders(query: {where: {number: {iLike: \"GG%\"}}}, dryRun: true) { count } }";
        let answer = ask(&shop, sequence, json!({})).await;
        assert_eq!(
            answer["data"],
            json!({ "a": { "id": 1 }, "b": null, "c": { "id": 1, "deletedAt": null }, "d": { "count": 3 } }),
            "{backend:?}"
        );
        assert_eq!(answer["errors"][0]["extensions"]["code"], json!("NOT_FOUND"));
        let exists = ask(&shop, create, json!({ "p": order("GG-1") })).await;
        assert_eq!(
            exists["errors"][0]["extensions"]["errors"][0],
            json!({ "code": "EXISTS", "path": "/payload/number", "message": "a row with this value of `number` exists already" })
        );
        let item =
            "mutation { shopUpdateItemById(payload: {orderId: 1, line: 2, qty: 9}) { qty } shopDeleteItemById(id: \"1,2\") { qty } }";
        assert_eq!(
            ask(&shop, item, json!({})).await["data"],
            json!({ "shopUpdateItemById": { "qty": 9 }, "shopDeleteItemById": { "qty": 9 } }),
            "{backend:?}"
        );
    }
}

// contract W3.12, contract W2.2
#[tokio::test]
async fn null_empties_and_an_absent_variable_leaves_a_field() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let update = "mutation($stock: Int, $note: String) { shopUpdateOrderById(payload: {id: 1, stock: $stock, note: $note, email: \"a@b.c\"}) { stock note } }";
        let answer = ask(&shop, update, json!({ "note": "hey" })).await;
        assert_eq!(answer["data"]["shopUpdateOrderById"], json!({ "stock": 5, "note": "hey" }), "{backend:?}");
        let answer = ask(&shop, update, json!({ "stock": null })).await;
        assert_eq!(answer["data"]["shopUpdateOrderById"], json!({ "stock": null, "note": "hey" }), "{backend:?}");
    }
}

// contract W3.12, contract W2.13
#[tokio::test]
async fn the_schema_names_no_hidden_key_and_no_hidden_version() {
    let shop = Shop::with(Backend::Sqlite, CHIEF).await;
    let inputs = "{ __type(name: \"ShopVaultUpdateInput\") { inputFields { name } } __schema { mutationType { fields { name } } } }";
    let data = &ask(&shop, inputs, json!({})).await["data"];
    assert_eq!(data["__type"]["inputFields"], json!([{ "name": "place" }]));
    let fields: Vec<&str> =
        data["__schema"]["mutationType"]["fields"].as_array().expect("fields").iter().filter_map(|field| field["name"].as_str()).collect();
    assert!(fields.contains(&"shopUpdateVaults") && !fields.contains(&"shopUpdateVaultById"), "{fields:?}");
    assert!(fields.contains(&"shopUpdateParcelById"), "a mask may be lifted: {fields:?}");
}

// contract W3.12, contract W3.4
#[tokio::test]
async fn faults_of_a_key_in_a_payload_stand_at_its_place() {
    let shop = Shop::with(Backend::Sqlite, CHIEF).await;
    let faults = async |document: &str, variables: Value| {
        let answer = ask(&shop, document, variables).await;
        crate::fixture::faults(&answer["errors"][0]["extensions"])
    };
    let place = |code: &str, path: &str| (code.to_owned(), path.to_owned());
    let by_id = "mutation($p: ShopOrderUpdateInput!) { shopUpdateOrderById(payload: $p) { id } }";
    let missing = [place("WR116", "/payload/stock"), place("WR119", "/payload/id")];
    for payload in [json!({ "stock": -1 }), json!({ "id": null, "stock": -1 })] {
        let mut found = faults(by_id, json!({ "p": payload })).await;
        found.sort();
        found.retain(|fault| *fault != place("WR115", "/payload/id"));
        assert!(found == missing || found == missing[..1], "{found:?}");
    }
    let composite = "mutation { shopUpdateItemById(payload: {line: 1, qty: 9}) { qty } }";
    assert_eq!(faults(composite, json!({})).await, [place("WR119", "/payload/orderId")]);
    // Without a key, one object means the rows of a query.
    let several = "mutation { shopUpdateOrders(payload: {stock: 4}) { count } }";
    assert_eq!(faults(several, json!({})).await, [place("WR106", "/query")]);
    let each = "mutation($all: Boolean) { shopUpdateOrders(payload: {id: 1, stock: 4}, all: $all) { count } }";
    for all in [json!(false), Value::Null] {
        assert_eq!(ask(&shop, each, json!({ "all": all })).await["data"]["shopUpdateOrders"]["count"], json!(1), "{all}");
    }
}

// contract W3.17
#[tokio::test]
async fn what_a_writer_may_not_read_is_an_error_and_not_a_silent_null() {
    for backend in BOTH {
        let shop = Shop::with(backend, &["shop.order.create"]).await;
        let several = "mutation($p: [ShopOrderCreateInput!]!) { many: shopCreateOrders(payload: $p) { count rows { id nr: number customer { name } } } }";
        let orders = [crate::fixture::with(order("NR-1"), json!({ "customerId": 1 })), order("NR-2")];
        let answer = ask(&shop, several, json!({ "p": orders })).await;
        let row = |id: u64| json!({ "id": id, "nr": null, "customer": null });
        assert_eq!(answer["data"]["many"], json!({ "count": 2, "rows": [row(101), row(102)] }), "{backend:?} {answer}");
        let paths: Vec<&Value> = answer["errors"].as_array().expect("errors").iter().map(|error| &error["path"]).collect();
        let expected: Vec<Value> =
            [0, 1].into_iter().flat_map(|index| ["nr", "customer"].map(|key| json!(["many", "rows", index, key]))).collect();
        assert_eq!(paths, expected.iter().collect::<Vec<_>>(), "{backend:?}");
        assert_eq!(answer["errors"][0]["extensions"]["code"], json!("FORBIDDEN"));
        let one = "mutation { shopCreateTicket(payload: {text: \"x\"}) { __typename text part } }";
        let answer = ask(&shop, one, json!({})).await;
        assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1), "{answer}");
        assert_eq!(
            (&answer["errors"][0]["path"], &answer["data"]["shopCreateTicket"]["text"]),
            (&json!(["shopCreateTicket", "text"]), &Value::Null)
        );
    }
}

// contract W3.17, contract W2.11
#[tokio::test]
async fn a_document_of_dry_runs_says_so_in_a_header() {
    let shop = Shop::with(Backend::Sqlite, CHIEF).await;
    let dry = "shopUpdateOrderById(payload: {id: 1, stock: 3}, dryRun: true) { stock }";
    for (document, header) in [
        (format!("mutation {{ {dry} b: {dry} }}"), Some("true")),
        (format!("mutation {{ {dry} kept: shopUpdateOrderById(payload: {{id: 2, stock: 3}}) {{ stock }} }}"), None),
        (format!("mutation {{ {dry} refused: shopUpdateOrderById(payload: {{id: 999, stock: 3}}) {{ stock }} }}"), Some("true")),
        ("mutation { shopUpdateOrderById(payload: {id: 2, stock: 4}) { stock } }".to_owned(), None),
        ("{ shopFindOrderById(id: 1) { stock } }".to_owned(), None),
    ] {
        let response = shop.server.post("/graphql", json!({ "query": document }).to_string()).await;
        assert_eq!(response.header("dry-run"), header, "{document}: {}", response.text());
    }
    assert_eq!(shop.database.texts("SELECT stock FROM orders WHERE id = 1").await, ["5"]);
}
