//! What a satellite asks its hub for fails in parts: one part that fails says nothing of the others.

use std::time::Duration;

use identity::token::sign;
use serde_json::Value;

use crate::liar::{GRAPHQL, KEYS, Liar, Lie, other_key};
use crate::pair::{NOTES, OPEN, ask, database, settings, setup};
use crate::support::until;

const EVENTS: &str = "/events";

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_is_refused_while_the_event_stream_fails() {
    // contract I33.5
    let whole = "event: ready\nid: 1\n\n";
    for (what, lie) in [
        ("it ends", Lie::text(200, whole)),
        ("it is an error", Lie::text(500, "{}")),
        ("a proxy keeps it back", Lie::text(200, whole).after(Duration::from_secs(60))),
    ] {
        let liar = Liar::start().await;
        liar.says(EVENTS, lie);
        let database = database().await;
        let satellite = setup(settings(liar.address, "secret")).serve(&database).await;
        let stranger: Value = sign(&liar.claims(), &other_key()).unwrap().into();
        for _ in 0..2 {
            for path in [NOTES, OPEN] {
                let answer = ask(&satellite, path, &stranger).await;
                assert_eq!(answer.problem(401)["code"], "INVALID_TOKEN", "{what}");
                assert_eq!(answer.header("www-authenticate"), Some("Bearer error=\"invalid_token\""), "{what}");
            }
            let asked = liar.asked(EVENTS);
            until("the stream was tried again", async || liar.asked(EVENTS) > asked).await;
        }
        assert_eq!(ask(&satellite, NOTES, &liar.token()).await.status(), 200, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_token_is_refused_while_accounts_and_tokens_cannot_be_had() {
    // contract I33.5
    let liar = Liar::start().await;
    let database = database().await;
    let satellite = setup(settings(liar.address, "secret")).serve(&database).await;
    let stranger: Value = sign(&liar.claims(), &other_key()).unwrap().into();
    assert_eq!(ask(&satellite, NOTES, &stranger).await.status(), 401);
    liar.says(GRAPHQL, Lie::text(500, "{}"));
    assert_eq!(ask(&satellite, NOTES, &liar.token()).await.status(), 503, "an account that is not known cannot be told");
    assert_eq!(ask(&satellite, NOTES, &stranger).await.status(), 401, "the keys can");
    let asked = liar.asked(KEYS);
    for _ in 0..5 {
        assert_eq!(ask(&satellite, NOTES, &liar.token()).await.status(), 503);
        assert_eq!(ask(&satellite, NOTES, &stranger).await.status(), 401);
    }
    assert!(liar.asked(KEYS) <= asked + 1, "they are not asked for each time");
    // Where the keys cannot be had either, nobody can tell.
    liar.says(KEYS, Lie::text(500, "{}"));
    until("the keys are asked for", async || {
        assert_eq!(ask(&satellite, NOTES, &liar.token()).await.status(), 503);
        ask(&satellite, NOTES, &stranger).await.status() == 503
    })
    .await;
}
