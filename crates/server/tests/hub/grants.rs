//! The token endpoint: the three grants, their errors and the throttle.

use futures_util::future::join_all;
use identity::client::GrantType;
use identity::pkce::Verifier;
use serde_json::json;

use crate::support::{BACKENDS, Request, get, post};
use crate::test_hub::{
    CLIENT, ISSUER, PASSWORD, REDIRECT, TestHub, basic, bearer, error, part, password_form, posted, redemption, refresh_form, verifier,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_redeemed_once_and_a_second_use_revokes_its_family() {
    // contract I20.1, I3.1, I3.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let code = hub.code(&verifier(), "openid email").await;
        // attack 1, attack 6: a wrong verifier does not use up the code
        let wrong = Verifier::from_random([1; 32]);
        assert_eq!(error(&hub.redeem(&code, &wrong).await, 400), "invalid_grant");
        let answer = hub.redeem(&code, &verifier()).await;
        // attack 38
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let tokens = answer.good();
        assert_eq!(tokens["token_type"], "Bearer");
        assert_eq!(tokens["expires_in"], 3600);
        assert_eq!(tokens["scope"], "openid email");
        let (head, claims) = (part(&tokens["access_token"], 0), part(&tokens["access_token"], 1));
        assert_eq!((&head["typ"], &head["alg"]), (&json!("at+jwt"), &json!("RS256")));
        assert_eq!(claims["iss"], ISSUER);
        assert_eq!(claims["sub"], hub.account.to_string());
        assert_eq!(claims["aci"], claims["sub"]);
        assert_eq!(claims["aud"], json!([CLIENT, ISSUER]));
        let id = part(&tokens["id_token"], 1);
        assert_eq!((&id["nonce"], &id["aud"]), (&json!("n-1"), &json!(CLIENT)));
        let me = get("/api/iam/me").header("authorization", &bearer(&tokens["access_token"]));
        assert_eq!(hub.send(&me).await.good()["username"], "ada");
        // attack 6: a replay with a wrong verifier revokes nothing
        assert_eq!(error(&hub.redeem(&code, &wrong).await, 400), "invalid_grant");
        assert_eq!(hub.send(&me).await.status(), 200);
        // attack 5
        assert_eq!(error(&hub.redeem(&code, &verifier()).await, 400), "invalid_grant");
        assert_eq!(hub.send(&me).await.status(), 401);
        let refresh = refresh_form(&tokens);
        assert_eq!(error(&hub.token(&refresh).await, 400), "invalid_grant");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_bound_to_its_client_and_expires() {
    // contract I3.2, attack 8
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let code = hub.code(&verifier(), "openid").await;
        let secret = hub.add_client("other", &GrantType::ALL, None).await;
        let stolen = posted("/token", &redemption(&code, &verifier())).header("authorization", &basic("other", &secret));
        assert_eq!(error(&hub.send(&stolen).await, 400), "invalid_grant");
        let old = "UPDATE peristyle.code SET expires_at = $1";
        hub.records.run(old, &[store::hub_records::Bind::Timestamp(1_000_000)]).await.unwrap();
        assert_eq!(error(&hub.redeem(&code, &verifier()).await, 400), "invalid_grant");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_parallel_redemptions_wins() {
    // contract I20.2, attack 7
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let code = hub.code(&verifier(), "openid").await;
        let request = hub.token_request(&redemption(&code, &verifier()));
        let address = hub.server.address;
        let mut won = 0;
        let one = || {
            let request = request.clone();
            tokio::spawn(async move { request.send(address).await })
        };
        let tries: Vec<_> = (0..500).map(|_| one()).collect();
        for answer in tries {
            let answer = answer.await.unwrap();
            match answer.status() {
                200 => won += 1,
                400 => assert_eq!(answer.json()["error"], "invalid_grant"),
                // On a slow machine some wait too long for their turn, and are not tried.
                503 => assert_eq!(answer.json()["error"], "temporarily_unavailable"),
                other => panic!("{other}: {}", answer.text()),
            }
        }
        assert_eq!(won, 1, "{backend:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_has_one_successor_and_late_reuse_revokes_the_family() {
    // contract I20.3, I4.2, attack 34, attack 35, attack 36
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let first = hub.tokens().await;
        let refresh = refresh_form(&first);
        let second = hub.token(&refresh).await.good();
        assert_ne!(second["refresh_token"], first["refresh_token"]);
        assert_eq!(hub.token(&refresh).await.good()["refresh_token"], second["refresh_token"]);
        let wider = [refresh[0], ("refresh_token", second["refresh_token"].as_str().unwrap()), ("scope", "openid admin")];
        assert_eq!(error(&hub.token(&wider).await, 400), "invalid_scope");
        let other = hub.add_client("other", &GrantType::ALL, None).await;
        let stolen = posted("/token", &wider[..2]).header("authorization", &basic("other", &other));
        assert_eq!(error(&hub.send(&stolen).await, 400), "invalid_grant");
        let third = hub.token(&wider[..2]).await.good();
        // Reuse after the grace period revokes the family.
        let late = "UPDATE peristyle.refresh_token SET used_at = $1 WHERE used_at IS NOT NULL";
        hub.records.run(late, &[store::hub_records::Bind::Timestamp(1_000_000)]).await.unwrap();
        assert_eq!(error(&hub.token(&refresh).await, 400), "invalid_grant");
        let newest = [refresh[0], ("refresh_token", third["refresh_token"].as_str().unwrap())];
        assert_eq!(error(&hub.token(&newest).await, 400), "invalid_grant");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_grant_issues_tokens_and_begins_no_session() {
    // contract I20.4, attack 31
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let ask = |name: &'static str, password: &'static str| [("grant_type", "password"), ("username", name), ("password", password)];
        let good = hub.token(&ask("ADA@example.com ", PASSWORD)).await;
        assert!(good.header("set-cookie").is_none());
        good.good();
        let wrong = hub.token(&ask("ada", "not it, sorry")).await;
        let unknown = hub.token(&ask("nobody", "not it, sorry")).await;
        assert_eq!(error(&wrong, 400), "invalid_grant");
        assert_eq!(wrong.text(), unknown.text());
        let json = post(
            "/api/o-auth/token",
            json!({"grant_type": "password", "username": "ada", "password": PASSWORD, "client_id": CLIENT, "client_secret": hub.secret})
                .to_string(),
        );
        hub.send(&json).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_endpoint_answers_each_error_with_its_code_and_status() {
    // contract I20.5, I8.2
    let hub = TestHub::start(crate::support::Backend::Sqlite).await;
    let password = password_form("ada");
    // attack 28, attack 29
    for authorization in [basic(CLIENT, "wrong"), basic("nobody", &hub.secret), "Basic !!".to_owned(), "Bearer x".to_owned()] {
        let answer = hub.send(&posted("/token", &password).header("authorization", &authorization)).await;
        assert_eq!(error(&answer, 401), "invalid_client");
        assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Basic")));
    }
    assert_eq!(error(&hub.send(&posted("/token", &password)).await, 401), "invalid_client");
    let both = [password.as_slice(), &[("client_id", CLIENT), ("client_secret", hub.secret.as_str())]].concat();
    assert_eq!(error(&hub.token(&both).await, 400), "invalid_request");
    // attack 30
    let url = format!("/token?client_id={CLIENT}&client_secret={}", hub.secret);
    assert_eq!(error(&hub.send(&posted(&url, &password)).await, 400), "invalid_request");
    assert_eq!(error(&hub.token(&[("grant_type", "client_credentials")]).await, 400), "unsupported_grant_type");
    assert_eq!(error(&hub.token(&[("scope", "x")]).await, 400), "invalid_request");
    // attack 47
    assert_eq!(error(&hub.token(&[password.as_slice(), &password[..1]].concat()).await, 400), "invalid_request");
    let authorization = basic(CLIENT, &hub.secret);
    let answer = hub.send(&Request::new("GET", "/token").header("authorization", &authorization)).await;
    assert_eq!((error(&answer, 405).as_str(), answer.header("allow")), ("invalid_request", Some("POST")));
    let text = posted("/token", &password).header("authorization", &authorization).header("content-type", "text/plain");
    let answer = hub.send(&text).await;
    assert_eq!(error(&answer, 415), "invalid_request");
    assert!(answer.text().contains("application/x-www-form-urlencoded or application/json; found text/plain"), "{}", answer.text());
    let long = "x".repeat(1_100_000);
    // attack 33
    assert_eq!(error(&hub.token(&[password[0], password[1], ("password", &long)]).await, 413), "invalid_request");
    assert_eq!(error(&hub.token(&[password[0], password[1], ("password", &long[..1_025])]).await, 400), "invalid_request");
    let secret = hub.add_client("bare", &[GrantType::AuthorizationCode], None).await;
    let answer = hub.send(&posted("/token", &password).header("authorization", &basic("bare", &secret))).await;
    assert_eq!(error(&answer, 400), "unauthorized_client");
    // attack 4
    for verifier in ["short", &long[..129], "with space and so on and so on and so on and so on"] {
        let pairs = [("grant_type", "authorization_code"), ("code", "x"), ("redirect_uri", REDIRECT), ("code_verifier", verifier)];
        assert_eq!(error(&hub.token(&pairs).await, 400), "invalid_grant");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_throttle_delays_the_sign_in_page_and_the_password_grant_alike() {
    // contract I20.6, attack 31, attack 32
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        // The throttle delays an unknown name like a known one.
        for name in ["nobody", "ada"] {
            let wrong = [("grant_type", "password"), ("username", name), ("password", "not it, sorry")];
            for _ in 0..5 {
                assert_eq!(error(&hub.token(&wrong).await, 400), "invalid_grant");
            }
            hub.lengthen_delays().await;
            let answer = hub.token(&[wrong[0], wrong[1], ("password", PASSWORD)]).await;
            assert_eq!(error(&answer, 429), "temporarily_unavailable");
            assert!(answer.header("retry-after").and_then(|value| value.parse::<u32>().ok()).is_some_and(|seconds| seconds > 0));
            let page = hub.send(&posted("/sign-in", &[wrong[1], ("password", PASSWORD)])).await;
            assert_eq!((page.status(), page.header("set-cookie")), (429, None));
            assert!(
                page.header("retry-after").is_some() && page.text().contains("Too many failed attempts. Try again in"),
                "{}",
                page.text()
            );
            // attack 46: the hub ignores x-forwarded-for of an untrusted proxy
            let elsewhere = hub.token_request(&[wrong[0], wrong[1], ("password", PASSWORD)]).header("x-forwarded-for", "203.0.113.9");
            assert_eq!(error(&hub.send(&elsewhere).await, 429), "temporarily_unavailable");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_correct_passwords_are_not_throttled_and_wrong_ones_are() {
    // contract I15.6, contract I20.6, attack 32
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let right = password_form("ada");
        for answer in join_all((0..12).map(|_| hub.token(&right))).await {
            assert!(answer.good()["access_token"].is_string());
        }
        let wrong = [right[0], right[1], ("password", "not it, sorry")];
        let answers = join_all((0..12).map(|_| hub.token(&wrong))).await;
        let with = |status: u16| answers.iter().filter(|answer| answer.status() == status).count();
        // At least five; more on a machine so slow that the delay expires.
        assert!(with(400) >= 5 && with(429) >= 1 && with(400) + with(429) == 12, "{} compared, {} throttled", with(400), with(429));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_throttle_does_not_reveal_whether_an_account_exists() {
    // contract I11.1, I20.6, attack 31, attack 32
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let wrong = |name: &'static str| [("grant_type", "password"), ("username", name), ("password", "not it, sorry")];
        // Two names of one account, and two unknown names.
        for names in [["ada", "ada@example.com"], ["eve", "eve@example.com"]] {
            for name in names {
                for _ in 0..2 {
                    assert_eq!(error(&hub.token(&wrong(name)).await, 400), "invalid_grant");
                }
                for name in [name, &name.to_uppercase()] {
                    let page = hub.send(&posted("/sign-in", &[("username", name), ("password", "not it, sorry")])).await;
                    assert_eq!((page.status(), page.header("set-cookie")), (400, None), "{name}");
                }
            }
            for name in names {
                assert_eq!(error(&hub.token(&wrong(name)).await, 400), "invalid_grant", "the fifth attempt for {name}");
            }
        }
        hub.lengthen_delays().await;
        for name in ["ada", "ada@example.com", "eve", "eve@example.com"] {
            assert_eq!(error(&hub.token(&wrong(name)).await, 429), "temporarily_unavailable");
            assert_eq!(hub.send(&posted("/sign-in", &[("username", name), ("password", PASSWORD)])).await.status(), 429);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_of_a_client_secret_are_throttled_and_the_correct_secret_always_works() {
    // contract I20.20, attack 28
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        for id in [CLIENT, "nobody"] {
            let guess = posted("/introspect", &[("token", "x")]).header("authorization", &basic(id, "a guess"));
            for _ in 0..500 {
                let answer = hub.send(&guess).await;
                assert_eq!(error(&answer, 401), "invalid_client");
                assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Basic")));
            }
            hub.lengthen_delays().await;
            let answer = hub.send(&guess).await;
            assert_eq!(error(&answer, 429), "temporarily_unavailable");
            assert!(answer.header("retry-after").is_some());
            let at_the_token_endpoint = posted("/token", &[("grant_type", "password")]).header("authorization", &basic(id, "a guess"));
            assert_eq!(error(&hub.send(&at_the_token_endpoint).await, 429), "temporarily_unavailable");
        }
        let introspect = posted("/introspect", &[("token", "x")]).header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&introspect).await.good()["active"], false);
        hub.tokens().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_and_each_refresh_is_one_audit_event() {
    // contract I13.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let mut seen = 0;
        let mut news = async || {
            let events = store::hub_records::audit_log::newest(&hub.records, 50).await.unwrap();
            let fresh: Vec<String> = events.into_iter().skip(seen).map(|event| event.name).collect();
            seen += fresh.len();
            fresh
        };
        let wrong = [("grant_type", "password"), ("username", "ada"), ("password", "wrong")];
        assert_eq!(error(&hub.token(&wrong).await, 400), "invalid_grant");
        assert_eq!(news().await, ["sign-in.refused"]);
        let tokens = hub.tokens().await;
        assert_eq!(news().await, ["grant.issued"]);
        let refresh = refresh_form(&tokens);
        let first = hub.token(&refresh).await.good();
        assert_eq!(news().await, ["grant.refreshed"]);
        assert_eq!(hub.token(&refresh).await.good()["refresh_token"], first["refresh_token"]);
        assert_eq!(news().await, ["refresh.repeated"]);
    }
}
