//! Sign-in, refresh and logout through a satellite, and attacks on them.

use identity::pkce::Challenge;
use peristyle::config::Binding;
use serde_json::json;

use crate::pair::{NOTES, Pair, get_with_token, post_refresh_token, start_login};
use crate::support::{Request, get, post};
use crate::test_hub::{CLIENT, ISSUER, REDIRECT, cookie, error, parameter};

#[tokio::test(flavor = "multi_thread")]
async fn an_app_signs_in_through_its_satellite_and_queries_with_the_token() {
    // contract I30.1, I30.2, attack 38
    let pair = Pair::start().await;
    for base in ["/auth", "/api/auth"] {
        let answer = pair.satellite.get(&format!("{base}/login?return_to=/orders%3Fpage=2")).await;
        assert_eq!(answer.status(), 302, "{}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let set = answer.header("set-cookie").expect("a cookie");
        assert!(
            set.starts_with("login=") && set.contains("; HttpOnly") && set.contains("; SameSite=Lax") && set.contains("; Path=/"),
            "{set}"
        );
        assert!(set.contains("; Max-Age=600") && !set.contains("Secure"), "{set}");
        let location = answer.header("location").unwrap();
        assert!(location.starts_with(&format!("{ISSUER}/authorize?")), "{location}");
        assert_eq!((parameter(location, "client_id"), parameter(location, "redirect_uri")), (CLIENT.to_owned(), REDIRECT.to_owned()));
        assert!(Challenge::read(Some(&parameter(location, "code_challenge")), Some(&parameter(location, "code_challenge_method"))).is_ok());
        assert_eq!(parameter(location, "state").len(), 43);
        let started = crate::pair::StartedLogin { cookie: cookie(&answer), url: location.to_owned() };
        let returned = pair.sign_in_at_hub(started).await;
        let request = post(&format!("{base}/callback"), returned.body())
            .header("origin", REDIRECT.strip_suffix("/callback").unwrap())
            .header("cookie", &returned.cookie);
        let answer = pair.satellite.send(&request).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let tokens = answer.good();
        assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3600)));
        assert_eq!(tokens["return_to"], "/orders?page=2");
        assert_eq!(pair.post_with_token(NOTES, &tokens["access_token"]).await.good(), json!([{ "id": 1 }]));
        let me = get_with_token(&pair.satellite, &format!("{base}/me"), &tokens["access_token"]).await;
        assert_eq!(me.header("cache-control"), Some("no-store"));
        let me = me.good();
        assert_eq!((&me["username"], &me["id"]), (&json!("ada"), &json!(pair.hub.account.to_string())));
        assert_eq!(pair.satellite.get(&format!("{base}/me")).await.header("www-authenticate"), Some("Bearer"));
    }
}

// contract I30.13
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_names_this_machine_in_another_way_begins_at_app_url() {
    let pair = Pair::start().await;
    let login = "/auth/login?return_to=/docs%23a&prompt=none";
    let begun = async |path: &str, host: &str, accept: &str| {
        let request = get(path).header("host", host).header("accept", accept);
        pair.satellite.send(&request).await.header("location").expect("a redirect").to_owned()
    };
    let moved = format!("http://127.0.0.1:4001{login}");
    for host in ["localhost:4001", "LOCALHOST:4001", "[::1]:4001", "127.0.0.2:4001"] {
        assert_eq!(begun(login, host, "text/html").await, moved, "{host}");
    }
    assert_eq!(begun("/api/auth/login", "localhost:4001", "text/html").await, "http://127.0.0.1:4001/api/auth/login");
    // Another port or another machine may be a proxy that changes the host, and a program keeps its cookies itself.
    for (host, accept) in
        [("127.0.0.1:4001", "text/html"), ("localhost:8080", "text/html"), ("localhost", "text/html"), ("localhost:4001", "*/*")]
    {
        assert!(begun(login, host, accept).await.starts_with(ISSUER), "{host} {accept}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_browser_that_started_a_login_finishes_it_and_only_once() {
    // contract I30.3, attack 16, attack 17
    let pair = Pair::start().await;
    let own = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    let attackers = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    // The code and state of an attacker in the browser of a victim, with the cookie of the victim and without one.
    let posted = |returned: &crate::pair::ReturnedLogin| post("/auth/callback", returned.body()).header("origin", "http://127.0.0.1:4001");
    let refused = pair.satellite.send(&posted(&attackers).header("cookie", &own.cookie)).await;
    assert_eq!(error(&refused, 403), "access_denied");
    assert!(refused.text().contains("cookie"), "{}", refused.text());
    // The attempt used up the state.
    assert_eq!(error(&pair.satellite.send(&attackers.request()).await, 400), "invalid_request");
    let another = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    let site = post("/auth/callback", another.body()).header("sec-fetch-site", "same-origin");
    assert_eq!(error(&pair.satellite.send(&site).await, 403), "access_denied");
    // A page of another origin cannot post.
    for (name, value) in [("origin", "https://evil.test"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        let request = post("/auth/callback", own.body()).header("cookie", &own.cookie).header(name, value);
        assert_eq!(error(&pair.satellite.send(&request).await, 403), "invalid_request", "{name}: {value}");
    }
    // Of two cookies with one name, an attacker may have set one.
    let two = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    let tossed = format!("{}; {}", own.cookie, two.cookie);
    assert_eq!(error(&pair.satellite.send(&two.request().header("cookie", &tossed)).await, 403), "access_denied");
    pair.satellite.send(&own.request()).await.good();
    assert_eq!(error(&pair.satellite.send(&own.request()).await, 400), "invalid_request");
    // A program needs no cookie.
    let program = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    pair.satellite.send(&post("/auth/callback", program.body())).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_share_the_login_cookie_and_the_binding_can_be_turned_off() {
    // contract I30.3
    let pair = Pair::with(|setup| {
        if let Some(settings) = &mut setup.satellite {
            settings.binding = Binding::Off;
        }
    })
    .await;
    let first = pair.start_login("/auth/login").await;
    let second = pair.satellite.send(&get("/auth/login").header("cookie", &first.cookie)).await;
    assert_eq!(cookie(&second), first.cookie);
    let returned = pair.sign_in_at_hub(first).await;
    let request = post("/auth/callback", returned.body()).header("origin", "http://127.0.0.1:4001");
    pair.satellite.send(&request).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn posted_bodies_are_parsed_strictly() {
    // contract I30.4, attack 47
    let pair = Pair::start().await;
    let send = async |request: Request| pair.satellite.send(&request).await;
    for (body, word) in [
        ("", "JSON"),
        ("[]", "JSON"),
        ("{", "JSON"),
        (r#"{"code":"a","code":"b","state":"c"}"#, "unique"),
        (r#"{"code":"a"}"#, "state is missing"),
        (r#"{"state":"a"}"#, "code is missing"),
        (r#"{"code":"","state":"a"}"#, "code is missing"),
        (r#"{"code":1,"state":"a"}"#, "must be strings"),
        (r#"{"code":"a","state":["b"]}"#, "must be strings"),
        (r#"{"code":"a","state":"b","verifier":"c"}"#, "unknown member"),
        (r#"{"code":"a","state":"b"}"#, "state: the login is unknown"),
    ] {
        let answer = send(post("/auth/callback", body)).await;
        assert_eq!(error(&answer, 400), "invalid_request", "{body}");
        assert!(answer.text().contains(word), "{body}: {}", answer.text());
    }
    for path in ["/auth/refresh", "/auth/logout"] {
        for body in ["", "{}", r#"{"refresh_token":7}"#, r#"{"refresh_token":"a","x":"b"}"#] {
            assert_eq!(error(&send(post(path, body)).await, 400), "invalid_request", "{path} {body}");
        }
    }
    for path in ["/auth/callback", "/auth/refresh", "/auth/logout", "/api/auth/callback"] {
        let answer = send(get(path)).await;
        assert_eq!((answer.status(), answer.header("allow")), (405, Some("POST")), "{path}");
        let form = Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body("code=a&state=b");
        let refused = send(form).await;
        assert_eq!(refused.status(), 415, "{path}");
        assert!(refused.text().contains("found application/x-www-form-urlencoded"), "{}", refused.text());
        assert_eq!(send(post(path, format!(r#"{{"code":"{}"}}"#, "a".repeat(70_000)))).await.status(), 413, "{path}");
    }
    let answer = send(post("/auth/login", "")).await;
    assert_eq!((answer.status(), answer.header("allow")), (405, Some("GET")));
    assert_eq!(error(&pair.satellite.get("/auth/login?return_to=/a&return_to=/b").await, 400), "invalid_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_return_path_of_a_login_stays_in_the_app() {
    // contract I30.1
    let pair = Pair::start().await;
    for elsewhere in ["//evil.test", "https://evil.test", "/%5Cevil.test", "javascript:alert(1)", ""] {
        let returned = pair.sign_in_at_hub(pair.start_login(&format!("/auth/login?return_to={elsewhere}")).await).await;
        assert_eq!(pair.satellite.send(&returned.request()).await.good()["return_to"], "/", "{elsewhere}");
    }
    for own in ["/a%20b", "/%C3%A4/@me;y=1", "/#/orders", "/o/2026-01-01T00:00"] {
        let returned = pair.sign_in_at_hub(pair.start_login(&format!("/auth/login?return_to={}", identity::form::encode(own))).await).await;
        assert_eq!(pair.satellite.send(&returned.request()).await.good()["return_to"], own);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_with_another_issuer_gets_400() {
    // contract I30.4, attack 10
    let pair = Pair::start().await;
    let send = async |issuer: &str| {
        let returned = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
        let body = json!({ "code": returned.code, "state": returned.state, "iss": issuer }).to_string();
        pair.satellite.send(&post("/auth/callback", body)).await
    };
    send(ISSUER).await.good();
    send("").await.good();
    let answer = send("https://evil.test").await;
    assert_eq!(error(&answer, 400), "invalid_request");
    assert!(answer.text().contains("iss"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_another_login_is_invalid_grant_and_a_wrong_secret_is_invalid_client() {
    // contract I30.5, attack 1
    let pair = Pair::start().await;
    let one = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    let other = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    let injected = json!({ "code": other.code, "state": one.state }).to_string();
    assert_eq!(error(&pair.satellite.send(&post("/auth/callback", injected)).await, 400), "invalid_grant");
    let mut setup = crate::pair::setup(crate::pair::settings(pair.proxy.address, "another-secret"));
    setup.app_url = None;
    let wrong_secret = setup.serve(&pair.database).await;
    let returned = pair.sign_in_at_hub(start_login(&wrong_secret, "/auth/login").await).await;
    assert_eq!(error(&wrong_secret.send(&post("/auth/callback", returned.body())).await, 401), "invalid_client");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlong_code_or_token_is_treated_as_unknown() {
    // contract I30.5
    let pair = Pair::start().await;
    for long in ["%".repeat(60_000), "x".repeat(4_097)] {
        let returned = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
        let body = json!({ "code": long, "state": returned.state }).to_string();
        assert_eq!(error(&pair.satellite.send(&post("/auth/callback", body)).await, 400), "invalid_grant");
        let body = json!({ "refresh_token": long }).to_string();
        assert_eq!(error(&pair.satellite.send(&post("/auth/refresh", body.clone())).await, 400), "invalid_grant");
        pair.satellite.send(&post("/auth/logout", body)).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_is_rotated_and_revoked_at_logout() {
    // contract I30.6, I30.7
    let pair = Pair::start().await;
    let session = pair.hub.sign_in().await;
    let started = pair.start_login("/auth/login").await;
    let redirected = pair.hub.send(&get(started.url.strip_prefix(ISSUER).unwrap()).header("cookie", &session)).await;
    let location = redirected.header("location").unwrap();
    let body = json!({ "code": parameter(location, "code"), "state": parameter(location, "state") }).to_string();
    let tokens = pair.satellite.send(&post("/auth/callback", body)).await.good();
    let post_token = async |path: &str, token: &serde_json::Value| pair.satellite.send(&post_refresh_token(path, token)).await;
    let answer = post_token("/auth/refresh", &tokens["refresh_token"]).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let next = answer.good();
    assert_ne!(next["refresh_token"], tokens["refresh_token"]);
    assert_eq!(error(&post_token("/auth/refresh", &json!("nonsense")).await, 400), "invalid_grant");
    for token in [&tokens["access_token"], &next["access_token"]] {
        pair.post_with_token(NOTES, token).await.good();
    }
    let answer = post_token("/auth/logout", &next["refresh_token"]).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let logout_url = answer.good()["logout_url"].as_str().unwrap().to_owned();
    // The logout revokes all tokens of the login and ends the session at the hub.
    for token in [&tokens["access_token"], &next["access_token"]] {
        assert_eq!(pair.post_with_token(NOTES, token).await.problem(401)["code"], "INVALID_TOKEN");
    }
    assert_eq!(error(&post_token("/auth/refresh", &next["refresh_token"]).await, 400), "invalid_grant");
    let again = pair.start_login("/auth/login").await;
    let redirected = pair.hub.send(&get(again.url.strip_prefix(ISSUER).unwrap()).header("cookie", &session)).await;
    assert!(redirected.header("location").is_some_and(|to| to.starts_with("/sign-in")), "{:?}", redirected.head);
    // logout_url clears the cookie of the hub and redirects to the app.
    let redirected = pair.hub.send(&get(logout_url.strip_prefix(ISSUER).unwrap()).header("cookie", &session)).await;
    assert_eq!((redirected.status(), redirected.header("location")), (302, Some("https://shop.test/")), "{}", redirected.text());
    // A repeated logout succeeds.
    post_token("/auth/logout", &next["refresh_token"]).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn under_https_the_login_cookie_is_secure_and_has_the_host_prefix() {
    // contract I30.1, attack 42
    let pair = Pair::with(|setup| setup.app_url = Some("https://shop-api.test".to_owned())).await;
    let set = pair.satellite.get("/auth/login").await;
    let set = set.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-login=") && set.contains("; Secure") && set.contains("; Path=/") && !set.contains("Domain"), "{set}");
    let returned = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    pair.satellite.send(&returned.request().header("origin", "https://shop-api.test")).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_a_listed_cors_origin_can_finish_a_login() {
    // contract I30.8, attack 48
    let pair = Pair::with(|setup| setup.cors = vec!["https://app.test".to_owned()]).await;
    let preflight = Request::new("OPTIONS", "/auth/callback")
        .header("origin", "https://app.test")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    let answer = pair.satellite.send(&preflight).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.test"));
    assert_eq!(answer.header("access-control-allow-credentials"), Some("true"));
    let foreign = pair.satellite.send(&preflight.header("origin", "https://evil.test")).await;
    assert_eq!(foreign.header("access-control-allow-origin"), None);
    let returned = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    let request = returned.request().header("origin", "https://app.test").header("sec-fetch-site", "same-site");
    let answer = pair.satellite.send(&request).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.test"));
    answer.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_cookie_is_secure_behind_a_trusted_https_proxy() {
    // contract B1.5, I30.3
    let https = |request: Request| request.header("x-forwarded-proto", "https");
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]).await;
    let answer = pair.satellite.send(&https(get("/auth/login"))).await;
    let set = answer.header("set-cookie").expect("a cookie");
    assert!(set.starts_with("__Host-login=") && set.ends_with("; Secure"), "{set}");
    let started = crate::pair::StartedLogin { cookie: cookie(&answer), url: answer.header("location").unwrap().to_owned() };
    let returned = pair.sign_in_at_hub(started).await;
    pair.satellite.send(&https(returned.request())).await.good();
    for request in [get("/auth/login"), get("/auth/login").header("x-forwarded-proto", "https, http")] {
        let answer = pair.satellite.send(&request).await;
        assert!(answer.header("set-cookie").is_some_and(|set| set.starts_with("login=") && !set.contains("Secure")));
    }
    // The satellite ignores the header of an untrusted proxy.
    let untrusting = Pair::start().await;
    let answer = untrusting.satellite.send(&https(get("/auth/login"))).await;
    assert!(answer.header("set-cookie").is_some_and(|set| set.starts_with("login=") && !set.contains("Secure")));
}
