//! Attacks with forged tokens and NUL bytes. The hub refuses each of them with the same answer.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::support::{BACKENDS, Backend, get, post};
use crate::test_hub::{CLIENT, PASSWORD, TestHub, basic, error, now, part, posted, signed};

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_token_gets_401() {
    // contract I5.2, I5.6
    let hub = TestHub::start(Backend::Sqlite).await;
    let tokens = hub.tokens().await;
    let good = tokens["access_token"].as_str().unwrap();
    let (claims, signature) = (good.split('.').nth(1).unwrap(), good.split('.').nth(2).unwrap());
    let kid = part(&tokens["access_token"], 0)["kid"].clone();
    let encode = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let headers = [
        // attack 18
        json!({"alg": "none", "typ": "at+jwt", "kid": kid}),
        // attack 19
        json!({"alg": "HS256", "typ": "at+jwt", "kid": kid}),
        // attack 20
        json!({"alg": "RS256", "typ": "at+jwt", "kid": kid, "jku": "https://evil.test/jwks.json"}),
        json!({"alg": "RS256", "typ": "at+jwt", "kid": kid, "jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}}),
        // attack 21
        json!({"alg": "RS256", "typ": "at+jwt", "kid": "../../etc/passwd"}),
        json!({"alg": "RS256", "typ": "at+jwt", "kid": "' OR 1=1 --"}),
        json!({"alg": "RS256", "typ": "at+jwt", "kid": "a\u{0}b"}),
        json!({"alg": "RS256", "typ": "at+jwt", "kid": "x".repeat(4_000)}),
        json!({"alg": "RS256", "typ": "at+jwt", "kid": ["a"]}),
        // attack 27
        json!({"alg": "RS256", "typ": "at+jwt", "kid": kid, "crit": ["b64"], "b64": false}),
    ];
    let mut forged: Vec<String> = headers.into_iter().map(|header| format!("{}.{claims}.{signature}", encode(header))).collect();
    forged.push(format!("{}.{claims}.", encode(json!({"alg": "none", "typ": "at+jwt", "kid": kid}))));
    forged.push(format!("{good}="));
    // attack 26
    let mut late = part(&tokens["access_token"], 1);
    late["exp"] = json!(253_402_300_799_i64);
    forged.push(format!("{}.{}.{signature}", good.split('.').next().unwrap(), encode(late)));
    // attack 25
    forged.push(tokens["refresh_token"].as_str().unwrap().to_owned());
    forged.push(tokens["id_token"].as_str().unwrap().to_owned());
    for token in forged {
        let answer = hub.send(&get("/api/iam/me").header("authorization", &format!("Bearer {token}"))).await;
        assert_eq!(answer.problem(401)["code"], "INVALID_TOKEN");
        assert!(!answer.text().contains(signature));
    }
    // contract I24.1: public endpoints refuse it too, and accept a valid one
    for path in [
        "/health",
        "/ready",
        "/docs",
        "/api/openapi.json",
        "/.well-known/jwks.json",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
    ] {
        let refused = hub.send(&get(path).header("authorization", "Bearer x.y.z")).await;
        assert_eq!(refused.problem(401)["code"], "INVALID_TOKEN", "{path}");
        assert_eq!(hub.send(&get(path).header("authorization", &format!("Bearer {good}"))).await.status(), 200, "{path}");
        assert_eq!(hub.send(&get(path)).await.status(), 200, "{path}");
    }
    // attack 37: the hub ignores a token in the query
    assert_eq!(hub.send(&get(&format!("/api/iam/me?access_token={good}"))).await.problem(401)["code"], "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_token_with_invalid_claims_gets_401() {
    // contract I5.2, I24.1
    let hub = TestHub::start(Backend::Sqlite).await;
    let tokens = hub.tokens().await;
    let (head, claims) = (part(&tokens["access_token"], 0), part(&tokens["access_token"], 1));
    let ask = async |head: &str, claims: &str| {
        hub.send(&get("/api/iam/me").header("authorization", &format!("Bearer {}", signed(head, claims)))).await
    };
    let good = ask(&head.to_string(), &claims.to_string()).await;
    assert_eq!(good.status(), 200, "a re-signed copy is valid: {}", good.text());
    let unix = now().unix();
    let with = |name: &str, value: serde_json::Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        claims.to_string()
    };
    let without = |name: &str| {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove(name);
        claims.to_string()
    };
    let text = claims.to_string();
    let strange = [
        // attack 26
        without("exp"),
        without("iat"),
        with("exp", json!("9999999999")),
        with("exp", json!(-1)),
        with("exp", json!(253_402_300_799_i64)),
        with("exp", json!(unix - 60)),
        with("exp", json!(1.5e9)),
        text.replace(&format!("\"exp\":{}", claims["exp"]), "\"exp\":1e400"),
        with("iat", json!(unix + 3_000)),
        with("nbf", json!(unix + 120)),
        with("nbf", json!("soon")),
        // attack 25: another audience, another issuer
        with("aud", json!(["another"])),
        with("aud", json!([])),
        with("iss", json!("http://hub.test/")),
        with("iss", json!("http://evil.test")),
        // attack 50: a client is not an account
        with("sub", json!(CLIENT)),
        with("sub", json!("00000000-0000-0000-0000-000000000000")),
        without("sub"),
        without("sid"),
        // attack 27
        text.replacen('{', "{\"sub\":\"00000000-0000-4000-8000-000000000001\",", 1),
        format!("{text} x"),
        format!("[{text}]"),
        format!("{{\"deep\":{}{},{}", "[".repeat(200), "]".repeat(200), &text[1..]),
        "null".to_owned(),
    ];
    for claims in strange {
        assert_eq!(ask(&head.to_string(), &claims).await.problem(401)["code"], "INVALID_TOKEN", "{claims}");
    }
    for (name, value) in [("typ", "hub-session+jwt"), ("typ", "JWT"), ("alg", "RS512"), ("alg", "rs256")] {
        let mut other = head.clone();
        other[name] = json!(value);
        assert_eq!(ask(&other.to_string(), &text).await.problem(401)["code"], "INVALID_TOKEN", "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_refuses_a_token_in_the_second_of_its_expiry() {
    // contract I5.5, I24.1, attack 26
    let hub = TestHub::start(Backend::Sqlite).await;
    let tokens = hub.tokens().await;
    let (head, mut claims) = (part(&tokens["access_token"], 0), part(&tokens["access_token"], 1));
    let unix = now().unix();
    for (name, later) in [("iat", -60), ("nbf", -60), ("exp", 60)] {
        claims[name] = json!(unix + later);
    }
    let good = signed(&head.to_string(), &claims.to_string());
    claims["exp"] = json!(unix);
    let over = signed(&head.to_string(), &claims.to_string());
    let introspected = async |token: &str| {
        let request = posted("/introspect", &[("token", token)]).header("authorization", &basic(CLIENT, &hub.secret));
        hub.send(&request).await.good()["active"].clone()
    };
    assert_eq!((introspected(&good).await, introspected(&over).await), (json!(true), json!(false)));
    let question = r#"{"query":"{ iamMeAccount { id } }"}"#;
    for request in [get("/api/iam/me"), get("/userinfo"), post("/api/shop/opens/list", ""), post("/graphql", question)] {
        let bearer = |token: &str| request.clone().header("authorization", &format!("Bearer {token}"));
        assert_eq!(hub.send(&bearer(&good)).await.status(), 200);
        let refused = hub.send(&bearer(&over)).await;
        assert!(refused.status() == 401 && refused.text().contains("INVALID_TOKEN"), "{}", refused.text());
    }
    assert_eq!(hub.send(&posted("/session", &[("access_token", &over)])).await.status(), 401);
    assert_eq!(hub.send(&posted("/session", &[("access_token", &good)])).await.status(), 204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_fetches_no_key_from_a_url_in_a_token() {
    // attack 20, attack 43, contract I5.2
    let hub = TestHub::start(Backend::Sqlite).await;
    let tokens = hub.tokens().await;
    let trap = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys.json", trap.local_addr().unwrap());
    let claims = part(&tokens["access_token"], 1).to_string();
    for name in ["jku", "x5u"] {
        let header = json!({"alg": "RS256", "typ": "at+jwt", "kid": "elsewhere", name: url}).to_string();
        let bearer = format!("Bearer {}", signed(&header, &claims));
        assert_eq!(hub.send(&get("/api/iam/me").header("authorization", &bearer)).await.status(), 401);
    }
    let query = identity::form::write([("client_id", CLIENT), ("post_logout_redirect_uri", url.as_str())]);
    assert_eq!(hub.send(&get(&format!("/logout?{query}"))).await.status(), 400);
    let request = tokio::time::timeout(std::time::Duration::from_millis(200), trap.accept()).await;
    assert!(request.is_err(), "the hub called {url}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_username_with_a_nul_byte_is_unknown_and_counts_as_a_failure() {
    // contract I7.4, I11.1, I20.6
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let page = posted("/sign-in", &[("username", "a\0da"), ("password", PASSWORD)]);
        let grant = [("grant_type", "password"), ("username", "a\0da"), ("password", PASSWORD)];
        assert_eq!(hub.send(&page).await.status(), 400);
        for _ in 0..4 {
            assert_eq!(error(&hub.token(&grant).await, 400), "invalid_grant");
        }
        hub.lengthen_delays().await;
        assert_eq!((hub.token(&grant).await.status(), hub.send(&page).await.status()), (429, 429));
        // No NUL byte in another parameter reaches the database.
        let (id, secret) = ("sh\0op", "x\0");
        assert_eq!(error(&hub.send(&posted("/token", &grant).header("authorization", &basic(id, secret))).await, 401), "invalid_client");
        for path in ["/revoke", "/introspect"] {
            assert_eq!(error(&hub.send(&posted(path, &[("client_id", id), ("client_secret", secret)])).await, 401), "invalid_client");
            let shown = posted(path, &[("token", "a\0b")]).header("authorization", &basic(CLIENT, &hub.secret));
            assert_eq!(hub.send(&shown).await.status(), 200, "{path}");
        }
        for path in ["/authorize?client_id=sh%00op", "/logout?client_id=%00&post_logout_redirect_uri=https://shop.test/%00"] {
            assert!([400, 401].contains(&hub.send(&get(path)).await.status()), "{path}");
        }
        assert_eq!(error(&hub.send(&posted("/session", &[("access_token", "a\0b")])).await, 401), "invalid_token");
        assert_eq!(hub.send(&posted("/password", &[("link", "a\0b"), ("password", PASSWORD)])).await.status(), 400);
    }
}
