//! Ambiguous requests: similar redirect URIs and return paths, unusual encodings of credentials, wrong methods and media types.

use identity::client::GrantType;

use crate::support::{BACKENDS, Backend, Request, get};
use crate::test_hub::{
    CLIENT, ISSUER, PASSWORD, REDIRECT, TestHub, authorize, basic, error, parameter, password_form, posted, redemption, verifier,
};

#[tokio::test(flavor = "multi_thread")]
async fn authorize_redirects_only_to_the_registered_redirect_uri() {
    // contract I21.2, attack 11, attack 14
    let hub = TestHub::start(Backend::Sqlite).await;
    let cookie = hub.sign_in().await;
    for url in [
        "https://shop.test/callback/",
        "https://shop.test/callbac",
        "https://shop.test/callback/..",
        "https://shop.test/callback/../callback",
        "https://shop.test//callback",
        "https://shop.test/%63allback",
        "https://shop.test/callback%2e",
        "https://shop.test/callback#x",
        "https://shop.test/callback?",
        "https://shop.test/callback?x=1",
        "https://shop.test:443/callback",
        "https://SHOP.test/callback",
        "HTTPS://shop.test/callback",
        "http://shop.test/callback",
        "https://shop.test@evil.test/callback",
        "https://evil.test/https://shop.test/callback",
        "https://shop.test.evil.test/callback",
        "https://shop.test./callback",
        "https://shöp.test/callback",
        "https://shop.test\\@evil.test/callback",
        "https://shop.test/callback\r\nx: y",
        " https://shop.test/callback",
        "https://shop.test/callback ",
        "//shop.test/callback",
        "/callback",
        "javascript:alert(1)",
    ] {
        for more in [[("redirect_uri", url), ("prompt", "")], [("redirect_uri", url), ("prompt", "none")]] {
            // With and without a session.
            for request in [get(&authorize(&verifier(), &more)), get(&authorize(&verifier(), &more)).header("cookie", &cookie)] {
                let answer = hub.send(&request).await;
                assert_eq!(error(&answer, 400), "invalid_request", "{url}");
                assert!(answer.header("location").is_none());
            }
        }
    }
    let exact = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", &cookie)).await;
    assert!(exact.header("location").unwrap().starts_with(REDIRECT));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_redirect_to_a_client_carries_iss_and_state() {
    // attack 10, contract I1.2
    let hub = TestHub::start(Backend::Sqlite).await;
    let cookie = hub.sign_in().await;
    let none = hub.send(&get(&authorize(&verifier(), &[("prompt", "none")]))).await;
    let granted = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", &cookie)).await;
    for answer in [none, granted] {
        let url = answer.header("location").unwrap();
        assert_eq!((parameter(url, "iss").as_str(), parameter(url, "state").as_str()), (ISSUER, "s-1"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn max_age_and_prompt_require_a_new_sign_in_and_auth_time_tells_its_time() {
    // contract I21.1
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let cookie = hub.sign_in().await;
        let ask = |more: &[(&str, &str)]| get(&authorize(&verifier(), more)).header("cookie", &cookie);
        let long_ago = crate::test_hub::now().plus(-600);
        let older = "UPDATE peristyle.session SET authenticated_at = $1";
        hub.records.run(older, &[store::hub_records::Bind::timestamp(long_ago)]).await.unwrap();
        for (more, needs_sign_in) in
            [(("max_age", "60"), true), (("max_age", "6000"), false), (("prompt", "login"), true), (("prompt", "consent"), false)]
        {
            let answer = hub.send(&ask(&[more])).await;
            assert_eq!(answer.header("location").unwrap().starts_with("/sign-in"), needs_sign_in, "{more:?}");
        }
        let silent = hub.send(&ask(&[("max_age", "60"), ("prompt", "none")])).await;
        assert_eq!(parameter(silent.header("location").unwrap(), "error"), "login_required");
        for more in [("prompt", "none login"), ("prompt", "dance"), ("max_age", "-1"), ("max_age", "soon")] {
            assert_eq!(error(&hub.send(&ask(&[more])).await, 400), "invalid_request", "{more:?}");
        }
        let granted = hub.send(&ask(&[("scope", "openid"), ("nonce", "n-2")])).await;
        let code = parameter(granted.header("location").unwrap(), "code");
        let claims = crate::test_hub::part(&hub.redeem(&code, &verifier()).await.good()["id_token"], 1);
        assert_eq!((&claims["auth_time"], &claims["nonce"]), (&long_ago.unix().into(), &"n-2".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_return_path_stays_on_the_hub() {
    // contract I10.1, attack 13
    let hub = TestHub::start(Backend::Sqlite).await;
    for to in [
        "https://evil.test/",
        "http:evil.test",
        "//evil.test/",
        "///evil.test",
        "/\\evil.test",
        "\\\\evil.test",
        "/%5cevil.test",
        "/%2f/evil.test",
        "%2f%2fevil.test",
        "/\t/evil.test",
        "/\n/evil.test",
        " //evil.test",
        "/.//evil.test",
        "/..//evil.test",
        "/authorize@evil.test",
        "/authorize\\..\\\\evil.test",
        "@evil.test",
        "data:text/html,x",
        "JaVaScRiPt:alert(1)",
        "authorize",
        "?continue=/",
    ] {
        let page = hub.send(&get(&format!("/sign-in?{}", identity::form::write([("continue", to)])))).await;
        assert!(page.text().contains("name=\"continue\" value=\"/\""), "{to}: {}", page.text());
        let answer = hub.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD), ("continue", to)])).await;
        assert_eq!((answer.status(), answer.header("location")), (303, Some("/")), "{to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_credentials_are_accepted_in_one_form_only() {
    // contract I8.2, attack 29, attack 30
    let hub = TestHub::start(Backend::Sqlite).await;
    let odd = "a:b+c%41@d";
    let secret = hub.add_client(odd, &GrantType::ALL, None).await;
    let password = password_form("ada");
    let ask = |authorization: &str| posted("/token", &password).header("authorization", authorization);
    hub.send(&ask(&basic(odd, &secret))).await.good();
    // Without form encoding the colon would end the id, and the plus would be a space.
    let plain = |text: String| format!("Basic {}", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text));
    assert_eq!(error(&hub.send(&ask(&plain(format!("{odd}:{secret}")))).await, 401), "invalid_client");
    for header in ["Basic", "Basic ", "Basic AA==", "Basic ÿ", "basic!", &plain("no colon".to_owned()), &plain("%zz:x".to_owned())] {
        let answer = hub.send(&ask(header)).await;
        assert_eq!(error(&answer, 401), "invalid_client", "{header}");
        assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Basic")));
    }
    let good = basic(CLIENT, &hub.secret);
    let twice = ask(&good).add_header("authorization", &good);
    assert_eq!(error(&hub.send(&twice).await, 400), "invalid_request");
    let in_both = posted("/token", &[&password[..], &[("client_id", CLIENT), ("client_secret", &hub.secret)]].concat());
    assert_eq!(error(&hub.send(&in_both.header("authorization", &good)).await, 400), "invalid_request");
    let another = posted("/token", &[&password[..], &[("client_id", odd)]].concat()).header("authorization", &good);
    assert_eq!(error(&hub.send(&another).await, 400), "invalid_request");
    let passed_over = posted("/token?foo=1", &password).header("authorization", &good);
    hub.send(&passed_over).await.good();
    let scoped = posted("/token?scope=openid", &password).header("authorization", &good);
    assert_eq!(error(&hub.send(&scoped).await, 400), "invalid_request");
    for endpoint in ["token", "revoke", "introspect", "api/o-auth/token"] {
        let url = format!("/{endpoint}?client_id={CLIENT}&client_secret={}", hub.secret);
        assert_eq!(error(&hub.send(&posted(&url, &[("token", "x")])).await, 400), "invalid_request", "{endpoint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_stored_as_a_hash_and_needs_its_verifier() {
    // contract I3.1, attack 4, attack 6, attack 9
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let (code, other) = (hub.code(&verifier(), "openid").await, hub.code(&verifier(), "openid").await);
        assert!(code.len() >= 43 && code != other);
        let stored = "SELECT count(*) FROM peristyle.code WHERE hash = $1";
        let plain = hub.records.run(stored, &[store::hub_records::Bind::Bytes(code.as_bytes())]).await.unwrap();
        assert_eq!(plain[0].number(0).unwrap(), 0);
        let own = verifier();
        let whole = redemption(&code, &own);
        // Faulty redemptions do not use up the code.
        for missing in ["code_verifier", "redirect_uri"] {
            let pairs: Vec<(&str, &str)> = whole.iter().filter(|(name, _)| *name != missing).copied().collect();
            assert_eq!(error(&hub.token(&pairs).await, 400), "invalid_request", "{missing}");
        }
        let wrong_secret = posted("/token", &redemption(&code, &verifier())).header("authorization", &basic(CLIENT, "wrong"));
        assert_eq!(error(&hub.send(&wrong_secret).await, 401), "invalid_client");
        let mut elsewhere = whole;
        elsewhere[2].1 = "https://shop.test/other";
        assert_eq!(error(&hub.token(&elsewhere).await, 400), "invalid_grant");
        let tokens = hub.redeem(&code, &verifier()).await.good();
        // A replay with a wrong secret revokes nothing.
        assert_eq!(error(&hub.send(&wrong_secret).await, 401), "invalid_client");
        let me = get("/api/iam/me").header("authorization", &crate::test_hub::bearer(&tokens["access_token"]));
        assert_eq!(hub.send(&me).await.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_endpoint_accepts_only_its_methods_and_media_types() {
    // contract I20.5, attack 47
    let hub = TestHub::start(Backend::Sqlite).await;
    for (path, allowed) in [
        ("/token", "POST"),
        ("/revoke", "POST"),
        ("/introspect", "POST"),
        ("/session", "POST"),
        ("/authorize", "GET, POST"),
        ("/sign-in", "GET, POST"),
        ("/logout", "GET, POST"),
        ("/password", "GET, POST"),
    ] {
        for method in ["PUT", "DELETE", "PATCH"] {
            let answer = hub.send(&Request::new(method, path)).await;
            assert_eq!((answer.status(), answer.header("allow")), (405, Some(allowed)), "{method} {path}");
        }
    }
    for path in ["/token", "/revoke", "/introspect", "/session", "/sign-in", "/logout", "/authorize"] {
        let strange = Request::new("POST", path).header("content-type", "multipart/form-data; boundary=x").body("--x--");
        assert_eq!(hub.send(&strange).await.status(), 415, "{path}");
        let twice = posted(path, &[("token", "a"), ("token", "b")]);
        assert_eq!(hub.send(&twice).await.status(), 400, "{path}");
        let large = posted(path, &[("token", &"x".repeat(70_000))]);
        assert_eq!(hub.send(&large).await.status(), 413, "{path}");
        let doubled = crate::support::post(path, "{\"token\":\"a\",\"token\":\"b\"}");
        assert_eq!(hub.send(&doubled).await.status(), 400, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cors_lets_no_unlisted_origin_read_a_token() {
    // attack 48, contract I21.2
    let mut setup = crate::test_hub::setup();
    setup.cors = vec!["https://app.test".to_owned()];
    let hub = TestHub::with(Backend::Sqlite, &setup).await;
    let password = password_form("ada");
    let token = hub.tokens().await["access_token"].as_str().unwrap().to_owned();
    let shown = [("access_token", token.as_str()), ("token", token.as_str())];
    let client = basic(CLIENT, &hub.secret);
    for (path, pairs, status) in [
        ("/token", &password[..], 200),
        ("/api/o-auth/token", &password[..], 200),
        ("/session", &shown[..1], 403),
        ("/introspect", &shown[1..], 200),
    ] {
        let ask = async |origin: &str| hub.send(&posted(path, pairs).header("authorization", &client).header("origin", origin)).await;
        let answer = ask("https://evil.test").await;
        assert_eq!(answer.status(), status, "{path}: {}", answer.text());
        assert!(answer.header("access-control-allow-origin").is_none(), "{path}");
        assert_eq!(ask("https://app.test").await.header("access-control-allow-origin"), Some("https://app.test"), "{path}");
        let preflight = |origin| Request::new("OPTIONS", path).header("origin", origin).header("access-control-request-method", "POST");
        assert!(hub.send(&preflight("https://evil.test")).await.header("access-control-allow-origin").is_none(), "{path}");
        assert!(hub.send(&preflight("https://app.test")).await.header("access-control-allow-origin").is_some(), "{path}");
    }
}
