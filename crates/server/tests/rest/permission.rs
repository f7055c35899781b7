//! Permissions, and the answers without them.

use serde_json::json;

use crate::support::{BACKENDS, Request, Setup, post, shop};

const PLANS: &str = "/api/vault/secret-plans";

// contract E3.2, contract B2.2
#[tokio::test]
async fn under_strategy_none_a_resource_with_a_permission_is_403_with_any_header() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let bare = server.post(&format!("{PLANS}/list"), "").await;
        assert_eq!(bare.problem(403)["code"], "FORBIDDEN", "{backend:?}");
        assert_eq!(bare.header("www-authenticate"), None);
        for (name, value) in [
            ("authorization", "Bearer eyJhbGciOiJub25lIn0.e30."),
            ("authorization", "Basic YWRtaW46YWRtaW4="),
            ("authorization", "nonsense"),
            ("x-permissions", "vault.secretPlan.get"),
            ("x-account", "admin"),
            ("x-forwarded-user", "admin"),
            ("cookie", "hub_session=x"),
        ] {
            let answer = server.send(&post(&format!("{PLANS}/list"), "").header(name, value)).await;
            assert_eq!((answer.status(), &answer.body), (403, &bare.body), "{backend:?} {name}");
            // Public resources ignore it.
            server.send(&post("/api/shop/customers/list", "").header(name, value)).await.good();
        }
    }
}

// contract E3.1
#[tokio::test]
async fn permission_is_checked_before_the_statement() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let expected = server.post(&format!("{PLANS}/list"), "").await.body;
        let too_large = "x".repeat(2 * 1024 * 1024);
        let bodies = [
            "{",
            "[]",
            r#"{"query":{"where":{"title":{"eq":"paint it"}}}}"#,
            r#"{"query":{"limit":-1}}"#,
            r#"{"nope":1}"#,
            "\u{0}",
            &too_large,
        ];
        for operation in ["paginate", "list", "get", "find", "find/1", "find/abc", "find/99", "explain"] {
            for body in bodies {
                let answer = server.post(&format!("{PLANS}/{operation}"), body).await;
                answer.problem(403);
                assert_eq!(answer.body, expected, "{backend:?} {operation} {body:.40}");
            }
            let answer = server.send(&post(&format!("{PLANS}/{operation}"), "x").header("content-type", "text/plain")).await;
            assert_eq!(answer.body, expected, "{backend:?} {operation}");
        }
        // The check of the method comes before the permission.
        server.send(&Request::new("DELETE", &format!("{PLANS}/list"))).await.problem(405);
    }
}

// contract P2.2
#[tokio::test]
async fn a_relation_to_an_unreadable_resource_is_unknown() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let ask = async |relation: &str| {
            let body = json!({"query": {"where": {relation: {"title": {"eq": "x"}}}, "relations": {relation: true},
                "order": [{"field": format!("{relation}.title")}]}});
            let text = server.post("/api/shop/customers/list", body.to_string()).await;
            text.faults();
            text.text().replace(relation, "NAME")
        };
        assert_eq!(ask("plans").await, ask("phlox").await, "{backend:?}");
        let near = server.post("/api/shop/customers/list", r#"{"query":{"relations":{"planz":true}}}"#).await;
        assert!(!near.text().contains("plans"), "no hint at it: {}", near.text());
        let group = r#"{"query":{"aggregation":{"fields":[{"fn":"count","field":"NAME.id"}],"groupBy":["NAME.title"]}}}"#;
        let mut answers = Vec::new();
        for name in ["plans", "phlox"] {
            answers.push(server.post("/api/shop/customers/list", group.replace("NAME", name)).await.text().replace(name, "NAME"));
        }
        assert_eq!(answers[0], answers[1], "{backend:?}");
    }
}

// contract P2.4
#[tokio::test]
async fn the_permission_opens_the_resource() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup::new(shop::MANIFEST).viewer(&["vault.secretPlan.get", "shop.customer.pii"]).serve(&database).await;
        assert_eq!(server.post(&format!("{PLANS}/paginate"), "").await.good()["total"], 2, "{backend:?}");
        let body = r#"{"query":{"where":{"email":{"iLike":"ANA@%"}},"relations":{"plans":true}}}"#;
        let rows = server.post("/api/shop/customers/list", body).await.good();
        assert_eq!((&rows[0]["email"], &rows[0]["plans"][0]["title"]), (&json!("ana@example.org"), &json!("move the moon")), "{backend:?}");
    }
}
