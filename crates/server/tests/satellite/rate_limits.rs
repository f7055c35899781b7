//! Rate limits of a satellite for tokens and logins.

use futures_util::{StreamExt, stream};
use serde_json::json;

use crate::pair::{Pair, post_refresh_token, settings, setup};
use crate::support::proxy::{Proxy, ProxyMode};
use crate::support::{Request, Response, Server, get, until, variable};
use crate::test_hub::error;

/// The refused tokens that one client address may send in a minute.
const MAX_REFUSED: usize = 300;

/// Sends made-up tokens, 40 at a time.
async fn send_made_up_tokens(satellite: &Server, path: &str, many: usize) -> Vec<Response> {
    let requests = (0..many).map(|number| post_refresh_token(path, &json!(format!("{number:043}"))));
    stream::iter(requests.map(|request| async move { request.send(satellite.address).await })).buffer_unordered(40).collect().await
}

fn count_status(answers: &[Response], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status() == status).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_refresh_tokens_hit_a_rate_limit_and_add_few_rows_to_the_audit_log() {
    // contract I30.10, I13.4, attack 62
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let tokens = pair.login().await;
    let answers = send_made_up_tokens(&pair.satellite, "/auth/refresh", 2_000).await;
    let (refused, limited) = (count_status(&answers, 400), count_status(&answers, 429));
    assert_eq!(refused + limited, 2_000);
    assert!((MAX_REFUSED..MAX_REFUSED + 40).contains(&refused), "{refused} reached the hub");
    let last = answers.iter().find(|answer| answer.status() == 429).unwrap();
    assert_eq!(error(last, 429), "temporarily_unavailable");
    assert_eq!(last.header("retry-after"), Some("60"));
    let rows = "SELECT count(*) FROM peristyle.event WHERE kind = 'grant.refused'";
    let rows = pair.hub.records.run(rows, &[]).await.unwrap()[0].number(0).unwrap();
    // The log keeps a hundred rows of a kind, and these tokens cause two kinds.
    assert!((1..=200).contains(&rows), "{rows} rows in the audit log");
    // Both endpoints share the count of a client address.
    assert_eq!(pair.satellite.send(&post_refresh_token("/auth/logout", &json!("made up"))).await.status(), 429);
    let elsewhere = |request: Request| request.header("x-forwarded-for", "203.0.113.9");
    let next = pair.satellite.send(&elsewhere(post_refresh_token("/auth/refresh", &tokens["refresh_token"]))).await.good();
    pair.satellite.send(&elsewhere(post_refresh_token("/auth/logout", &next["refresh_token"]))).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_tokens_at_logout_count_for_the_rate_limit_and_valid_ones_do_not() {
    // contract I30.10, attack 62
    let pair = Pair::start().await;
    let mut token = pair.login().await["refresh_token"].clone();
    for _ in 0..=MAX_REFUSED {
        token = pair.satellite.send(&post_refresh_token("/auth/refresh", &token)).await.good()["refresh_token"].clone();
    }
    let answers = send_made_up_tokens(&pair.satellite, "/auth/logout", MAX_REFUSED + 100).await;
    assert!(count_status(&answers, 200) < MAX_REFUSED + 40 && count_status(&answers, 429) > 60, "{}", count_status(&answers, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_the_rate_limit_in_redis_and_count_alone_without_it() {
    // contract I30.10, attack 62
    let redis = variable("PERISTYLE_TEST_REDIS");
    let proxy = Proxy::to(redis.strip_prefix("redis://").unwrap().to_owned()).await;
    let redis_url = format!("redis://{}", proxy.address);
    let networks = || vec!["127.0.0.1/32".parse().unwrap()];
    let pair = Pair::with(|setup| (setup.redis_url, setup.trusted_proxies) = (Some(redis_url.clone()), networks())).await;
    let mut setup = setup(settings(pair.proxy.address, &pair.hub.secret));
    (setup.redis_url, setup.trusted_proxies) = (Some(redis), networks());
    let other = setup.serve(&pair.database).await;
    let from = format!("2001:db8:{:x}::1", std::process::id() & 0xffff);
    let made_up = post_refresh_token("/auth/refresh", &json!("made up")).header("x-forwarded-for", &from);
    let token = pair.login().await["refresh_token"].clone();
    for number in 0..MAX_REFUSED {
        let replica = if number % 2 == 0 { &pair.satellite } else { &other };
        assert_eq!(error(&replica.send(&made_up).await, 400), "invalid_grant");
    }
    for replica in [&pair.satellite, &other] {
        assert_eq!(error(&replica.send(&made_up).await, 429), "temporarily_unavailable");
    }
    // Without Redis a valid token is still rotated, and each replica counts alone.
    proxy.set(ProxyMode::Disconnect);
    until("Redis is gone", async || pair.satellite.get("/auth/login").await.status() == 503).await;
    pair.satellite.send(&post_refresh_token("/auth/refresh", &token)).await.good();
    for _ in 0..MAX_REFUSED {
        assert_eq!(error(&pair.satellite.send(&made_up).await, 400), "invalid_grant");
    }
    assert_eq!(error(&pair.satellite.send(&made_up).await, 429), "temporarily_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_logins_evicts_no_login_of_another_client_address() {
    // contract I30.11, attack 65
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let own = pair.start_login("/auth/login?return_to=/orders").await;
    let login = format!("/auth/login?return_to=/{}", "x".repeat(8_000));
    let requests = (0..10_000_usize).map(|number| get(&login).header("x-forwarded-for", &format!("198.51.100.{}", number % 40)));
    let statuses: Vec<u16> = stream::iter(requests.map(|request| async move { request.send(pair.satellite.address).await.status() }))
        .buffer_unordered(40)
        .collect()
        .await;
    assert!(statuses.iter().all(|status| *status == 302));
    let returned = pair.sign_in_at_hub(own).await;
    assert_eq!(pair.satellite.send(&returned.request()).await.good()["return_to"], "/orders");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_client_addresses_of_one_ipv6_network_share_one_rate_limit() {
    // contract I30.9, I30.11, attack 65
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let login_from = async |from: &str| pair.satellite.send(&get("/auth/login").header("x-forwarded-for", from)).await;
    for number in 0..600 {
        assert_eq!(login_from(&format!("2001:db8:0:7::{number:x}")).await.status(), 302);
    }
    let limited = login_from("2001:db8:0:7:ffff::1").await;
    assert_eq!((error(&limited, 429).as_str(), limited.header("retry-after")), ("temporarily_unavailable", Some("60")));
    assert_eq!(login_from("2001:db8:0:8::1").await.status(), 302);
}
