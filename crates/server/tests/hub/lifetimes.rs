//! How long a sign-in can be refreshed.

use serde_json::Value;
use store::records::Bind;

use crate::stage::{CLIENT, Stage, basic, error, now, posted};
use crate::support::PLACES;

fn refresh(tokens: &Value) -> [(&str, &str); 2] {
    [("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"].as_str().unwrap())]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_is_refreshed_for_ninety_days_and_no_longer() {
    // contract I4.6, attack 67
    for place in PLACES {
        let stage = Stage::start(place).await;
        let tokens = stage.tokens().await;
        let aged = async |days: i64| {
            let begun = now().plus(-days * 86_400);
            stage.records.run("UPDATE peristyle.family SET created_at = $1", &[Bind::moment(begun)]).await.unwrap();
            begun
        };
        let begun = aged(89).await;
        let next = stage.token(&refresh(&tokens)).await.good();
        let newest = "SELECT max(expires_at) FROM peristyle.refresh_token WHERE used_at IS NULL";
        let expires_at = stage.records.run(newest, &[]).await.unwrap()[0].moment(0).unwrap();
        assert_eq!(expires_at, begun.plus(90 * 86_400), "a token of thirty days ends with its family");
        let introspect = posted("/introspect", &[("token", next["refresh_token"].as_str().unwrap())]);
        let introspect = introspect.header("authorization", &basic(CLIENT, &stage.secret));
        assert_eq!(stage.send(&introspect).await.good()["exp"], expires_at.unix());
        aged(90).await;
        assert_eq!(error(&stage.token(&refresh(&next)).await, 400), "invalid_grant");
        assert_eq!(stage.send(&introspect).await.good()["active"], false);
        // Nothing was ended by asking: it is not reuse.
        aged(1).await;
        stage.token(&refresh(&next)).await.good();
    }
}
