//! `GET /api/openapi.json`: its content, and its caching.

use std::collections::HashSet;

use serde_json::Value;

use crate::support::{Backend, Request, get, post, shop};

const ADDRESS: &str = "/api/openapi.json";

// contract E6.6
#[tokio::test]
async fn the_document_has_every_operation_of_every_resource() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let answer = server.get(ADDRESS).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let document = answer.good();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let paths = document["paths"].as_object().expect("paths");
    for path in ["/health", "/ready", ADDRESS, "/api/big-shop/apps-accounts/find/{id}", "/api/vault/secret-plans/list"] {
        assert!(paths.contains_key(path), "{path}");
    }
    for operation in ["paginate", "list", "get", "find", "find/{id}", "explain"] {
        assert!(paths.contains_key(&format!("/api/shop/customers/{operation}")), "{operation}");
    }
    assert!(!paths.contains_key("/api/shop/notes/find/{id}"), "a resource without a key has no find by id");
    let ids: Vec<&str> =
        paths.values().flat_map(|item| item.as_object().expect("an item").values()).filter_map(|one| one["operationId"].as_str()).collect();
    assert_eq!(ids.len(), ids.iter().collect::<HashSet<_>>().len());
    assert!(ids.contains(&"shopPaginateCustomers") && ids.contains(&"shopFindOrderLineById"));
    let secret = &paths["/api/vault/secret-plans/list"]["post"];
    assert_eq!(secret["x-permission"], serde_json::json!(["vault.secretPlan.get"]));
    assert!(secret["responses"].get("403").is_some());
    assert!(paths["/api/shop/customers/list"]["post"]["responses"].get("403").is_none());
    let page = &paths["/api/shop/customers/keyset-paginate"]["post"]["responses"]["200"]["content"]["application/json"];
    assert_eq!(page["x-fields"]["properties"]["rows"]["items"]["$ref"], "#/components/schemas/ShopCustomerPartialRow");
    assert!(document["components"]["schemas"]["ShopCustomerPartialRow"].get("required").is_none(), "contract E6.11");
    assert!(paths["/api/shop/customers/find"]["post"]["responses"].get("422").is_some());
    let text = answer.text();
    assert!(!text.contains("apiKey") && !text.contains("api_key"), "a hidden field has no name");
    assert!(text.contains("INVALID_STATEMENT") && text.contains("QS102"));
}

// contract E6.6
#[tokio::test]
async fn tokens_are_described_where_they_are_read() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let document = server.get(ADDRESS).await.good();
    let catalog = query::catalog::Catalog::default();
    let satellite = peristyle::openapi::document(&catalog, identity::strategy::Strategy::PlatformHub);
    let satellite: Value = serde_json::from_str(&query::json::build::compact(&satellite)).expect("JSON");
    for path in ["/health", "/ready", ADDRESS] {
        assert_eq!(server.send(&get(path).header("authorization", "Bearer x")).await.status(), 200, "{path}");
        assert!(document["paths"][path]["get"]["responses"].get("401").is_none(), "{path}");
        for status in ["401", "500", "503", "504"] {
            assert!(satellite["paths"][path]["get"]["responses"][status].is_object(), "{path} {status}");
        }
    }
    // The refusals of `/auth/verify` have codes too.
    let malformed = server.get("/auth/verify?foo=1").await.problem(400);
    let codes = document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"].as_array().expect("codes");
    assert!(codes.contains(&malformed["code"]), "{malformed}");
}

// contract E6.6
#[tokio::test]
async fn every_described_path_is_served() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let document = server.get(ADDRESS).await.good();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let address = path.replace("{id}", "1");
        for (method, operation) in item.as_object().expect("an item") {
            let request = if method == "post" { post(&address, "{}") } else { get(&address) };
            let answer = server.send(&request).await;
            let described = operation["responses"].get(answer.status().to_string());
            assert!(described.is_some(), "{method} {address} answers {}, which is not described", answer.status());
            let known = described.and_then(|response| response.get("$ref")).and_then(Value::as_str).map(|target| &target[1..]);
            assert!(known.is_none_or(|target| document.pointer(target).is_some()), "{known:?}");
            let other = if method == "post" { Request::new("DELETE", &address) } else { post(&address, "{}") };
            server.send(&other).await.problem(405);
        }
    }
}

// contract E6.6
#[tokio::test]
async fn a_client_with_the_current_document_gets_304() {
    let (server, _database) = shop::open(Backend::Sqlite).await;
    let first = server.get(ADDRESS).await;
    let tag = first.header("etag").expect("a tag").to_owned();
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    assert_eq!(server.get(ADDRESS).await.header("etag"), Some(tag.as_str()), "equal documents, equal tags");
    for known in [tag.clone(), format!("\"other\", {tag}"), tag.trim_start_matches("W/").to_owned(), "*".to_owned()] {
        let again = server.send(&get(ADDRESS).header("if-none-match", &known)).await;
        assert_eq!((again.status(), again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())), "{known}");
        assert_eq!(again.header("vary"), Some("accept-encoding"), "as of the whole answer");
    }
    assert_eq!(server.send(&get(ADDRESS).header("if-none-match", "\"other\"")).await.body, first.body);
    let head = server.send(&Request::new("HEAD", ADDRESS)).await;
    assert_eq!((head.status(), head.body.len(), head.header("etag")), (200, 0, Some(tag.as_str())));
    let packed = server.send(&get(ADDRESS).header("accept-encoding", "gzip")).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
}
