//! A hub with satellites, and a reader of its change feed.

use std::net::SocketAddr;
use std::time::Instant;

use identity::audit_event::AuditEvent;
use identity::revocation::Revocation;
use peristyle::random;
use serde_json::Value;
use store::hub_records::Records;
use store::hub_records::accounts;
use store::hub_records::rights::{self, AffectedAccounts};
use uuid::Uuid;

use crate::pair::{self, NOTES};
use crate::support::http::{Chunk, Connection};
use crate::support::proxy::Proxy;
use crate::support::{Backend, DEADLINE, Database, Request, Server, get, until};
use crate::test_hub::{TestHub, basic, now};

/// One event of the feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FeedEvent {
    pub(crate) id: i64,
    pub(crate) event: String,
    pub(crate) data: String,
}

/// A client that reads the feed.
pub(crate) struct FeedReader(pub(crate) Connection);

pub(crate) fn feed_request(id: &str, secret: &str) -> Request {
    get("/events").header("authorization", &basic(id, secret))
}

impl FeedReader {
    /// Opens the feed; returns its first event, `ready` or `reset`.
    pub(crate) async fn open(address: SocketAddr, request: &Request) -> (Self, FeedEvent) {
        let mut wire = request.start(address).await;
        let head = wire.head().await.expect("an answer");
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
        let mut reader = FeedReader(wire);
        let first = reader.next().await.expect("a first event");
        (reader, first)
    }

    /// The next event, without heartbeats; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<FeedEvent> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < deadline, "nothing but heartbeats");
            let Chunk::Data(bytes) = self.0.chunk().await else { return None };
            let text = String::from_utf8(bytes).expect("text");
            // The hub writes each event as one chunk.
            assert!(text.ends_with("\n\n") && text.matches("\n\n").count() == 1, "{text:?}");
            let mut feed_event = FeedEvent::default();
            for line in text.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => feed_event.id = id.parse().expect("a number"),
                    Some(("event", event)) => event.clone_into(&mut feed_event.event),
                    Some(("data", data)) => data.clone_into(&mut feed_event.data),
                    _ => {}
                }
            }
            if !feed_event.event.is_empty() {
                return Some(feed_event);
            }
        }
    }

    /// The subject of the next change.
    pub(crate) async fn subject(&mut self) -> Value {
        let feed_event = self.next().await.expect("a change");
        assert_eq!(feed_event.event, "secevent", "{feed_event:?}");
        crate::test_hub::part(&feed_event.data.into(), 1)["sub_id"].clone()
    }
}

/// A hub and its satellites, with a proxy between them.
pub(crate) struct HubWithSatellites {
    pub(crate) hub: TestHub,
    pub(crate) proxy: Proxy,
    pub(crate) satellites: Vec<Server>,
    pub(crate) databases: Vec<Database>,
}

impl HubWithSatellites {
    pub(crate) async fn start(backend: Backend, satellites: usize) -> Self {
        let hub = TestHub::start(backend).await;
        let proxy = Proxy::to(hub.server.address.to_string()).await;
        HubWithSatellites::with_hub(hub, proxy, satellites).await
    }

    pub(crate) async fn with_hub(hub: TestHub, proxy: Proxy, count: usize) -> Self {
        let (mut satellites, mut databases) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let database = pair::database().await;
            satellites.push(pair::setup(pair::settings(proxy.address, &hub.secret)).serve(&database).await);
            databases.push(database);
        }
        HubWithSatellites { hub, proxy, satellites, databases }
    }

    /// The status that each satellite answers for a token.
    pub(crate) async fn statuses(&self, token: &Value) -> Vec<u16> {
        let mut statuses = Vec::new();
        for satellite in &self.satellites {
            statuses.push(pair::post_with_token(satellite, NOTES, token).await.status());
        }
        statuses
    }

    /// Waits until all satellites answer this status.
    pub(crate) async fn wait_for_status(&self, token: &Value, status: u16) {
        until(&format!("{status} everywhere"), async || self.statuses(token).await.iter().all(|answer| *answer == status)).await;
    }

    /// Waits until each satellite has received a change of an account in its cache.
    pub(crate) async fn wait_for_feed(&self) {
        let id = self.hub.add_account(&format!("probe-{}", random::uuid()), &["shop.note.get"]).await;
        let name = accounts::by_id(&self.hub.records, id).await.unwrap().unwrap().username.unwrap();
        let token = self.hub.tokens_of(&name).await["access_token"].clone();
        self.wait_for_status(&token, 200).await;
        remove_roles(&self.hub.records, id).await;
        self.wait_for_status(&token, 403).await;
    }
}

/// Removes all roles of an account.
pub(crate) async fn remove_roles(records: &Records, account: Uuid) {
    let mut transaction = records.begin().await.unwrap();
    rights::lock(&mut transaction).await.unwrap();
    accounts::set_roles(&mut transaction, account, &[]).await.unwrap();
    rights::recompute(&mut transaction, AffectedAccounts::Accounts(&[account])).await.unwrap();
    transaction.commit().await.unwrap();
}

/// Updates an account without a change of its rights.
pub(crate) async fn update_account(records: &Records, account: Uuid) {
    let mut transaction = records.begin().await.unwrap();
    let account = accounts::by_id(&mut transaction, account).await.unwrap().unwrap();
    accounts::update(&mut transaction, &account, now()).await.unwrap();
    transaction.commit().await.unwrap();
}

pub(crate) async fn revoke(records: &Records, revocation: &Revocation) {
    let context = store::hub_records::audit_log::AuditContext { now: now(), address: None };
    store::hub_records::revocation::revoke(records, revocation, None::<&AuditEvent>, context).await.unwrap();
}
