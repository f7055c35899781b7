//! The endpoints for metadata, key set, revocation, introspection and userinfo.

use crate::support::{BACKENDS, Backend, Request, get};
use crate::test_hub::{
    CLIENT, ISSUER, PASSWORD, REDIRECT, TestHub, authorize, basic, bearer, cookie, error, parameter, part, password_form, posted, verifier,
};

#[tokio::test(flavor = "multi_thread")]
async fn metadata_lists_the_endpoints_and_the_key_set_holds_the_signing_key() {
    // contract I23.1, I6.1
    let hub = TestHub::start(Backend::Sqlite).await;
    let found = hub.send(&get("/.well-known/openid-configuration")).await.good();
    assert_eq!(found, hub.send(&get("/.well-known/oauth-authorization-server")).await.good());
    // attack 46: the issuer is configured and never taken from a request
    let spoofed = get("/.well-known/openid-configuration").header("x-forwarded-host", "evil.test").header("x-forwarded-proto", "https");
    assert_eq!(found, hub.send(&spoofed).await.good());
    assert_eq!(found["issuer"], ISSUER);
    assert_eq!(found["jwks_uri"], format!("{ISSUER}/.well-known/jwks.json"));
    assert_eq!(found["code_challenge_methods_supported"], serde_json::json!(["S256"]));
    // contract I23.4: claims_supported lists each claim of userinfo
    let bearer = crate::test_hub::bearer(&hub.tokens().await["access_token"]);
    let answer = hub.send(&get("/userinfo").header("authorization", &bearer)).await.good();
    let claims = found["claims_supported"].as_array().unwrap();
    assert!(answer.as_object().unwrap().keys().all(|name| claims.contains(&name.as_str().into())), "{answer}");
    let keys = hub.send(&get("/.well-known/jwks.json")).await.good();
    let key = &keys["keys"][0];
    assert_eq!((&key["kty"], &key["alg"], &key["use"]), (&"RSA".into(), &"RS256".into(), &"sig".into()));
    assert!(key.get("d").is_none());
    let tokens = hub.tokens().await;
    assert_eq!(part(&tokens["access_token"], 0)["kid"], key["kid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_a_token_with_end_session_ends_its_session() {
    // contract I23.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let secret = hub.add_client("other", &identity::client::GrantType::ALL, None).await;
        let session = hub.sign_in().await;
        let authorize_location = async || {
            let answer = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", &session)).await;
            answer.header("location").expect("a redirect").to_owned()
        };
        let tokens = hub.redeem(&parameter(&authorize_location().await, "code"), &verifier()).await.good();
        let revoke = async |more: &[(&str, &str)], client: &str| {
            let pairs = [&[("token", tokens["refresh_token"].as_str().unwrap())], more].concat();
            let answer = hub.send(&posted("/revoke", &pairs).header("authorization", client)).await;
            // Some clients parse each answer as JSON.
            assert_eq!((answer.status(), answer.header("content-type"), answer.text().as_str()), (200, Some("application/json"), "{}"));
        };
        // The session survives a request of another client, and one without end_session.
        revoke(&[("end_session", "true")], &basic("other", &secret)).await;
        assert!(authorize_location().await.starts_with(REDIRECT), "{backend:?}");
        let kept = hub.redeem(&parameter(&authorize_location().await, "code"), &verifier()).await.good();
        let form = [("token", kept["refresh_token"].as_str().unwrap())];
        hub.send(&posted("/revoke", &form).header("authorization", &basic(CLIENT, &hub.secret))).await;
        assert!(authorize_location().await.starts_with(REDIRECT), "{backend:?}");
        revoke(&[("end_session", "true")], &basic(CLIENT, &hub.secret)).await;
        assert!(authorize_location().await.starts_with("/sign-in"), "{backend:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_revoked_family_still_ends_its_session() {
    // contract I23.3
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let client = basic(CLIENT, &hub.secret);
        let session = hub.sign_in().await;
        let authorize_location = async |session: &str| {
            let answer = hub.send(&get(&authorize(&verifier(), &[])).header("cookie", session)).await;
            answer.header("location").expect("a redirect").to_owned()
        };
        // A second use of a code revokes the family and keeps the session.
        let replayed = async |session: &str| {
            let code = parameter(&authorize_location(session).await, "code");
            let tokens = hub.redeem(&code, &verifier()).await.good();
            assert_eq!(hub.redeem(&code, &verifier()).await.status(), 400);
            assert!(authorize_location(session).await.starts_with(REDIRECT), "{backend:?}");
            tokens["refresh_token"].as_str().unwrap().to_owned()
        };
        let revoke = async |token: &str| {
            let pairs = [("token", token), ("end_session", "true")];
            assert_eq!(hub.send(&posted("/revoke", &pairs).header("authorization", &client)).await.status(), 200);
        };
        let token = replayed(&session).await;
        revoke(&token).await;
        assert!(authorize_location(&session).await.starts_with("/sign-in"), "{backend:?}");

        // contract I9.8: also after another sign-in of its account.
        let before = hub.sign_in().await;
        let token = replayed(&before).await;
        let again = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]).header("cookie", &before);
        let after = cookie(&hub.send(&again).await);
        assert!(authorize_location(&after).await.starts_with(REDIRECT), "{backend:?}");
        revoke(&token).await;
        assert!(authorize_location(&after).await.starts_with("/sign-in"), "{backend:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_active_until_it_is_revoked() {
    // contract I23.2, I23.3, I23.4
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let tokens = hub.tokens().await;
        let client = basic(CLIENT, &hub.secret);
        let ask = |path: &str, name: &str| posted(path, &[("token", tokens[name].as_str().unwrap())]).header("authorization", &client);
        for name in ["access_token", "refresh_token"] {
            let answer = hub.send(&ask("/introspect", name)).await.good();
            assert_eq!((&answer["active"], &answer["sub"]), (&true.into(), &hub.account.to_string().into()));
        }
        let user = get("/userinfo").header("authorization", &bearer(&tokens["access_token"]));
        let answer = hub.send(&user).await.good();
        assert_eq!((&answer["sub"], &answer["email"]), (&hub.account.to_string().into(), &"ada@example.com".into()));
        assert_eq!(hub.send(&get("/userinfo")).await.header("www-authenticate"), Some("Bearer"));
        // A POST takes the token from the header or from the form, but not from both, twice, or from the query.
        let token = tokens["access_token"].as_str().unwrap();
        let form = posted("/userinfo", &[("access_token", token)]);
        let by_header = posted("/userinfo", &[("other", "x")]).header("authorization", &bearer(&tokens["access_token"]));
        for request in [&form, &by_header] {
            assert_eq!(hub.send(request).await.good()["sub"], hub.account.to_string());
        }
        let both = form.clone().header("authorization", &bearer(&tokens["access_token"]));
        let twice = posted("/userinfo", &[("access_token", token), ("access_token", token)]);
        for request in [both, twice] {
            assert_eq!(hub.send(&request).await.status(), 400);
        }
        let query = identity::form::write([("access_token", token)]);
        for request in [
            get(&format!("/userinfo?{query}")),
            Request::new("POST", "/userinfo").body(query),
            posted("/userinfo", &[("access_token", "x y")]),
        ] {
            assert_eq!(hub.send(&request).await.status(), 401);
        }
        // Another client can neither introspect nor revoke the token.
        let secret = hub.add_client("other", &identity::client::GrantType::ALL, None).await;
        let other = basic("other", &secret);
        assert_eq!(hub.send(&ask("/introspect", "access_token").header("authorization", &other)).await.good()["active"], false);
        assert_eq!(hub.send(&ask("/revoke", "refresh_token").header("authorization", &other)).await.status(), 200);
        assert_eq!(hub.send(&user).await.status(), 200);
        assert_eq!(hub.send(&ask("/revoke", "refresh_token")).await.status(), 200);
        assert_eq!(hub.send(&user).await.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
        assert_eq!(hub.send(&ask("/introspect", "access_token")).await.good()["active"], false);
        assert_eq!(hub.send(&posted("/revoke", &[("token", "x")])).await.status(), 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_reports_a_refresh_token_that_its_client_may_not_use_as_inactive() {
    // contract I23.2
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        // This client has no refresh_token grant.
        let secret = hub.add_client("once", &[identity::client::GrantType::Password], None).await;
        let as_client = |path: &str, pairs: &[(&str, &str)]| posted(path, pairs).header("authorization", &basic("once", &secret));
        let sign_in = as_client("/token", &password_form("ada"));
        let tokens = hub.send(&sign_in).await.good();
        let token = tokens["refresh_token"].as_str().unwrap();
        let answer = hub.send(&as_client("/introspect", &[("token", token)])).await.good();
        assert_eq!(answer, serde_json::json!({ "active": false }), "{backend:?}");
        let refused = hub.send(&as_client("/token", &[("grant_type", "refresh_token"), ("refresh_token", token)])).await;
        assert_eq!(error(&refused, 400), "unauthorized_client");
    }
}
