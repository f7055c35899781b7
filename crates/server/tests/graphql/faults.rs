//! Errors have the shape of the specification, with the problem of REST in `extensions`.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Setup, post, shop};
use crate::{data, errors, refused, send};

// contract G2.4, contract G2.5
#[tokio::test]
async fn a_refused_statement_has_the_problem_of_rest() {
    let statements = [
        json!({"where": {"and": [{"name": {"eq": "a"}}, {"visits": {"like": 1}}]}, "limit": 10001}),
        json!({"where": {"nam": {"eq": 1}}}),
        json!({"relations": {"nope": true}, "offset": -1}),
        json!({"where": {"apiKey": {"eq": "x"}}}),
        json!({"where": {"AND": []}}),
    ];
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for statement in &statements {
            let mut expected = server.post("/api/shop/customers/list", json!({"query": statement}).to_string()).await.problem(400);
            expected["code"] = json!("BAD_REQUEST");
            let document = "query ($q: QueryStatementInput) {\n  mine: shopGetCustomers(query: $q) { id }\n}";
            let answer = send(&server, document, json!({"q": statement})).await;
            assert_eq!(answer.status(), 200);
            let errors = errors(&answer);
            assert_eq!(errors.len(), 1, "{backend:?} {statement}");
            assert_eq!(errors[0]["extensions"], expected, "{backend:?} {statement}");
            assert_eq!(
                (&errors[0]["path"], &errors[0]["locations"]),
                (&json!(["mine"]), &json!([{"line": 2, "column": 3}])),
                "{backend:?}"
            );
        }
        let constraint = send(&server, "{ shopGetCustomers(constraint: { where: { nope: { eq: 1 } } }) { id } }", Value::Null).await;
        assert_eq!(errors(&constraint)[0]["extensions"]["errors"][0]["path"], "/constraint/where/nope", "{backend:?}");
    }
}

// contract G2.4
#[tokio::test]
async fn a_selected_field_that_the_caller_does_not_know_is_named_by_its_path() {
    let derived = "[resource.shop.customer.fields]\nplanCount = { count = \"plans\" }\n";
    let manifest = shop::MANIFEST.replacen("[resource.shop.customer.fields]\n", derived, 1);
    let database = shop::database(BACKENDS[1]).await;
    let server = Setup::new(&manifest).serve(&database).await;
    for (document, path) in [
        ("{ shopGetCustomers { id planCount } }", "/planCount"),
        ("{ shopGetOrders { id owner: customer { other: planCount } } }", "/customer/planCount"),
    ] {
        let errors = errors(&send(&server, document, Value::Null).await);
        let fault = &errors[0]["extensions"]["errors"][0];
        assert_eq!((&fault["code"], &fault["path"]), (&json!("QS302"), &json!(path)), "{document}");
    }
}

// contract G2.4
#[tokio::test]
async fn one_refused_field_leaves_the_others_answered() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = r#"{ a: shopPaginateCustomers(query: { limit: 1 }) { count }
            b: shopPaginateCustomers(query: { limit: -1 }) { count }
            c: shopGetItems(query: { where: { nope: { eq: 1 } } }) { id }
            d: shopGetItems(query: { where: { id: { eq: 5 } } }) { id }
            e: shopFindItemById(id: "x") { id } }"#;
        for kind in ["application/json", "application/graphql-response+json"] {
            let body = json!({"query": document}).to_string();
            let answer = server.send(&post("/graphql", body).header("accept", kind)).await;
            assert_eq!(answer.status(), 200, "{backend:?}");
            assert_eq!(answer.json()["data"], json!({"a": {"count": 1}, "b": null, "c": null, "d": [{"id": 5}], "e": null}), "{backend:?}");
            let paths: Vec<Value> = errors(&answer).iter().map(|error| error["path"].clone()).collect();
            assert_eq!(paths, [json!(["b"]), json!(["c"]), json!(["e"])], "{backend:?}");
        }
    }
}

// contract G2.5
#[tokio::test]
async fn errors_of_graphql_itself_have_codes() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for (document, variables, code) in [
            ("{", json!({}), "GRAPHQL_PARSE_FAILED"),
            ("", json!({}), "GRAPHQL_PARSE_FAILED"),
            ("{ shopGetItems { id } } }", json!({}), "GRAPHQL_PARSE_FAILED"),
            ("\u{0}", json!({}), "GRAPHQL_PARSE_FAILED"),
            ("{ nope }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems { id nope } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems(nope: 1) { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems(query: { nope: 1 }) { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems(query: 7) { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems(query: { limit: \"1\" }) { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems(query: { limit: 99999999999 }) { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopFindItemById { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ ...A } fragment A on Query { ...A }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("mutation { shopGetItems { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetCustomers { apiKey } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("{ shopGetItems(query: { where: { id: { eq: $x } } }) { id } }", json!({"x": 1}), "GRAPHQL_VALIDATION_FAILED"),
            ("query ($x: JSON) { __typename }", json!({"x": 1}), "GRAPHQL_VALIDATION_FAILED"),
            ("query ($x: [Int]) { shopGetItems(query: { limit: $x }) { id } }", json!({"x": [1]}), "GRAPHQL_VALIDATION_FAILED"),
            ("query ($x: [JSON]) { shopGetItems(query: { where: $x }) { id } }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("query ($id: ID!) { shopFindItemById(id: $id) { id } }", json!({}), "BAD_USER_INPUT"),
            ("query ($id: ID!) { shopFindItemById(id: $id) { id } }", json!({"id": null}), "BAD_USER_INPUT"),
            ("query ($id: ID!) { shopFindItemById(id: $id) { id } }", json!({"id": [1]}), "BAD_USER_INPUT"),
            ("query A { __typename } query B { __typename }", json!({}), "OPERATION_RESOLUTION_FAILURE"),
        ] {
            let answer = send(&server, document, variables.clone()).await;
            assert_eq!(answer.status(), 200, "{document}");
            assert_eq!(refused(&answer), code, "{backend:?} {document} {variables}: {}", answer.text());
            let text = answer.text();
            assert!(!text.to_ascii_lowercase().contains("did you mean"), "{text}");
        }
        let unknown = send(&server, "{ shopGetItems { nope } }", Value::Null).await;
        assert!(errors(&unknown)[0]["message"].as_str().unwrap().contains("`nope`"), "{}", unknown.text());
        // A hidden name and an unknown name get the same message.
        let hidden = send(&server, "{ shopGetCustomers { apiKey } }", Value::Null).await.text();
        let absent = send(&server, "{ shopGetCustomers { apiKez } }", Value::Null).await.text();
        assert_eq!(hidden.replace("apiKey", "NAME"), absent.replace("apiKez", "NAME"), "{backend:?}");
    }
}

// contract G2.5, contract E1.1
#[tokio::test]
async fn a_statement_in_a_variable_is_refused_as_over_rest() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let document = "query ($q: QueryStatementInput) { shopGetItems(query: $q) { id } }";
        for statement in [json!(7), json!({"nope": 1}), json!({"limit": "1"}), json!({"limit": 1.5, "attributes": ["id"]})] {
            let answer = send(&server, document, json!({"q": statement})).await;
            let problem = &errors(&answer)[0]["extensions"];
            assert_eq!(problem["code"], "BAD_REQUEST", "{backend:?} {}", answer.text());
            let rest = server.post("/api/shop/items/list", json!({"query": statement}).to_string()).await;
            assert_eq!(problem["errors"], rest.problem(400)["errors"], "{backend:?} {statement}");
        }
        // Values that GraphQL coerces are accepted.
        data(&server, document, json!({"q": {"limit": 1.0, "offset": null}})).await;
    }
}

// contract G2.5
#[tokio::test]
async fn a_database_error_shows_no_text_of_the_database() {
    let database = shop::database(BACKENDS[0]).await;
    let server = Setup::new(shop::MANIFEST).serve(&database).await;
    data(&server, "{ shopFindItem { id } }", Value::Null).await;
    database.execute("ALTER TABLE items RENAME COLUMN label TO caption").await;
    let answer = send(&server, "{ shopFindItem { label } shopFindNote { at } }", Value::Null).await;
    assert_eq!(errors(&answer)[0]["extensions"]["code"], "INTERNAL");
    assert!(!answer.text().contains("label"), "{}", answer.text());
    assert!(answer.json()["data"]["shopFindNote"]["at"].is_number());
}
