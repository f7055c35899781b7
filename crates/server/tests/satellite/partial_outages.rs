//! Partial outages of a hub: a failing endpoint does not affect answers that need only the others.

use std::time::Duration;

use identity::token::sign;
use serde_json::Value;

use crate::fake_hub::{FakeAnswer, FakeHub, GRAPHQL, KEYS, other_key};
use crate::pair::{NOTES, OPEN, database, post_with_token, settings, setup};
use crate::support::until;

const EVENTS: &str = "/events";

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_gets_401_while_the_change_feed_fails() {
    // contract I33.5
    let whole = "event: ready\nid: 1\n\n";
    for (what, answer) in [
        ("the feed ends", FakeAnswer::text(200, whole)),
        ("the feed is an error", FakeAnswer::text(500, "{}")),
        ("a proxy delays the feed", FakeAnswer::text(200, whole).after(Duration::from_secs(60))),
    ] {
        let hub = FakeHub::start().await;
        hub.set_answer(EVENTS, answer);
        let database = database().await;
        let satellite = setup(settings(hub.address, "secret")).serve(&database).await;
        let bad_token: Value = sign(&hub.claims(), &other_key()).unwrap().into();
        for _ in 0..2 {
            for path in [NOTES, OPEN] {
                let answer = post_with_token(&satellite, path, &bad_token).await;
                assert_eq!(answer.problem(401)["code"], "INVALID_TOKEN", "{what}");
                assert_eq!(answer.header("www-authenticate"), Some("Bearer error=\"invalid_token\""), "{what}");
            }
            let before = hub.requests_to(EVENTS);
            until("the satellite opens the feed again", async || hub.requests_to(EVENTS) > before).await;
        }
        assert_eq!(post_with_token(&satellite, NOTES, &hub.token()).await.status(), 200, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_gets_401_while_the_hub_answers_no_accounts() {
    // contract I33.5
    let hub = FakeHub::start().await;
    let database = database().await;
    let satellite = setup(settings(hub.address, "secret")).serve(&database).await;
    let bad_token: Value = sign(&hub.claims(), &other_key()).unwrap().into();
    assert_eq!(post_with_token(&satellite, NOTES, &bad_token).await.status(), 401);
    hub.set_answer(GRAPHQL, FakeAnswer::text(500, "{}"));
    assert_eq!(post_with_token(&satellite, NOTES, &hub.token()).await.status(), 503, "the account lookup fails");
    assert_eq!(post_with_token(&satellite, NOTES, &bad_token).await.status(), 401, "the keys are still available");
    let before = hub.requests_to(KEYS);
    for _ in 0..5 {
        assert_eq!(post_with_token(&satellite, NOTES, &hub.token()).await.status(), 503);
        assert_eq!(post_with_token(&satellite, NOTES, &bad_token).await.status(), 401);
    }
    assert!(hub.requests_to(KEYS) <= before + 1, "the key set is not fetched each time");
    // Without the key set the satellite cannot judge the token.
    hub.set_answer(KEYS, FakeAnswer::text(500, "{}"));
    until("the key set is fetched", async || {
        assert_eq!(post_with_token(&satellite, NOTES, &hub.token()).await.status(), 503);
        post_with_token(&satellite, NOTES, &bad_token).await.status() == 503
    })
    .await;
}
