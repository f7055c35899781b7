//! What a request with a token gets at a satellite.

use identity::account::ADMINISTRATOR;
use serde_json::json;

use crate::pair::{NOTES, OPEN, Pair, look};
use crate::support::{get, post};

#[tokio::test(flavor = "multi_thread")]
async fn permission_is_what_the_hub_says_and_scope_grants_nothing() {
    // contract I31.1
    let pair = Pair::start().await;
    let tokens = pair.login().await;
    let token = &tokens["access_token"];
    assert_eq!(pair.satellite.post(NOTES, "").await.header("www-authenticate"), Some("Bearer"));
    pair.satellite.post(OPEN, "").await.good();
    pair.ask(NOTES, token).await.good();
    assert_eq!(pair.ask("/api/shop/ledgers/list", token).await.problem(403)["code"], "FORBIDDEN");
    for path in [NOTES, OPEN] {
        let bad = pair.satellite.send(&post(path, "").header("authorization", "Bearer x.y.z")).await;
        assert_eq!(bad.header("www-authenticate"), Some("Bearer error=\"invalid_token\""), "{path}");
        bad.problem(401);
    }
    // Scope is what somebody asked for, in the name of a permission.
    let asked = pair
        .hub
        .token(&[("grant_type", "password"), ("username", "ada"), ("password", crate::test_hub::PASSWORD), ("scope", "satellite.ledger.get")])
        .await
        .good();
    assert_eq!(pair.ask("/api/shop/ledgers/list", &asked["access_token"]).await.status(), 403);
    let graphql =
        post("/graphql", r#"{"query":"{ shopGetNotes { id } }"}"#).header("authorization", &format!("Bearer {}", token.as_str().unwrap()));
    assert_eq!(pair.satellite.send(&graphql).await.good()["data"]["shopGetNotes"], json!([{ "id": 1 }]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_issues_nothing() {
    // contract I31.1
    let pair = Pair::start().await;
    for path in ["/token", "/api/o-auth/token", "/authorize", "/.well-known/jwks.json", "/sign-in", "/session"] {
        assert_eq!(pair.satellite.get(path).await.status(), 404, "{path}");
        assert_eq!(pair.satellite.post(path, "").await.status(), 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_holds_what_only_the_satellite_knows() {
    // contract I31.2
    let pair = Pair::start().await;
    let mut transaction = pair.hub.records.begin().await.unwrap();
    store::hub_records::accounts::set_roles(&mut transaction, pair.hub.account, &[ADMINISTRATOR]).await.unwrap();
    transaction.commit().await.unwrap();
    store::hub_records::rights::refresh(&pair.hub.records, pair.hub.account).await.unwrap();
    let tokens = pair.login().await;
    pair.ask("/api/shop/ledgers/list", &tokens["access_token"]).await.good();
    let me = look(&pair.satellite, "/auth/me", &tokens["access_token"]).await.good();
    let all = me["dPermissions"]["all"].as_array().unwrap();
    assert!(!all.contains(&json!("satellite.ledger.get")), "the hub does not know it: {all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn account_variables_mean_at_a_satellite_what_they_mean_at_a_hub() {
    // contract I31.3
    let pair = Pair::start().await;
    let tokens = pair.login().await;
    let file = rusqlite::Connection::open(pair.database.url.strip_prefix("sqlite://").unwrap()).unwrap();
    let rows = [(1, pair.hub.account.to_string(), "ada"), (2, pair.hub.account.to_string(), "eve"), (3, "x".to_owned(), "ada")];
    for row in rows {
        file.execute("INSERT INTO owned VALUES (?1, ?2, ?3)", row).unwrap();
    }
    let own = pair.ask("/api/shop/owns/list", &tokens["access_token"]).await.good();
    assert_eq!(own.as_array().unwrap().len(), 1, "{own}");
    assert_eq!(own[0]["id"], 1);
    assert_eq!(pair.satellite.post("/api/shop/owns/list", "").await.good(), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_hears_who_it_is_in_headers() {
    // contract I32.1
    let pair = Pair::start().await;
    let tokens = pair.login().await;
    let token = &tokens["access_token"];
    for base in ["/auth", "/api/auth"] {
        let good = look(&pair.satellite, &format!("{base}/verify?permission=other.thing.get&permission=shop.note.get"), token).await;
        assert_eq!(good.status(), 200, "{}", good.text());
        assert_eq!(good.header("x-account-id"), Some(pair.hub.account.to_string().as_str()));
        assert_eq!((good.header("x-account-username"), good.header("x-account-email")), (Some("ada"), Some("ada@example.com")));
        assert_eq!(good.header("x-account-permissions"), Some("shop.note.get"));
        assert_eq!(good.header("cache-control"), Some("no-store"));
        assert_eq!(look(&pair.satellite, &format!("{base}/verify"), token).await.status(), 200);
        look(&pair.satellite, &format!("{base}/verify?permission=other.thing.get"), token).await.problem(403);
        let nobody = pair.satellite.get(&format!("{base}/verify")).await;
        assert_eq!((nobody.status(), nobody.header("www-authenticate")), (401, Some("Bearer")));
    }
    let bad = pair.satellite.send(&get("/auth/verify").header("authorization", "Bearer x")).await;
    assert_eq!(bad.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    look(&pair.satellite, "/auth/verify?permision=x", token).await.problem(400);
    assert_eq!(post("/auth/verify", "").send(pair.satellite.address).await.header("allow"), Some("GET, HEAD"));
    // A hub says the same of its own tokens.
    let hub = look(&pair.hub.server, "/auth/verify?permission=shop.note.get", token).await;
    assert_eq!((hub.status(), hub.header("x-account-username")), (200, Some("ada")));
    assert_eq!(look(&pair.hub.server, "/auth/me", token).await.good()["username"], "ada");
}

// contract E6.6
#[tokio::test(flavor = "multi_thread")]
async fn openapi_tells_the_way_to_the_hub_and_back() {
    let pair = Pair::start().await;
    let document = pair.satellite.get("/api/openapi.json").await.good();
    for base in ["/auth", "/api/auth"] {
        for (name, method) in
            [("login", "get"), ("callback", "post"), ("refresh", "post"), ("logout", "post"), ("me", "get"), ("verify", "get")]
        {
            let path = format!("{base}/{name}");
            let operation = &document["paths"][&path][method];
            let asked = if method == "get" { get(&path) } else { post(&path, "{}") };
            let answer = pair.satellite.send(&asked).await;
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
