//! `/docs/resources.json` applies the same permissions as a statement, for callers with different permissions.

use serde_json::{Value, json};

use crate::support::{Backend, Database, Response, Server, Setup, get, shop};

const PATH: &str = "/docs/resources.json";
const OPERATORS: [&str; 13] = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "notIn", "between", "isNull", "iLike", "contains", "overlap"];

/// A server for an account with these permissions, its database, and the answer to the account.
async fn shown(permissions: &[&str]) -> ((Server, Database), Response) {
    let database = shop::database(Backend::Sqlite).await;
    let server = Setup::new(shop::MANIFEST).viewer(permissions).serve(&database).await;
    let answer = server.get(PATH).await;
    ((server, database), answer)
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
}

fn find<'v>(list: &'v Value, name: &str) -> &'v Value {
    list.as_array().expect("a list").iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {name} in {list}"))
}

// contract E8.2
#[tokio::test]
async fn resources_and_fields_that_the_caller_may_not_see_are_absent() {
    let (_server, answer) = shown(&[]).await;
    let all = answer.good();
    assert_eq!(
        names(&all["resources"]),
        ["shop.customer", "shop.order", "shop.orderLine", "shop.note", "shop.item", "bigShop.appAccount"],
        "in the order of the manifest"
    );
    let customer = find(&all["resources"], "shop.customer");
    assert_eq!(names(&customer["relations"]), ["orders", "bills"], "a relation to an unreadable resource is absent");
    assert!(!names(&customer["fields"]).contains(&"apiKey"), "a hidden field is absent");
    let email = find(&customer["fields"], "email");
    assert_eq!(
        (&email["mask"], &email["operators"], &email["functions"], &email["sortable"]),
        (&json!("email"), &json!([]), &json!([]), &json!(false))
    );
    assert_eq!(all["explain"], false);
    for secret in ["apiKey", "api_key", "secretPlan", "secret_plans", "plans", "vault", "shop.customer.pii", "explain\""] {
        assert!(!answer.text().replace("\"explain\":false", "").contains(secret), "{secret}");
    }
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.header("vary").is_some_and(|vary| vary.contains("Authorization")), "{:?}", answer.head);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("etag").is_none());
}

// contract E8.2
#[tokio::test]
async fn each_permission_shows_only_what_it_grants() {
    let (_server, answer) = shown(&["vault.secretPlan.get"]).await;
    let all = answer.good();
    assert!(names(&all["resources"]).contains(&"vault.secretPlan"));
    let customer = find(&all["resources"], "shop.customer");
    assert_eq!(find(&customer["relations"], "plans"), &json!({"name": "plans", "many": true, "target": "vault.secretPlan"}));
    assert_eq!(find(&customer["fields"], "email")["mask"], "email");

    let (_server, answer) = shown(&["shop.customer.pii"]).await;
    let all = answer.good();
    assert!(!names(&all["resources"]).contains(&"vault.secretPlan"));
    let email = find(&find(&all["resources"], "shop.customer")["fields"], "email").clone();
    assert_eq!((&email["mask"], &email["sortable"]), (&Value::Null, &json!(true)), "not masked");
    assert!(email["operators"].as_array().is_some_and(|operators| operators.contains(&json!("iLike"))));
    assert_eq!(all["explain"], false);

    let ((server, _database), answer) = shown(&["peristyle.explain"]).await;
    let all = answer.good();
    assert_eq!(all["explain"], true);
    let address =
        find(&find(&all["resources"], "shop.customer")["operations"], "explain")["address"].as_str().expect("an address").to_owned();
    server.post(&address, "").await.good();
}

// contract E8.14
#[tokio::test]
async fn a_derived_field_says_what_it_is_computed_from_and_whether_it_must_be_named() {
    let manifest = r#"
[resource.shop.customer.fields]
id         = { type = "bigint", key = true }
joinedOn   = "date"
year       = { bucket = "year", of = "joinedOn" }
orderCount = { count = "orders", eager = false }
[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }
[resource.shop.order.fields]
id         = { type = "bigint", key = true }
customerId = "bigint"
"#;
    let script = "CREATE TABLE customers (id INTEGER PRIMARY KEY, joined_on TEXT); CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER);";
    let database = Database::with(Backend::Sqlite, script).await;
    let server = Setup::new(manifest).serve(&database).await;
    let all = server.get(PATH).await.good();
    let fields = &find(&all["resources"], "shop.customer")["fields"];
    let described = |name: &str| ["eager", "bucket", "derived"].map(|part| find(fields, name)[part].clone());
    assert_eq!(described("joinedOn"), [json!(true), Value::Null, Value::Null]);
    assert_eq!(described("year"), [json!(true), json!("year"), json!("start of the year of `joinedOn`")]);
    assert_eq!(described("orderCount"), [json!(false), Value::Null, json!("count of `orders`; shown only if it is named")]);
}

// contract E8.2, contract E3.2
#[tokio::test]
async fn under_strategy_none_no_header_shows_more() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let bare = server.get(PATH).await;
    for value in ["Bearer x", "Bearer eyJhbGciOiJub25lIn0.e30.", "nonsense"] {
        let answer = server.send(&get(PATH).header("authorization", value)).await;
        assert_eq!((answer.status(), &answer.body), (200, &bare.body), "{value}");
    }
}

// contract E8.3
#[tokio::test]
async fn fields_are_described_as_the_manifest_declares_them() {
    let (_server, answer) = shown(&[]).await;
    let all = answer.good();
    let fields = &find(&all["resources"], "shop.customer")["fields"];
    assert_eq!(
        find(fields, "id"),
        &json!({"name": "id", "type": "bigint", "array": false, "nullable": false, "key": true, "sortable": true, "eager": true,
            "operators": ["eq", "ne", "gt", "gte", "lt", "lte", "in", "notIn", "between", "isNull"],
            "functions": ["count", "sum", "max", "min", "avg"]})
    );
    assert_eq!(find(fields, "status")["values"], json!(["lead", "active", "gone"]));
    let tags = find(fields, "tags");
    assert_eq!(
        (&tags["type"], &tags["array"], &tags["operators"]),
        (&json!("text"), &json!(true), &json!(["isNull", "contains", "overlap"]))
    );
    let line = find(&all["resources"], "shop.orderLine");
    assert_eq!(line["key"], json!(["orderId", "sku"]));
    let note = find(&all["resources"], "shop.note");
    assert_eq!(
        (&note["key"], names(&note["operations"])),
        (&json!([]), vec!["paginate", "list", "get", "find"]),
        "a resource without a key has no find by key"
    );
}

// contract E8.7
#[tokio::test]
async fn the_number_of_withheld_resources_and_the_graphql_name_of_each_operation_are_told() {
    let (_server, answer) = shown(&[]).await;
    let all = answer.good();
    assert_eq!(all["withheld"], 1);
    let customer = find(&all["resources"], "shop.customer");
    let named = |operation: &str| find(&customer["operations"], operation)["graphql"].clone();
    assert_eq!(
        [named("paginate"), named("list"), named("find"), named("findById"), named("get")],
        [json!("shopPaginateCustomers"), json!("shopGetCustomers"), json!("shopFindCustomer"), json!("shopFindCustomerById"), Value::Null]
    );
    let (_server, answer) = shown(&["vault.secretPlan.get"]).await;
    assert_eq!(answer.good()["withheld"], 0);
}

// contract E5.8
#[tokio::test]
async fn under_none_on_a_loopback_listener_everyone_may_see_sql() {
    let database = shop::database(Backend::Sqlite).await;
    let server = Setup::new(shop::MANIFEST).serve(&database).await;
    let all = server.get(PATH).await.good();
    assert_eq!(all["explain"], true);
    let explained = server.post("/api/shop/customers/explain", "").await.good();
    assert!(explained["levels"][0]["sql"].as_str().is_some_and(|sql| sql.starts_with("SELECT")), "{explained}");
    assert_eq!(server.get("/auth/me").await.good()["dPermissions"], json!({ "all": [] }), "the anonymous account has no permissions");
    server.post("/api/vault/secret-plans/explain", "").await.problem(403);
    // Any other listener keeps the rule.
    let mut setup = Setup::new(shop::MANIFEST);
    setup.listen = "0.0.0.0:0".parse().expect("an address");
    let open = setup.serve(&database).await;
    assert_eq!(open.get(PATH).await.good()["explain"], false);
    open.post("/api/shop/customers/explain", "").await.problem(403);
}

/// A value of the right shape for an operator on a type.
fn operand(kind: &str, operator: &str) -> Value {
    let one = match kind {
        "bool" => json!(true),
        "int" | "bigint" | "float" | "decimal" | "json" => json!(1),
        "uuid" => json!("aaaaaaaa-0000-4000-8000-000000000001"),
        "date" => json!("2024-02-29"),
        "time" => json!("10:00:00"),
        "timestamp" => json!("2024-02-29T10:00:00Z"),
        _ => json!("lead"),
    };
    match operator {
        "isNull" => json!(true),
        "iLike" => json!("a%"),
        "in" | "notIn" => json!([one]),
        "between" => json!([one, one]),
        _ => one,
    }
}

// contract E8.3
#[tokio::test]
async fn exactly_the_described_operators_functions_and_orders_are_accepted() {
    let ((server, _database), answer) = shown(&[]).await;
    let all = answer.good();
    for resource in all["resources"].as_array().expect("resources") {
        let list = find(&resource["operations"], "list")["address"].as_str().expect("an address");
        for field in resource["fields"].as_array().expect("fields") {
            let name = field["name"].as_str().expect("a name");
            let holds = |list: &str, word: &str| field[list].as_array().expect("a list").iter().any(|entry| entry == word);
            let accepts = async |query: Value| {
                let answer = server.post(list, json!({ "query": query }).to_string()).await;
                assert!([200, 400].contains(&answer.status()), "{query}: {}", answer.text());
                answer.status() == 200
            };
            for operator in OPERATORS {
                let operand = operand(field["type"].as_str().expect("a type"), operator);
                let accepted = accepts(json!({"where": {name: {operator: operand}}, "limit": 1})).await;
                assert_eq!(accepted, holds("operators", operator), "{list} {name} {operator}");
            }
            for function in ["count", "sum", "avg", "min", "max"] {
                let accepted = accepts(json!({"aggregation": {"fields": [{"fn": function, "field": name}]}})).await;
                assert_eq!(accepted, holds("functions", function), "{list} {name} {function}");
            }
            let sorted = accepts(json!({"order": [{"field": name}], "limit": 1})).await;
            let grouped = accepts(json!({"aggregation": {"fields": [{"fn": "count", "field": "*"}], "groupBy": [name]}})).await;
            assert_eq!((Some(sorted), Some(grouped)), (field["sortable"].as_bool(), field["sortable"].as_bool()), "{list} {name}");
        }
        for relation in resource["relations"].as_array().expect("relations") {
            let name = relation["name"].as_str().expect("a name");
            server.post(list, json!({"query": {"relations": {name: true}, "where": {name: {}}, "limit": 1}}).to_string()).await.good();
        }
    }
}

// contract E8.2
#[tokio::test]
async fn every_described_path_answers() {
    let ((server, _database), answer) = shown(&["vault.secretPlan.get", "peristyle.explain"]).await;
    for resource in answer.good()["resources"].as_array().expect("resources") {
        for operation in resource["operations"].as_array().expect("operations") {
            let address = operation["address"].as_str().expect("an address");
            let key: Vec<&str> = resource["key"].as_array().expect("a key").iter().map(|_| "1").collect();
            let answer = server.post(&address.replace("{id}", &key.join(",")), r#"{"query":{"limit":1}}"#).await;
            let found = answer.status() == 200 || answer.json()["detail"] == "there is no such row";
            assert!(found, "{address}: {}", answer.text());
        }
    }
}

// contract E8.2
#[tokio::test]
async fn without_a_manifest_no_resource_is_shown() {
    let database = shop::database(Backend::Sqlite).await;
    let server = Setup::new("").serve(&database).await;
    assert_eq!(server.get(PATH).await.good(), json!({"explain": true, "withheld": 0, "resources": []}));
    assert_eq!(server.get("/docs").await.status(), 200);
}
