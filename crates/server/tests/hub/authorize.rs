//! The authorize endpoint: its redirects, its faults, and the audit events of refusals.

use identity::client::GrantType;
use peristyle::random;
use serde_json::{Value, json};
use store::hub_records::apps::{Access, App};

use crate::support::{BACKENDS, Backend, Request, get};
use crate::test_hub::{
    CLIENT, ISSUER, PASSWORD, REDIRECT, TestHub, authorize, basic, cookie, error, now, parameter, password_form, posted, verifier,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_goes_from_authorize_through_sign_in_to_the_client() {
    // contract I21.1, I1.1, I1.2
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let answer = hub.send(&get(&authorize(&verifier(), &[]))).await;
        assert_eq!(answer.status(), 302);
        let page = answer.header("location").unwrap().to_owned();
        assert!(page.starts_with("/sign-in?continue=%2Fauthorize"), "{page}");
        let form = hub.send(&get(&page)).await;
        assert_eq!(form.status(), 200);
        assert!(form.text().contains("<strong>The shop</strong>"), "{}", form.text());
        let return_path = parameter(&page, "continue");
        let pairs = [("username", "ada"), ("password", crate::test_hub::PASSWORD), ("continue", return_path.as_str())];
        let signed = hub.send(&posted("/sign-in", &pairs).header("origin", ISSUER)).await;
        // attack 39
        assert_eq!((signed.status(), signed.header("location")), (303, Some(return_path.as_str())));
        let cookie = crate::test_hub::cookie(&signed);
        let back = hub.send(&get(&return_path).header("cookie", &cookie)).await;
        assert_eq!(back.status(), 302);
        let url = back.header("location").unwrap();
        assert!(url.starts_with(REDIRECT), "{url}");
        // attack 10
        assert_eq!((parameter(url, "state").as_str(), parameter(url, "iss").as_str()), ("s-1", ISSUER));
        assert_eq!(back.header("cache-control"), Some("no-store"));
        // attack 37
        assert_eq!(back.header("referrer-policy"), Some("no-referrer"));
        let none = hub.send(&get(&authorize(&verifier(), &[("prompt", "none")]))).await;
        assert_eq!(parameter(none.header("location").unwrap(), "error"), "login_required");
        let again = hub.send(&get(&authorize(&verifier(), &[("prompt", "login")])).header("cookie", &cookie)).await;
        assert!(again.header("location").unwrap().starts_with("/sign-in"), "{again:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn authorize_shows_a_fault_and_never_redirects_it() {
    // contract I21.2, I1.3, attack 14
    let hub = TestHub::start(Backend::Sqlite).await;
    let challenge = verifier().challenge();
    let cases = [
        // attack 12
        (("client_id", "nobody"), 401, "invalid_client"),
        (("client_id", "<script>"), 401, "invalid_client"),
        // attack 2, attack 3
        (("code_challenge", ""), 400, "invalid_request"),
        (("code_challenge_method", "plain"), 400, "invalid_request"),
        (("code_challenge_method", "S512"), 400, "invalid_request"),
        (("code_challenge", &challenge.as_str()[1..]), 400, "invalid_request"),
        (("state", ""), 400, "invalid_request"),
        (("response_type", "token"), 400, "unsupported_response_type"),
        // attack 11
        (("redirect_uri", "https://shop.test/callback/"), 400, "invalid_request"),
        (("redirect_uri", "https://shop.test/callback?x=1"), 400, "invalid_request"),
        (("redirect_uri", "https://SHOP.test/callback"), 400, "invalid_request"),
        (("redirect_uri", "https://shop.test@evil.test/callback"), 400, "invalid_request"),
        (("redirect_uri", "https://shop.test/a/../callback"), 400, "invalid_request"),
        (("redirect_uri", ""), 400, "invalid_request"),
    ];
    for (change, status, code) in cases {
        let path = authorize(&verifier(), &[change]);
        let answer = hub.send(&get(&path)).await;
        assert_eq!(error(&answer, status), code, "{path}");
        assert!(answer.header("location").is_none() && answer.header("access-control-allow-origin").is_none());
        let page = hub.send(&get(&path).header("accept", "text/html,*/*;q=0.8")).await;
        assert_eq!(page.status(), status);
        assert!(page.header("www-authenticate").is_none(), "a browser would show its own password dialog");
        // attack 40, attack 41
        for answer in [&answer, &page] {
            assert!(answer.header("content-security-policy").is_some_and(|policy| policy.contains("frame-ancestors 'none'")));
            assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        }
        assert!(page.text().contains("<h1>") && page.text().contains(code) && !page.text().contains("<script"), "{}", page.text());
    }
    for accept in ["text/html;q=0", "application/json, text/html;q=0.5", "*/*"] {
        let program = get(&authorize(&verifier(), &[("state", "")])).header("accept", accept);
        assert_eq!(error(&hub.send(&program).await, 400), "invalid_request", "{accept}");
    }
    let twice = format!("{}&state=s-2", authorize(&verifier(), &[]));
    assert_eq!(error(&hub.send(&get(&twice)).await, 400), "invalid_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_records_each_refusal_without_the_sent_values() {
    // contract I13.2
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let tokens = hub.tokens().await;
        let last = async || {
            let event = store::hub_records::audit_log::newest(&hub.records, 1).await.unwrap().pop().unwrap();
            assert!(event.address.is_some());
            (event.name, Value::Object(event.data))
        };
        let closed = hub.add_client("closed", &GrantType::ALL, None).await;
        hub.records.run("UPDATE peristyle.client SET is_active = false WHERE id = 'closed'", &[]).await.unwrap();
        assert!(!closed.is_empty());
        let refused = |error: &str| ("grant.refused".to_owned(), json!({"client": CLIENT, "error": error}));
        for (path, expected) in [
            (authorize(&verifier(), &[("client_id", "a stranger's text")]), ("client.refused".to_owned(), json!({}))),
            (authorize(&verifier(), &[("client_id", "closed")]), ("client.refused".to_owned(), json!({"client": "closed"}))),
            (authorize(&verifier(), &[("client_id", "")]), ("grant.refused".to_owned(), json!({"error": "invalid_request"}))),
            (format!("{}&state=s-2", authorize(&verifier(), &[])), ("grant.refused".to_owned(), json!({"error": "invalid_request"}))),
            (authorize(&verifier(), &[("redirect_uri", "https://evil.test/")]), refused("invalid_request")),
            (authorize(&verifier(), &[("code_challenge", "")]), refused("invalid_request")),
            (authorize(&verifier(), &[("scope", "\"")]), refused("invalid_request")),
        ] {
            let answer = hub.send(&get(&path)).await;
            assert!((400..402).contains(&answer.status()), "{path}");
            assert_eq!(last().await, expected, "{path}");
        }
        let session = |token: &str| posted("/session", &[("access_token", token)]);
        let sign_in = |data: Value| ("sign-in.refused".to_owned(), data);
        assert_eq!(hub.send(&session("a stranger's text")).await.status(), 401);
        assert_eq!(last().await, sign_in(json!({"reason": "token"})));
        let good = tokens["access_token"].as_str().unwrap();
        assert_eq!(hub.send(&session(good).header("origin", "https://evil.test")).await.status(), 403);
        assert_eq!(last().await, sign_in(json!({"reason": "cross-origin"})));
        for path in ["/", "/logout", "/password", "/sign-in"] {
            let answer = hub.send(&posted(path, &[("action", "everywhere")]).header("origin", "https://evil.test")).await;
            assert_eq!(answer.status(), 403, "{path}");
            assert_eq!(last().await, sign_in(json!({"reason": "cross-origin"})), "{path}");
            // Another kind of refusal in between proves that each pass adds a row.
            assert_eq!(hub.send(&posted("/token", &[("grant_type", "password")])).await.status(), 401);
            assert_eq!(last().await, ("client.refused".to_owned(), json!({})));
        }
        let long = "x".repeat(2000);
        assert_eq!(hub.send(&posted("/sign-in", &[("username", "bo"), ("password", &long)])).await.status(), 400);
        assert_eq!(last().await, sign_in(json!({"reason": "credentials"})));
        let unread = posted("/token", &[("grant_type", "password")]).header("authorization", "Basic !!!");
        assert_eq!(hub.send(&unread).await.status(), 401);
        assert_eq!(last().await, ("client.refused".to_owned(), json!({})));
        let revoke = posted("/revoke", &[("token", good)]).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&revoke).await.status(), 200);
        assert_eq!(hub.send(&session(good)).await.status(), 401);
        assert_eq!(last().await, sign_in(json!({"account": hub.account.to_string(), "reason": "token"})));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_records_at_most_100_equal_refusals() {
    // contract I13.4
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let rows = async |name: &str, reason: Option<&str>| {
            let events = store::hub_records::audit_log::newest(&hub.records, 1_000).await.unwrap();
            let fits = |data: &serde_json::Map<String, Value>| reason.is_none_or(|reason| data["reason"] == reason);
            events.iter().filter(|event| event.name == name && fits(&event.data)).count()
        };
        let guess = posted("/sign-in", &[("username", "ada"), ("password", "wrong")]);
        for _ in 0..5 {
            let wrong_secret = posted("/token", &[]).header("authorization", &basic(CLIENT, "wrong"));
            assert_eq!(hub.send(&wrong_secret).await.status(), 401);
            assert_eq!(hub.send(&posted("/session", &[("access_token", "x")])).await.status(), 401);
            assert_eq!(hub.send(&guess).await.status(), 400);
        }
        hub.lengthen_delays().await;
        for _ in 0..5 {
            assert_eq!(hub.send(&guess).await.status(), 429);
        }
        for _ in 0..110 {
            assert_eq!(hub.send(&get("/authorize?client_id=")).await.status(), 400);
        }
        assert_eq!((rows("grant.refused", None).await, rows("client.refused", None).await), (100, 5), "{backend:?}");
        // Refusals of an authenticated client have their own count.
        let made_up = "A".repeat(43);
        for _ in 0..110 {
            assert_eq!(hub.token(&[("grant_type", "refresh_token"), ("refresh_token", &made_up)]).await.status(), 400);
        }
        assert_eq!(rows("grant.refused", None).await, 200, "{backend:?}");
        let refused = async |reason| rows("sign-in.refused", Some(reason)).await;
        assert_eq!((refused("token").await, refused("throttled").await, refused("credentials").await), (5, 5, 5), "{backend:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_token_hint_of_another_account_gets_no_code() {
    // contract I1.7
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.add_account("eve", &[]).await;
        let sign_in = |name: &str| posted("/sign-in", &[("username", name), ("password", PASSWORD)]);
        let (ada, eve) = (hub.sign_in().await, cookie(&hub.send(&sign_in("eve")).await));
        let code = parameter(
            hub.send(&get(&authorize(&verifier(), &[("scope", "openid")])).header("cookie", &ada)).await.header("location").unwrap(),
            "code",
        );
        let tokens = hub.redeem(&code, &verifier()).await.good();
        let hint = tokens["id_token"].as_str().unwrap();
        let location_for = async |cookie: &str, more: &[(&str, &str)]| {
            let ask = authorize(&verifier(), &[&[("id_token_hint", hint)], more].concat());
            hub.send(&get(&ask).header("cookie", cookie)).await.header("location").expect("a redirect").to_owned()
        };
        assert!(!parameter(&location_for(&ada, &[]).await, "code").is_empty());
        assert!(!parameter(&location_for(&ada, &[("prompt", "none")]).await, "code").is_empty());
        assert_eq!(parameter(&location_for(&eve, &[("prompt", "none")]).await, "error"), "login_required");
        let page = location_for(&eve, &[]).await;
        assert!(page.starts_with("/sign-in?"), "{page}");
        // Only a sign-in of the account in the hint gets the code.
        let again = parameter(&page, "continue");
        let location =
            async |cookie: &str| hub.send(&get(&again).header("cookie", cookie)).await.header("location").expect("a redirect").to_owned();
        assert!(location(&eve).await.starts_with("/sign-in?"));
        assert!(!parameter(&location(&ada).await, "code").is_empty());
        for unreadable in ["x", "a.b.c", tokens["access_token"].as_str().unwrap()] {
            let ask = authorize(&verifier(), &[("id_token_hint", unreadable)]);
            assert_eq!(error(&hub.send(&get(&ask).header("cookie", &ada)).await, 400), "invalid_request", "{unreadable}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cors_never_applies_to_authorize_and_the_pages_of_the_hub() {
    // contract I21.2, attack 48
    let mut setup = crate::test_hub::setup();
    setup.cors = vec!["https://app.test".to_owned()];
    let hub = TestHub::with(Backend::Sqlite, &setup).await;
    for (path, allowed) in [
        ("/authorize?x=1", None),
        ("/api/o-auth/authorize", None),
        ("/sign-in", None),
        ("/password", None),
        ("/", None),
        ("/logout", None),
        ("/api/o-auth/logout", None),
        // A path that ends like a page is still an API path.
        ("/api/iam/accounts/find/password", Some("https://app.test")),
        ("/.well-known/jwks.json", Some("https://app.test")),
    ] {
        let answer = hub.send(&get(path).header("origin", "https://app.test")).await;
        assert_eq!(answer.header("access-control-allow-origin"), allowed, "{path}");
        let strange = hub.send(&get(path).header("origin", "https://evil.test")).await;
        assert_eq!(strange.header("access-control-allow-origin"), None, "{path}");
        let preflight = Request::new("OPTIONS", path).header("origin", "https://app.test").header("access-control-request-method", "GET");
        for answer in [answer, hub.send(&preflight).await] {
            let has_cors = answer.head.headers.iter().any(|(name, _)| name.starts_with("access-control"));
            assert_eq!(has_cors, allowed.is_some(), "{path} {:?}", answer.head);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_app_admits_only_listed_accounts() {
    // contract I21.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let app = App { id: random::uuid(), code: "inner".to_owned(), name: "Inner".to_owned(), url: None, access: Access::Closed };
        store::hub_records::apps::insert(&hub.records, &app, now()).await.unwrap();
        hub.add_client("inner", &GrantType::ALL, Some(app.id)).await;
        let cookie = hub.sign_in().await;
        let ask = get(&authorize(&verifier(), &[("client_id", "inner")])).header("cookie", &cookie);
        let refused = hub.send(&ask).await;
        assert_eq!(parameter(refused.header("location").unwrap(), "error"), "access_denied");
        store::hub_records::apps::admit(&hub.records, random::uuid(), app.id, hub.account, now()).await.unwrap();
        assert!(!parameter(hub.send(&ask).await.header("location").unwrap(), "code").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_expelled_from_a_closed_app_cannot_refresh() {
    // contract I4.4, attack 35
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let mut app = App { id: random::uuid(), code: "inner".to_owned(), name: "Inner".to_owned(), url: None, access: Access::Closed };
        store::hub_records::apps::insert(&hub.records, &app, now()).await.unwrap();
        store::hub_records::apps::admit(&hub.records, random::uuid(), app.id, hub.account, now()).await.unwrap();
        let secret = hub.add_client("inner", &GrantType::ALL, Some(app.id)).await;
        let ask = |pairs: &[(&str, &str)]| posted("/token", pairs).header("authorization", &basic("inner", &secret));
        let tokens = hub.send(&ask(&password_form("ada"))).await.good();
        let refresh =
            |tokens: &Value| ask(&[("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"].as_str().unwrap())]);
        let tokens = hub.send(&refresh(&tokens)).await.good();
        store::hub_records::apps::expel(&hub.records, app.id, hub.account).await.unwrap();
        assert_eq!(error(&hub.send(&refresh(&tokens)).await, 400), "invalid_grant");
        // The refusal did not use up the token.
        app.access = Access::Open;
        store::hub_records::apps::update(&hub.records, &app, now()).await.unwrap();
        hub.send(&refresh(&tokens)).await.good();
    }
}
