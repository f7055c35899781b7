//! Replica state in memory and in a real Redis: values are taken once, expire, reach all replicas, and survive outages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use store::replica_state::{Entry, Invalidation, MAX_VALUE_BYTES, ReplicaState, StateError};
use uuid::Uuid;

/// Generous: what is waited for takes milliseconds on a machine that is not busy.
const DEADLINE: Duration = Duration::from_secs(30);

fn url() -> String {
    #[expect(clippy::disallowed_methods, reason = "tests learn the URL from scripts/services")]
    std::env::var("PERISTYLE_TEST_REDIS").expect("run ./scripts/test, which starts Redis (or ./scripts/services cargo nextest run …)")
}

#[expect(clippy::disallowed_methods, reason = "what tests of all processes share must be told apart")]
fn fresh() -> Uuid {
    Uuid::new_v4()
}

/// A key that no other test uses.
fn key(number: u8) -> [u8; 32] {
    let mut key = [number; 32];
    key[..16].copy_from_slice(fresh().as_bytes());
    key
}

async fn both() -> [ReplicaState; 2] {
    [ReplicaState::memory(), ReplicaState::redis(&url()).await.expect("a URL")]
}

/// Asks until it is so.
async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A Redis that one test may kill, on a port that stays the same.
struct Own {
    port: u16,
    child: Option<Child>,
}

impl Own {
    fn new() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Own { port, child: None }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn start(&mut self) {
        let mut command = Command::new("redis-server");
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        self.child = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("redis-server starts"));
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A value without an owner.
fn entry(value: &[u8], seconds: u64) -> Entry<'_> {
    Entry { value, seconds, owner: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_a_hundred_takers_in_two_replicas_gets_the_value() {
    // contract I35.1
    let [memory, redis] = both().await;
    let other = ReplicaState::redis(&url()).await.unwrap();
    for replicas in [[memory.clone(), memory], [redis, other]] {
        let shared = &replicas[0];
        let key = key(1);
        shared.put("test", &key, entry(b"before", 60)).await.unwrap();
        shared.put("test", &key, entry(b"verifier \0\xff", 60)).await.unwrap();
        assert_eq!(shared.take("other", &key).await.unwrap(), None, "kinds do not mix");
        for (kind, seen) in [("other", None), ("test", Some(b"verifier \0\xff".to_vec())), ("test", Some(b"verifier \0\xff".to_vec()))] {
            assert_eq!(replicas[1].peek(kind, &key).await.unwrap(), seen, "a look leaves the value in place");
        }
        let takers = (0..100).map(|number| {
            let shared = replicas[number % 2].clone();
            tokio::spawn(async move { shared.take("test", &key).await.unwrap() })
        });
        let mut winners = Vec::new();
        for taker in takers.collect::<Vec<_>>() {
            winners.extend(taker.await.unwrap());
        }
        assert_eq!(winners, [b"verifier \0\xff".to_vec()]);
        assert_eq!(shared.take("test", &key).await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_expires_and_a_counter_begins_anew() {
    // contract I35.2
    for shared in both().await {
        let (value, counter) = (key(2), key(3));
        shared.put("test", &value, entry(b"x", 1)).await.unwrap();
        let counts = [1, 2, 3].map(|_| shared.clone());
        let mut counted = Vec::new();
        for shared in counts {
            counted.push(tokio::spawn(async move { shared.count("test", &counter, 60).await.unwrap() }));
        }
        let mut seen = Vec::new();
        for count in counted {
            seen.push(count.await.unwrap());
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3], "each count is told once");
        assert_eq!((shared.counted("test", &counter).await.unwrap(), shared.counted("test", &key(99)).await.unwrap()), (3, 0));
        // A counter is no value, and asking for one does not disturb it.
        let window = key(4);
        assert_eq!(shared.count("test", &window, 1).await.unwrap(), 1);
        until("a window ends", async || (shared.count("test", &window, 1).await.unwrap() == 1).then_some(())).await;
        assert_eq!(shared.take("test", &value).await.unwrap(), None, "it expired with the window");
        assert_eq!(shared.put("test", &value, entry(&vec![0; MAX_VALUE_BYTES + 1], 1)).await, Err(StateError::TooLarge));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_replica_receives_invalidations_in_order() {
    // contract I35.3
    let [memory, one] = both().await;
    let two = ReplicaState::redis(&url()).await.unwrap();
    for (publisher, hearers) in [(&memory, vec![&memory, &memory]), (&two, vec![&one, &two])] {
        let mut subscriptions: Vec<_> = hearers.iter().map(|shared| shared.subscribe()).collect();
        if !std::ptr::eq(publisher, &raw const memory) {
            for subscription in &mut subscriptions {
                assert_eq!(subscription.next().await, Invalidation::Everything, "earlier messages were missed");
            }
        }
        let (account, family) = (fresh(), fresh());
        let told = [Invalidation::Account(account), Invalidation::Family(family), Invalidation::Everything];
        for invalidation in told {
            publisher.publish(invalidation).await.unwrap();
        }
        for subscription in &mut subscriptions {
            let mut heard = Vec::new();
            // Other tests share the Redis, and what they publish is heard as well.
            while heard.len() < told.len() {
                let invalidation = tokio::time::timeout(DEADLINE, subscription.next()).await.expect("heard in time");
                heard.extend(told.contains(&invalidation).then_some(invalidation));
            }
            assert_eq!(heard, told);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_that_fell_behind_is_told_to_drop_everything() {
    // contract I35.3
    let memory = ReplicaState::memory();
    let mut subscription = memory.subscribe();
    for number in 0..5_000 {
        memory.publish(Invalidation::Account(Uuid::from_u128(number))).await.unwrap();
    }
    assert_eq!(subscription.next().await, Invalidation::Everything);
    assert!(matches!(subscription.next().await, Invalidation::Account(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_fails_fast_and_calls_recover_by_themselves() {
    // contract I35.4
    let mut own = Own::new();
    let shared = ReplicaState::redis(&own.url()).await.expect("a URL is enough to begin");
    let mut subscription = shared.subscribe();
    let out = async || {
        let start = Instant::now();
        let failed = [shared.take("test", &key(5)).await.err(), shared.count("test", &key(6), 1).await.err(), shared.ping().await.err()];
        assert!(failed.iter().all(|error| matches!(error, Some(StateError::Unavailable(_)))), "{failed:?}");
        assert!(start.elapsed() < DEADLINE);
    };
    out().await;
    let reason = shared.ping().await.expect_err("it does not run").to_string();
    assert!(reason.contains("no connection to 127.0.0.1:"), "{reason}");
    for round in 0..2 {
        own.start();
        until("Redis answers", async || shared.ping().await.ok()).await;
        let heard = tokio::time::timeout(DEADLINE, subscription.next()).await.expect("told");
        assert_eq!(heard, Invalidation::Everything, "round {round}: what was missed may be anything");
        let key = key(7);
        shared.put("test", &key, entry(b"kept", 60)).await.unwrap();
        let told = Invalidation::Family(fresh());
        shared.publish(told).await.unwrap();
        assert_eq!(tokio::time::timeout(DEADLINE, subscription.next()).await.expect("heard"), told);
        // A restart between two calls is not noticed but for what is gone.
        own.stop();
        own.start();
        let taken = until("Redis answers", async || shared.take("test", &key).await.ok()).await;
        assert_eq!(taken, None);
        assert_eq!(tokio::time::timeout(DEADLINE, subscription.next()).await.expect("told"), Invalidation::Everything);
        own.stop();
        out().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_never_answers_fails_in_time() {
    // contract I35.4
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let shared = tokio::time::timeout(DEADLINE, ReplicaState::redis(&url)).await.expect("in time").expect("a URL");
    let calls = (0..50).map(|_| {
        let shared = shared.clone();
        tokio::spawn(async move { shared.take("test", &[0; 32]).await })
    });
    for call in calls.collect::<Vec<_>>() {
        let answer = tokio::time::timeout(DEADLINE, call).await.expect("in time").unwrap();
        assert!(matches!(answer, Err(StateError::Unavailable(_))), "{answer:?}");
    }
}
