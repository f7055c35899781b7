//! How long a sign-in can be refreshed.

use serde_json::Value;
use store::hub_records::Bind;

use crate::test_hub::{CLIENT, TestHub, basic, error, now, posted, setup};
use crate::support::PLACES;

fn refresh(tokens: &Value) -> [(&str, &str); 2] {
    [("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"].as_str().unwrap())]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_is_refreshed_for_ninety_days_and_no_longer() {
    // contract I4.6, attack 67
    for place in PLACES {
        let hub = TestHub::start(place).await;
        let tokens = hub.tokens().await;
        let aged = async |days: i64| {
            let begun = now().plus(-days * 86_400);
            hub.records.run("UPDATE peristyle.family SET created_at = $1", &[Bind::timestamp(begun)]).await.unwrap();
            begun
        };
        let begun = aged(89).await;
        let next = hub.token(&refresh(&tokens)).await.good();
        let newest = "SELECT max(expires_at) FROM peristyle.refresh_token WHERE used_at IS NULL";
        let expires_at = hub.records.run(newest, &[]).await.unwrap()[0].timestamp(0).unwrap();
        assert_eq!(expires_at, begun.plus(90 * 86_400), "a token of thirty days ends with its family");
        let introspect = posted("/introspect", &[("token", next["refresh_token"].as_str().unwrap())]);
        let introspect = introspect.header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&introspect).await.good()["exp"], expires_at.unix());
        aged(90).await;
        assert_eq!(error(&hub.token(&refresh(&next)).await, 400), "invalid_grant");
        assert_eq!(hub.send(&introspect).await.good()["active"], false);
        // Nothing was ended by asking: it is not reuse.
        aged(1).await;
        hub.token(&refresh(&next)).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_comes_again_within_the_grace_that_is_set() {
    // contract I4.2, I20.3, attack 34
    for place in PLACES {
        for (grace, again, late) in [(30, 20, 31), (5, 1, 6)] {
            let mut setup = setup();
            setup.refresh.grace_seconds = grace;
            let hub = TestHub::with(place, &setup).await;
            let first = hub.tokens().await;
            let second = hub.token(&refresh(&first)).await.good();
            used(&hub, again).await;
            assert_eq!(hub.token(&refresh(&first)).await.good()["refresh_token"], second["refresh_token"], "{grace}");
            used(&hub, late).await;
            assert_eq!(error(&hub.token(&refresh(&first)).await, 400), "invalid_grant", "{grace}");
            assert_eq!(error(&hub.token(&refresh(&second)).await, 400), "invalid_grant", "the family has ended");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_does_not_count_against_a_refresh_token() {
    // contract I4.7, attack 34
    for place in PLACES {
        let hub = TestHub::start(place).await;
        let first = hub.tokens().await;
        let second = hub.token(&refresh(&first)).await.good();
        let outage = "INSERT INTO peristyle.outage (began_at, ended_at) VALUES ($1, $2)";
        let between = [Bind::timestamp(now().plus(-1_000)), Bind::timestamp(now().plus(-10))];
        hub.records.run(outage, &between).await.unwrap();
        used(&hub, 1_005).await;
        assert_eq!(hub.token(&refresh(&first)).await.good()["refresh_token"], second["refresh_token"], "the same successor as before");
        used(&hub, 1_100).await;
        assert_eq!(error(&hub.token(&refresh(&first)).await, 400), "invalid_grant", "before it somebody could have answered");
    }
}

/// Has every refresh token that was used be used so many seconds ago.
async fn used(hub: &TestHub, seconds: i64) {
    let ago = "UPDATE peristyle.refresh_token SET used_at = $1 WHERE used_at IS NOT NULL";
    hub.records.run(ago, &[Bind::timestamp(now().plus(-seconds))]).await.unwrap();
}
