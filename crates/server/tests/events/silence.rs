//! What is said when nothing happens, and who tells a satellite when its hub does not.

use identity::client::GrantType;
use serde_json::json;

use crate::house::{Ear, events, tokens_of, touch};
use crate::impostor::{Impostor, tell};
use crate::pair::{self, NOTES, post_refresh_token, post_with_token};
use crate::test_hub::{CLIENT, TestHub};
use crate::support::http::Chunk;
use crate::support::{Place, until, variable};

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_has_nothing_to_tell_says_that_it_is_there() {
    // contract I37.7
    let hub = TestHub::start(Place::Sqlite).await;
    let (mut ear, first) = Ear::open(hub.server.address, &events(CLIENT, &hub.secret)).await;
    let Chunk::Data(bytes) = ear.0.chunk().await else { panic!("a sign of life") };
    assert_eq!(String::from_utf8(bytes).unwrap(), format!("id: {}\n: still here\n\n", first.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_concern_others_are_no_sign_of_life() {
    // contract I37.7
    let hub = TestHub::start(Place::Sqlite).await;
    let secret = hub.add_client("bystander", &GrantType::ALL, None).await;
    let (mut ear, _) = Ear::open(hub.server.address, &events("bystander", &secret)).await;
    let noise = async {
        loop {
            touch(&hub.records, hub.account).await;
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        }
    };
    let heard = tokio::select! {
        chunk = ear.0.chunk() => chunk,
        () = noise => unreachable!("it never ends"),
    };
    let Chunk::Data(bytes) = heard else { panic!("a sign of life") };
    assert!(String::from_utf8(bytes).unwrap().ends_with("\n: still here\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_takes_silence_for_a_broken_stream() {
    // contract I38.5
    let hub = TestHub::start(Place::Sqlite).await;
    let mut impostor = Impostor::before(hub.server.address).await;
    let database = pair::database().await;
    let _satellite = pair::setup(pair::settings(impostor.address, &hub.secret)).serve(&database).await;
    let (mut wire, _) = impostor.stream().await;
    tell(&mut wire, 7, "reset", "7").await;
    // The wire stays open, and nothing comes.
    assert_eq!(impostor.stream().await.1, Some(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_at_one_replica_counts_at_the_others_without_word_of_the_hub() {
    // contract I38.6
    let hub = TestHub::start(Place::Sqlite).await;
    let mut impostor = Impostor::before(hub.server.address).await;
    let mut setup = pair::setup(pair::settings(impostor.address, &hub.secret));
    setup.redis_url = Some(variable("PERISTYLE_TEST_REDIS"));
    let databases = [pair::database().await, pair::database().await];
    let replicas = [setup.serve(&databases[0]).await, setup.serve(&databases[1]).await];
    let mut wires = Vec::new();
    for _ in &replicas {
        let (mut wire, _) = impostor.stream().await;
        tell(&mut wire, 1, "reset", "1").await;
        wires.push(wire);
    }
    let tokens = tokens_of(&hub, "ada").await;
    let other = tokens_of(&hub, "ada").await;
    let asked = async |tokens: &serde_json::Value| {
        let token = &tokens["access_token"];
        [post_with_token(&replicas[0], NOTES, token).await.status(), post_with_token(&replicas[1], NOTES, token).await.status()]
    };
    // Each hears what the other publishes: a logout before that would be learned by time alone.
    for (here, there) in [(0, 1), (1, 0)] {
        until("heard through Redis", async || {
            let probe = tokens_of(&hub, "ada").await;
            assert_eq!(post_with_token(&replicas[there], NOTES, &probe["access_token"]).await.status(), 200);
            replicas[here].send(&post_refresh_token("/auth/logout", &probe["refresh_token"])).await.good();
            let start = std::time::Instant::now();
            while start.elapsed() < std::time::Duration::from_secs(1) {
                if post_with_token(&replicas[there], NOTES, &probe["access_token"]).await.status() == 401 {
                    return true;
                }
            }
            false
        })
        .await;
    }
    assert_eq!((asked(&tokens).await, asked(&other).await), ([200, 200], [200, 200]));
    replicas[0].send(&post_refresh_token("/auth/logout", &tokens["refresh_token"])).await.good();
    until("refused everywhere", async || asked(&tokens).await == [401, 401]).await;
    assert_eq!(asked(&other).await, [200, 200], "another sign-in goes on");
}
