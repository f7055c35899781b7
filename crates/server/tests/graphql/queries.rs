//! Every kind of query, its answer, and the equal answer over REST.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Server, Setup, shop};
use crate::{data, errors, send};

// contract G1.1, contract G2.1
#[tokio::test]
async fn one_document_queries_several_resources() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = r#"query Everything($page: QueryStatementInput) {
            page: shopPaginateCustomers(query: $page) { total count rows __typename }
            shopGetOrders(query: { where: { customerId: { eq: 1 } }, order: [{ field: "id" }] }) { __typename id total }
            shopFindItem(query: { where: { label: { eq: "item number 7" } } }) { ...Item }
            shopFindOrderLineById(id: "10,plain") { sku quantity }
            nothing: shopFindItem(query: { limit: 0 }) { id }
            missing: shopFindOrderById(id: 999) { id }
            __typename
        }
        fragment Item on ShopItem { number: id label }"#;
        let answer = data(&server, document, json!({"page": {"order": [{"field": "id", "dir": "desc"}], "limit": 1}})).await;
        assert_eq!(answer["page"]["rows"][0]["name"], "Çelik \"Ç\" O'Neil \\", "{backend:?}");
        assert_eq!(
            answer,
            json!({
                "page": {"total": 3, "count": 1, "rows": answer["page"]["rows"], "__typename": "Pagination"},
                "shopGetOrders": [{"__typename": "ShopOrder", "id": 10, "total": "19.99"}, {"__typename": "ShopOrder", "id": 11, "total": "5.00"}],
                "shopFindItem": {"number": 7, "label": "item number 7"},
                "shopFindOrderLineById": {"sku": "plain", "quantity": 2},
                "nothing": null,
                "missing": null,
                "__typename": "Query",
            }),
            "{backend:?}"
        );
    }
}

/// All fields of a customer.
const CUSTOMER: &str = "id name email status visits balance score isVip bornOn wakesAt createdAt code tags profile";

/// The statement with the relations that the documents below select.
fn with_relations(statement: &Value) -> Value {
    let mut statement = statement.clone();
    for relation in ["orders", "bills"] {
        let relations = &mut statement["relations"];
        if relations[relation].is_null() {
            relations[relation] = json!(true);
        }
    }
    statement
}

async fn rest(server: &Server, path: &str, query: &Value) -> Value {
    server.post(path, json!({"query": query}).to_string()).await.good()
}

// contract G2.1, contract G2.3, trap 9, trap 10
#[tokio::test]
async fn a_statement_returns_equal_rows_over_rest_and_graphql() {
    let statements = [
        json!({}),
        json!({"order": [{"field": "id"}], "limit": 2, "offset": 1}),
        json!({"where": {"or": [{"name": {"iLike": "a%"}}, {"visits": {"isNull": true}}]}, "order": [{"field": "id"}]}),
        json!({"where": {"orders": {"total": {"gt": "6"}}}, "relations": {"orders": {"order": [{"field": "id"}]}}}),
        json!({"relations": {"orders": true, "bills": {"limit": 1, "order": [{"field": "id"}]}}, "order": [{"field": "id"}]}),
        json!({"where": {"tags": {"contains": "vip"}}}),
        json!({"where": {"createdAt": {"lt": "2020-01-01T00:00:00Z"}}}),
        json!({"where": {"id": {"in": [1, 3]}}, "order": [{"field": "name", "dir": "desc"}], "limit": 10000}),
        json!({"where": {"not": {"isVip": {"eq": true}}}}),
        json!({"limit": 0}),
        json!({"where": {"id": {"eq": 99}}}),
    ];
    let document = format!(
        "query ($q: QueryStatementInput) {{ shopPaginateCustomers(query: $q) {{ total count rows }}
          shopGetCustomers(query: $q) {{ ...C orders {{ id customerId total }} bills {{ id customerId total }} }}
          shopFindCustomer(query: $q) {{ ...C orders {{ id customerId total }} bills {{ id customerId total }} }} }}
        fragment C on ShopCustomer {{ {CUSTOMER} }}"
    );
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for statement in &statements {
            let answer = data(&server, &document, json!({"q": statement})).await;
            let page = rest(&server, "/api/shop/customers/paginate", statement).await;
            assert_eq!(answer["shopPaginateCustomers"], page, "{backend:?} {statement}");
            let rows = rest(&server, "/api/shop/customers/list", &with_relations(statement)).await;
            assert_eq!(answer["shopGetCustomers"], rows, "{backend:?} {statement}");
            let first = rows.as_array().unwrap().first().cloned().unwrap_or(Value::Null);
            assert_eq!(answer["shopFindCustomer"], first, "{backend:?} {statement}");
        }
    }
}

// contract G2.1
#[tokio::test]
async fn the_rows_of_a_page_are_the_same_bytes_as_over_rest() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for limit in ["", r#","limit":2"#, r#","limit":2000"#] {
            let query = format!(r#"{{"order":[{{"field":"id"}}]{limit}}}"#);
            let whole = server.post("/api/shop/items/paginate", format!(r#"{{"query":{query}}}"#)).await.text();
            let rows = &whole[whole.find("\"rows\":").unwrap()..=whole.rfind(']').unwrap()];
            let body = format!(
                r#"{{"query":"query($q: QueryStatementInput) {{ shopPaginateItems(query: $q) {{ rows }} }}","variables":{{"q":{query}}}}}"#
            );
            let answer = server.post("/graphql", body).await.text();
            assert_eq!(answer, format!("{{\"data\":{{\"shopPaginateItems\":{{{rows}}}}}}}"), "{backend:?} {limit}");
        }
    }
}

// contract G1.5
#[tokio::test]
async fn every_query_answers_an_aggregation() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let statement = json!({"aggregation": {"fields": [{"fn": "count", "field": "*"}, {"fn": "sum", "field": "total"}], "groupBy": ["customerId"]},
            "order": [{"field": "customerId"}], "limit": 2});
        let groups = json!([{"customerId": 1, "count": 2, "sum_total": "24.99"}, {"customerId": 3, "count": 1, "sum_total": null}]);
        let document = "query ($q: QueryStatementInput) { shopPaginateOrders(query: $q) { total count rows }
            shopGetOrders(query: $q) { __typename id customerId customer { id } group: _aggregation }
            shopFindOrder(query: $q) { _aggregation total } }";
        let answer = data(&server, document, json!({"q": statement})).await;
        assert_eq!(answer["shopPaginateOrders"], json!({"total": 3, "count": 2, "rows": groups}), "{backend:?}");
        let object = |group: &Value| json!({"__typename": "ShopOrder", "id": null, "customerId": null, "customer": null, "group": group});
        assert_eq!(answer["shopGetOrders"], json!([object(&groups[0]), object(&groups[1])]), "{backend:?}");
        assert_eq!(answer["shopFindOrder"], json!({"_aggregation": groups[0], "total": null}), "{backend:?}");
        // Without an aggregation it is null; a null key counts as absent.
        let plain = data(&server, document, json!({"q": {"aggregation": null, "where": {"id": {"eq": 10}}}})).await;
        assert_eq!(plain["shopFindOrder"], json!({"_aggregation": null, "total": "19.99"}), "{backend:?}");
    }
}

// contract G1.6
#[tokio::test]
async fn a_key_is_a_string_or_a_number() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = r#"query ($id: ID!) { a: shopFindCustomerById(id: $id) { name } b: shopFindCustomerById(id: 1) { name } c: shopFindCustomerById(id: "1") { name } }"#;
        for id in [json!(1), json!("1")] {
            let ana = json!({"name": "Ana"});
            assert_eq!(data(&server, document, json!({"id": id})).await, json!({"a": ana, "b": ana, "c": ana}), "{backend:?}");
        }
        let line = "query ($id: ID!) { shopFindOrderLineById(id: $id, query: { relations: { order: true } }) { quantity order { id } } }";
        for (id, quantity) in [("10,plain", 2), ("10,a%2Cb", 1), ("11,Ñu/1", 3)] {
            let answer = data(&server, line, json!({"id": id})).await;
            assert_eq!(answer["shopFindOrderLineById"]["quantity"], quantity, "{backend:?} {id}");
        }
        let narrowed = r#"{ shopFindCustomerById(id: 1, constraint: { where: { name: { eq: "Bo" } } }) { id } }"#;
        assert_eq!(data(&server, narrowed, Value::Null).await, json!({"shopFindCustomerById": null}), "{backend:?}");
        let wrong = send(&server, r#"{ shopFindCustomerById(id: "abc") { id } }"#, Value::Null).await;
        assert_eq!(errors(&wrong)[0]["extensions"]["errors"][0]["path"], "/id", "{backend:?}");
    }
}

// contract G2.1
#[tokio::test]
async fn masks_and_permissions_apply_as_over_rest() {
    let document = "{ shopGetCustomers(query: { where: { id: { eq: 1 } }, relations: { plans: true } }) { email plans { title } } }";
    let secret = "{ vaultGetSecretPlans(query: { limit: -5 }) { title } open: shopFindItem { __typename } }";
    for backend in BACKENDS {
        let (server, database) = shop::open(backend).await;
        let masked = data(&server, "{ shopFindCustomer(query: { where: { id: { eq: 1 } } }) { email } }", Value::Null).await;
        assert_eq!(masked["shopFindCustomer"]["email"], "a***@example.org", "{backend:?}");
        let unknown = send(&server, document, Value::Null).await;
        assert_eq!(errors(&unknown)[0]["extensions"]["errors"][0]["path"], "/query/relations/plans", "{backend:?}");
        let used = send(&server, r#"{ shopGetCustomers(query: { where: { email: { eq: "x" } } }) { id } }"#, Value::Null).await;
        assert_eq!(errors(&used)[0]["extensions"]["errors"][0]["code"], "QS304", "{backend:?}");
        // Permission is checked before the statement.
        let refused = send(&server, secret, Value::Null).await;
        let error = &errors(&refused)[0];
        assert_eq!((&error["extensions"]["code"], &error["path"]), (&json!("FORBIDDEN"), &json!(["vaultGetSecretPlans"])), "{backend:?}");
        assert_eq!(refused.good()["data"], json!({"vaultGetSecretPlans": null, "open": {"__typename": "ShopItem"}}), "{backend:?}");

        let server = Setup::new(shop::MANIFEST).viewer(&["vault.secretPlan.get", "shop.customer.pii"]).serve(&database).await;
        let seen = data(&server, document, Value::Null).await;
        assert_eq!(seen["shopGetCustomers"], json!([{"email": "ana@example.org", "plans": [{"title": "move the moon"}]}]), "{backend:?}");
    }
}

// contract G1.1
#[tokio::test]
async fn fragments_aliases_and_conditions_apply() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = "query ($yes: Boolean!, $no: Boolean = false) {
            shopFindCustomer(query: { where: { id: { eq: 1 } }, relations: { orders: { limit: 1, order: [{ field: id }] } } }) {
                id @skip(if: $yes) name @include(if: $yes) again: name status @include(if: $no)
                ... on ShopCustomer { orders { id } } ...More ... @include(if: $no) { visits } } }
            fragment More on ShopCustomer { orders { total ...Deep } name }
            fragment Deep on ShopOrder { __typename }";
        let answer = data(&server, document, json!({"yes": true})).await;
        assert_eq!(
            answer["shopFindCustomer"],
            json!({"name": "Ana", "again": "Ana", "orders": [{"id": 10, "total": "19.99", "__typename": "ShopOrder"}]}),
            "{backend:?}"
        );
    }
}

// contract G1.5, contract E1.2
#[tokio::test]
async fn a_page_without_its_rows_has_the_same_numbers() {
    let groups = r#"aggregation: { fields: [{ fn: "count", field: "*" }], groupBy: ["customerId"] }"#;
    let one = r#"aggregation: { fields: [{ fn: "count", field: "*" }] }"#;
    let document = format!(
        r"{{ all: shopPaginateCustomers {{ total }} short: shopPaginateCustomers(query: {{ limit: 2 }}) {{ total count }}
            late: shopPaginateCustomers(query: {{ offset: 1, limit: 1, relations: {{ orders: true }} }}) {{ total }}
            groups: shopPaginateOrders(query: {{ {groups} }}) {{ total }} few: shopPaginateOrders(query: {{ {groups}, limit: 2 }}) {{ total count }}
            one: shopPaginateOrders(query: {{ {one} }}) {{ total }}
            name: shopKeysetPaginateItems {{ __typename }} page: shopKeysetPaginateItems(query: {{ limit: 7 }}) {{ count }} }}"
    );
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let expected = json!({
            "all": { "total": 3 }, "short": { "total": 3, "count": 2 }, "late": { "total": 3 }, "groups": { "total": 3 },
            "few": { "total": 3, "count": 2 }, "one": { "total": 1 }, "name": { "__typename": "KeysetPagination" }, "page": { "count": 7 },
        });
        assert_eq!(data(&server, &document, Value::Null).await, expected, "{backend:?}");
        // The statement is checked as a whole.
        for query in ["limit: 10001", "relations: { plans: true }", "order: [{ field: nope }]"] {
            let refused = send(&server, &format!("{{ shopPaginateCustomers(query: {{ {query} }}) {{ total }} }}"), Value::Null).await;
            assert_eq!(errors(&refused).len(), 1, "{backend:?} {query}");
        }
    }
}

// contract G1.3
#[tokio::test]
async fn a_long_list_is_complete() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let answer = data(&server, "{ shopGetItems { id } shopPaginateItems { total count } }", Value::Null).await;
        assert_eq!(answer["shopGetItems"].as_array().map(Vec::len), Some(2500), "{backend:?}");
        assert_eq!(answer["shopPaginateItems"], json!({"total": 2500, "count": 2500}), "{backend:?}");
    }
}
