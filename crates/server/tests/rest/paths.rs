//! Which paths there are, and which methods they take.

use serde_json::json;

use crate::support::{BACKENDS, Backend, Request, Setup, get, shop};

// contract E1.1
#[tokio::test]
async fn names_in_paths_are_kebab_case() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        assert_eq!(server.post("/api/big-shop/apps-accounts/list", "").await.good(), json!([{"code": "hub"}]), "{backend:?}");
        assert_eq!(server.post("/api/shop/order-lines/paginate", "").await.good()["total"], 3);
        for path in ["/api/bigShop/appsAccounts/list", "/api/shop/orderLines/list", "/api/shop/order-line/list", "/api/Shop/orders/list"] {
            server.post(path, "").await.problem(404);
        }
    }
}

// contract E2.5
#[tokio::test]
async fn an_unknown_path_is_404() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    // Without an app, a browser that opens the server finds the page.
    let home = server.get("/").await;
    assert_eq!((home.status(), home.header("location")), (302, Some("/docs")));
    for path in [
        "/api",
        "/api/",
        "/api/shop/customers",
        "/api/shop/customers/",
        "/api/nowhere/customers/list",
        "/api/shop/nothing/list",
        "/api/shop/customers/delete",
        "/api/shop/customers/List",
        "/api/shop/customers/list/",
        "/api/shop/customers/list/1",
        "/api/shop/customers/find/",
        "/api/shop/customers/find/1/2",
        "/api/shop/customers/..%2f",
        "/graphql/",
        "/metrics",
        "/health/",
        "/ready/x",
    ] {
        let answer = server.post(path, r#"{"query":{}}"#).await;
        assert_eq!(answer.problem(404)["code"], "NOT_FOUND", "{path}");
        let answer = server.get(path).await;
        assert_eq!(answer.problem(404)["code"], "NOT_FOUND", "GET {path}");
    }
}

// contract E2.5, contract E2.1
#[tokio::test]
async fn a_path_that_is_not_utf8_is_404() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    for path in ["/api/%FF/customers/list", "/api/shop/%ff%fe/list", "/api/shop/customers/%80", "/api/shop/%C3/find/1", "/%FF"] {
        let answer = server.post(path, "").await;
        assert_eq!(answer.problem(404)["code"], "NOT_FOUND", "{path}");
    }
}

// contract E2.5
#[tokio::test]
async fn a_known_path_with_another_method_is_405_with_allow() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let operations = ["paginate", "list", "get", "find", "find/1", "explain"];
    for path in operations.map(|operation| format!("/api/shop/customers/{operation}")) {
        for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            let answer = server.send(&Request::new(method, &path)).await;
            assert_eq!(answer.problem(405)["code"], "METHOD_NOT_ALLOWED", "{method} {path}");
            assert_eq!(answer.header("allow"), Some("POST"), "{method} {path}");
        }
        let head = server.send(&Request::new("HEAD", &path)).await;
        assert_eq!((head.status(), head.header("allow")), (405, Some("POST")));
    }
    for path in ["/health", "/ready", "/auth/me", "/auth/verify"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let answer = server.send(&Request::new(method, path)).await;
            assert_eq!(answer.problem(405)["code"], "METHOD_NOT_ALLOWED", "{method} {path}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
    // An unknown path is 404 with any method.
    server.send(&Request::new("PUT", "/api/shop/nothing/list")).await.problem(404);
}

// contract E5.1
#[tokio::test]
async fn health_and_readiness_answer_a_get() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        for path in ["/health", "/ready"] {
            let answer = server.send(&get(path)).await;
            assert_eq!(answer.status(), 200, "{backend:?} {path}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert!(answer.json()["status"].is_string());
            assert_eq!(server.send(&Request::new("HEAD", path)).await.status(), 200);
        }
    }
}

// contract P1.1
#[tokio::test]
async fn undeclared_tables_and_columns_cannot_be_queried() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let manifest = "[resource.shop.customer.fields]\nid = { type = \"bigint\", key = true }\nname = \"text\"\n";
        let server = Setup::new(manifest).serve(&database).await;
        server.post("/api/shop/orders/list", "").await.problem(404);
        let rows = server.post("/api/shop/customers/list", r#"{"query":{"where":{"id":{"eq":1}}}}"#).await.good();
        assert_eq!(rows, json!([{"id": 1, "name": "Ana"}]), "{backend:?}");
        let faults = server
            .post(
                "/api/shop/customers/list",
                r#"{"query":{"where":{"status":{"eq":"lead"}},"order":[{"field":"visits"}],"relations":{"orders":true}}}"#,
            )
            .await
            .faults();
        let codes: Vec<&str> = faults.iter().map(|(code, _)| code.as_str()).collect();
        assert_eq!(codes.len(), 3, "{backend:?} {faults:?}");
    }
}
