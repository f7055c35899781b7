//! Expiry of token families and the grace period of refresh tokens.

use store::hub_records::Bind;

use crate::support::BACKENDS;
use crate::test_hub::{CLIENT, TestHub, basic, error, now, posted, refresh_form, setup};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_family_expires_after_ninety_days() {
    // contract I4.6, attack 67
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let tokens = hub.tokens().await;
        let set_family_age = async |days: i64| {
            let created_at = now().plus(-days * 86_400);
            hub.records.run("UPDATE peristyle.family SET created_at = $1", &[Bind::timestamp(created_at)]).await.unwrap();
            created_at
        };
        let created_at = set_family_age(89).await;
        let next = hub.token(&refresh_form(&tokens)).await.good();
        let newest = "SELECT max(expires_at) FROM peristyle.refresh_token WHERE used_at IS NULL";
        let expires_at = hub.records.run(newest, &[]).await.unwrap()[0].timestamp(0).unwrap();
        assert_eq!(expires_at, created_at.plus(90 * 86_400), "a refresh token expires with its family");
        let introspect = posted("/introspect", &[("token", next["refresh_token"].as_str().unwrap())]);
        let introspect = introspect.header("authorization", &basic(CLIENT, &hub.secret));
        assert_eq!(hub.send(&introspect).await.good()["exp"], expires_at.unix());
        set_family_age(90).await;
        assert_eq!(error(&hub.token(&refresh_form(&next)).await, 400), "invalid_grant");
        assert_eq!(hub.send(&introspect).await.good()["active"], false);
        // An expired token is not reuse, so nothing was revoked.
        set_family_age(1).await;
        hub.token(&refresh_form(&next)).await.good();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_refresh_token_gets_its_successor_within_the_grace_period() {
    // contract I4.2, I20.3, attack 34
    for backend in BACKENDS {
        for (grace, again, late) in [(30, 20, 31), (5, 1, 6)] {
            let mut setup = setup();
            setup.refresh.grace_seconds = grace;
            let hub = TestHub::with(backend, &setup).await;
            let first = hub.tokens().await;
            let second = hub.token(&refresh_form(&first)).await.good();
            set_used_ago(&hub, again).await;
            assert_eq!(hub.token(&refresh_form(&first)).await.good()["refresh_token"], second["refresh_token"], "{grace}");
            set_used_ago(&hub, late).await;
            assert_eq!(error(&hub.token(&refresh_form(&first)).await, 400), "invalid_grant", "{grace}");
            assert_eq!(error(&hub.token(&refresh_form(&second)).await, 400), "invalid_grant", "the family is revoked");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_extends_the_grace_period() {
    // contract I4.7, attack 34
    for backend in BACKENDS {
        let hub = TestHub::start(backend).await;
        let first = hub.tokens().await;
        let second = hub.token(&refresh_form(&first)).await.good();
        let outage = "INSERT INTO peristyle.outage (began_at, ended_at) VALUES ($1, $2)";
        let between = [Bind::timestamp(now().plus(-1_000)), Bind::timestamp(now().plus(-10))];
        hub.records.run(outage, &between).await.unwrap();
        set_used_ago(&hub, 1_005).await;
        assert_eq!(
            hub.token(&refresh_form(&first)).await.good()["refresh_token"],
            second["refresh_token"],
            "the outage extends the grace period"
        );
        set_used_ago(&hub, 1_100).await;
        assert_eq!(error(&hub.token(&refresh_form(&first)).await, 400), "invalid_grant", "the grace period ended before the outage");
    }
}

/// Moves the use of all used refresh tokens this many seconds into the past.
async fn set_used_ago(hub: &TestHub, seconds: i64) {
    let ago = "UPDATE peristyle.refresh_token SET used_at = $1 WHERE used_at IS NOT NULL";
    hub.records.run(ago, &[Bind::timestamp(now().plus(-seconds))]).await.unwrap();
}
