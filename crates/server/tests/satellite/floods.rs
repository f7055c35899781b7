//! Floods of what anybody can send to a satellite: it bounds them, and its hub hears little of them.

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::pair::{Pair, settings, setup};
use crate::test_hub::error;
use crate::support::proxy::{ProxyMode, Proxy};
use crate::support::{Request, Response, Server, get, post, until, variable};

/// How many refused tokens of one address in a minute are too many.
const MOST_REFUSED: usize = 300;

fn given(path: &str, token: &Value) -> Request {
    post(path, json!({ "refresh_token": token }).to_string())
}

/// Made-up tokens, many at once.
async fn flood(satellite: &Server, path: &str, many: usize) -> Vec<Response> {
    let requests = (0..many).map(|number| given(path, &json!(format!("{number:043}"))));
    stream::iter(requests.map(|request| async move { request.send(satellite.address).await })).buffer_unordered(40).collect().await
}

fn with(answers: &[Response], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status() == status).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_refresh_tokens_are_soon_refused_here_and_are_few_rows_at_the_hub() {
    // contract I30.10, I13.4, attack 62
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let tokens = pair.login().await;
    let answers = flood(&pair.satellite, "/auth/refresh", 2_000).await;
    let (refused, limited) = (with(&answers, 400), with(&answers, 429));
    assert_eq!(refused + limited, 2_000);
    assert!((MOST_REFUSED..MOST_REFUSED + 40).contains(&refused), "{refused} went to the hub");
    let last = answers.iter().find(|answer| answer.status() == 429).unwrap();
    assert_eq!(error(last, 429), "temporarily_unavailable");
    assert_eq!(last.header("retry-after"), Some("60"));
    let rows = "SELECT count(*) FROM peristyle.event WHERE kind = 'grant.refused'";
    let rows = pair.hub.records.run(rows, &[]).await.unwrap()[0].number(0).unwrap();
    // A hundred of a kind: some of these could be tokens, others could not.
    assert!((1..=200).contains(&rows), "{rows} rows in the audit log");
    // Both endpoints are one count, and only of this address.
    assert_eq!(pair.satellite.send(&given("/auth/logout", &json!("made up"))).await.status(), 429);
    let elsewhere = |request: Request| request.header("x-forwarded-for", "203.0.113.9");
    let next = pair.satellite.send(&elsewhere(given("/auth/refresh", &tokens["refresh_token"]))).await.good();
    pair.satellite.send(&elsewhere(given("/auth/logout", &next["refresh_token"]))).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn made_up_tokens_at_logout_count_and_good_ones_do_not() {
    // contract I30.10, attack 62
    let pair = Pair::start().await;
    let mut token = pair.login().await["refresh_token"].clone();
    for _ in 0..=MOST_REFUSED {
        token = pair.satellite.send(&given("/auth/refresh", &token)).await.good()["refresh_token"].clone();
    }
    let answers = flood(&pair.satellite, "/auth/logout", MOST_REFUSED + 100).await;
    assert!(with(&answers, 200) < MOST_REFUSED + 40 && with(&answers, 429) > 60, "{}", with(&answers, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_count_together_and_each_for_itself_without_redis() {
    // contract I30.10, attack 62
    let redis = variable("PERISTYLE_TEST_REDIS");
    let proxy = Proxy::to(redis.strip_prefix("redis://").unwrap().to_owned()).await;
    let address = format!("redis://{}", proxy.address);
    let networks = || vec!["127.0.0.1/32".parse().unwrap()];
    let pair = Pair::with(|setup| (setup.redis_url, setup.trusted_proxies) = (Some(address.clone()), networks())).await;
    let mut setup = setup(settings(pair.proxy.address, &pair.hub.secret));
    (setup.redis_url, setup.trusted_proxies) = (Some(redis), networks());
    let other = setup.serve(&pair.database).await;
    let from = format!("2001:db8:{:x}::1", std::process::id() & 0xffff);
    let made_up = given("/auth/refresh", &json!("made up")).header("x-forwarded-for", &from);
    let token = pair.login().await["refresh_token"].clone();
    for number in 0..MOST_REFUSED {
        let replica = if number % 2 == 0 { &pair.satellite } else { &other };
        assert_eq!(error(&replica.send(&made_up).await, 400), "invalid_grant");
    }
    for replica in [&pair.satellite, &other] {
        assert_eq!(error(&replica.send(&made_up).await, 429), "temporarily_unavailable");
    }
    // Without Redis, tokens are traded on, and made-up ones are counted here.
    proxy.set(ProxyMode::Disconnect);
    until("Redis is gone", async || pair.satellite.get("/auth/login").await.status() == 503).await;
    pair.satellite.send(&given("/auth/refresh", &token)).await.good();
    for _ in 0..MOST_REFUSED {
        assert_eq!(error(&pair.satellite.send(&made_up).await, 400), "invalid_grant");
    }
    assert_eq!(error(&pair.satellite.send(&made_up).await, 429), "temporarily_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_logins_pushes_out_no_login_of_another_address() {
    // contract I30.11, attack 65
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let own = pair.begin("/auth/login?return_to=/orders").await;
    let login = format!("/auth/login?return_to=/{}", "x".repeat(8_000));
    let requests = (0..10_000_usize).map(|number| get(&login).header("x-forwarded-for", &format!("198.51.100.{}", number % 40)));
    let statuses: Vec<u16> = stream::iter(requests.map(|request| async move { request.send(pair.satellite.address).await.status() }))
        .buffer_unordered(40)
        .collect()
        .await;
    assert!(statuses.iter().all(|status| *status == 302));
    let returned = pair.back(own).await;
    assert_eq!(pair.satellite.send(&returned.request()).await.good()["return_to"], "/orders");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_addresses_of_one_ipv6_network_are_one_client() {
    // contract I30.9, I30.11, attack 65
    let pair = Pair::with(|setup| setup.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let ask = async |from: &str| pair.satellite.send(&get("/auth/login").header("x-forwarded-for", from)).await;
    for number in 0..600 {
        assert_eq!(ask(&format!("2001:db8:0:7::{number:x}")).await.status(), 302);
    }
    let limited = ask("2001:db8:0:7:ffff::1").await;
    assert_eq!((error(&limited, 429).as_str(), limited.header("retry-after")), ("temporarily_unavailable", Some("60")));
    assert_eq!(ask("2001:db8:0:8::1").await.status(), 302);
}
