//! A satellite of a hub with wrong, slow, malicious or missing answers.

use std::time::Duration;

use futures_util::future::join_all;
use identity::keys::KeySet;
use identity::timestamp::Timestamp;
use identity::token::{AccessClaims, Claims, RegisteredClaims, sign};
use serde_json::{Value, json};

use crate::fake_hub::{FakeAnswer, FakeHub, GRAPHQL, KEYS, TOKEN, account_answer, other_key};
use crate::pair::{NOTES, OPEN, database, get_with_token, post_with_token, settings, setup, start_login};
use crate::support::{Database, Server, Setup, post, until};
use crate::test_hub::{error, now, parameter};

async fn satellite_of(hub: &FakeHub) -> (Server, Database) {
    serve(&setup(settings(hub.address, "secret"))).await
}

async fn serve(setup: &Setup) -> (Server, Database) {
    let database = database().await;
    (setup.serve(&database).await, database)
}

async fn status(satellite: &Server, token: &Value) -> u16 {
    post_with_token(satellite, NOTES, token).await.status()
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_requests_with_one_token_look_its_account_up_once() {
    // contract I31.4, attack 44, attack 45
    let hub = FakeHub::start().await;
    hub.set_answer(GRAPHQL, FakeAnswer::json(&account_answer(&hub.account_row())).after(Duration::from_millis(300)));
    let (satellite, _database) = satellite_of(&hub).await;
    let token = hub.token();
    let answers = join_all((0..20).map(|_| status(&satellite, &token))).await;
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    assert_eq!(hub.requests_to(GRAPHQL), 1);
    assert_eq!(status(&satellite, &token).await, 200);
    assert_eq!(hub.requests_to(GRAPHQL), 1);
    // The cache is per token, not per account.
    assert_eq!(status(&satellite, &hub.token()).await, 200);
    assert_eq!((hub.requests_to(GRAPHQL), hub.requests_to(KEYS)), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_with_a_just_rotated_token_takes_effect_at_once() {
    // contract I30.7
    let hub = FakeHub::start().await;
    let (first, second) = (hub.token(), hub.token());
    hub.set_answer(TOKEN, FakeAnswer::json(&json!({ "access_token": second, "refresh_token": "next", "expires_in": 3600 })));
    // The hub reports a used token as inactive, and this one has no change feed.
    hub.set_answer("/introspect", FakeAnswer::json(&json!({ "active": false })));
    hub.set_answer("/revoke", FakeAnswer::text(200, ""));
    let (satellite, _database) = satellite_of(&hub).await;
    let post_token = async |path: &str, token: &str| satellite.send(&post(path, json!({ "refresh_token": token }).to_string())).await;
    post_token("/auth/refresh", "before").await.good();
    assert_eq!((status(&satellite, &first).await, status(&satellite, &second).await), (200, 200));
    post_token("/auth/logout", "invented").await.good();
    assert_eq!((status(&satellite, &first).await, status(&satellite, &second).await), (200, 200));
    assert_eq!(hub.requests_to(GRAPHQL), 2, "a made-up token drops nothing from the cache");
    post_token("/auth/logout", "before").await.good();
    hub.set_answer(GRAPHQL, FakeAnswer::text(401, "{}"));
    assert!(status(&satellite, &first).await != 200 && status(&satellite, &second).await != 200);
    assert_eq!(hub.requests_to(GRAPHQL), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tokens_with_unknown_keys_cause_one_request_to_the_hub() {
    // contract I31.5, attack 22
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let before = hub.requests_to(KEYS);
    let unknown_key = other_key();
    let tokens: Vec<Value> = (0..30).map(|_| sign(&hub.claims(), &unknown_key).unwrap().into()).collect();
    let answers = join_all(tokens.iter().map(|token| status(&satellite, token))).await;
    assert!(answers.iter().all(|status| *status == 401), "{answers:?}");
    assert_eq!(status(&satellite, &tokens[0]).await, 401);
    assert_eq!(hub.requests_to(KEYS) - before, 1);
    assert_eq!(hub.requests_to(GRAPHQL), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_fetched_with_its_first_token() {
    // contract I31.5
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let next = other_key();
    hub.set_answer(KEYS, FakeAnswer::json(&KeySet::new(vec![hub.key.public().clone(), next.public().clone()]).unwrap().to_json()));
    let token: Value = sign(&hub.claims(), &next).unwrap().into();
    assert_eq!(status(&satellite, &token).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_key_set_does_not_replace_the_last_valid_one() {
    // contract I31.6, attack 23
    let hub = FakeHub::start().await;
    let unknown_key = other_key();
    let theirs = unknown_key.public().to_jwk();
    let mut private = theirs.clone();
    private["d"] = json!("AQAB");
    let mut twin = theirs.clone();
    twin["kid"] = hub.key.public().id().as_str().into();
    let mut weak = theirs.clone();
    weak["e"] = json!("AQ");
    let own = hub.key.public().to_jwk();
    let set = |keys: &[&Value]| FakeAnswer::json(&json!({ "keys": keys }));
    let elsewhere = FakeHub::start().await;
    elsewhere.set_answer(KEYS, set(&[&own, &theirs]));
    let moved = format!("http://{}{KEYS}", elsewhere.address);
    let mut redirect = FakeAnswer::text(302, "");
    redirect.headers.push(("location", moved));
    for (what, hub_answer) in [
        ("no JSON", FakeAnswer::text(200, "<html>")),
        ("an error", FakeAnswer::text(500, "{}")),
        ("a redirect", redirect),
        ("too large", FakeAnswer::text(200, &format!("{{\"keys\":[{own},{theirs}],\"x\":\"{}\"}}", "x".repeat(70_000)))),
        ("a private key alone", set(&[&private])),
        ("a symmetric key alone", set(&[&json!({ "kty": "oct", "kid": "k", "k": "AAAA" })])),
        ("one key id twice", set(&[&own, &theirs, &twin])),
        ("a trivial exponent alone", set(&[&weak])),
        ("nothing", set(&[])),
    ] {
        hub.set_answer(KEYS, FakeAnswer::json(&hub.key_set().to_json()));
        let (satellite, _database) = satellite_of(&hub).await;
        hub.set_answer(KEYS, hub_answer);
        let forged: Value = sign(&hub.claims(), &unknown_key).unwrap().into();
        // The satellite cannot get the current keys, so it cannot judge the token.
        assert_eq!(status(&satellite, &forged).await, 503, "{what}");
        assert_eq!(status(&satellite, &hub.token()).await, 200, "{what}: the last valid set is still used");
    }
    assert_eq!(elsewhere.requests_to(KEYS), 0);
    // One invalid key is ignored, and the other keys of the set are used.
    for invalid in [private, weak, json!({ "kty": "oct", "kid": "k", "k": "AAAA" }), json!(1)] {
        let next = other_key();
        hub.set_answer(KEYS, FakeAnswer::json(&hub.key_set().to_json()));
        let (satellite, _database) = satellite_of(&hub).await;
        hub.set_answer(KEYS, set(&[&invalid, &own, &next.public().to_jwk()]));
        assert_eq!(status(&satellite, &sign(&hub.claims(), &next).unwrap().into()).await, 200, "a new key is learned beside {invalid}");
        assert_eq!(status(&satellite, &hub.token()).await, 200, "{invalid}");
        assert_eq!(status(&satellite, &sign(&hub.claims(), &unknown_key).unwrap().into()).await, 401, "{invalid}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_token_gets_401_everywhere() {
    // contract I31.7, attack 18, attack 19, attack 20, attack 21, attack 25, attack 26, attack 27
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let good = hub.token();
    let text = good.as_str().unwrap();
    let parts: Vec<&str> = text.split('.').collect();
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let kid = hub.key.public().id().as_str();
    let headed = |header: Value| format!("{}.{}.{}", encode(&header), parts[1], parts[2]);
    let payload: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let claimed = |name: &str, value: Value| {
        let mut changed = payload.clone();
        changed[name] = value;
        format!("{}.{}.{}", parts[0], encode(&changed), parts[2])
    };
    let changed = |change: &dyn Fn(&mut AccessClaims)| {
        let mut claims = hub.claims();
        change(&mut claims);
        sign(&claims, &hub.key).unwrap()
    };
    let at = |seconds: i64| Timestamp::from_unix(now().unix() + seconds);
    let tokens = [
        ("no algorithm", headed(json!({ "alg": "none", "typ": "at+jwt", "kid": kid }))),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("a symmetric algorithm", headed(json!({ "alg": "HS256", "typ": "at+jwt", "kid": kid }))),
        ("a key of its own", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "k", "jwk": other_key().public().to_jwk() }))),
        ("a key elsewhere", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "k", "jku": format!("http://{}{KEYS}", hub.address) }))),
        ("a path for a key", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "../../etc/passwd" }))),
        ("a long key", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "k".repeat(3000) }))),
        ("a list for a key", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": [kid] }))),
        ("an extension", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": kid, "crit": ["x"] }))),
        ("another payload", claimed("sub", json!("00000000-0000-4000-8000-000000000000"))),
        ("a cookie", headed(json!({ "alg": "RS256", "typ": "hub-session+jwt", "kid": kid }))),
        ("trailing data", format!("{text}.x")),
        ("padding", format!("{text}=")),
        ("another issuer", changed(&|claims| claims.common.issuer = "http://hub.test/".to_owned())),
        ("another satellite", changed(&|claims| claims.common.audiences = vec!["other".to_owned(), "http://hub.test".to_owned()])),
        ("expired", changed(&|claims| (claims.common.issued_at, claims.common.expires_at) = (at(-3600), at(-60)))),
        ("not yet", changed(&|claims| (claims.common.issued_at, claims.common.expires_at) = (at(300), at(3600)))),
        ("for ever", changed(&|claims| claims.common.expires_at = at(10 * 365 * 86_400))),
    ];
    for (what, token) in tokens {
        for path in [NOTES, OPEN] {
            let answer = post_with_token(&satellite, path, &token.clone().into()).await;
            assert_eq!(answer.header("www-authenticate"), Some("Bearer error=\"invalid_token\""), "{what} at {path}: {}", answer.text());
            answer.problem(401);
        }
    }
    // attack 37: the satellite ignores a token in the query
    assert_eq!(post(&format!("{NOTES}?access_token={text}"), "").send(satellite.address).await.status(), 401);
    assert_eq!(hub.requests_to(GRAPHQL), 0);
    assert_eq!(status(&satellite, &good).await, 200);
    // Clocks may differ by a few seconds.
    let skewed = changed(&|claims| (claims.common.issued_at, claims.common.expires_at) = (at(20), at(3600)));
    assert_eq!(status(&satellite, &skewed.into()).await, 200);
    let just_over = changed(&|claims| (claims.common.issued_at, claims.common.expires_at) = (at(-3600), at(-10)));
    assert_eq!(status(&satellite, &just_over.into()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_needs_only_the_required_claims() {
    // contract I31.7
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let now = now().unix();
    let least = json!({ "iss": "http://hub.test", "sub": hub.account.to_string(), "aud": "shop", "exp": now + 600 });
    let with = |more: Value| {
        let mut claims = least.clone();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    };
    for (what, claims, expected) in [
        ("only the required claims", least.clone(), 200),
        ("ids that are not UUIDs", with(json!({ "jti": "t-1", "sid": "s-1", "client_id": "https://shop.test/id" })), 200),
        ("fractions", with(json!({ "exp": now as f64 + 600.5, "iat": now as f64 - 1.5, "nbf": now as f64 })), 200),
        ("an empty id", with(json!({ "jti": "" })), 401),
        ("an id that is not a string", with(json!({ "sid": 7 })), 401),
        ("no subject", with(json!({ "sub": null })), 401),
        ("no expiry", with(json!({ "exp": null })), 401),
    ] {
        let token = sign(&RawClaims(claims), &hub.key).unwrap().into();
        assert_eq!(status(&satellite, &token).await, expected, "{what}");
    }
}

/// Exactly these claims.
struct RawClaims(Value);

impl Claims for RawClaims {
    const TYPE: &'static str = "application/at+JWT";

    fn write(&self) -> serde_json::Map<String, Value> {
        self.0.as_object().cloned().unwrap_or_default()
    }

    fn read(_: RegisteredClaims, _: &serde_json::Map<String, Value>) -> Option<Self> {
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_configured_audiences_are_accepted() {
    // contract I31.7
    let hub = FakeHub::start().await;
    let mut setup = setup(settings(hub.address, "secret"));
    if let Some(settings) = &mut setup.satellite {
        settings.audiences = vec!["sibling".to_owned()];
    }
    let (satellite, _database) = serve(&setup).await;
    for (audience, expected) in [("sibling", 200), ("shop", 200), ("stranger", 401)] {
        let mut claims = hub.claims();
        claims.common.audiences = vec![audience.to_owned()];
        assert_eq!(status(&satellite, &sign(&claims, &hub.key).unwrap().into()).await, expected, "{audience}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_active_account_with_the_id_of_the_token_is_accepted() {
    // contract I31.8, attack 45
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let row = |name: &str, value: Value| {
        let mut row = hub.account_row();
        row[name] = value;
        FakeAnswer::json(&account_answer(&row))
    };
    let refusal = json!({ "data": null, "errors": [{ "message": "no", "extensions": { "code": "UNAUTHENTICATED" } }] });
    let least = json!({ "id": hub.account.to_string(), "dPermissions": { "all": ["shop.note.get"] } });
    for (what, hub_answer, expected) in [
        ("only the required fields", FakeAnswer::json(&account_answer(&least)), 200),
        ("isActive is null", row("isActive", Value::Null), 401),
        ("another account", row("id", json!("00000000-0000-4000-8000-00000000000a")), 401),
        ("not active", row("isActive", json!(false)), 401),
        ("isActive is a string", row("isActive", json!("true")), 401),
        ("removed", row("deletedAt", json!("2026-01-01T00:00:00Z")), 401),
        ("refused", FakeAnswer::text(401, "{}"), 401),
        ("refused without a body", FakeAnswer::text(403, ""), 401),
        ("a page of a proxy", FakeAnswer::text(403, "<html>"), 503),
        ("refused by GraphQL", FakeAnswer::json(&refusal), 401),
        ("no account", FakeAnswer::json(&account_answer(&Value::Null)), 401),
        ("no id", row("id", Value::Null), 503),
        ("no permissions", row("dPermissions", Value::Null), 503),
        ("permissions of another shape", row("dPermissions", json!({ "all": "everything" })), 503),
        ("no JSON", FakeAnswer::text(200, "<html>"), 503),
        ("an error", FakeAnswer::text(500, "{}"), 503),
        ("a redirect", FakeAnswer { headers: vec![("location", "/elsewhere".to_owned())], ..FakeAnswer::text(307, "") }, 503),
        ("too large", FakeAnswer::text(200, &" ".repeat(1_100_000)), 503),
        ("another error", FakeAnswer::json(&json!({ "data": null, "errors": [{ "message": "no" }] })), 503),
    ] {
        hub.set_answer(GRAPHQL, hub_answer);
        let answer = post_with_token(&satellite, NOTES, &hub.token()).await;
        assert_eq!(answer.status(), expected, "{what}: {}", answer.text());
        assert_eq!(answer.header("retry-after").is_some(), expected == 503, "{what}");
    }
    assert_eq!(hub.requests_to("/elsewhere"), 0);
    // The satellite caches a refusal.
    hub.set_answer(GRAPHQL, FakeAnswer::text(401, "{}"));
    let token = hub.token();
    assert_eq!(status(&satellite, &token).await, 401);
    let before = hub.requests_to(GRAPHQL);
    hub.set_answer(GRAPHQL, row("code", json!("ada")));
    assert_eq!((status(&satellite, &token).await, hub.requests_to(GRAPHQL)), (401, before));
    assert_eq!(status(&satellite, &hub.token()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_a_slow_hub_times_out() {
    // contract I33.2
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let known = hub.token();
    assert_eq!(status(&satellite, &known).await, 200);
    hub.set_answer(GRAPHQL, FakeAnswer::text(200, "{}").after(Duration::from_secs(60)));
    let answers = join_all((0..100).map(|_| async { status(&satellite, &hub.token()).await })).await;
    assert!(answers.iter().all(|status| *status == 503), "{answers:?}");
    assert_eq!(status(&satellite, &known).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_distinguishes_an_unavailable_hub_from_an_invalid_answer() {
    // contract I30.5
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let tokens = json!({ "access_token": "a", "refresh_token": "r", "token_type": "bearer", "expires_in": 60, "extra": 1 });
    for (what, hub_answer, expected) in [
        ("tokens", FakeAnswer::json(&tokens), 200),
        ("an internal error", FakeAnswer::text(500, "{}"), 503),
        ("too busy", FakeAnswer::text(429, "{}"), 503),
        ("no tokens", FakeAnswer::json(&json!({})), 502),
        ("no JSON", FakeAnswer::text(200, "<html>"), 502),
        ("an unknown error", FakeAnswer::text(400, r#"{"error":"teapot"}"#), 502),
        ("a refused code", FakeAnswer::text(400, r#"{"error":"invalid_grant","error_description":"marker"}"#), 400),
        ("a refused account", FakeAnswer::text(403, r#"{"error":"access_denied"}"#), 403),
    ] {
        hub.set_answer(TOKEN, hub_answer);
        let state = parameter(&start_login(&satellite, "/auth/login").await.url, "state");
        let answer = post("/auth/callback", json!({ "code": "c", "state": state }).to_string()).send(satellite.address).await;
        assert_eq!(answer.status(), expected, "{what}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("retry-after").is_some(), expected == 503, "{what}");
        assert!(!answer.text().contains("marker") && !answer.text().contains("extra"), "{}", answer.text());
        if expected != 200 {
            error(&answer, expected);
        }
    }
    assert_eq!(hub.requests_to(TOKEN), 8, "a code is never sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_without_keys_serves_public_resources_and_becomes_ready_with_the_keys() {
    // contract I33.1
    let hub = FakeHub::start().await;
    hub.set_answer(KEYS, FakeAnswer::text(503, ""));
    let (satellite, _database) = satellite_of(&hub).await;
    assert_eq!(satellite.get("/health").await.status(), 200);
    let waiting = satellite.get("/ready").await;
    assert_eq!(waiting.problem(503)["code"], "IDENTITY_UNAVAILABLE");
    satellite.post(OPEN, "").await.good();
    assert_eq!(status(&satellite, &hub.token()).await, 503);
    hub.set_answer(KEYS, FakeAnswer::json(&hub.key_set().to_json()));
    until("the satellite has the keys", async || satellite.get("/ready").await.status() == 200).await;
    assert_eq!(satellite.get("/ready").await.good(), json!({ "status": "ready", "database": "ready", "keys": "ready" }));
    assert_eq!(status(&satellite, &hub.token()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_escapes_values_in_its_headers() {
    // contract I32.1
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let mut row = hub.account_row();
    row["username"] = json!("añà\r\nx-account-id: 0, %");
    row["dTenants"] = json!(["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"]);
    hub.set_answer(GRAPHQL, FakeAnswer::json(&account_answer(&row)));
    let answer = get_with_token(&satellite, "/auth/verify", &hub.token()).await;
    assert_eq!(answer.header("x-account-id"), Some(hub.account.to_string().as_str()));
    assert_eq!(answer.header("x-account-username"), Some("a%C3%B1%C3%A0%0D%0Ax-account-id:%200%2C%20%25"));
    assert_eq!(answer.header("x-account-tenants"), Some("00000000-0000-4000-8000-00000000000a,00000000-0000-4000-8000-00000000000b"));
    // A list of tenants that is too long for a proxy is left out.
    row["dTenants"] = json!((0..60).map(|number| format!("00000000-0000-4000-8000-{number:012}")).collect::<Vec<_>>());
    hub.set_answer(GRAPHQL, FakeAnswer::json(&account_answer(&row)));
    assert_eq!(get_with_token(&satellite, "/auth/verify", &hub.token()).await.header("x-account-tenants"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_from_one_client_address_have_a_rate_limit() {
    // contract I30.9
    let hub = FakeHub::start().await;
    let (satellite, _database) = satellite_of(&hub).await;
    let mut refused = None;
    for _ in 0..30 {
        let answers = join_all((0..25).map(|_| satellite.get("/auth/login"))).await;
        refused = answers.into_iter().find(|answer| answer.status() != 302);
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("a refusal");
    assert!(refused.header("retry-after").is_some());
    error(&refused, 429);
}
