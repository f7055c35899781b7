//! Requests with a token at a satellite: permissions, variables, `/auth/verify`, OpenAPI.

use identity::account::ADMINISTRATOR;
use serde_json::json;

use crate::pair::{NOTES, OPEN, Pair, get_with_token};
use crate::support::{get, post};

#[tokio::test(flavor = "multi_thread")]
async fn permissions_come_from_the_hub_account_and_not_from_the_scope() {
    // contract I31.1
    let pair = Pair::start().await;
    let tokens = pair.login().await;
    let token = &tokens["access_token"];
    assert_eq!(pair.satellite.post(NOTES, "").await.header("www-authenticate"), Some("Bearer"));
    pair.satellite.post(OPEN, "").await.good();
    pair.post_with_token(NOTES, token).await.good();
    assert_eq!(pair.post_with_token("/api/shop/ledgers/list", token).await.problem(403)["code"], "FORBIDDEN");
    for path in [NOTES, OPEN] {
        let bad = pair.satellite.send(&post(path, "").header("authorization", "Bearer x.y.z")).await;
        assert_eq!(bad.header("www-authenticate"), Some("Bearer error=\"invalid_token\""), "{path}");
        bad.problem(401);
    }
    // A scope with the name of a permission.
    let scoped = pair
        .hub
        .token(&[
            ("grant_type", "password"),
            ("username", "ada"),
            ("password", crate::test_hub::PASSWORD),
            ("scope", "satellite.ledger.get"),
        ])
        .await
        .good();
    assert_eq!(pair.post_with_token("/api/shop/ledgers/list", &scoped["access_token"]).await.status(), 403);
    let graphql =
        post("/graphql", r#"{"query":"{ shopGetNotes { id } }"}"#).header("authorization", &format!("Bearer {}", token.as_str().unwrap()));
    assert_eq!(pair.satellite.send(&graphql).await.good()["data"]["shopGetNotes"], json!([{ "id": 1 }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_has_no_endpoints_of_a_hub() {
    // contract I31.1
    let pair = Pair::start().await;
    for path in ["/token", "/api/o-auth/token", "/authorize", "/.well-known/jwks.json", "/sign-in", "/session"] {
        assert_eq!(pair.satellite.get(path).await.status(), 404, "{path}");
        assert_eq!(pair.satellite.post(path, "").await.status(), 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_holds_permissions_that_only_the_satellite_declares() {
    // contract I31.2
    let pair = Pair::start().await;
    let mut transaction = pair.hub.records.begin().await.unwrap();
    store::hub_records::accounts::set_roles(&mut transaction, pair.hub.account, &[ADMINISTRATOR]).await.unwrap();
    transaction.commit().await.unwrap();
    store::hub_records::rights::refresh(&pair.hub.records, pair.hub.account).await.unwrap();
    let tokens = pair.login().await;
    pair.post_with_token("/api/shop/ledgers/list", &tokens["access_token"]).await.good();
    let me = get_with_token(&pair.satellite, "/auth/me", &tokens["access_token"]).await.good();
    let all = me["dPermissions"]["all"].as_array().unwrap();
    assert!(!all.contains(&json!("satellite.ledger.get")), "the hub does not declare it: {all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn account_variables_work_at_a_satellite_as_at_a_hub() {
    // contract I31.3
    let pair = Pair::start().await;
    let tokens = pair.login().await;
    let file = rusqlite::Connection::open(pair.database.url.strip_prefix("sqlite://").unwrap()).unwrap();
    let rows = [(1, pair.hub.account.to_string(), "ada"), (2, pair.hub.account.to_string(), "eve"), (3, "x".to_owned(), "ada")];
    for row in rows {
        file.execute("INSERT INTO owned VALUES (?1, ?2, ?3)", row).unwrap();
    }
    let own = pair.post_with_token("/api/shop/owns/list", &tokens["access_token"]).await.good();
    assert_eq!(own.as_array().unwrap().len(), 1, "{own}");
    assert_eq!(own[0]["id"], 1);
    assert_eq!(pair.satellite.post("/api/shop/owns/list", "").await.good(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_answers_the_account_in_headers() {
    // contract I32.1
    let pair = Pair::start().await;
    let tokens = pair.login().await;
    let token = &tokens["access_token"];
    for base in ["/auth", "/api/auth"] {
        let good =
            get_with_token(&pair.satellite, &format!("{base}/verify?permission=other.thing.get&permission=shop.note.get"), token).await;
        assert_eq!(good.status(), 200, "{}", good.text());
        assert_eq!(good.header("x-account-id"), Some(pair.hub.account.to_string().as_str()));
        assert_eq!((good.header("x-account-username"), good.header("x-account-email")), (Some("ada"), Some("ada@example.com")));
        assert_eq!(good.header("x-account-permissions"), Some("shop.note.get"));
        assert_eq!(good.header("cache-control"), Some("no-store"));
        assert_eq!(get_with_token(&pair.satellite, &format!("{base}/verify"), token).await.status(), 200);
        get_with_token(&pair.satellite, &format!("{base}/verify?permission=other.thing.get"), token).await.problem(403);
        let anonymous = pair.satellite.get(&format!("{base}/verify")).await;
        assert_eq!((anonymous.status(), anonymous.header("www-authenticate")), (401, Some("Bearer")));
    }
    let bad = pair.satellite.send(&get("/auth/verify").header("authorization", "Bearer x")).await;
    assert_eq!(bad.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    get_with_token(&pair.satellite, "/auth/verify?permision=x", token).await.problem(400);
    assert_eq!(post("/auth/verify", "").send(pair.satellite.address).await.header("allow"), Some("GET, HEAD"));
    // A hub answers the same for its own tokens.
    let hub = get_with_token(&pair.hub.server, "/auth/verify?permission=shop.note.get", token).await;
    assert_eq!((hub.status(), hub.header("x-account-username")), (200, Some("ada")));
    assert_eq!(get_with_token(&pair.hub.server, "/auth/me", token).await.good()["username"], "ada");
}

// contract E6.6
#[tokio::test(flavor = "multi_thread")]
async fn openapi_describes_the_auth_endpoints() {
    let pair = Pair::start().await;
    let document = pair.satellite.get("/api/openapi.json").await.good();
    for base in ["/auth", "/api/auth"] {
        for (name, method) in
            [("login", "get"), ("callback", "post"), ("refresh", "post"), ("logout", "post"), ("me", "get"), ("verify", "get")]
        {
            let path = format!("{base}/{name}");
            let operation = &document["paths"][&path][method];
            let request = if method == "get" { get(&path) } else { post(&path, "{}") };
            let answer = pair.satellite.send(&request).await;
            let described = &operation["responses"][answer.status().to_string()];
            assert!(described.is_object(), "{method} {path} answers {}, which is not described", answer.status());
            let reference = described["content"]["application/json"]["schema"]["$ref"].as_str().or(described["$ref"].as_str());
            assert!(reference.is_none_or(|target| document.pointer(&target[1..]).is_some()), "{reference:?}");
        }
    }
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    assert_eq!(document["components"]["securitySchemes"].get("client"), None, "a satellite has no clients");
    let notes = &document["paths"]["/api/shop/notes/list"]["post"];
    assert_eq!((&notes["security"], notes["responses"]["401"].is_object()), (&json!([{"bearer": []}]), true));
    assert!(document["paths"].get("/token").is_none());
}
