//! `POST /docs/token`: the token of the page `/docs`, by the session of the browser, and attempts to get or use it elsewhere.

use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Request, Response, get, post};
use crate::test_hub::{ISSUER, PASSWORD, TestHub, cookie, posted, setup};

const PATH: &str = "/docs/token";

/// The request of the page, without its cookie.
fn of_page() -> Request {
    post(PATH, "{}").header("origin", ISSUER).header("sec-fetch-site", "same-origin")
}

async fn token(hub: &TestHub, cookie: &str) -> String {
    let answer = hub.send(&of_page().header("cookie", cookie)).await;
    assert_eq!((answer.header("cache-control"), answer.header("set-cookie")), (Some("no-store"), None));
    let answer = answer.good();
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(300)));
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(3), "no refresh token: {answer}");
    answer["access_token"].as_str().unwrap().to_owned()
}

fn as_bearer(request: Request, token: &str) -> Request {
    request.header("authorization", &format!("Bearer {token}"))
}

async fn me(hub: &TestHub, token: &str) -> Response {
    hub.send(&as_bearer(get("/auth/me"), token)).await
}

// contract E8.8
#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_the_browser_gives_a_token_that_sees_what_the_account_sees() {
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let token = token(&hub, &hub.sign_in().await).await;
        assert_eq!(me(&hub, &token).await.good()["username"], "ada");
        let names = |answer: &Value| answer["resources"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
        let anonymous = hub.send(&get("/docs/resources.json")).await.good();
        let seen = hub.send(&as_bearer(get("/docs/resources.json"), &token)).await.good();
        assert!(!names(&anonymous).contains(&json!("shop.note")) && names(&seen).contains(&json!("shop.note")), "{backend:?}");
        assert_eq!(anonymous["withheld"].as_u64().unwrap(), seen["withheld"].as_u64().unwrap() + 1);
        hub.send(&as_bearer(post("/api/shop/notes/list", ""), &token)).await.good();
        // Without a session there is none.
        let none = hub.send(&of_page()).await;
        assert_eq!((none.status(), none.text().as_str()), (204, ""));
    }
}

// contract E8.8 // attack 90
#[tokio::test(flavor = "multi_thread")]
async fn only_a_page_of_the_hub_itself_gets_the_token() {
    let listed = "https://app.hub.test";
    let mut setup = setup();
    setup.cors = vec![listed.to_owned()];
    let hub = TestHub::with(Backend::Sqlite, &setup).await;
    let cookie = hub.sign_in().await;
    let with = |pairs: &[(&str, &str)]| {
        pairs.iter().fold(post(PATH, "{}").header("cookie", &cookie), |request, (name, value)| request.header(name, value))
    };
    for foreign in [
        &[("origin", "https://evil.test"), ("sec-fetch-site", "cross-site")][..],
        &[("origin", "https://evil.test")],
        &[("sec-fetch-site", "cross-site")],
        &[("origin", listed), ("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "same-site")],
        // A sandboxed frame.
        &[("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null")],
        &[("origin", ISSUER), ("origin", "https://evil.test")],
    ] {
        let answer = hub.send(&with(foreign)).await;
        assert_eq!(answer.status(), 403, "{foreign:?}");
        assert!(!answer.text().contains("access_token"), "{foreign:?}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{foreign:?}");
    }
    // attack 48: not even a listed origin may ask whether it may ask.
    let preflight = Request::new("OPTIONS", PATH)
        .header("origin", listed)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    assert_eq!(hub.send(&preflight).await.header("access-control-allow-origin"), None);
    // A form cannot send JSON, and a program has its own way.
    let form = posted(PATH, &[("a", "b")]).header("cookie", &cookie).header("origin", ISSUER).header("sec-fetch-site", "same-origin");
    assert_eq!(hub.send(&form).await.status(), 415);
    assert_eq!(hub.send(&with(&[])).await.status(), 400);
    assert_eq!(hub.send(&get(PATH).header("cookie", &cookie)).await.status(), 405);
    // attack 40: no frame shows the page.
    let page = hub.send(&get("/docs")).await;
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert!(page.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    assert!(page.text().contains("data-sign-in=\"hub\""));
}

// contract E8.8 // attack 91
#[tokio::test(flavor = "multi_thread")]
async fn the_token_ends_with_its_session_and_is_no_other_kind_of_token() {
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let cookie = hub.sign_in().await;
        let token = token(&hub, &cookie).await;
        for (path, pairs) in [("/session", &[("access_token", token.as_str())][..]), ("/userinfo", &[("access_token", token.as_str())])] {
            let answer = hub.send(&posted(path, pairs)).await;
            assert!(answer.status() >= 400 && answer.header("set-cookie").is_none(), "{path}: {}", answer.text());
        }
        assert_eq!(hub.token(&[("grant_type", "refresh_token"), ("refresh_token", &token)]).await.status(), 400);
        let planted = format!("hub_session={token}");
        assert_eq!(hub.send(&of_page().header("cookie", &planted)).await.status(), 204, "it is no session cookie");
        let session = cookie.split_once('=').unwrap().1;
        assert_eq!(me(&hub, session).await.status(), 401, "the cookie is no token");
        // A logout in any tab ends it at once.
        let out = hub.send(&Request::new("POST", "/logout").header("cookie", &cookie).header("accept", "application/json")).await;
        assert_eq!(out.status(), 204, "{}", out.text());
        assert_eq!(me(&hub, &token).await.problem(401)["code"], "INVALID_TOKEN");
        assert_eq!(hub.send(&of_page().header("cookie", &cookie)).await.status(), 204);
    }
}

// contract E8.8 // attack 91
#[tokio::test(flavor = "multi_thread")]
async fn the_token_reads_and_changes_nothing() {
    let hub = TestHub::start(Backend::Sqlite).await;
    hub.add_account("rita", &["iam.role.get", "iam.role.create", "shop.note.get", "shop.note.create"]).await;
    let cookie = cookie(&hub.send(&posted("/sign-in", &[("username", "rita"), ("password", PASSWORD)])).await);
    let token = token(&hub, &cookie).await;
    hub.send(&as_bearer(post("/api/iam/roles/list", ""), &token)).await.good();
    let create = as_bearer(post("/api/iam/roles/create", r#"{"payload": {"name": "mine", "permissions": []}}"#), &token);
    let refused = hub.send(&create).await.problem(403);
    assert_eq!(refused["code"], "CLIENT_MAY_NOT_ADMINISTER", "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("/docs"), "{refused}");
    // Rows of a resource are no exception, over both protocols, and the page offers no write.
    let row = as_bearer(post("/api/shop/notes/create", r#"{"payload": {"id": 900}}"#), &token);
    assert_eq!(hub.send(&row).await.problem(403)["code"], "CLIENT_MAY_NOT_ADMINISTER");
    let mutation = json!({ "query": "mutation { shopCreateNote(payload: { id: 900 }) { id } }" }).to_string();
    let refused = hub.send(&as_bearer(post("/graphql", mutation), &token)).await.good();
    assert_eq!(refused["errors"][0]["extensions"]["code"], "CLIENT_MAY_NOT_ADMINISTER", "{refused}");
    let seen = hub.send(&as_bearer(get("/docs/resources.json"), &token)).await.good();
    assert!(seen["resources"].as_array().unwrap().iter().all(|resource| resource.get("write").is_none()), "{seen}");
}
