//! Replicas of a satellite with Redis, and without it.

use std::net::TcpListener;

use crate::pair::{NOTES, Pair, post_refresh_token, post_with_token, settings, setup, start_login};
use crate::support::proxy::{Proxy, ProxyMode};
use crate::support::{Server, until, variable};
use crate::test_hub::error;

fn redis() -> String {
    variable("PERISTYLE_TEST_REDIS")
}

/// Starts a second replica of the satellite.
async fn second(pair: &Pair, redis: &str) -> Server {
    let mut setup = setup(settings(pair.proxy.address, &pair.hub.secret));
    setup.redis_url = Some(redis.to_owned());
    setup.serve(&pair.database).await
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_logins_and_logouts_through_redis() {
    // contract I34.1, I34.2, attack 16
    let pair = Pair::with(|setup| setup.redis_url = Some(redis())).await;
    let other = second(&pair, &redis()).await;
    let returned = pair.sign_in_at_hub(start_login(&pair.satellite, "/auth/login").await).await;
    // One of two parallel callbacks wins.
    let (here, there) = (returned.request(), returned.request());
    let (here, there) = tokio::join!(other.send(&here), pair.satellite.send(&there));
    let (won, lost) = if here.status() == 200 { (here, there) } else { (there, here) };
    assert_eq!(error(&lost, 400), "invalid_request");
    let tokens = won.good();
    let token = &tokens["access_token"];
    for replica in [&other, &pair.satellite] {
        post_with_token(replica, NOTES, token).await.good();
    }
    post_refresh_token("/auth/logout", &tokens["refresh_token"]).send(other.address).await.good();
    assert_eq!(post_with_token(&other, NOTES, token).await.status(), 401);
    until("the other replica learns of the logout", async || post_with_token(&pair.satellite, NOTES, token).await.status() == 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_logins_fail_and_existing_tokens_work() {
    // contract I34.3
    let proxy = Proxy::to(redis().strip_prefix("redis://").expect("a URL").to_owned()).await;
    let redis_url = format!("redis://{}", proxy.address);
    let pair = Pair::with(|setup| setup.redis_url = Some(redis_url)).await;
    let tokens = pair.login().await;
    let returned = pair.sign_in_at_hub(pair.start_login("/auth/login").await).await;
    proxy.set(ProxyMode::Disconnect);
    until("the satellite notices the outage of Redis", async || pair.satellite.get("/auth/login").await.status() == 503).await;
    let login = pair.satellite.get("/auth/login").await;
    assert!(login.header("retry-after").is_some());
    assert_eq!(error(&login, 503), "temporarily_unavailable");
    assert_eq!(error(&pair.satellite.send(&returned.request()).await, 503), "temporarily_unavailable");
    post_with_token(&pair.satellite, NOTES, &tokens["access_token"]).await.good();
    assert_eq!(pair.satellite.get("/ready").await.status(), 200);
    proxy.set(ProxyMode::Forward);
    until("logins work again", async || pair.satellite.get("/auth/login").await.status() == 302).await;
    // A login from before the outage can be finished.
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
