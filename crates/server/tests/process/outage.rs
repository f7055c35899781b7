//! A hub and its database are killed while clients refresh tokens, and come back after the grace of every token is over.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use crate::cluster::Cluster;
use crate::hub_fixture::posted;
use crate::program::Folder;
use crate::support::{Request, Response};

const PASSWORD: &str = "marker-password-1";
const CLIENTS: usize = 50;

/// The length of the outage and the grace of a refresh token: a short time by default. `PERISTYLE_TEST_OUTAGE` sets the seconds, with the
/// default grace.
pub(crate) fn outage() -> (Duration, Option<&'static str>) {
    #[expect(clippy::disallowed_methods, reason = "an environment variable selects the long test")]
    let asked = std::env::var("PERISTYLE_TEST_OUTAGE").ok();
    match asked.map(|seconds| seconds.parse().expect("a number of seconds")) {
        Some(seconds) => (Duration::from_secs(seconds), None),
        None => (Duration::from_secs(15), Some("10s")),
    }
}

/// A signed-in client that refreshes its token again and again.
struct RefreshingClient {
    token: String,
    /// The successor of each token.
    successors: HashMap<String, String>,
}

impl RefreshingClient {
    /// Records the successor of the current token. It must always be the same.
    fn note(&mut self, tokens: &Value) -> String {
        let successor = tokens["refresh_token"].as_str().expect("a token").to_owned();
        let first = self.successors.entry(self.token.clone()).or_insert_with(|| successor.clone());
        assert_eq!(*first, successor, "a token has two successors");
        successor
    }
}

struct Hub {
    secret: String,
    address: watch::Sender<SocketAddr>,
}

impl Hub {
    fn refresh(&self, token: &str) -> Request {
        let client = [("client_id", "shop"), ("client_secret", self.secret.as_str())];
        posted("/token", &[&[("grant_type", "refresh_token"), ("refresh_token", token)][..], &client].concat())
    }

    /// The answer, or nothing if the connection breaks: a killed hub resets connections.
    async fn answer(&self, request: Request) -> Option<Response> {
        let address = *self.address.borrow();
        request.attempt(address).await
    }

    /// Refreshes until an answer comes, as an app does. Returns whether the client is still signed in.
    async fn refreshed(&self, person: &mut RefreshingClient) -> bool {
        loop {
            match self.answer(self.refresh(&person.token)).await {
                Some(answer) if answer.status() == 200 => {
                    person.token = person.note(&answer.json());
                    return true;
                }
                Some(answer) if answer.status() == 400 => return false,
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

// contract I4.2, I4.7, attack 34
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_signed_out_by_an_outage_of_the_hub_and_its_database() {
    let (outage, grace) = outage();
    let cluster = Cluster::start();
    let (folder, url) = (Folder::new(), cluster.url());
    let mut variables = vec![("DATABASE_URL", url.as_str()), ("OAUTH_STRATEGY", "local-provider"), ("APP_URL", "http://hub.test")];
    variables.extend(grace.map(|grace| ("REFRESH_GRACE", grace)));
    let secret = folder.set_up_hub(PASSWORD, "http://localhost:9/callback", &variables);
    let grants = ["client", "update", "--id", "shop", "--grant", "refresh_token", "--grant", "password"];
    folder.run(&grants, &variables).good();
    let mut serving = folder.serve(&variables);
    let hub = Arc::new(Hub { secret, address: watch::Sender::new(serving.address) });

    let sign_in = || async {
        let client = [("client_id", "shop"), ("client_secret", hub.secret.as_str())];
        let pairs = [&[("grant_type", "password"), ("username", "ada"), ("password", PASSWORD)][..], &client].concat();
        let tokens = posted("/token", &pairs).send(serving.address).await.good();
        RefreshingClient { token: tokens["refresh_token"].as_str().expect("a token").to_owned(), successors: HashMap::new() }
    };
    let mut people = Vec::new();
    for _ in 0..CLIENTS {
        people.push(sign_in().await);
    }
    // Some clients refresh all the time, also when the hub is killed.
    let busy: Vec<Arc<Mutex<RefreshingClient>>> = people.drain(..CLIENTS / 5).map(|person| Arc::new(Mutex::new(person))).collect();
    let done = Arc::new(AtomicBool::new(false));
    let loops: Vec<JoinHandle<bool>> = busy
        .iter()
        .map(|person| {
            let (hub, person, done) = (hub.clone(), person.clone(), done.clone());
            tokio::spawn(async move {
                let mut person = person.lock().await;
                while !done.load(Ordering::Acquire) {
                    if !hub.refreshed(&mut person).await {
                        return false;
                    }
                }
                true
            })
        })
        .collect();
    // The answers to the other clients are lost.
    for person in &mut people {
        assert!(hub.refreshed(person).await);
    }
    let lost = join_all(people.iter().map(|person| hub.answer(hub.refresh(&person.token)))).await;
    for (person, answer) in people.iter_mut().zip(&lost) {
        person.note(&answer.as_ref().expect("an answer").good());
    }

    serving.signal("KILL");
    cluster.kill();
    _ = serving.child.wait();
    tokio::time::sleep(outage).await;
    cluster.restart();
    serving = folder.serve(&variables);
    hub.address.send_replace(serving.address);

    let signed_in = join_all(people.iter_mut().map(|person| hub.refreshed(person))).await;
    assert!(signed_in.iter().all(|signed_in| *signed_in), "{} were signed out", signed_in.iter().filter(|signed_in| !**signed_in).count());
    done.store(true, Ordering::Release);
    for signed_in in loops {
        assert!(signed_in.await.expect("no token has two successors"), "a client was signed out during a refresh");
    }
    // Each client refreshes once more with its current token.
    for person in &mut people {
        assert!(hub.refreshed(person).await);
    }
    serving.stop();
}
