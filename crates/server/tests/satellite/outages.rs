//! Outages of the hub, and tokens that it revoked.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::pair::{NOTES, Pair, post_refresh_token};
use crate::support::proxy::ProxyMode;
use crate::support::until;
use crate::test_hub::{CLIENT, basic, password_form, posted};

#[tokio::test(flavor = "multi_thread")]
async fn cached_accounts_bridge_an_outage_of_the_hub() {
    // contract I33.2, attack 24, attack 44
    let pair = Pair::start().await;
    let known = pair.login().await;
    pair.post_with_token(NOTES, &known["access_token"]).await.good();
    for mode in [ProxyMode::Disconnect, ProxyMode::Freeze] {
        let unknown = pair.hub.tokens().await;
        pair.proxy.set(mode);
        pair.post_with_token(NOTES, &known["access_token"]).await.good();
        let away = pair.post_with_token(NOTES, &unknown["access_token"]).await;
        assert!(away.header("retry-after").is_some() && away.header("www-authenticate").is_none(), "{mode:?}");
        assert_eq!(away.problem(503)["code"], "IDENTITY_UNAVAILABLE");
        let refresh = post_refresh_token("/auth/refresh", &known["refresh_token"]).send(pair.satellite.address).await;
        assert_eq!((refresh.status(), refresh.header("retry-after").is_some()), (503, true));
        // A login can start without the hub.
        assert_eq!(pair.satellite.get("/auth/login").await.status(), 302);
        pair.proxy.set(ProxyMode::Forward);
        until("the hub is available again", async || pair.post_with_token(NOTES, &unknown["access_token"]).await.status() == 200).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_with_an_unknown_key_gets_503_while_the_hub_is_unavailable() {
    // contract I33.2
    let pair = Pair::start().await;
    // The hub might have created this key a moment ago.
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","typ":"at+jwt","kid":"another"}"#);
    let token = json!(format!("{header}.e30.AAAA"));
    assert_eq!(pair.post_with_token(NOTES, &token).await.problem(401)["code"], "INVALID_TOKEN");
    let known = pair.hub.tokens().await;
    pair.proxy.set(ProxyMode::Disconnect);
    assert_eq!(pair.post_with_token(NOTES, &known["access_token"]).await.status(), 503);
    let away = pair.post_with_token(NOTES, &token).await;
    assert!(away.header("retry-after").is_some() && away.header("www-authenticate").is_none());
    assert_eq!(away.problem(503)["code"], "IDENTITY_UNAVAILABLE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_or_foreign_token_gets_401() {
    // contract I31.8, attack 25, attack 45
    let pair = Pair::start().await;
    let tokens = pair.hub.tokens().await;
    let revoke = posted("/revoke", &[("token", tokens["refresh_token"].as_str().unwrap())]);
    assert_eq!(pair.hub.send(&revoke.header("authorization", &basic(CLIENT, &pair.hub.secret))).await.status(), 200);
    assert_eq!(pair.post_with_token(NOTES, &tokens["access_token"]).await.problem(401)["code"], "INVALID_TOKEN");
    // A session cookie, a refresh token, and an access token of another client.
    let session = pair.hub.sign_in().await;
    let cookie = json!(session.split_once('=').unwrap().1);
    let secret = pair.hub.add_client("other", &identity::client::GrantType::ALL, None).await;
    let request = posted("/token", &password_form("ada")).header("authorization", &basic("other", &secret));
    let foreign = pair.hub.send(&request).await.good();
    for token in [&cookie, &pair.hub.tokens().await["refresh_token"], &foreign["access_token"]] {
        assert_eq!(pair.post_with_token(NOTES, token).await.problem(401)["code"], "INVALID_TOKEN");
    }
}
