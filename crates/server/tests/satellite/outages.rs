//! A satellite whose proxy to the hub is cut and mended, and what the hub ends meanwhile.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::pair::{NOTES, Pair};
use crate::test_hub::PASSWORD;
use crate::support::proxy::ProxyMode;
use crate::support::{post, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_bridged_for_those_who_are_known() {
    // contract I33.2, attack 24, attack 44
    let pair = Pair::start().await;
    let known = pair.login().await;
    pair.ask(NOTES, &known["access_token"]).await.good();
    for mode in [ProxyMode::Disconnect, ProxyMode::Freeze] {
        let unknown = pair.hub.tokens().await;
        pair.proxy.set(mode);
        pair.ask(NOTES, &known["access_token"]).await.good();
        let away = pair.ask(NOTES, &unknown["access_token"]).await;
        assert!(away.header("retry-after").is_some() && away.header("www-authenticate").is_none(), "{mode:?}");
        assert_eq!(away.problem(503)["code"], "IDENTITY_UNAVAILABLE");
        let refresh =
            post("/auth/refresh", json!({ "refresh_token": known["refresh_token"] }).to_string()).send(pair.satellite.address).await;
        assert_eq!((refresh.status(), refresh.header("retry-after").is_some()), (503, true));
        // A login needs the hub only when it is finished, and then nothing is used up but the login.
        assert_eq!(pair.satellite.get("/auth/login").await.status(), 302);
        pair.proxy.set(ProxyMode::Forward);
        until("the hub is asked again", async || pair.ask(NOTES, &unknown["access_token"]).await.status() == 200).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_nobody_knows_is_no_reason_to_refuse_while_the_hub_is_away() {
    // contract I33.2
    let pair = Pair::start().await;
    // Signed by a key that the hub, for all that is known here, made a moment ago.
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","typ":"at+jwt","kid":"another"}"#);
    let token = json!(format!("{header}.e30.AAAA"));
    assert_eq!(pair.ask(NOTES, &token).await.problem(401)["code"], "INVALID_TOKEN");
    let known = pair.hub.tokens().await;
    pair.proxy.set(ProxyMode::Disconnect);
    assert_eq!(pair.ask(NOTES, &known["access_token"]).await.status(), 503);
    let away = pair.ask(NOTES, &token).await;
    assert!(away.header("retry-after").is_some() && away.header("www-authenticate").is_none());
    assert_eq!(away.problem(503)["code"], "IDENTITY_UNAVAILABLE");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hub_has_ended_is_refused_when_it_is_asked_for() {
    // contract I31.8, attack 25, attack 45
    let pair = Pair::start().await;
    let tokens = pair.hub.tokens().await;
    let given_back = pair
        .hub
        .send(
            &crate::test_hub::posted("/revoke", &[("token", tokens["refresh_token"].as_str().unwrap())])
                .header("authorization", &crate::test_hub::basic(crate::test_hub::CLIENT, &pair.hub.secret)),
        )
        .await;
    assert_eq!(given_back.status(), 200);
    assert_eq!(pair.ask(NOTES, &tokens["access_token"]).await.problem(401)["code"], "INVALID_TOKEN");
    // The hub's cookie and its refresh tokens are no access tokens, and other clients' tokens are not for this satellite.
    let session = pair.hub.sign_in().await;
    let cookie = json!(session.split_once('=').unwrap().1);
    let secret = pair.hub.add_client("other", &identity::client::GrantType::ALL, None).await;
    let form = password_form("ada");
    let foreign =
        pair.hub.send(&crate::test_hub::posted("/token", &form).header("authorization", &crate::test_hub::basic("other", &secret))).await.good();
    for token in [&cookie, &pair.hub.tokens().await["refresh_token"], &foreign["access_token"]] {
        assert_eq!(pair.ask(NOTES, token).await.problem(401)["code"], "INVALID_TOKEN");
    }
}
