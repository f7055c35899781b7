//! Values keep their digits, in variables and in documents.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Response, Server, Setup};
use crate::{data, errors, refused, send};

const MANIFEST: &str = r#"
[resource.shop.thing.fields]
id = { type = "bigint", key = true }
price = "decimal"
note = "json"
"#;

async fn open(backend: Backend) -> (Server, Database) {
    let (decimal, json) = if backend == Backend::Postgres { ("numeric", "json") } else { ("TEXT", "TEXT") };
    let script = format!(
        "CREATE TABLE things (id bigint PRIMARY KEY, price {decimal}, note {json});
         INSERT INTO things VALUES (9007199254740993, '0.1000000000000000055511151231257827', '{{\"deep\": 12345678901234567890123.50}}'),
           (9007199254740992, '0.1', '[1,\n 2]'), (9223372036854775807, '123456789012345678901234567890.10', 'null');"
    );
    let database = Database::with(backend, &script).await;
    (Setup::new(MANIFEST).serve(&database).await, database)
}

async fn raw(server: &Server, document: &str, variables: &str) -> Response {
    server.post("/graphql", format!("{{\"query\":{},\"variables\":{variables}}}", json!(document))).await
}

// contract G2.3, trap 9
#[tokio::test]
async fn numbers_keep_their_digits() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        let by_variable = "query ($w: JSON) { shopGetThings(query: { where: $w }) { id } }";
        for (filter, expected) in [
            (r#"{"id":{"eq":9007199254740993}}"#, "[{\"id\":9007199254740993}]"),
            (r#"{"id":{"eq":9223372036854775807}}"#, "[{\"id\":9223372036854775807}]"),
            (r#"{"price":{"eq":0.1000000000000000055511151231257827}}"#, "[{\"id\":9007199254740993}]"),
            (r#"{"price":{"eq":0.1}}"#, "[{\"id\":9007199254740992}]"),
            (r#"{"price":{"eq":123456789012345678901234567890.1}}"#, "[{\"id\":9223372036854775807}]"),
        ] {
            let expected = format!("{{\"data\":{{\"shopGetThings\":{expected}}}}}");
            let answer = raw(&server, by_variable, &format!("{{\"w\":{filter}}}")).await;
            assert_eq!(answer.text(), expected, "{backend:?} {filter}");
            let whole = "query ($q: QueryStatementInput) { shopGetThings(query: $q) { id } }";
            assert_eq!(raw(&server, whole, &format!("{{\"q\":{{\"where\":{filter}}}}}")).await.text(), expected, "{backend:?} {filter}");
            // The same value as a literal.
            let literal = filter.replace('"', "");
            let document = format!("{{ shopGetThings(query: {{ where: {literal} }}) {{ id }} }}");
            assert_eq!(raw(&server, &document, "null").await.text(), expected, "{backend:?} {document}");
        }
        let rows = raw(&server, "{ shopGetThings(query: { order: [{ field: \"id\" }] }) { price note } }", "{}").await.text();
        for digits in ["\"0.1000000000000000055511151231257827\"", "12345678901234567890123.50", "\"123456789012345678901234567890.10\""] {
            assert!(rows.contains(digits), "{backend:?} {digits}: {rows}");
        }
        let line = data(&server, "{ shopFindThingById(id: 9007199254740992) { note } }", Value::Null).await;
        assert_eq!(line["shopFindThingById"]["note"], json!([1, 2]), "{backend:?}");
        let big = "query ($id: ID!) { shopFindThingById(id: $id) { id } }";
        assert_eq!(
            raw(&server, big, r#"{"id":9007199254740993}"#).await.text(),
            r#"{"data":{"shopFindThingById":{"id":9007199254740993}}}"#
        );
    }
}

// contract G2.3
#[tokio::test]
async fn a_number_out_of_range_is_an_error() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        for number in ["1e400", "-1e400", "99999999999999999999999", "1e999999999999"] {
            let document = format!("{{ shopGetThings(query: {{ where: {{ id: {{ eq: {number} }} }} }}) {{ id }} }}");
            let literal = raw(&server, &document, "{}").await;
            let variable = raw(
                &server,
                "query ($n: JSON) { shopGetThings(query: { where: { id: { eq: $n } } }) { id } }",
                &format!("{{\"n\":{number}}}"),
            )
            .await;
            for answer in [literal, variable] {
                let error = &errors(&answer)[0]["extensions"]["errors"][0];
                assert_eq!((&error["code"], &error["path"]), (&json!("QS306"), &json!("/query/where/id/eq")), "{backend:?} {number}");
            }
            let limit =
                raw(&server, "query ($n: Int) { shopGetThings(query: { limit: $n }) { id } }", &format!("{{\"n\":{number}}}")).await;
            assert_eq!(refused(&limit), "BAD_USER_INPUT", "{backend:?} {number}");
        }
    }
}

// contract G2.4, contract G1.2
#[tokio::test]
async fn null_for_a_known_key_counts_as_absent() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        let document = "query ($q: QueryStatementInput, $c: QueryStatementInput, $l: Int, $w: JSON) {
            a: shopGetThings(query: $q, constraint: $c) { id } b: shopGetThings(query: { limit: $l, where: $w, order: null }) { id }
            c: shopGetThings(query: null) { id } d: shopPaginateThings { total } }";
        let nothing = json!({"where": null, "relations": null, "order": null, "aggregation": null, "limit": null, "offset": null});
        for variables in [json!({}), json!({"q": null, "c": null, "l": null, "w": null}), json!({"q": nothing, "c": nothing})] {
            let answer = data(&server, document, variables).await;
            for key in ["a", "b", "c"] {
                assert_eq!(answer[key].as_array().map(Vec::len), Some(3), "{backend:?} {key}");
            }
            assert_eq!(answer["d"]["total"], 3, "{backend:?}");
        }
        // Inside a condition, null is a value.
        let inner = send(&server, "{ shopGetThings(query: { where: { price: { eq: null } } }) { id } }", Value::Null).await;
        assert_eq!(inner.good(), json!({"data": {"shopGetThings": []}}), "{backend:?}");
    }
}

// contract G2.4
#[tokio::test]
async fn a_variable_without_a_value_never_widens_a_statement() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        let document = "query ($p: JSON) { shopGetThings(query: { where: { id: { gt: 0, eq: $p } } }) { id } }";
        assert_eq!(data(&server, document, json!({})).await, json!({"shopGetThings": []}), "{backend:?}");
        let undeclared = send(&server, "{ shopGetThings(query: { where: { id: { gt: 0, eq: $p } } }) { id } }", Value::Null).await;
        errors(&undeclared);
        assert!(!undeclared.text().contains("9007199254740993"), "{backend:?} {}", undeclared.text());
    }
}

// contract G2.4
#[tokio::test]
async fn a_repeated_key_is_refused() {
    for backend in BACKENDS {
        let (server, _database) = open(backend).await;
        let document = "query ($q: QueryStatementInput) { shopGetThings(query: $q) { id } }";
        let twice = raw(&server, document, r#"{"q":{"where":{"id":{"eq":1,"eq":2}}}}"#).await;
        assert_eq!(twice.status(), 400);
        let error = &errors(&twice)[0]["extensions"]["errors"][0];
        assert_eq!((&error["code"], &error["path"]), (&json!("QS101"), &json!("/variables/q/where/id/eq")), "{backend:?}");
        let literal = raw(&server, "{ shopGetThings(query: { where: { id: { eq: 1, eq: 2 } } }) { id } }", "null").await;
        let text = literal.text();
        assert!(text.contains("errors") && !text.contains("\"id\":1"), "{backend:?} {text}");
    }
}

// contract G2.1, contract P3.3
#[tokio::test]
async fn an_int_beyond_32_bits_is_null_over_both_protocols() {
    let manifest =
        "[resource.shop.thing.fields]\nid = { type = \"int\", key = true }\nsize = { type = \"int\" }\nsizes = { type = \"int[]\" }\n";
    for backend in BACKENDS {
        let (array, list) = if backend == Backend::Postgres { ("bigint[]", "'{1,3000000000}'") } else { ("TEXT", "'[1,3000000000]'") };
        let script = format!(
            "CREATE TABLE things (id integer PRIMARY KEY, size bigint, sizes {array});
             INSERT INTO things VALUES (1, 3000000000, {list}), (2, 7, NULL)"
        );
        let database = Database::with(backend, &script).await;
        let server = Setup::new(manifest).serve(&database).await;
        let expected = json!([{ "id": 1, "size": null, "sizes": [1, null] }, { "id": 2, "size": 7, "sizes": null }]);
        let listed = server.post("/api/shop/things/list", r#"{"query":{"order":[{"field":"id"}]}}"#).await.good();
        assert_eq!(listed, expected, "{backend:?}");
        let asked = "{ shopGetThings(query: { order: [{ field: \"id\" }] }) { id size sizes } shopPaginateThings(query: { order: [{ field: \"id\" }] }) { rows } }";
        let answer = data(&server, asked, Value::Null).await;
        assert_eq!(answer, json!({ "shopGetThings": expected, "shopPaginateThings": { "rows": expected } }), "{backend:?}");
        let largest = server.post("/api/shop/things/list", r#"{"query":{"where":{"size":{"gt":7}}}}"#).await.good();
        assert_eq!(largest, json!([]), "{backend:?}");
    }
}
