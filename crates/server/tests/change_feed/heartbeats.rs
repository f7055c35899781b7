//! Heartbeats of the feed, and invalidation through Redis without it.

use identity::client::GrantType;

use crate::fake_feed::{FakeFeed, send_event};
use crate::fixture::{FeedReader, feed_request, update_account};
use crate::pair::{self, NOTES, post_refresh_token, post_with_token};
use crate::support::http::Chunk;
use crate::support::{Backend, until, variable};
use crate::test_hub::{CLIENT, TestHub};

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_changes_sends_heartbeats() {
    // contract I37.7
    let hub = TestHub::start(Backend::Sqlite).await;
    let (mut reader, first) = FeedReader::open(hub.server.address, &feed_request(CLIENT, &hub.secret)).await;
    let Chunk::Data(bytes) = reader.0.chunk().await else { panic!("no heartbeat") };
    assert_eq!(String::from_utf8(bytes).unwrap(), format!("id: {}\n: still here\n\n", first.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_other_accounts_do_not_replace_heartbeats() {
    // contract I37.7
    let hub = TestHub::start(Backend::Sqlite).await;
    let secret = hub.add_client("bystander", &GrantType::ALL, None).await;
    let (mut reader, _) = FeedReader::open(hub.server.address, &feed_request("bystander", &secret)).await;
    let noise = async {
        loop {
            update_account(&hub.records, hub.account).await;
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        }
    };
    let chunk = tokio::select! {
        chunk = reader.0.chunk() => chunk,
        () = noise => unreachable!("the loop never ends"),
    };
    let Chunk::Data(bytes) = chunk else { panic!("no heartbeat") };
    assert!(String::from_utf8(bytes).unwrap().ends_with("\n: still here\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_reconnects_after_silence() {
    // contract I38.5
    let hub = TestHub::start(Backend::Sqlite).await;
    let mut fake_feed = FakeFeed::in_front_of(hub.server.address).await;
    let database = pair::database().await;
    let _satellite = pair::setup(pair::settings(fake_feed.address, &hub.secret)).serve(&database).await;
    let (mut wire, _) = fake_feed.accept().await;
    send_event(&mut wire, 7, "reset", "7").await;
    // The connection stays open without data.
    assert_eq!(fake_feed.accept().await.1, Some(7));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_at_one_replica_reaches_the_others_without_the_feed() {
    // contract I38.6
    let hub = TestHub::start(Backend::Sqlite).await;
    let mut fake_feed = FakeFeed::in_front_of(hub.server.address).await;
    let mut setup = pair::setup(pair::settings(fake_feed.address, &hub.secret));
    setup.redis_url = Some(variable("PERISTYLE_TEST_REDIS"));
    let databases = [pair::database().await, pair::database().await];
    let replicas = [setup.serve(&databases[0]).await, setup.serve(&databases[1]).await];
    let mut wires = Vec::new();
    for _ in &replicas {
        let (mut wire, _) = fake_feed.accept().await;
        send_event(&mut wire, 1, "reset", "1").await;
        wires.push(wire);
    }
    let tokens = hub.tokens_of("ada").await;
    let other = hub.tokens_of("ada").await;
    let statuses = async |tokens: &serde_json::Value| {
        let token = &tokens["access_token"];
        [post_with_token(&replicas[0], NOTES, token).await.status(), post_with_token(&replicas[1], NOTES, token).await.status()]
    };
    // Wait until both replicas are subscribed to Redis.
    for (here, there) in [(0, 1), (1, 0)] {
        until("the replica gets the logout through Redis", async || {
            let probe = hub.tokens_of("ada").await;
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
    assert_eq!((statuses(&tokens).await, statuses(&other).await), ([200, 200], [200, 200]));
    replicas[0].send(&post_refresh_token("/auth/logout", &tokens["refresh_token"])).await.good();
    until("both replicas refuse the token", async || statuses(&tokens).await == [401, 401]).await;
    assert_eq!(statuses(&other).await, [200, 200], "another family is not affected");
}
