//! A hub that answers what a test tells it to, and counts what it is asked.

#![allow(unreachable_pub)]

use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use identity::client::ClientId;
use identity::keys::{KeyLength, KeySet, PrivateKey};
use identity::timestamp::Timestamp;
use identity::token::access::AccessClaims;
use identity::token::{Common, sign};
use peristyle::chance;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::test_hub::{CLIENT, ISSUER, key_file, now};

pub const KEYS: &str = "/.well-known/jwks.json";
pub const GRAPHQL: &str = "/graphql";
pub const TOKEN: &str = "/token";

/// What it answers at an address.
#[derive(Clone)]
pub struct Lie {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// How long it takes to.
    pub delay: Duration,
}

impl Lie {
    pub fn json(body: &Value) -> Self {
        Lie::text(200, &body.to_string())
    }

    pub fn text(status: u16, body: &str) -> Self {
        Lie { status, headers: Vec::new(), body: body.as_bytes().to_vec(), delay: Duration::ZERO }
    }

    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

#[derive(Default)]
struct Script {
    lies: HashMap<String, Lie>,
    asked: HashMap<String, usize>,
    heard: HashMap<String, String>,
}

/// The hub.
pub struct Liar {
    pub address: SocketAddr,
    pub key: PrivateKey,
    pub account: Uuid,
    pub family: Uuid,
    script: Arc<Mutex<Script>>,
}

pub fn private_key() -> PrivateKey {
    PrivateKey::from_pem(&std::fs::read_to_string(key_file()).unwrap()).unwrap()
}

/// Another key than the hub's.
pub fn other_key() -> PrivateKey {
    PrivateKey::generate(KeyLength::Bits2048).unwrap()
}

impl Liar {
    /// One that is honest so far.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let script = Arc::<Mutex<Script>>::default();
        let address = listener.local_addr().unwrap();
        let shared = script.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, shared.clone()));
            }
        });
        let liar = Liar { address, key: private_key(), account: chance::id(), family: chance::id(), script };
        liar.says(KEYS, Lie::json(&liar.key_set().to_json()));
        liar.says(GRAPHQL, Lie::json(&told(&liar.row())));
        liar
    }

    pub fn key_set(&self) -> KeySet {
        KeySet::new(vec![self.key.public().clone()]).unwrap()
    }

    pub fn says(&self, path: &str, lie: Lie) {
        self.script.lock().unwrap().lies.insert(path.to_owned(), lie);
    }

    /// How often an address was asked.
    pub fn asked(&self, path: &str) -> usize {
        self.script.lock().unwrap().asked.get(path).copied().unwrap_or(0)
    }

    /// The head of the last request to an address, in lower case.
    pub fn heard(&self, path: &str) -> String {
        self.script.lock().unwrap().heard.get(path).cloned().unwrap_or_default()
    }

    /// The account that tokens are of.
    pub fn row(&self) -> Value {
        json!({
            "id": self.account.to_string(), "type": "USER", "code": "ada", "email": "ada@example.com", "username": "ada", "isActive": true,
            "tags": [], "scopes": [], "dPermissions": { "all": ["shop.note.get"] }, "dTenants": [], "meta": {}, "roles": [], "tenants": [],
            "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z", "deletedAt": null,
        })
    }

    pub fn claims(&self) -> AccessClaims {
        let now = now();
        AccessClaims {
            common: Common {
                issuer: ISSUER.to_owned(),
                subject: self.account,
                audiences: vec![CLIENT.to_owned(), ISSUER.to_owned()],
                issued_at: now,
                expires_at: Timestamp::from_unix(now.unix() + 3600),
            },
            client: ClientId::parse(CLIENT).unwrap(),
            family: self.family,
            id: chance::id(),
            scope: None,
        }
    }

    /// A token that is good in every way.
    pub fn token(&self) -> Value {
        sign(&self.claims(), &self.key).unwrap().into()
    }
}

/// An account as GraphQL answers it.
pub fn told(row: &Value) -> Value {
    json!({ "data": { "iamMeAccount": row } })
}

async fn answer(mut stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut buffer).await {
            Ok(size @ 1..) => bytes.extend_from_slice(&buffer[..size]),
            _ => return,
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok()).unwrap_or(0);
    while bytes.len() < head + 4 + length {
        match stream.read(&mut buffer).await {
            Ok(size @ 1..) => bytes.extend_from_slice(&buffer[..size]),
            _ => return,
        }
    }
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let lie = {
        let mut script = script.lock().unwrap();
        *script.asked.entry(path.clone()).or_default() += 1;
        script.heard.insert(path.clone(), text);
        script.lies.get(&path).cloned().unwrap_or_else(|| Lie::text(404, "{}"))
    };
    tokio::time::sleep(lie.delay).await;
    let mut head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\nconnection: close\r\n", lie.status, lie.body.len());
    for (name, value) in &lie.headers {
        _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    _ = stream.write_all(head.as_bytes()).await;
    _ = stream.write_all(&lie.body).await;
}
