//! A hub, satellites of it, and an ear at its stream.

use std::net::SocketAddr;
use std::time::Instant;

use identity::audit_event::AuditEvent;
use identity::revocation::Revocation;
use peristyle::chance;
use serde_json::Value;
use store::hub_records::Records;
use store::hub_records::accounts;
use store::hub_records::rights::{self, Concerned};
use uuid::Uuid;

use crate::pair::{self, NOTES};
use crate::test_hub::{TestHub, basic, now};
use crate::support::http::{Chunk, Wire};
use crate::support::proxy::Proxy;
use crate::support::{DEADLINE, Database, Place, Request, Server, get, until};

/// What stands between two empty lines of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) id: i64,
    pub(crate) event: String,
    pub(crate) data: String,
}

/// Somebody who listens to a hub.
pub(crate) struct Ear(pub(crate) Wire);

pub(crate) fn events(id: &str, secret: &str) -> Request {
    get("/events").header("authorization", &basic(id, secret))
}

impl Ear {
    /// Listens; the first word says where the stream stands.
    pub(crate) async fn open(address: SocketAddr, request: &Request) -> (Self, Told) {
        let mut wire = request.start(address).await;
        let head = wire.head().await.expect("an answer");
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
        let mut ear = Ear(wire);
        let first = ear.next().await.expect("a first word");
        (ear, first)
    }

    /// The next word that is no sign of life; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            assert!(Instant::now() < deadline, "nothing but signs of life");
            let Chunk::Data(bytes) = self.0.chunk().await else { return None };
            let text = String::from_utf8(bytes).expect("text");
            // The hub writes each block whole.
            assert!(text.ends_with("\n\n") && text.matches("\n\n").count() == 1, "{text:?}");
            let mut told = Told::default();
            for line in text.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => told.id = id.parse().expect("a number"),
                    Some(("event", event)) => event.clone_into(&mut told.event),
                    Some(("data", data)) => data.clone_into(&mut told.data),
                    _ => {}
                }
            }
            if !told.event.is_empty() {
                return Some(told);
            }
        }
    }

    /// What the next change is about.
    pub(crate) async fn subject(&mut self) -> Value {
        let told = self.next().await.expect("a change");
        assert_eq!(told.event, "secevent", "{told:?}");
        crate::test_hub::part(&told.data.into(), 1)["sub_id"].clone()
    }
}

/// A hub and some satellites, with a proxy between that can be cut.
pub(crate) struct House {
    pub(crate) hub: TestHub,
    pub(crate) proxy: Proxy,
    pub(crate) satellites: Vec<Server>,
    pub(crate) databases: Vec<Database>,
}

impl House {
    pub(crate) async fn with(place: Place, satellites: usize) -> Self {
        let hub = TestHub::start(place).await;
        let proxy = Proxy::to(hub.server.address.to_string()).await;
        House::around(hub, proxy, satellites).await
    }

    pub(crate) async fn around(hub: TestHub, proxy: Proxy, count: usize) -> Self {
        let (mut satellites, mut databases) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let database = pair::database().await;
            satellites.push(pair::setup(pair::settings(proxy.address, &hub.secret)).serve(&database).await);
            databases.push(database);
        }
        House { hub, proxy, satellites, databases }
    }

    /// What each satellite answers to a token.
    pub(crate) async fn ask(&self, token: &Value) -> Vec<u16> {
        let mut statuses = Vec::new();
        for satellite in &self.satellites {
            statuses.push(pair::post_with_token(satellite, NOTES, token).await.status());
        }
        statuses
    }

    /// Waits until all satellites answer so.
    pub(crate) async fn until(&self, token: &Value, status: u16) {
        until(&format!("{status} everywhere"), async || self.ask(token).await.iter().all(|answer| *answer == status)).await;
    }

    /// Waits until what satellites cache is dropped by word alone: until each has heard of a change of an account that it knows.
    pub(crate) async fn hears(&self) {
        let id = self.hub.add_account(&format!("probe-{}", chance::id()), &["shop.note.get"]).await;
        let name = accounts::by_id(&self.hub.records, id).await.unwrap().unwrap().username.unwrap();
        let token = tokens_of(&self.hub, &name).await["access_token"].clone();
        self.until(&token, 200).await;
        take_rights(&self.hub.records, id).await;
        self.until(&token, 403).await;
    }
}

/// Tokens by the password grant.
pub(crate) async fn tokens_of(hub: &TestHub, name: &str) -> Value {
    let pairs = [("grant_type", "password"), ("username", name), ("password", crate::test_hub::PASSWORD), ("scope", "openid")];
    hub.token(&pairs).await.good()
}

/// Takes all roles of an account away.
pub(crate) async fn take_rights(records: &Records, account: Uuid) {
    let mut transaction = records.begin().await.unwrap();
    rights::lock(&mut transaction).await.unwrap();
    accounts::set_roles(&mut transaction, account, &[]).await.unwrap();
    rights::recompute(&mut transaction, Concerned::Accounts(&[account])).await.unwrap();
    transaction.commit().await.unwrap();
}

/// Changes something of an account that matters to nobody's rights.
pub(crate) async fn touch(records: &Records, account: Uuid) {
    let mut transaction = records.begin().await.unwrap();
    let kept = accounts::by_id(&mut transaction, account).await.unwrap().unwrap();
    accounts::update(&mut transaction, &kept, now()).await.unwrap();
    transaction.commit().await.unwrap();
}

pub(crate) async fn end(records: &Records, ending: &Revocation) {
    let occasion = store::hub_records::audit_log::AuditContext { now: now(), address: None };
    store::hub_records::revocation::revoke(records, ending, None::<&AuditEvent>, occasion).await.unwrap();
}
