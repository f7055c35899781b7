//! Several satellites that are one, through a real Redis; and what is left of them without it.

use std::net::TcpListener;

use serde_json::json;

use crate::pair::{NOTES, Pair, ask, begin, settings, setup};
use crate::test_hub::error;
use crate::support::proxy::{ProxyMode, Proxy};
use crate::support::{Server, post, until, variable};

fn redis() -> String {
    variable("PERISTYLE_TEST_REDIS")
}

/// A second replica beside the first of a pair.
async fn second(pair: &Pair, redis: &str) -> Server {
    let mut setup = setup(settings(pair.proxy.address, &pair.hub.secret));
    setup.redis_url = Some(redis.to_owned());
    setup.serve(&pair.database).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_begun_at_one_replica_is_finished_at_another_and_ended_at_both() {
    // contract I34.1, I34.2, attack 16
    let pair = Pair::with(|setup| setup.redis_url = Some(redis())).await;
    let other = second(&pair, &redis()).await;
    let returned = pair.back(begin(&pair.satellite, "/auth/login").await).await;
    // Two replicas, one winner.
    let (here, there) = (returned.request(), returned.request());
    let (here, there) = tokio::join!(other.send(&here), pair.satellite.send(&there));
    let (won, lost) = if here.status() == 200 { (here, there) } else { (there, here) };
    assert_eq!(error(&lost, 400), "invalid_request");
    let tokens = won.good();
    let token = &tokens["access_token"];
    for replica in [&other, &pair.satellite] {
        ask(replica, NOTES, token).await.good();
    }
    post("/auth/logout", json!({ "refresh_token": tokens["refresh_token"] }).to_string()).send(other.address).await.good();
    assert_eq!(ask(&other, NOTES, token).await.status(), 401);
    until("the other replica hears of it", async || ask(&pair.satellite, NOTES, token).await.status() == 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_nobody_signs_in_and_everybody_else_goes_on() {
    // contract I34.3
    let proxy = Proxy::to(redis().strip_prefix("redis://").expect("an address").to_owned()).await;
    let address = format!("redis://{}", proxy.address);
    let pair = Pair::with(|setup| setup.redis_url = Some(address)).await;
    let tokens = pair.login().await;
    let returned = pair.back(pair.begin("/auth/login").await).await;
    proxy.set(ProxyMode::Disconnect);
    until("the connection is gone", async || pair.satellite.get("/auth/login").await.status() == 503).await;
    let login = pair.satellite.get("/auth/login").await;
    assert!(login.header("retry-after").is_some());
    assert_eq!(error(&login, 503), "temporarily_unavailable");
    assert_eq!(error(&pair.satellite.send(&returned.request()).await, 503), "temporarily_unavailable");
    ask(&pair.satellite, NOTES, &tokens["access_token"]).await.good();
    assert_eq!(pair.satellite.get("/ready").await.status(), 200);
    proxy.set(ProxyMode::Forward);
    until("logins work again", async || pair.satellite.get("/auth/login").await.status() == 302).await;
    // What was begun before is still there.
    pair.satellite.send(&returned.request()).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_satellite_starts_without_its_redis() {
    // contract I34.3
    let nowhere = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let pair = Pair::with(|setup| setup.redis_url = Some(format!("redis://{nowhere}"))).await;
    assert_eq!(pair.satellite.get("/ready").await.status(), 200);
    assert_eq!(error(&pair.satellite.get("/auth/login").await, 503), "temporarily_unavailable");
}
