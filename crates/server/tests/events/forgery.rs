//! Somebody between a satellite and its hub who tells changes of their own.

use std::net::SocketAddr;

use identity::client::ClientId;
use identity::keys::{KeyLength, PrivateKey};
use identity::session::Ending;
use identity::token::SecurityEvent;
use identity::token::security_event::{Happening, Subject};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::house::{ask, satellite, tokens_of};
use crate::stage::{CLIENT, ISSUER, Stage, key_file, now};
use crate::support::{DEADLINE, Database, Place, Server, until};

/// A hub whose stream somebody else writes; everything else is the real one's.
struct Impostor {
    address: SocketAddr,
    /// A stream that a satellite opened: what it asked, and the wire.
    streams: mpsc::UnboundedReceiver<(String, TcpStream)>,
}

impl Impostor {
    async fn before(hub: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (opened, streams) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(relay(near, hub, opened.clone()));
            }
        });
        Impostor { address, streams }
    }

    /// The next stream that the satellite opens, answered; and the number after which it wants to hear.
    async fn stream(&mut self) -> (TcpStream, Option<i64>) {
        let (head, mut wire) = tokio::time::timeout(DEADLINE, self.streams.recv()).await.expect("in time").expect("a stream");
        let begun = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        wire.write_all(begun).await.unwrap();
        let after = head.lines().find_map(|line| line.strip_prefix("last-event-id: ")).map(|number| number.parse().unwrap());
        (wire, after)
    }
}

async fn relay(mut near: TcpStream, hub: SocketAddr, opened: mpsc::UnboundedSender<(String, TcpStream)>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = near.read_u8().await else { return };
        head.push(byte);
    }
    let text = String::from_utf8(head.clone()).unwrap().to_lowercase();
    if text.starts_with("get /events") {
        _ = opened.send((text, near));
        return;
    }
    let mut far = TcpStream::connect(hub).await.unwrap();
    far.write_all(&head).await.unwrap();
    _ = copy_bidirectional(&mut near, &mut far).await;
}

async fn tell(wire: &mut TcpStream, id: i64, event: &str, data: &str) {
    wire.write_all(format!("id: {id}\nevent: {event}\ndata: {data}\n\n").as_bytes()).await.unwrap();
}

fn key() -> PrivateKey {
    PrivateKey::from_pem(&std::fs::read_to_string(key_file()).unwrap()).unwrap()
}

fn revoked(sequence: i64, account: Uuid) -> SecurityEvent {
    SecurityEvent { sequence, happening: Happening::SessionRevoked, subject: Subject::Account(account), at: now() }
}

/// A satellite that has cached a token, and the one who tells it things.
struct Victim {
    impostor: Impostor,
    satellite: Server,
    wire: TcpStream,
    _database: Database,
}

impl Victim {
    async fn of(hub: &Stage, token: &Value) -> Self {
        let mut impostor = Impostor::before(hub.server.address).await;
        let database = Database::with(Place::Sqlite, "CREATE TABLE notes (id integer PRIMARY KEY); INSERT INTO notes VALUES (1);").await;
        let satellite = satellite(impostor.address, &hub.secret).serve(&database).await;
        let (mut wire, after) = impostor.stream().await;
        assert_eq!(after, None, "it has heard nothing yet");
        tell(&mut wire, 10, "reset", "10").await;
        assert_eq!(ask(&satellite, token).await, 200);
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
    let hub = Stage::start(Place::Sqlite).await;
    let tokens = tokens_of(&hub, "ada").await;
    let token = tokens["access_token"].clone();
    let (shop, other) = (ClientId::parse(CLIENT).unwrap(), ClientId::parse("other").unwrap());
    let stranger = PrivateKey::generate(KeyLength::Bits2048).unwrap();
    let good = |sequence| revoked(sequence, hub.account).sign(ISSUER, &shop, now(), &key()).unwrap();
    let forged = [
        ("of another key", revoked(11, hub.account).sign(ISSUER, &shop, now(), &stranger).unwrap()),
        ("for another client", revoked(11, hub.account).sign(ISSUER, &other, now(), &key()).unwrap()),
        ("of another hub", revoked(11, hub.account).sign("http://evil.test", &shop, now(), &key()).unwrap()),
        ("an access token", token.as_str().unwrap().to_owned()),
        ("an id token", tokens["id_token"].as_str().unwrap().to_owned()),
        ("of long ago", revoked(11, hub.account).sign(ISSUER, &shop, now().plus(-2 * 86_400), &key()).unwrap()),
        ("of another number", good(12)),
        ("no token", "nonsense".to_owned()),
    ];
    let mut victims = Vec::new();
    for (what, text) in forged {
        victims.push((what, text, Victim::of(&hub, &token).await));
    }
    // From here on only what the stream says can tell a satellite that the token is over.
    crate::house::end(&hub.records, &Ending::LogoutEverywhere(hub.account)).await;
    for (what, text, victim) in &mut victims {
        tell(&mut victim.wire, 11, "secevent", text).await;
        // It comes back to hear what it has not heard.
        assert_eq!(victim.hangs_up().await, Some(10), "{what}");
        tell(&mut victim.wire, 10, "ready", "10").await;
        assert_eq!(ask(&victim.satellite, &token).await, 200, "{what}");
        // What it does not know does not matter; what is true does.
        tell(&mut victim.wire, 11, "news", "of another version").await;
        tell(&mut victim.wire, 11, "secevent", &good(11)).await;
        until("believed", async || ask(&victim.satellite, &token).await == 401).await;
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
