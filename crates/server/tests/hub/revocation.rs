//! Revocation of sessions and token families by logouts, new passwords and closed accounts; and sessions that begin with a token.

use identity::client::GrantType;
use serde_json::{Value, json};
use store::hub_records::Bind;

use crate::support::{BACKENDS, Backend, Request, get, post};
use crate::test_hub::{
    CLIENT, ISSUER, PASSWORD, TestHub, authorize, basic, cookie, error, part, posted, redemption, refresh_form, verifier,
};

/// Signs in and redeems a code; returns the cookie and the tokens.
async fn sign_in_and_redeem(hub: &TestHub) -> (String, Value) {
    let cookie = hub.sign_in().await;
    let ask = get(&authorize(&verifier(), &[("scope", "openid")])).header("cookie", &cookie);
    let code = crate::test_hub::parameter(hub.send(&ask).await.header("location").unwrap(), "code");
    (cookie, hub.redeem(&code, &verifier()).await.good())
}

async fn is_signed_in(hub: &TestHub, cookie: &str) -> bool {
    hub.send(&get("/").header("cookie", cookie)).await.status() == 200
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_a_new_password_and_a_closed_account_revoke_refresh_tokens() {
    // contract I9.2, I20.3, attack 35
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let (cookie, tokens) = sign_in_and_redeem(&hub).await;
        hub.send(&posted("/logout", &[]).header("cookie", &cookie)).await;
        assert_eq!(error(&hub.token(&refresh_form(&tokens)).await, 400), "invalid_grant");

        let (cookie, tokens) = sign_in_and_redeem(&hub).await;
        let change = [("action", "password"), ("present", PASSWORD), ("chosen", PASSWORD)];
        assert_eq!(hub.send(&posted("/", &change).header("cookie", &cookie)).await.status(), 303);
        assert_eq!(error(&hub.token(&refresh_form(&tokens)).await, 400), "invalid_grant");

        let (cookie, tokens) = sign_in_and_redeem(&hub).await;
        let other = hub.add_client("other", &GrantType::ALL, None).await;
        let stolen = posted("/token", &refresh_form(&tokens)).header("authorization", &basic("other", &other));
        assert_eq!(error(&hub.send(&stolen).await, 400), "invalid_grant");
        hub.records.run("UPDATE peristyle.account SET is_active = $1", &[Bind::Flag(false)]).await.unwrap();
        assert_eq!(error(&hub.token(&refresh_form(&tokens)).await, 400), "invalid_grant");
        assert!(!is_signed_in(&hub, &cookie).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_records_a_password_change_and_its_revocations() {
    // contract I22.22, I22.6
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let (_, tokens) = sign_in_and_redeem(&hub).await;
        let here = hub.sign_in().await;
        let change = [("action", "password"), ("present", PASSWORD), ("chosen", "a brand new one")];
        let answer = hub.send(&posted("/", &change).header("cookie", &here)).await;
        assert_eq!((answer.status(), answer.header("location")), (303, Some("/?done=password-changed")));
        let page = hub.send(&get("/?done=password-changed").header("cookie", &here)).await;
        assert!(page.text().contains("role=\"status\"") && page.text().contains("Your password was changed"), "{}", page.text());
        let events = store::hub_records::audit_log::newest(&hub.records, 50).await.unwrap();
        let count = |name: &str| events.iter().filter(|event| event.name == name).count();
        assert_eq!((count("account.password-changed"), count("session.ended"), count("grant.revoked")), (1, 1, 1), "{events:?}");
        assert_eq!(error(&hub.token(&refresh_form(&tokens)).await, 400), "invalid_grant");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_owner_can_end_a_session() {
    // contract I22.6
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let (here, there) = (hub.sign_in().await, hub.sign_in().await);
        let id_of = |cookie: &str| part(&json!(cookie.split_once('=').unwrap().1), 1)["sid"].as_str().unwrap().to_owned();
        let end = |id: &str, by: &str| posted("/", &[("action", "end"), ("session", id)]).header("cookie", by);
        hub.add_account("eve", &[]).await;
        let eve = cookie(&hub.send(&posted("/sign-in", &[("username", "eve"), ("password", PASSWORD)])).await);
        hub.send(&end(&id_of(&there), &eve)).await;
        assert!(is_signed_in(&hub, &there).await, "another account cannot end it");
        let answer = hub.send(&end(&id_of(&there), &here)).await;
        assert_eq!((answer.status(), answer.header("location")), (303, Some("/?done=session-ended")));
        assert!(!is_signed_in(&hub, &there).await && is_signed_in(&hub, &here).await);
        // Ending the own session clears the cookie.
        let answer = hub.send(&end(&id_of(&here), &here)).await;
        assert!(answer.header("location") == Some("/sign-in") && answer.header("set-cookie").unwrap().contains("Max-Age=0"));
        assert!(!is_signed_in(&hub, &here).await);
        for body in [[("action", "end"), ("session", "x")], [("action", "fly"), ("session", "")]] {
            assert_eq!(hub.send(&posted("/", &body).header("cookie", &eve)).await.status(), 400);
        }
        assert_eq!(hub.send(&posted("/", &[("action", "everywhere")]).header("cookie", &eve).header("origin", "null")).await.status(), 403);
        assert!(is_signed_in(&hub, &eve).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_never_continues_an_existing_session() {
    // contract I22.3, attack 17
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        hub.add_account("eve", &[]).await;
        let planted = cookie(&hub.send(&posted("/sign-in", &[("username", "eve"), ("password", PASSWORD)])).await);
        let ada = [("username", "ada"), ("password", PASSWORD)];
        let signed_in = cookie(&hub.send(&posted("/sign-in", &ada).header("cookie", &planted)).await);
        assert_ne!(signed_in, planted);
        assert!(!is_signed_in(&hub, &planted).await, "the planted session has ended");
        assert!(hub.send(&get("/").header("cookie", &signed_in)).await.text().contains("ada@example.com"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_and_tokens_of_a_session_survive_a_new_sign_in_in_the_same_browser() {
    // contract I9.8
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let (before, tokens) = sign_in_and_redeem(&hub).await;
        let answer = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", &before)).await;
        let code = crate::test_hub::parameter(answer.header("location").unwrap(), "code");
        let form = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]);
        let after = cookie(&hub.send(&form.header("cookie", &before)).await);
        assert!(after != before && is_signed_in(&hub, &after).await && !is_signed_in(&hub, &before).await);
        hub.redeem(&code, &verifier()).await.good();
        let next = hub.token(&refresh_form(&tokens)).await.good();
        // A client of the earlier session ends the current session of the browser.
        let end = [("token", next["refresh_token"].as_str().unwrap()), ("end_session", "true")];
        let revoke = posted("/revoke", &end).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&revoke).await.status(), 200);
        assert!(!is_signed_in(&hub, &after).await);
        let again = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", &after)).await;
        assert!(again.header("location").unwrap().starts_with("/sign-in?"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_without_confirmation_needs_the_id_token_of_the_same_session() {
    // contract I22.5
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let (cookie, tokens) = sign_in_and_redeem(&hub).await;
        let (other_cookie, other) = sign_in_and_redeem(&hub).await;
        let with = |tokens: &Value, more: &[(&str, &str)]| {
            let hint = [("id_token_hint", tokens["id_token"].as_str().unwrap())];
            get(&format!("/logout?{}", identity::form::write([&hint, more].concat())))
        };
        let confirmation = hub.send(&with(&other, &[]).header("cookie", &cookie)).await;
        assert!(
            confirmation.status() == 200 && confirmation.text().contains("Sign out?"),
            "the hint of another session needs a confirmation"
        );
        assert!(is_signed_in(&hub, &cookie).await && is_signed_in(&hub, &other_cookie).await);
        let garbage = get("/logout?id_token_hint=garbage").header("cookie", &cookie);
        assert!(hub.send(&garbage).await.text().contains("Sign out?"));
        // An access token is not an ID token, although the hub signed it.
        let access = json!({"id_token": tokens["access_token"]});
        assert!(hub.send(&with(&access, &[]).header("cookie", &cookie)).await.text().contains("Sign out?"));
        let elsewhere = [
            "https://evil.test/",
            "https://shop.test.evil.test/",
            "https://shop.test@evil.test/",
            "//evil.test",
            "/",
            "javascript:alert(1)",
            "http://shop.test/bye",
            "https://shop.test:8443/bye",
            "https://shop.test\\@evil.test/",
        ];
        for url in elsewhere {
            let answer = hub.send(&with(&tokens, &[("post_logout_redirect_uri", url)]).header("cookie", &cookie)).await;
            assert_eq!(error(&answer, 400), "invalid_request", "{url}");
            assert!(is_signed_in(&hub, &cookie).await, "a refused logout ends no session");
        }
        hub.add_client("other", &GrantType::ALL, None).await;
        let mixed = [("client_id", "other"), ("post_logout_redirect_uri", "https://shop.test/bye")];
        assert_eq!(error(&hub.send(&with(&tokens, &mixed).header("cookie", &cookie)).await, 400), "invalid_request");
        assert!(is_signed_in(&hub, &cookie).await);
        let nameless = get("/logout?post_logout_redirect_uri=https%3A%2F%2Fshop.test%2F").header("cookie", &cookie);
        assert_eq!(error(&hub.send(&nameless).await, 400), "invalid_request");
        let home = [("client_id", CLIENT), ("post_logout_redirect_uri", "https://shop.test/bye?x=1&code=2#/out"), ("state", "a&b")];
        let redirected = hub.send(&with(&tokens, &home).header("cookie", &cookie)).await;
        assert_eq!((redirected.status(), redirected.header("location")), (302, Some("https://shop.test/bye?x=1&code=2&state=a%26b#/out")));
        assert_eq!((redirected.header("cache-control"), redirected.header("referrer-policy")), (Some("no-store"), Some("no-referrer")));
        assert!(redirected.header("set-cookie").unwrap().contains("Max-Age=0"));
        assert!(!is_signed_in(&hub, &cookie).await && is_signed_in(&hub, &other_cookie).await);
        // A browser sends no cookie with a cross-origin POST of the app, so the hint is enough.
        let (posting, granted) = sign_in_and_redeem(&hub).await;
        let hint = [("id_token_hint", granted["id_token"].as_str().unwrap()), ("post_logout_redirect_uri", "https://shop.test/bye")];
        let redirected = hub.send(&posted("/logout", &hint).header("origin", "https://shop.test")).await;
        assert_eq!((redirected.status(), redirected.header("location")), (303, Some("https://shop.test/bye")));
        assert!(!is_signed_in(&hub, &posting).await && is_signed_in(&hub, &other_cookie).await);
        // It ends only that session and clears no other cookie.
        let again = hub.send(&posted("/logout", &hint).header("origin", "https://evil.test").header("cookie", &other_cookie)).await;
        assert_eq!((again.status(), again.header("set-cookie")), (303, None));
        assert!(is_signed_in(&hub, &other_cookie).await);
        // A page of another origin cannot sign out.
        let forged = posted("/logout", &[]).header("cookie", &other_cookie).header("origin", "https://evil.test");
        assert_eq!(hub.send(&forged).await.status(), 403);
        assert!(is_signed_in(&hub, &other_cookie).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_fresh_token_of_a_trusted_client_begins_a_session() {
    // contract I22.4, I9.3, I9.7, attack 15, attack 25
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let tokens = hub.tokens().await;
        let good = tokens["access_token"].as_str().unwrap();
        let ask = |token: &str| posted("/session", &[("access_token", token)]);
        let refused = async |request: Request, status: u16, code: &str| {
            let answer = hub.send(&request).await;
            assert_eq!(error(&answer, status), code);
            assert!(answer.header("set-cookie").is_none());
        };
        // A client without the password grant.
        let secret = hub.add_client("plain", &GrantType::DEFAULT, None).await;
        let session = hub.sign_in().await;
        let redirected = hub.send(&get(&authorize(&verifier(), &[("client_id", "plain")])).header("cookie", &session)).await;
        let code = crate::test_hub::parameter(redirected.header("location").unwrap(), "code");
        let redeemed = posted("/token", &redemption(&code, &verifier())).header("authorization", &basic("plain", &secret));
        let plain = hub.send(&redeemed).await.good();
        refused(ask(plain["access_token"].as_str().unwrap()), 403, "access_denied").await;
        // A client with the password grant, but a family that began with a code.
        let code = hub.code(&verifier(), "openid").await;
        let by_code = hub.redeem(&code, &verifier()).await.good();
        refused(ask(by_code["access_token"].as_str().unwrap()), 403, "access_denied").await;
        let refreshed = hub.token(&refresh_form(&by_code)).await.good();
        refused(ask(refreshed["access_token"].as_str().unwrap()), 403, "access_denied").await;
        // Not an access token.
        refused(ask(session.split_once('=').unwrap().1), 401, "invalid_token").await;
        refused(ask(tokens["id_token"].as_str().unwrap()), 401, "invalid_token").await;
        refused(ask(tokens["refresh_token"].as_str().unwrap()), 401, "invalid_token").await;
        refused(posted("/session", &[]), 400, "invalid_request").await;
        refused(get(&format!("/session?access_token={good}")), 405, "invalid_request").await;
        let in_query = posted(&format!("/session?access_token={good}"), &[]);
        refused(in_query, 400, "invalid_request").await;
        for (name, value) in [("origin", "https://evil.test"), ("origin", "null"), ("sec-fetch-site", "same-site")] {
            refused(ask(good).header(name, value), 403, "invalid_request").await;
        }
        let json = post("/api/o-auth/session", json!({"access_token": good}).to_string()).header("origin", ISSUER);
        let session_answer = hub.send(&json).await;
        assert_eq!((session_answer.status(), session_answer.header("cache-control")), (204, Some("no-store")));
        assert!(is_signed_in(&hub, &cookie(&session_answer)).await);
        let tokens = check_session_age(&hub, &tokens).await;
        let good = tokens["access_token"].as_str().unwrap();
        // The family is revoked.
        let revoke = posted("/revoke", &[("token", good)]).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&revoke).await.status(), 200);
        refused(ask(good), 401, "invalid_token").await;
    }
}

/// Checks that a session from a refreshed token is as old as the first sign-in of its family, and that after five minutes none begins.
async fn check_session_age(hub: &TestHub, tokens: &Value) -> Value {
    let signed_in = async |seconds: i64| {
        let ago = crate::test_hub::now().plus(-seconds);
        hub.records.run("UPDATE peristyle.family SET authenticated_at = $1", &[Bind::timestamp(ago)]).await.unwrap();
        ago
    };
    let ago = signed_in(200).await;
    let next = hub.token(&refresh_form(tokens)).await.good();
    let ask = |tokens: &Value| posted("/session", &[("access_token", tokens["access_token"].as_str().unwrap())]);
    let session = cookie(&hub.send(&ask(&next)).await);
    assert!(is_signed_in(hub, &session).await);
    let location_for = async |more: &[(&str, &str)]| {
        let ask = authorize(&verifier(), &[&[("scope", "openid")], more].concat());
        hub.send(&get(&ask).header("cookie", &session)).await.header("location").unwrap().to_owned()
    };
    assert!(location_for(&[("max_age", "100")]).await.starts_with("/sign-in?"));
    let code = crate::test_hub::parameter(&location_for(&[]).await, "code");
    let redeemed = hub.redeem(&code, &verifier()).await.good();
    assert_eq!(part(&redeemed["id_token"], 1)["auth_time"], ago.unix());

    signed_in(301).await;
    let last = hub.token(&refresh_form(&next)).await.good();
    assert_eq!(error(&hub.send(&ask(&last)).await, 401), "invalid_token");
    // A family from an older version, without `begun_by`.
    signed_in(10).await;
    hub.records.run("UPDATE peristyle.family SET begun_by = NULL", &[]).await.unwrap();
    assert_eq!(error(&hub.send(&ask(&last)).await, 403), "access_denied");
    hub.records.run("UPDATE peristyle.family SET begun_by = 'password'", &[]).await.unwrap();
    assert_eq!(hub.send(&ask(&last)).await.status(), 204);
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_forbid_framing_and_caching() {
    // contract I22.1, attack 38, attack 40
    let hub = TestHub::start(Backend::Sqlite).await;
    let cookie = hub.sign_in().await;
    let browser = |path: &str| get(path).header("cookie", &cookie).header("accept", "text/html");
    for (path, status) in [
        ("/sign-in", 200),
        ("/", 200),
        ("/logout", 200),
        ("/authorize?client_id=nobody", 401),
        ("/password?link=x", 400),
        ("/?a=1&a=2", 400),
    ] {
        let page = hub.send(&browser(path)).await;
        assert_eq!(page.status(), status, "{path}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!((page.header("x-frame-options"), page.header("cache-control")), (Some("DENY"), Some("no-store")), "{path}");
        assert!(page.header("referrer-policy").is_some_and(|policy| ["same-origin", "no-referrer"].contains(&policy)));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    }
}
