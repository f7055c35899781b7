//! The pages of the hub in a browser: sign-in, session cookie, logout, passwords.

use crate::support::{BACKENDS, Backend, get};
use crate::test_hub::{CLIENT, ISSUER, PASSWORD, REDIRECT, TestHub, authorize, bearer, cookie, error, posted, verifier};

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_in_page_is_one_form_and_shows_it_again_after_a_failure() {
    // contract I22.1
    let hub = TestHub::start(Backend::Sqlite).await;
    let page = hub.send(&get("/sign-in")).await;
    let text = page.text();
    assert_eq!(text.matches("<form").count(), 1);
    for piece in
        ["autocomplete=\"username\"", "autocomplete=\"current-password\"", "<label for=\"password\"", "<html lang=\"en\"", "viewport"]
    {
        assert!(text.contains(piece), "{piece}");
    }
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    // contract I22.30: one script may run, and the policy names its hash.
    let scripts = policy.split("; ").find_map(|part| part.strip_prefix("script-src ")).unwrap();
    assert!(scripts.starts_with("'sha256-") && scripts.split(' ').count() == 1, "{scripts}");
    assert_eq!((text.matches("<script").count(), text.matches("type=\"button\" class=\"reveal\"").count()), (1, 1));
    assert_eq!((page.header("x-frame-options"), page.header("cache-control")), (Some("DENY"), Some("no-store")));
    // attack 41
    let echoed = hub.send(&posted("/sign-in", &[("username", "\"><script>alert(1)</script>"), ("password", "x")])).await;
    assert_eq!((echoed.status(), echoed.header("set-cookie")), (400, None));
    assert!(echoed.text().contains("role=\"alert\"") && !echoed.text().contains("<script>alert"), "{}", echoed.text());
    assert_eq!(echoed.text().matches("<script").count(), 1, "the script of the page");
    let style = hub.send(&get("/sign-in/style.css")).await;
    assert_eq!((style.status(), style.header("content-type")), (200, Some("text/css; charset=utf-8")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_from_another_origin_gets_403() {
    // contract I22.2, I10.2, attack 15
    let hub = TestHub::start(Backend::Sqlite).await;
    let sign_in = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]);
    for (name, value) in
        [("origin", "https://evil.test"), ("origin", "null"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")]
    {
        let answer = hub.send(&sign_in.clone().header(name, value)).await;
        assert_eq!((answer.status(), answer.header("set-cookie")), (403, None), "{name}: {value}");
        assert!(answer.text().contains(&format!("href=\"{ISSUER}/\"")), "the page links to the start page");
        let session = posted("/session", &[("access_token", "x")]).header(name, value);
        assert_eq!(hub.send(&session).await.status(), 403);
    }
    let own = sign_in.header("origin", "null").header("sec-fetch-site", "same-origin");
    assert_eq!(hub.send(&own).await.status(), 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_path_outside_the_hub_is_replaced_by_the_start_page() {
    // contract I10.1, attack 13
    let hub = TestHub::start(Backend::Sqlite).await;
    for to in
        ["//evil.test", "/\\evil.test", "https:evil.test", "javascript:alert(1)", "/%09/evil.test", "/authorize@evil.test", "\t//evil.test"]
    {
        let answer = hub.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD), ("continue", to)])).await;
        assert_eq!((answer.status(), answer.header("location")), (303, Some("/")), "{to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_cookie_is_http_only_and_is_no_bearer_token() {
    // contract I22.3, I5.7, attack 17, attack 25, attack 42
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let answer = hub.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)])).await;
        let text = answer.header("set-cookie").unwrap();
        for piece in ["hub_session=", "HttpOnly", "SameSite=Lax", "Max-Age=28800", "Path=/"] {
            assert!(text.contains(piece), "{text}");
        }
        let first = cookie(&answer);
        assert_ne!(first, hub.sign_in().await);
        let token = first.split_once('=').unwrap().1;
        let as_bearer = get("/api/iam/me").header("authorization", &format!("Bearer {token}"));
        assert_eq!(hub.send(&as_bearer).await.status(), 401);
        let tokens = hub.tokens().await;
        let as_cookie = get("/").header("cookie", &format!("hub_session={}", tokens["access_token"].as_str().unwrap()));
        assert_eq!(hub.send(&as_cookie).await.header("location"), Some("/sign-in"));
        assert_eq!(hub.send(&get("/").header("cookie", &first)).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_of_two_accounts_sign_in_neither_and_a_logout_ends_both_sessions() {
    // contract I22.3, attack 42
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.add_account("eve", &[]).await;
        let eve = cookie(&hub.send(&posted("/sign-in", &[("username", "eve"), ("password", PASSWORD)])).await);
        let (ada, again) = (hub.sign_in().await, hub.sign_in().await);
        let status = async |cookies: String| hub.send(&get("/").header("cookie", &cookies)).await.status();
        assert_eq!(status(format!("{ada}; {again}")).await, 200, "both cookies belong to one account");
        for cookies in [format!("{eve}; {ada}"), format!("{ada}; {eve}")] {
            let answer = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", &cookies)).await;
            assert!(answer.header("location").expect("a redirect").starts_with("/sign-in"), "{backend:?}");
        }
        assert_eq!(hub.send(&posted("/logout", &[]).header("cookie", &format!("{ada}; {eve}"))).await.status(), 204);
        for cookies in [ada, eve] {
            assert_eq!(status(cookies).await, 303, "redirects to the sign-in page");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_token_of_a_trusted_client_begins_a_session() {
    // contract I22.4, I9.3
    let hub = TestHub::start(Backend::Sqlite).await;
    let tokens = hub.tokens().await;
    let answer = hub.send(&posted("/session", &[("access_token", tokens["access_token"].as_str().unwrap())])).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(hub.send(&get("/").header("cookie", &cookie(&answer))).await.status(), 200);
    assert_eq!(error(&hub.send(&posted("/session", &[("access_token", "x")])).await, 401), "invalid_token");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_ends_the_session_and_redirects_only_to_the_client() {
    // contract I22.5, I9.2, attack 35
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let code = hub.code(&verifier(), "openid").await;
        let tokens = hub.redeem(&code, &verifier()).await.good();
        let cookie = hub.sign_in().await;
        // Without a hint the page asks for confirmation.
        let confirmation = hub.send(&get("/logout").header("cookie", &cookie)).await;
        assert!(confirmation.status() == 200 && confirmation.text().contains("action=\"/logout\""), "{}", confirmation.text());
        assert_eq!(hub.send(&get("/").header("cookie", &cookie)).await.status(), 200);
        let done = hub.send(&posted("/logout", &[]).header("cookie", &cookie)).await;
        assert!(done.status() == 204 && done.header("set-cookie").unwrap().contains("Max-Age=0"));
        assert_eq!(hub.send(&get("/").header("cookie", &cookie)).await.status(), 303);
        let ask = get(&authorize(&verifier(), &[])).header("cookie", &cookie);
        assert!(hub.send(&ask).await.header("location").unwrap().starts_with("/sign-in"));
        // With a hint it ends the session of the ID token.
        let hint = tokens["id_token"].as_str().unwrap();
        let foreign = [("id_token_hint", hint), ("post_logout_redirect_uri", "https://evil.test/")];
        assert_eq!(error(&hub.send(&posted("/logout", &foreign)).await, 400), "invalid_request");
        let home = [("id_token_hint", hint), ("post_logout_redirect_uri", "https://shop.test/bye"), ("state", "z")];
        let redirected = hub.send(&posted("/logout", &home)).await;
        assert_eq!((redirected.status(), redirected.header("location")), (303, Some("https://shop.test/bye?state=z")));
        assert!(REDIRECT.starts_with("https://shop.test/"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_one_time_link_sets_a_password_once() {
    // contract I22.7, I9.5
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let link = hub.add_password_link().await;
        let text = link.expose();
        let page = hub.send(&get(&format!("/password?link={}", text.as_str()))).await;
        assert!(page.status() == 200 && page.text().contains("new-password"), "{}", page.text());
        let set = |password| posted("/password", &[("link", text.as_str()), ("password", password)]);
        assert_eq!(hub.send(&set("short")).await.status(), 400);
        assert_eq!(hub.send(&set("a brand new one")).await.status(), 303);
        assert_eq!(hub.send(&set("a third one, too")).await.status(), 400);
        let signed = hub.send(&posted("/sign-in", &[("username", "ada"), ("password", "a brand new one")])).await;
        assert_eq!(signed.status(), 303);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_password_ends_all_other_sessions_and_tokens() {
    // contract I22.6
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let tokens = hub.tokens().await;
        let (here, there) = (hub.sign_in().await, hub.sign_in().await);
        let change =
            |present| posted("/", &[("action", "password"), ("present", present), ("chosen", "a brand new one")]).header("cookie", &here);
        assert_eq!(hub.send(&change("wrong").header("origin", ISSUER)).await.status(), 400);
        assert_eq!(hub.send(&change(PASSWORD)).await.status(), 303);
        assert_eq!(hub.send(&get("/").header("cookie", &here)).await.status(), 200);
        assert_eq!(hub.send(&get("/").header("cookie", &there)).await.status(), 303);
        let me = get("/api/iam/me").header("authorization", &bearer(&tokens["access_token"]));
        assert_eq!(hub.send(&me).await.status(), 401);
        // A form that was rendered for another account changes nothing.
        let anothers =
            posted("/", &[("action", "everywhere"), ("account", "0b8f7c1e-0000-4000-8000-000000000000")]).header("cookie", &here);
        assert_eq!(hub.send(&anothers).await.header("location"), Some("/?done=another-account"));
        let page = hub.send(&get("/?done=another-account").header("cookie", &here)).await;
        assert!(page.text().contains("Nothing was done: this browser is signed in as somebody else now."), "{}", page.text());
        assert!(page.text().contains(&format!("name=\"account\" value=\"{}\"", hub.account)), "{}", page.text());
        let own = hub.account.to_string();
        let everywhere = posted("/", &[("action", "everywhere"), ("account", &own)]).header("cookie", &here);
        assert_eq!(hub.send(&everywhere).await.status(), 303);
        // Without a session the form changes nothing.
        assert_eq!(hub.send(&everywhere).await.header("location"), Some("/sign-in?done=over"));
        assert_eq!(hub.send(&get("/").header("cookie", &here)).await.status(), 303);
        assert!(!CLIENT.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_cookie_is_secure_behind_a_trusted_https_proxy() {
    // contract B1.5, I5.7
    let sign_in = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]).header("x-forwarded-proto", "https");
    let secure = async |proxies: &[&str]| {
        let mut setup = crate::test_hub::setup();
        setup.trusted_proxies = proxies.iter().map(|proxy| format!("{proxy}/32").parse().unwrap()).collect();
        let hub = TestHub::with(Backend::Sqlite, &setup).await;
        let signed_in = hub.send(&sign_in).await;
        let signed_out = hub.send(&posted("/logout", &[]).header("cookie", &cookie(&signed_in)).header("x-forwarded-proto", "https")).await;
        [&signed_in, &signed_out].map(|answer| answer.header("set-cookie").expect("a cookie").ends_with("; Secure"))
    };
    assert_eq!(secure(&["127.0.0.1"]).await, [true, true]);
    assert_eq!(secure(&["127.0.0.2"]).await, [false, false]);
}
