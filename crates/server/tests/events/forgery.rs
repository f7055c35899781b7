//! Somebody between a satellite and its hub who tells changes of their own.

use identity::client::ClientId;
use identity::keys::{KeyLength, PrivateKey};
use identity::revocation::Revocation;
use identity::token::AccountChange;
use identity::token::security_event::{ChangeKind, Subject};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::house::tokens_of;
use crate::impostor::{Impostor, tell};
use crate::pair::{self, NOTES, post_with_token};
use crate::test_hub::{CLIENT, ISSUER, TestHub, now, private_key};
use crate::support::{Database, Place, Server, until};

fn revoked(sequence: i64, account: Uuid) -> AccountChange {
    AccountChange { sequence, happening: ChangeKind::SessionRevoked, subject: Subject::Account(account), at: now() }
}

/// A satellite that has cached a token, and the one who tells it things.
struct Victim {
    impostor: Impostor,
    satellite: Server,
    wire: TcpStream,
    _database: Database,
}

impl Victim {
    async fn of(hub: &TestHub, token: &Value) -> Self {
        let mut impostor = Impostor::before(hub.server.address).await;
        let database = pair::database().await;
        let satellite = pair::setup(pair::settings(impostor.address, &hub.secret)).serve(&database).await;
        let (mut wire, after) = impostor.stream().await;
        assert_eq!(after, None, "it has heard nothing yet");
        tell(&mut wire, 10, "reset", "10").await;
        assert_eq!(post_with_token(&satellite, NOTES, token).await.status(), 200);
        Victim { impostor, satellite, wire, _database: database }
    }

    /// What it wants to hear after it hung up.
    async fn hangs_up(&mut self) -> Option<i64> {
        let (wire, after) = self.impostor.stream().await;
        self.wire = wire;
        after
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forged_or_meant_for_others_is_not_believed_and_nothing_is_lost_by_it() {
    // contract I38.4, attack 25
    let hub = TestHub::start(Place::Sqlite).await;
    let tokens = tokens_of(&hub, "ada").await;
    let token = tokens["access_token"].clone();
    let (shop, other) = (ClientId::parse(CLIENT).unwrap(), ClientId::parse("other").unwrap());
    let stranger = PrivateKey::generate(KeyLength::Bits2048).unwrap();
    let good = |sequence| revoked(sequence, hub.account).sign(ISSUER, &shop, now(), &private_key()).unwrap();
    let forged = [
        ("of another key", revoked(11, hub.account).sign(ISSUER, &shop, now(), &stranger).unwrap()),
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
        victims.push((what, text, Victim::of(&hub, &token).await));
    }
    // From here on only what the stream says can tell a satellite that the token is over.
    crate::house::end(&hub.records, &Revocation::LogoutEverywhere(hub.account)).await;
    for (what, text, victim) in &mut victims {
        tell(&mut victim.wire, 11, "secevent", text).await;
        // It comes back to hear what it has not heard.
        assert_eq!(victim.hangs_up().await, Some(10), "{what}");
        tell(&mut victim.wire, 10, "ready", "10").await;
        assert_eq!(post_with_token(&victim.satellite, NOTES, &token).await.status(), 200, "{what}");
        // What it does not know does not matter; what is true does.
        tell(&mut victim.wire, 11, "news", "of another version").await;
        tell(&mut victim.wire, 11, "secevent", &good(11)).await;
        until("believed", async || post_with_token(&victim.satellite, NOTES, &token).await.status() == 401).await;
    }
    let (_, _, victim) = &mut victims[0];
    tell(&mut victim.wire, 11, "secevent", &good(11)).await;
    assert_eq!(victim.hangs_up().await, Some(11), "nothing is told twice");
    // A sign of life moves the number; a wire that breaks is taken up from there.
    tell(&mut victim.wire, 11, "ready", "11").await;
    victim.wire.write_all(b"id: 15\n: still here\n\n").await.unwrap();
    victim.wire.shutdown().await.unwrap();
    assert_eq!(victim.hangs_up().await, Some(15));
}
