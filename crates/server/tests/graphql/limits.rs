//! Documents that are made to be expensive, and the limits of answers.

use std::fmt::Write;

use peristyle::budget::BudgetSettings;
use peristyle::config::Introspection;
use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Setup, shop, until};
use crate::{data, errors, refused, send};

// contract G3.1, trap 19
#[tokio::test]
async fn a_document_over_a_limit_is_refused() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let times = |text: &str, count: usize| (0..count).map(|index| text.replace('#', &index.to_string())).collect::<String>();
    let mut bomb = String::from("{ ...f0 }");
    for index in 0..500 {
        _ = write!(bomb, " fragment f{index} on Query {{ ...f{0} ...f{0} }}", index + 1);
    }
    bomb.push_str(" fragment f500 on Query { __typename }");
    let deep = format!("{{ shopGetOrders {{ {} id {} }} }}", "customer { orders { ".repeat(10), "} }".repeat(10));
    for (what, document) in [
        ("aliases", format!("{{ shopFindItem {{ {} }} }}", times("a#: id ", 1000))),
        ("aliases at the root", format!("{{ {} }}", times("a#: shopFindItem { id } ", 1000))),
        ("root fields", format!("{{ {} }}", times("a#: __typename ", 21))),
        ("directives", format!("{{ __typename {} }}", times("@include(if: true) ", 1000))),
        ("depth", deep),
        ("fields", format!("{{ shopFindItem {{ {} }} }}", times("id ", 3000))),
        ("fragments", bomb),
        ("introspection", "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }".to_owned()),
        ("bytes", format!("{{ __typename }} #{}", "x".repeat(70_000))),
        ("tokens", format!("{{ shopFindItem {{ {} }} }}", "a ".repeat(15_000))),
        ("braces", "{a".repeat(9_000)),
        ("brackets", format!("{{ shopGetItems(query: {{ where: {}", "[".repeat(50_000))),
        ("objects", format!("{{ shopGetItems(query: {{ where: {}", "{a:".repeat(15_000))),
        ("types", format!("query ($a: {}Int{}) {{ __typename }}", "[".repeat(9_000), "]".repeat(9_000))),
        ("inline fragments", format!("{{ {} id {} }}", "... { ".repeat(4_000), "} ".repeat(4_000))),
    ] {
        let answer = send(&server, &document, Value::Null).await;
        assert_eq!(answer.status(), 200, "{what}");
        let codes: Vec<String> = errors(&answer).iter().map(|error| error["extensions"]["code"].as_str().unwrap().to_owned()).collect();
        assert!(codes.iter().any(|code| code == "GRAPHQL_LIMIT_EXCEEDED"), "{what}: {codes:?} {:.400}", answer.text());
        assert_eq!(answer.json().get("data"), None, "{what}");
    }
    // These are not documents at all.
    for document in ["{".repeat(60_000), "[".repeat(60_000), "(".repeat(60_000), "\"".repeat(60_001), "{a(b:".repeat(3)] {
        errors(&send(&server, &document, Value::Null).await);
    }
    // The server still answers.
    data(&server, "{ shopFindItem { id } }", Value::Null).await;
}

// contract G3.1, trap 19
#[tokio::test]
async fn a_variable_counts_at_each_of_its_uses() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let document =
        format!("query ($v: JSON) {{ shopGetItems(query: {{ where: {{ id: {{ in: [{}] }} }} }}) {{ id }} }}", "$v ".repeat(5_000));
    let variables = json!({"v": vec![1; 100_000]});
    let answer = send(&server, &document, variables).await;
    assert_eq!(errors(&answer)[0]["extensions"]["code"], "BAD_USER_INPUT");
    // As much as over REST is accepted.
    let document = "query ($v: JSON) { a: shopGetItems(query: { where: { id: { in: $v } } }) { id } b: shopGetItems(query: { where: { id: { in: $v } } }) { id } }";
    let answer = data(&server, document, json!({"v": (1..=10_000).collect::<Vec<u32>>()})).await;
    assert_eq!((answer["a"].as_array().map(Vec::len), answer["b"].as_array().map(Vec::len)), (Some(2500), Some(2500)));
    let aliases = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"].map(|alias| alias.to_owned() + ": types { name }").join(" ");
    let aliases = format!("{{ __schema {{ {aliases} }} }}");
    assert_eq!(refused(&send(&server, &aliases, Value::Null).await), "GRAPHQL_LIMIT_EXCEEDED");
}

// contract G3.1
#[tokio::test]
async fn a_body_of_five_megabytes_is_a_graphql_error() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for body in [json!({"query": "{ __typename } #".to_owned() + &"x".repeat(5_000_000)}).to_string(), "[".repeat(5_000_000)] {
        let answer = server.post("/graphql", body).await;
        assert_eq!((answer.status(), refused(&answer).as_str()), (413, "BODY_TOO_LARGE"));
    }
    for body in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        let answer = server.post("/graphql", body).await;
        assert_eq!((answer.status(), refused(&answer).as_str()), (400, "BAD_REQUEST"));
    }
    let deep = format!("{{\"query\":\"{{ __typename }}\",\"variables\":{{\"a\":{}{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(server.post("/graphql", deep).await.status(), 400);
}

// contract G3.1
#[tokio::test]
async fn the_introspection_query_of_tools_is_within_the_limits() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let introspection =
        "query IntrospectionQuery { __schema { description queryType { name } mutationType { name } subscriptionType { name }
        types { ...FullType } directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } } }
      fragment FullType on __Type { kind name description specifiedByURL fields(includeDeprecated: true) { name description
        args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
        inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
        enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
      fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
      fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
        ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";
    let answer = data(&server, introspection, Value::Null).await;
    assert_eq!(answer["__schema"]["queryType"]["name"], "Query");
    assert_eq!(answer["__schema"]["mutationType"], Value::Null);
}

// contract G3.3
#[tokio::test]
async fn introspection_can_be_disabled() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup { introspection: Introspection::Off, ..Setup::new(shop::MANIFEST) }.serve(&database).await;
        for document in [
            "{ __schema { queryType { name } } }",
            "{ __type(name: \"ShopCustomer\") { name } }",
            "{ shopFindItem { id } ...A } fragment A on Query { x: __schema { types { name } } }",
        ] {
            assert_eq!(refused(&send(&server, document, Value::Null).await), "INTROSPECTION_DISABLED", "{backend:?} {document}");
        }
        let answer = data(&server, "{ __typename shopFindItem(query: { limit: 1 }) { __typename } }", Value::Null).await;
        assert_eq!(answer, json!({"__typename": "Query", "shopFindItem": {"__typename": "ShopItem"}}), "{backend:?}");
    }
}

const WIDE: &str = "[resource.shop.page.fields]\nid = { type = \"int\", key = true }\ntext = \"text\"\n";

/// Ninety rows of one megabyte.
async fn wide(backend: Backend) -> Database {
    let text = if backend == Backend::Postgres { "repeat('x', 1048576)" } else { "hex(zeroblob(524288))" };
    let script = format!(
        "CREATE TABLE pages (id integer PRIMARY KEY, text text);
         INSERT INTO pages WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 90) SELECT n, {text} FROM n;"
    );
    Database::with(backend, &script).await
}

// contract G3.4
#[tokio::test]
async fn an_answer_over_64_mib_is_refused_with_advice() {
    for backend in BACKENDS {
        let database = wide(backend).await;
        // A refused answer keeps its slot of a stream and its bytes until its statement has ended. No later request may miss them.
        let setup = Setup::new(WIDE).pool(32);
        let server = Setup { budget: BudgetSettings { memory: 8 << 30, ..setup.budget }, ..setup }.serve(&database).await;
        for document in [
            "{ shopGetPages { text } }",
            "{ shopPaginatePages { rows } }",
            "{ shopPaginatePages(query: { limit: 90 }) { rows } }",
            "{ shopPaginatePages(query: { limit: 40 }) { rows again: rows } }",
        ] {
            let answer = send(&server, document, Value::Null).await;
            let error = &errors(&answer)[0];
            assert_eq!(error["extensions"]["code"], "ANSWER_TOO_LARGE", "{backend:?} {document}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("`limit`") && message.contains("`list` over REST") && message.contains("64 MiB"), "{message}");
        }
        if backend == Backend::Postgres {
            until("no statement runs without a client", async || database.sessions("state <> 'idle'").await == 0).await;
        }
        // All fields of a request share the limit; unselected fields do not count.
        let both =
            send(&server, "{ a: shopGetPages(query: { limit: 40 }) { text } b: shopGetPages(query: { limit: 40 }) { text } }", Value::Null)
                .await;
        assert_eq!(errors(&both).len(), 1, "{backend:?}");
        let large = data(&server, "{ shopPaginatePages(query: { limit: 40 }) { rows } }", Value::Null).await;
        assert_eq!(large["shopPaginatePages"]["rows"].as_array().map(Vec::len), Some(40), "{backend:?}");
        let narrow = data(&server, "{ shopGetPages { id } shopPaginatePages { total count } }", Value::Null).await;
        assert_eq!(narrow["shopGetPages"].as_array().map(Vec::len), Some(90), "{backend:?}");
        assert_eq!(narrow["shopPaginatePages"], json!({"total": 90, "count": 90}), "{backend:?}");
    }
}
