//! Forged changes from an attacker between a satellite and its hub.

use identity::client::ClientId;
use identity::keys::{KeyLength, PrivateKey};
use identity::revocation::Revocation;
use identity::token::AccountChange;
use identity::token::security_event::{ChangeKind, Subject};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::fake_feed::{FakeFeed, send_event};
use crate::pair::{self, NOTES, post_with_token};
use crate::support::{Backend, Database, Server, until};
use crate::test_hub::{CLIENT, ISSUER, TestHub, now, private_key};

fn revoked(sequence: i64, account: Uuid) -> AccountChange {
    AccountChange { sequence, happening: ChangeKind::SessionRevoked, subject: Subject::Account(account), at: now() }
}

/// A satellite that has cached a token, and the fake feed that it reads.
struct Victim {
    fake_feed: FakeFeed,
    satellite: Server,
    wire: TcpStream,
    _database: Database,
}

impl Victim {
    async fn start(hub: &TestHub, token: &Value) -> Self {
        let mut fake_feed = FakeFeed::in_front_of(hub.server.address).await;
        let database = pair::database().await;
        let satellite = pair::setup(pair::settings(fake_feed.address, &hub.secret)).serve(&database).await;
        let (mut wire, after) = fake_feed.accept().await;
        assert_eq!(after, None, "the first request names no event");
        send_event(&mut wire, 10, "reset", "10").await;
        assert_eq!(post_with_token(&satellite, NOTES, token).await.status(), 200);
        Victim { fake_feed, satellite, wire, _database: database }
    }

    /// Waits until the satellite reconnects; returns its last event id.
    async fn reconnect(&mut self) -> Option<i64> {
        let (wire, after) = self.fake_feed.accept().await;
        self.wire = wire;
        after
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_change_is_ignored_and_the_satellite_resumes_before_it() {
    // contract I38.4, attack 25
    let hub = TestHub::start(Backend::Sqlite).await;
    let tokens = hub.tokens_of("ada").await;
    let token = tokens["access_token"].clone();
    let (shop, other) = (ClientId::parse(CLIENT).unwrap(), ClientId::parse("other").unwrap());
    let unknown_key = PrivateKey::generate(KeyLength::Bits2048).unwrap();
    let good = |sequence| revoked(sequence, hub.account).sign(ISSUER, &shop, now(), &private_key()).unwrap();
    let forged = [
        ("of another key", revoked(11, hub.account).sign(ISSUER, &shop, now(), &unknown_key).unwrap()),
        ("for another client", revoked(11, hub.account).sign(ISSUER, &other, now(), &private_key()).unwrap()),
        ("of another hub", revoked(11, hub.account).sign("http://evil.test", &shop, now(), &private_key()).unwrap()),
        ("an access token", token.as_str().unwrap().to_owned()),
        ("an id token", tokens["id_token"].as_str().unwrap().to_owned()),
        ("of long ago", revoked(11, hub.account).sign(ISSUER, &shop, now().plus(-3 * 86_400), &private_key()).unwrap()),
        ("of another number", good(12)),
        ("no token", "nonsense".to_owned()),
    ];
    let mut victims = Vec::new();
    for (what, text) in forged {
        victims.push((what, text, Victim::start(&hub, &token).await));
    }
    // The hub revokes the token. Only the fake feed could tell the satellite.
    crate::fixture::revoke(&hub.records, &Revocation::LogoutEverywhere(hub.account)).await;
    for (what, text, victim) in &mut victims {
        send_event(&mut victim.wire, 11, "secevent", text).await;
        // The satellite reconnects and resumes before the forged change.
        assert_eq!(victim.reconnect().await, Some(10), "{what}");
        send_event(&mut victim.wire, 10, "ready", "10").await;
        assert_eq!(post_with_token(&victim.satellite, NOTES, &token).await.status(), 200, "{what}");
        // An unknown event is ignored, and a valid one takes effect.
        send_event(&mut victim.wire, 11, "news", "of another version").await;
        send_event(&mut victim.wire, 11, "secevent", &good(11)).await;
        until("the change takes effect", async || post_with_token(&victim.satellite, NOTES, &token).await.status() == 401).await;
    }
    let (_, _, victim) = &mut victims[0];
    send_event(&mut victim.wire, 11, "secevent", &good(11)).await;
    assert_eq!(victim.reconnect().await, Some(11), "a repeated change is refused");
    // A heartbeat moves the event id, and the satellite resumes from there.
    send_event(&mut victim.wire, 11, "ready", "11").await;
    victim.wire.write_all(b"id: 15\n: still here\n\n").await.unwrap();
    victim.wire.shutdown().await.unwrap();
    assert_eq!(victim.reconnect().await, Some(15));
}
