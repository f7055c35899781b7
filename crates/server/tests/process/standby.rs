//! Real standbys as read replicas: one that falls behind, and one of two that freezes.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::Cluster;
use crate::program::{Folder, Serving};
use crate::support::database::connect;
use crate::support::proxy::{Proxy, ProxyMode};
use crate::support::{Backend, Database, post, until};

const MANIFEST: &str = "
[resource.shop.server.fields]
port = \"int\"
standby = \"bool\"
[resource.shop.item.fields]
id = { type = \"int\", key = true }
";
const SCRIPT: &str = "CREATE TABLE items (id integer PRIMARY KEY);
    CREATE VIEW servers AS SELECT current_setting('port')::int AS port, pg_is_in_recovery() AS standby";

async fn primary() -> Cluster {
    let primary = Cluster::start();
    connect(&primary.url()).await.batch_execute(SCRIPT).await.expect("the script runs");
    primary
}

/// The server that answers a read, and how long the answer takes.
async fn asked(serving: &Serving) -> (Value, Duration) {
    let started = Instant::now();
    let answer = post("/api/shop/servers/list", "{}").send(serving.address).await.good();
    (answer[0].clone(), started.elapsed())
}

// contract B1.2, contract B1.27
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_falls_behind_is_left_until_it_catches_up() {
    let primary = primary().await;
    let standby = primary.standby();
    let (url, read_url) = (primary.url(), standby.url());
    let (on_primary, on_standby) = (connect(&url).await, connect(&read_url).await);
    on_primary.batch_execute("INSERT INTO items VALUES (1)").await.expect("a row");
    let rows = async || on_standby.query_one("SELECT count(*) FROM items", &[]).await.expect("a count").get::<_, i64>(0);
    until("the standby has replayed a transaction, so that it knows its delay", async || rows().await == 1).await;
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let serving = folder.serve(&[("DATABASE_URL", url.as_str()), ("DATABASE_READ_URL", &read_url), ("DATABASE_READ_MAX_LAG", "2s")]);
    let by_standby = async || asked(&serving).await.0["standby"] == true;
    until("the standby answers", async || by_standby().await).await;
    // An idle primary sends nothing, and its standby is current. The first request finds no recent measurement.
    tokio::time::sleep(Duration::from_secs(4)).await;
    until("the standby answers after a pause", async || by_standby().await).await;
    on_standby.batch_execute("SELECT pg_wal_replay_pause()").await.expect("paused");
    on_primary.batch_execute("INSERT INTO items VALUES (2)").await.expect("another row");
    until("the primary answers", async || asked(&serving).await.0["standby"] == false).await;
    on_standby.batch_execute("SELECT pg_wal_replay_resume()").await.expect("resumed");
    until("the standby answers again", async || by_standby().await).await;
    let log = serving.stop();
    assert_eq!(log.matches("behind, more than DATABASE_READ_MAX_LAG allows").count(), 1, "{log}");
}

// contract B1.2, contract B1.27
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_standby_costs_its_readers_one_short_timeout() {
    let primary = primary().await;
    let (one, two) = (primary.standby(), primary.standby());
    let proxy = Proxy::to(place(&one)).await;
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let (url, read_url) = (primary.url(), format!("postgres://postgres@{},{}/postgres", proxy.address, place(&two)));
    let serving = folder.serve(&[("DATABASE_URL", url.as_str()), ("DATABASE_READ_URL", &read_url)]);
    let mut ports = Vec::new();
    for _ in 0..20 {
        ports.push(asked(&serving).await.0["port"].clone());
    }
    ports.sort_by_key(Value::to_string);
    ports.dedup();
    assert_eq!(ports.len(), 2, "both standbys answer in turn: {ports:?}");
    proxy.set(ProxyMode::Freeze);
    let (mut slow, mut answered) = (Duration::ZERO, Vec::new());
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(25) {
        let (server, took) = asked(&serving).await;
        if took > Duration::from_secs(1) {
            slow += took;
        }
        answered.push(server["port"].clone());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(slow < Duration::from_secs(8), "the readers waited {slow:?} in all");
    assert!(answered.iter().rev().take(20).all(|port| *port == answered[answered.len() - 1]), "the other standby answers: {answered:?}");
    proxy.set(ProxyMode::Forward);
    let frozen = ports.iter().find(|port| **port != answered[answered.len() - 1]).expect("another port").clone();
    until("the standby is used again", async || asked(&serving).await.0["port"] == frozen).await;
    let log = serving.stop();
    let lines = log.lines().filter(|line| line.contains("WARN")).count();
    assert!(lines <= 3, "{lines} warnings: {log}");
}

/// The host and port of a cluster.
fn place(cluster: &Cluster) -> String {
    cluster.url().trim_start_matches("postgres://postgres@").trim_end_matches("/postgres").to_owned()
}

// contract B1.27
#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_the_cluster_that_is_its_primary_is_left_in_silence() {
    let primary = primary().await;
    let standby = primary.standby();
    let proxy = Proxy::to(place(&primary)).await;
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let url = primary.url();
    for word in ["standby", "read-only", "prefer-standby"] {
        let read_url = format!("postgres://postgres@{},{}/postgres?target_session_attrs={word}", proxy.address, place(&standby));
        let variables = [("DATABASE_URL", url.as_str()), ("DATABASE_READ_URL", &read_url)];
        let checked = folder.run(&["check"], &variables).good();
        assert!(!checked.contains("DATABASE_READ_URL"), "{checked}");
        let serving = folder.serve(&variables);
        let before = proxy.accepted();
        for _ in 0..60 {
            assert_eq!(asked(&serving).await.0["standby"], true);
        }
        let connections = proxy.accepted() - before;
        assert!(connections <= 12, "{connections} connections to the primary for 60 reads");
        let log = serving.stop();
        assert!(
            !log.lines().any(|line| line.contains("WARN") && (line.contains("DATABASE_READ_URL") || line.contains("replica"))),
            "{log}"
        );
    }
}

// contract B1.2, contract B1.27
#[tokio::test(flavor = "multi_thread")]
async fn a_long_transaction_and_a_dead_primary_make_no_standby_old_at_once() {
    let primary = primary().await;
    let standby = primary.standby();
    let (url, read_url) = (primary.url(), standby.url());
    let on_primary = connect(&url).await;
    on_primary.batch_execute("INSERT INTO items VALUES (1); CREATE TABLE loads (filler text)").await.expect("a row");
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let serving = folder.serve(&[("DATABASE_URL", url.as_str()), ("DATABASE_READ_URL", &read_url), ("DATABASE_READ_MAX_LAG", "6s")]);
    until("the standby answers", async || asked(&serving).await.0["standby"] == true).await;
    // Twice the longest delay without the end of a transaction.
    on_primary.batch_execute("BEGIN").await.expect("begun");
    let (started, mut by_primary) = (Instant::now(), 0);
    while started.elapsed() < Duration::from_secs(12) {
        on_primary.batch_execute("INSERT INTO loads SELECT repeat('x', 100) FROM generate_series(1, 5000)").await.expect("rows");
        by_primary += usize::from(asked(&serving).await.0["standby"] == false);
    }
    assert_eq!(by_primary, 0, "the standby is current");
    primary.kill();
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        assert_eq!(asked(&serving).await.0["standby"], true, "it had everything a moment ago");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    until("it is too old", async || post("/api/shop/servers/list", "{}").send(serving.address).await.status() == 503).await;
    serving.stop();
}

// contract B1.27
#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_read_replicas_that_cannot_answer_for_the_primary() {
    let script = "CREATE TABLE items (id integer PRIMARY KEY, label text)";
    let (primary, other) = (Database::with(Backend::Postgres, script).await, Database::with(Backend::Postgres, script).await);
    let empty = Database::with(Backend::Postgres, "").await;
    let folder = Folder::new();
    folder.write("peristyle.toml", "[resource.shop.item.fields]\nid = { type = \"int\", key = true }\nlabel = \"text\"\n");
    let check = |url: &str| folder.run(&["check"], &[("DATABASE_URL", primary.url.as_str()), ("DATABASE_READ_URL", url)]).good();
    assert!(!check(&primary.url).contains("DATABASE_READ_URL"));
    for (url, expected) in [
        ("postgres://postgres@127.0.0.1:1/none", "no connection to 127.0.0.1:1"),
        (&*empty.url, "table `items`"),
        (&*other.url, "is no standby of DATABASE_URL but another database"),
    ] {
        let checked = check(url);
        let warning = checked.lines().find(|line| line.starts_with("warning: DATABASE_READ_URL: ")).unwrap_or_else(|| panic!("{checked}"));
        assert!(warning.contains(expected), "{expected}: {checked}");
        assert!(checked.contains(" 0 error(s)"), "{checked}");
    }
}
