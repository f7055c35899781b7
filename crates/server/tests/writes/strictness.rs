//! What a write ignores it refuses: parameters, preconditions and constraints that it would not honour.

use serde_json::json;

use crate::fixture::BOTH;
use crate::refusals::Site;
use crate::support::post;

const MANIFEST: &str = r#"
[resource.d.order]
[resource.d.order.write]
create = true
update = true
delete = true
max-rows = 10
[resource.d.order.fields]
code = { type = "text", key = true, write = "create" }
note = { type = "text", write = true }
[resource.d.order.relations]
lines = { many = "d.line", on = { code = "code" } }

[resource.d.line]
[resource.d.line.fields]
id   = { type = "bigint", key = true }
code = "text"
"#;

const TABLES: &str = "
CREATE TABLE orders (code text PRIMARY KEY, note text);
CREATE TABLE lines (id bigint PRIMARY KEY, code text);
INSERT INTO orders VALUES ('a', 'one'), ('\u{fffd}', 'odd');
";

async fn site(backend: crate::support::Backend) -> Site {
    Site::of(MANIFEST, backend, TABLES).await
}

// contract W2.17
#[tokio::test]
async fn a_write_takes_no_parameters() {
    for backend in BOTH {
        let site = site(backend).await;
        let unknown = |name: &str| (400, vec![format!("WR101 /{name}")]);
        let body = json!({ "payload": { "note": "new" } });
        for (query, name) in [("dryRun=true", "dryRun"), ("&x", "x"), ("fields=code", "fields"), ("dry%52un", "dryRun")] {
            assert_eq!(site.write(&format!("orders/update/a?{query}"), &body).await, unknown(name), "{backend:?} {query}");
        }
        assert_eq!(site.database.texts("SELECT note FROM orders WHERE code = 'a'").await, ["one"], "{backend:?}");
        assert_eq!(site.write("orders/update/a?", &body).await.0, 200, "{backend:?}");
    }
}

// contract W2.11
#[tokio::test]
async fn a_refused_dry_run_has_the_header_too() {
    for backend in BOTH {
        let site = site(backend).await;
        for (path, body, status) in [
            ("create", json!({ "payload": { "code": "a" }, "dryRun": true }), 409),
            ("create", json!({ "payload": { "cod": "a" }, "dryRun": true }), 400),
            ("delete/none", json!({ "dryRun": true }), 404),
        ] {
            let answer = site.server.send(&post(&format!("/api/d/orders/{path}"), body.to_string())).await;
            assert_eq!((answer.status(), answer.header("dry-run")), (status, Some("true")), "{backend:?} {path}");
        }
        let answer = site.server.send(&post("/api/d/orders/delete/none", "")).await;
        assert_eq!((answer.status(), answer.header("dry-run")), (404, None), "{backend:?}");
        let document = json!({ "query": "mutation { dDeleteOrderById(id: \"none\", dryRun: true) { code } }" });
        let answer = site.server.send(&post("/graphql", document.to_string())).await;
        assert_eq!(answer.header("dry-run"), Some("true"), "{backend:?} {}", answer.text());
    }
}

// contract W2.12
#[tokio::test]
async fn the_constraint_of_a_write_takes_no_offset() {
    for backend in BOTH {
        let site = site(backend).await;
        let refused = (400, &["QS111 /constraint/offset"][..]);
        for (path, mut body) in [
            ("delete/a", json!({})),
            ("delete", json!({ "all": true })),
            ("update/a", json!({ "payload": { "note": "x" } })),
            ("update", json!({ "payload": [{ "code": "a", "note": "x" }] })),
        ] {
            body["constraint"] = json!({ "offset": 1 });
            site.refuses(&format!("orders/{path}"), body, refused).await;
        }
    }
}

// contract W2.15
#[tokio::test]
async fn a_mutation_takes_no_if_match() {
    for backend in BOTH {
        let site = site(backend).await;
        let document = json!({ "query": "mutation { dDeleteOrderById(id: \"a\") { code } }" }).to_string();
        let answer = site.server.send(&post("/graphql", document).header("if-match", "\"1\"")).await;
        let error = &answer.json()["errors"][0]["extensions"];
        assert_eq!(error["errors"][0]["code"], "WR121", "{backend:?} {error}");
        assert_eq!(site.database.texts("SELECT count(*) FROM orders").await, ["2"], "{backend:?}");
        // A read has no use for it.
        let document = json!({ "query": "{ dGetOrders { code } }" }).to_string();
        let answer = site.server.send(&post("/graphql", document).header("if-match", "\"1\"")).await;
        assert_eq!(answer.json()["errors"], json!(null), "{backend:?}");
    }
}

// contract W2.4
#[tokio::test]
async fn a_where_that_holds_for_every_row_is_refused_behind_a_relation_too() {
    for backend in BOTH {
        let site = site(backend).await;
        let every = json!({ "not": { "lines": { "id": { "in": [] } } } });
        site.refuses("orders/delete", json!({ "query": { "where": every } }), (400, &["WR106 /query/where"])).await;
    }
}

// contract E1.4
#[tokio::test]
async fn an_id_that_is_not_utf8_names_no_row() {
    for backend in BOTH {
        let site = site(backend).await;
        for path in ["orders/delete/%FF", "orders/update/%C3%28"] {
            site.refuses(path, json!({}), (400, &["QS313 /id"])).await;
        }
        site.refuses("orders/find/%FF", json!({}), (400, &["QS313 /id"])).await;
        assert_eq!(site.write("orders/delete/%EF%BF%BD", &json!({})).await.0, 200, "{backend:?}");
    }
}
