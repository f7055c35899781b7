//! Answers of writes that are lost after the commit.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hub_fixture::posted;
use crate::outage::outage;
use crate::program::{Folder, Serving};
use crate::support::proxy::{Proxy, ProxyMode};
use crate::support::{Backend, Database, Request, post, variable};

const PASSWORD: &str = "marker-password-1";

/// Statements are sent as text, so that the proxy sees which of them write.
const UNPREPARED: (&str, &str) = ("DATABASE_PREPARE", "off");

/// A proxy to the cluster, and a DSN of this database through it, without TLS.
async fn proxied(database: &Database) -> (Proxy, String) {
    let proxy = Proxy::to(format!("127.0.0.1:{}", variable("PERISTYLE_TEST_PORT"))).await;
    let dsn = format!("postgres://postgres@{}/{}?sslmode=disable", proxy.address, database.name());
    (proxy, dsn)
}

fn refresh(secret: &str, tokens: &Value) -> Request {
    let token = tokens["refresh_token"].as_str().expect("a token");
    posted("/token", &[("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "shop"), ("client_secret", secret)])
}

/// Refreshes until an answer comes, as an app does, while the answers to writes are lost for this long.
async fn refreshed(serving: &Serving, proxy: &Proxy, request: &Request, lost: Duration) -> Value {
    let started = Instant::now();
    proxy.set(ProxyMode::LoseWrites);
    loop {
        if started.elapsed() >= lost {
            proxy.set(ProxyMode::Forward);
        }
        let answer = request.clone().send(serving.address).await;
        match answer.status() {
            200 if started.elapsed() >= lost => return answer.good(),
            503 => assert!(started.elapsed() < lost + Duration::from_secs(20), "it recovers"),
            status => panic!("{status} after {:?}: {}", started.elapsed(), answer.text()),
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

// contract I4.2, I4.7, attack 34
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_lost_after_the_commit_sign_out_no_account() {
    let database = Database::with(Backend::Postgres, "").await;
    let (proxy, dsn) = proxied(&database).await;
    let folder = Folder::new();
    // Within the grace, and after it.
    let (short, (long, grace)) = (Duration::from_secs(4), outage());
    let grace = ("REFRESH_GRACE", grace.unwrap_or_default());
    let hub = [("OAUTH_STRATEGY", "local-provider"), ("APP_URL", "http://hub.test")];
    let variables = [("DATABASE_URL", dsn.as_str()), UNPREPARED, hub[0], hub[1], grace];
    let secret = folder.set_up_hub(PASSWORD, "http://localhost:9/callback", &variables);
    folder.run(&["client", "update", "--id", "shop", "--grant", "refresh_token", "--grant", "password"], &variables).good();
    let serving = folder.serve(&variables);
    let sign_in = [("grant_type", "password"), ("username", "ada"), ("password", PASSWORD), ("client_id", "shop")];
    let mut tokens = posted("/token", &[&sign_in[..], &[("client_secret", secret.as_str())]].concat()).send(serving.address).await.good();
    for lost in [short, long] {
        let request = refresh(&secret, &tokens);
        tokens = refreshed(&serving, &proxy, &request, lost).await;
        let again = request.send(serving.address).await.good();
        assert_eq!(again["refresh_token"], tokens["refresh_token"], "a token has one successor");
    }
    refresh(&secret, &tokens).send(serving.address).await.good();
    serving.stop();
}

const ORDERS: &str = "
[resource.shop.order.write]
create = true
max-rows = 100
[resource.shop.order.fields]
id = { type = \"int\", key = true, write = \"create\" }
label = { type = \"text\", write = \"create\" }
";

// contract E2.15, contract E2.6
#[tokio::test(flavor = "multi_thread")]
async fn a_write_with_a_lost_answer_is_done_whole_or_not_at_all() {
    let database = Database::with(Backend::Postgres, "CREATE TABLE orders (id integer PRIMARY KEY, label text)").await;
    let (proxy, dsn) = proxied(&database).await;
    let folder = Folder::new();
    folder.write("peristyle.toml", ORDERS);
    let serving = folder.serve(&[("DATABASE_URL", dsn.as_str()), UNPREPARED]);
    let create = |first: usize| {
        let rows: Vec<Value> = (first..first + 50).map(|id| json!({"id": id, "label": "x"})).collect();
        post("/api/shop/orders/create", json!({"payload": rows}).to_string())
    };
    assert_eq!(create(1).send(serving.address).await.status(), 201);
    for (first, mode) in [(101, ProxyMode::LoseCommits), (201, ProxyMode::LoseWrites), (301, ProxyMode::LoseCommits)] {
        proxy.set(mode);
        let answer = create(first).send(serving.address).await;
        let problem = answer.problem(503);
        proxy.set(ProxyMode::Forward);
        let count = database.texts(&format!("SELECT count(*) FROM orders WHERE id BETWEEN {first} AND {first} + 49")).await;
        assert!(["0", "50"].contains(&count[0].as_str()), "{count:?}");
        if mode == ProxyMode::LoseCommits {
            assert_eq!((problem["code"].as_str(), answer.header("retry-after")), (Some("OUTCOME_UNKNOWN"), None), "{problem}");
        } else {
            // Its COMMIT was never sent.
            assert_eq!((problem["code"].as_str(), count[0].as_str()), (Some("DATABASE_UNAVAILABLE"), "0"), "{problem}");
            assert!(answer.header("retry-after").is_some());
        }
        let again = create(first).send(serving.address).await;
        let expected = if count[0] == "50" { 409 } else { 201 };
        assert_eq!(again.status(), expected, "{}", again.text());
    }
    let log = serving.stop();
    assert_eq!(log.matches("a write may have been done or not").count(), 2, "{log}");
    assert_eq!(log.matches("outcome=\"OUTCOME_UNKNOWN\"").count(), 2, "{log}");
}
