//! A satellite beside a hub that is broken, slow, poisoned or gone.

use std::time::Duration;

use futures_util::future::join_all;
use identity::keys::KeySet;
use identity::timestamp::Timestamp;
use identity::token::{AccessClaims, Claims, Common, sign};
use serde_json::{Value, json};

use crate::liar::{GRAPHQL, KEYS, Liar, Lie, TOKEN, other_key, told};
use crate::pair::{NOTES, OPEN, ask, begin, database, look, settings, setup};
use crate::test_hub::{error, now, parameter};
use crate::support::{Database, Server, Setup, post, until};

async fn beside(liar: &Liar) -> (Server, Database) {
    with(&setup(settings(liar.address, "secret"))).await
}

async fn with(setup: &Setup) -> (Server, Database) {
    let database = database().await;
    (setup.serve(&database).await, database)
}

async fn status(satellite: &Server, token: &Value) -> u16 {
    ask(satellite, NOTES, token).await.status()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_seen_before_is_known_and_many_at_once_ask_the_hub_once() {
    // contract I31.4, attack 44, attack 45
    let liar = Liar::start().await;
    liar.says(GRAPHQL, Lie::json(&told(&liar.row())).after(Duration::from_millis(300)));
    let (satellite, _database) = beside(&liar).await;
    let token = liar.token();
    let answers = join_all((0..20).map(|_| status(&satellite, &token))).await;
    assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
    assert_eq!(liar.asked(GRAPHQL), 1);
    assert_eq!(status(&satellite, &token).await, 200);
    assert_eq!(liar.asked(GRAPHQL), 1);
    // Another token of the same account is another matter.
    assert_eq!(status(&satellite, &liar.token()).await, 200);
    assert_eq!((liar.asked(GRAPHQL), liar.asked(KEYS)), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_with_a_token_that_was_just_traded_counts_here_at_once() {
    // contract I30.7
    let liar = Liar::start().await;
    let (first, second) = (liar.token(), liar.token());
    liar.says(TOKEN, Lie::json(&json!({ "access_token": second, "refresh_token": "next", "expires_in": 3600 })));
    // As a hub answers of a token that was used, and it tells no changes by itself.
    liar.says("/introspect", Lie::json(&json!({ "active": false })));
    liar.says("/revoke", Lie::text(200, ""));
    let (satellite, _database) = beside(&liar).await;
    let trade = async |path: &str, token: &str| satellite.send(&post(path, json!({ "refresh_token": token }).to_string())).await;
    trade("/auth/refresh", "before").await.good();
    assert_eq!((status(&satellite, &first).await, status(&satellite, &second).await), (200, 200));
    trade("/auth/logout", "invented").await.good();
    assert_eq!((status(&satellite, &first).await, status(&satellite, &second).await), (200, 200));
    assert_eq!(liar.asked(GRAPHQL), 2, "a token that nobody gave out makes nobody be asked for");
    trade("/auth/logout", "before").await.good();
    liar.says(GRAPHQL, Lie::text(401, "{}"));
    assert!(status(&satellite, &first).await != 200 && status(&satellite, &second).await != 200);
    assert_eq!(liar.asked(GRAPHQL), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_unknown_keys_costs_the_hub_one_request() {
    // contract I31.5, attack 22
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let before = liar.asked(KEYS);
    let stranger = other_key();
    let tokens: Vec<Value> = (0..30).map(|_| sign(&liar.claims(), &stranger).unwrap().into()).collect();
    let answers = join_all(tokens.iter().map(|token| status(&satellite, token))).await;
    assert!(answers.iter().all(|status| *status == 401), "{answers:?}");
    assert_eq!(status(&satellite, &tokens[0]).await, 401);
    assert_eq!(liar.asked(KEYS) - before, 1);
    assert_eq!(liar.asked(GRAPHQL), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_learned_when_its_first_token_comes() {
    // contract I31.5
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let next = other_key();
    liar.says(KEYS, Lie::json(&KeySet::new(vec![liar.key.public().clone(), next.public().clone()]).unwrap().to_json()));
    let token: Value = sign(&liar.claims(), &next).unwrap().into();
    assert_eq!(status(&satellite, &token).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_key_set_changes_nothing() {
    // contract I31.6, attack 23
    let liar = Liar::start().await;
    let stranger = other_key();
    let theirs = stranger.public().to_jwk();
    let mut private = theirs.clone();
    private["d"] = json!("AQAB");
    let mut twin = theirs.clone();
    twin["kid"] = liar.key.public().id().as_str().into();
    let mut weak = theirs.clone();
    weak["e"] = json!("AQ");
    let own = liar.key.public().to_jwk();
    let set = |keys: &[&Value]| Lie::json(&json!({ "keys": keys }));
    let elsewhere = Liar::start().await;
    elsewhere.says(KEYS, set(&[&own, &theirs]));
    let moved = format!("http://{}{KEYS}", elsewhere.address);
    let mut redirect = Lie::text(302, "");
    redirect.headers.push(("location", moved));
    for (what, lie) in [
        ("no JSON", Lie::text(200, "<html>")),
        ("an error", Lie::text(500, "{}")),
        ("a redirect", redirect),
        ("too large", Lie::text(200, &format!("{{\"keys\":[{own},{theirs}],\"x\":\"{}\"}}", "x".repeat(70_000)))),
        ("a private key alone", set(&[&private])),
        ("a symmetric key alone", set(&[&json!({ "kty": "oct", "kid": "k", "k": "AAAA" })])),
        ("one name twice", set(&[&own, &theirs, &twin])),
        ("a trivial exponent alone", set(&[&weak])),
        ("nothing", set(&[])),
    ] {
        liar.says(KEYS, Lie::json(&liar.key_set().to_json()));
        let (satellite, _database) = beside(&liar).await;
        liar.says(KEYS, lie);
        let forged: Value = sign(&liar.claims(), &stranger).unwrap().into();
        // The hub's keys cannot be known now, so the token cannot be judged; in no case is it good.
        assert_eq!(status(&satellite, &forged).await, 503, "{what}");
        assert_eq!(status(&satellite, &liar.token()).await, 200, "{what}: the last good set serves on");
    }
    assert_eq!(elsewhere.asked(KEYS), 0);
    // One key that does not fit says nothing of the others, and is good for nothing.
    for unfit in [private, weak, json!({ "kty": "oct", "kid": "k", "k": "AAAA" }), json!(1)] {
        let next = other_key();
        liar.says(KEYS, Lie::json(&liar.key_set().to_json()));
        let (satellite, _database) = beside(&liar).await;
        liar.says(KEYS, set(&[&unfit, &own, &next.public().to_jwk()]));
        assert_eq!(status(&satellite, &sign(&liar.claims(), &next).unwrap().into()).await, 200, "a new key is learned beside {unfit}");
        assert_eq!(status(&satellite, &liar.token()).await, 200, "{unfit}");
        assert_eq!(status(&satellite, &sign(&liar.claims(), &stranger).unwrap().into()).await, 401, "{unfit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_not_good_are_refused_everywhere() {
    // contract I31.7, attack 18, attack 19, attack 20, attack 21, attack 25, attack 26, attack 27
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let good = liar.token();
    let text = good.as_str().unwrap();
    let parts: Vec<&str> = text.split('.').collect();
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let kid = liar.key.public().id().as_str();
    let headed = |header: Value| format!("{}.{}.{}", encode(&header), parts[1], parts[2]);
    let payload: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let claimed = |name: &str, value: Value| {
        let mut changed = payload.clone();
        changed[name] = value;
        format!("{}.{}.{}", parts[0], encode(&changed), parts[2])
    };
    let changed = |change: &dyn Fn(&mut AccessClaims)| {
        let mut claims = liar.claims();
        change(&mut claims);
        sign(&claims, &liar.key).unwrap()
    };
    let at = |seconds: i64| Timestamp::from_unix(now().unix() + seconds);
    let tokens = [
        ("no algorithm", headed(json!({ "alg": "none", "typ": "at+jwt", "kid": kid }))),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("a symmetric algorithm", headed(json!({ "alg": "HS256", "typ": "at+jwt", "kid": kid }))),
        ("a key of its own", headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "k", "jwk": other_key().public().to_jwk() }))),
        (
            "a key elsewhere",
            headed(json!({ "alg": "RS256", "typ": "at+jwt", "kid": "k", "jku": format!("http://{}{KEYS}", liar.address) })),
        ),
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
            let answer = ask(&satellite, path, &token.clone().into()).await;
            assert_eq!(answer.header("www-authenticate"), Some("Bearer error=\"invalid_token\""), "{what} at {path}: {}", answer.text());
            answer.problem(401);
        }
    }
    // attack 37: a token in the address is not looked at
    assert_eq!(post(&format!("{NOTES}?access_token={text}"), "").send(satellite.address).await.status(), 401);
    assert_eq!(liar.asked(GRAPHQL), 0);
    assert_eq!(status(&satellite, &good).await, 200);
    // A clock that is a little off is no reason to refuse.
    let skewed = changed(&|claims| (claims.common.issued_at, claims.common.expires_at) = (at(20), at(3600)));
    assert_eq!(status(&satellite, &skewed.into()).await, 200);
    let just_over = changed(&|claims| (claims.common.issued_at, claims.common.expires_at) = (at(-3600), at(-10)));
    assert_eq!(status(&satellite, &just_over.into()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_may_have_whatever_names_its_hub_gives() {
    // contract I31.7
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let now = now().unix();
    let least = json!({ "iss": "http://hub.test", "sub": liar.account.to_string(), "aud": "shop", "exp": now + 600 });
    let with = |more: Value| {
        let mut claims = least.clone();
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        claims
    };
    for (what, claims, expected) in [
        ("nothing but what is needed", least.clone(), 200),
        ("names that are no ids", with(json!({ "jti": "t-1", "sid": "s-1", "client_id": "https://shop.test/id" })), 200),
        ("fractions", with(json!({ "exp": now as f64 + 600.5, "iat": now as f64 - 1.5, "nbf": now as f64 })), 200),
        ("an empty name", with(json!({ "jti": "" })), 401),
        ("a name that is no text", with(json!({ "sid": 7 })), 401),
        ("nobody", with(json!({ "sub": null })), 401),
        ("no end", with(json!({ "exp": null })), 401),
    ] {
        let token = sign(&Told(claims), &liar.key).unwrap().into();
        assert_eq!(status(&satellite, &token).await, expected, "{what}");
    }
}

/// A token of the hub that says just this.
struct Told(Value);

impl Claims for Told {
    const TYPE: &'static str = "application/at+JWT";

    fn write(&self) -> serde_json::Map<String, Value> {
        self.0.as_object().cloned().unwrap_or_default()
    }

    fn read(_: Common, _: &serde_json::Map<String, Value>) -> Option<Self> {
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn siblings_that_are_named_are_trusted() {
    // contract I31.7
    let liar = Liar::start().await;
    let mut setup = setup(settings(liar.address, "secret"));
    if let Some(settings) = &mut setup.satellite {
        settings.audiences = vec!["sibling".to_owned()];
    }
    let (satellite, _database) = with(&setup).await;
    for (audience, expected) in [("sibling", 200), ("shop", 200), ("stranger", 401)] {
        let mut claims = liar.claims();
        claims.common.audiences = vec![audience.to_owned()];
        assert_eq!(status(&satellite, &sign(&claims, &liar.key).unwrap().into()).await, expected, "{audience}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_counts_only_if_it_is_the_token_s_and_may_sign_in() {
    // contract I31.8, attack 45
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let row = |name: &str, value: Value| {
        let mut row = liar.row();
        row[name] = value;
        Lie::json(&told(&row))
    };
    let refusal = json!({ "data": null, "errors": [{ "message": "no", "extensions": { "code": "UNAUTHENTICATED" } }] });
    let least = json!({ "id": liar.account.to_string(), "dPermissions": { "all": ["shop.note.get"] } });
    for (what, lie, expected) in [
        ("the least there is", Lie::json(&told(&least)), 200),
        ("active neither way", row("isActive", Value::Null), 401),
        ("somebody else", row("id", json!("00000000-0000-4000-8000-00000000000a")), 401),
        ("not active", row("isActive", json!(false)), 401),
        ("active in another word", row("isActive", json!("true")), 401),
        ("removed", row("deletedAt", json!("2026-01-01T00:00:00Z")), 401),
        ("refused", Lie::text(401, "{}"), 401),
        ("refused without a word", Lie::text(403, ""), 401),
        ("a page of something between", Lie::text(403, "<html>"), 503),
        ("refused by GraphQL", Lie::json(&refusal), 401),
        ("nobody", Lie::json(&told(&Value::Null)), 401),
        ("no id", row("id", Value::Null), 503),
        ("no permissions", row("dPermissions", Value::Null), 503),
        ("permissions of another shape", row("dPermissions", json!({ "all": "everything" })), 503),
        ("no JSON", Lie::text(200, "<html>"), 503),
        ("an error", Lie::text(500, "{}"), 503),
        ("a redirect", Lie { headers: vec![("location", "/elsewhere".to_owned())], ..Lie::text(307, "") }, 503),
        ("too large", Lie::text(200, &" ".repeat(1_100_000)), 503),
        ("another error", Lie::json(&json!({ "data": null, "errors": [{ "message": "no" }] })), 503),
    ] {
        liar.says(GRAPHQL, lie);
        let answer = ask(&satellite, NOTES, &liar.token()).await;
        assert_eq!(answer.status(), expected, "{what}: {}", answer.text());
        assert_eq!(answer.header("retry-after").is_some(), expected == 503, "{what}");
    }
    assert_eq!(liar.asked("/elsewhere"), 0);
    // A token that was refused stays so for a while, whatever the hub says next.
    liar.says(GRAPHQL, Lie::text(401, "{}"));
    let token = liar.token();
    assert_eq!(status(&satellite, &token).await, 401);
    let asked = liar.asked(GRAPHQL);
    liar.says(GRAPHQL, row("code", json!("ada")));
    assert_eq!((status(&satellite, &token).await, liar.asked(GRAPHQL)), (401, asked));
    assert_eq!(status(&satellite, &liar.token()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_hub_is_not_waited_for_longer_than_a_few_seconds() {
    // contract I33.2
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let known = liar.token();
    assert_eq!(status(&satellite, &known).await, 200);
    liar.says(GRAPHQL, Lie::text(200, "{}").after(Duration::from_secs(60)));
    let answers = join_all((0..100).map(|_| async { status(&satellite, &liar.token()).await })).await;
    assert!(answers.iter().all(|status| *status == 503), "{answers:?}");
    assert_eq!(status(&satellite, &known).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_away_or_odd_is_told_apart_in_a_login() {
    // contract I30.5
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let tokens = json!({ "access_token": "a", "refresh_token": "r", "token_type": "bearer", "expires_in": 60, "extra": 1 });
    for (what, lie, expected) in [
        ("tokens", Lie::json(&tokens), 200),
        ("an error of its own", Lie::text(500, "{}"), 503),
        ("too busy", Lie::text(429, "{}"), 503),
        ("no tokens", Lie::json(&json!({})), 502),
        ("no JSON", Lie::text(200, "<html>"), 502),
        ("an unknown error", Lie::text(400, r#"{"error":"teapot"}"#), 502),
        ("a refused code", Lie::text(400, r#"{"error":"invalid_grant","error_description":"marker"}"#), 400),
        ("a refused account", Lie::text(403, r#"{"error":"access_denied"}"#), 403),
    ] {
        liar.says(TOKEN, lie);
        let state = parameter(&begin(&satellite, "/auth/login").await.address, "state");
        let answer = post("/auth/callback", json!({ "code": "c", "state": state }).to_string()).send(satellite.address).await;
        assert_eq!(answer.status(), expected, "{what}: {}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("retry-after").is_some(), expected == 503, "{what}");
        assert!(!answer.text().contains("marker") && !answer.text().contains("extra"), "{}", answer.text());
        if expected != 200 {
            error(&answer, expected);
        }
    }
    assert_eq!(liar.asked(TOKEN), 8, "a code is never sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_without_keys_serves_what_is_public_and_is_ready_when_they_come() {
    // contract I33.1
    let liar = Liar::start().await;
    liar.says(KEYS, Lie::text(503, ""));
    let (satellite, _database) = beside(&liar).await;
    assert_eq!(satellite.get("/health").await.status(), 200);
    let waiting = satellite.get("/ready").await;
    assert_eq!(waiting.problem(503)["code"], "IDENTITY_UNAVAILABLE");
    satellite.post(OPEN, "").await.good();
    assert_eq!(status(&satellite, &liar.token()).await, 503);
    liar.says(KEYS, Lie::json(&liar.key_set().to_json()));
    until("the keys are there", async || satellite.get("/ready").await.status() == 200).await;
    assert_eq!(satellite.get("/ready").await.good(), json!({ "status": "ready", "database": "ready", "keys": "ready" }));
    assert_eq!(status(&satellite, &liar.token()).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_in_headers_is_safe_in_headers() {
    // contract I32.1
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
    let mut row = liar.row();
    row["username"] = json!("añà\r\nx-account-id: 0, %");
    row["dTenants"] = json!(["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"]);
    liar.says(GRAPHQL, Lie::json(&told(&row)));
    let answer = look(&satellite, "/auth/verify", &liar.token()).await;
    assert_eq!(answer.header("x-account-id"), Some(liar.account.to_string().as_str()));
    assert_eq!(answer.header("x-account-username"), Some("a%C3%B1%C3%A0%0D%0Ax-account-id:%200%2C%20%25"));
    assert_eq!(answer.header("x-account-tenants"), Some("00000000-0000-4000-8000-00000000000a,00000000-0000-4000-8000-00000000000b"));
    // So many tenants that a proxy could not read them are left out.
    row["dTenants"] = json!((0..60).map(|number| format!("00000000-0000-4000-8000-{number:012}")).collect::<Vec<_>>());
    liar.says(GRAPHQL, Lie::json(&told(&row)));
    assert_eq!(look(&satellite, "/auth/verify", &liar.token()).await.header("x-account-tenants"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_logins_from_one_address_is_held_up() {
    // contract I30.9
    let liar = Liar::start().await;
    let (satellite, _database) = beside(&liar).await;
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
