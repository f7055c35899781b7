//! A fake hub: it answers what a test sets and counts requests.

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
use identity::token::{RegisteredClaims, sign};
use peristyle::random;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use crate::test_hub::{CLIENT, ISSUER, now, private_key};

pub const KEYS: &str = "/.well-known/jwks.json";
pub const GRAPHQL: &str = "/graphql";
pub const TOKEN: &str = "/token";

/// The answer at one path.
#[derive(Clone)]
pub struct FakeAnswer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// How long the answer takes.
    pub delay: Duration,
}

impl FakeAnswer {
    pub fn json(body: &Value) -> Self {
        FakeAnswer::text(200, &body.to_string())
    }

    pub fn text(status: u16, body: &str) -> Self {
        FakeAnswer { status, headers: Vec::new(), body: body.as_bytes().to_vec(), delay: Duration::ZERO }
    }

    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

#[derive(Default)]
struct State {
    answers: HashMap<String, FakeAnswer>,
    counts: HashMap<String, usize>,
    last_requests: HashMap<String, String>,
}

pub struct FakeHub {
    pub address: SocketAddr,
    pub key: PrivateKey,
    pub account: Uuid,
    pub family: Uuid,
    state: Arc<Mutex<State>>,
}

/// A key that the hub does not publish.
pub fn other_key() -> PrivateKey {
    PrivateKey::generate(KeyLength::Bits2048).unwrap()
}

impl FakeHub {
    /// Starts with a valid key set and a valid account.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = Arc::<Mutex<State>>::default();
        let address = listener.local_addr().unwrap();
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, shared.clone()));
            }
        });
        let hub = FakeHub { address, key: private_key(), account: random::uuid(), family: random::uuid(), state };
        hub.set_answer(KEYS, FakeAnswer::json(&hub.key_set().to_json()));
        hub.set_answer(GRAPHQL, FakeAnswer::json(&account_answer(&hub.account_row())));
        hub
    }

    pub fn key_set(&self) -> KeySet {
        KeySet::new(vec![self.key.public().clone()]).unwrap()
    }

    pub fn set_answer(&self, path: &str, answer: FakeAnswer) {
        self.state.lock().unwrap().answers.insert(path.to_owned(), answer);
    }

    /// The number of requests to a path.
    pub fn requests_to(&self, path: &str) -> usize {
        self.state.lock().unwrap().counts.get(path).copied().unwrap_or(0)
    }

    /// The head of the last request to a path, in lower case.
    pub fn last_request_to(&self, path: &str) -> String {
        self.state.lock().unwrap().last_requests.get(path).cloned().unwrap_or_default()
    }

    /// The account of the tokens, as GraphQL answers it.
    pub fn account_row(&self) -> Value {
        json!({
            "id": self.account.to_string(), "type": "USER", "code": "ada", "email": "ada@example.com", "username": "ada", "isActive": true,
            "tags": [], "scopes": [], "dPermissions": { "all": ["shop.note.get"] }, "dTenants": [], "meta": {}, "roles": [], "tenants": [],
            "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z", "deletedAt": null,
        })
    }

    pub fn claims(&self) -> AccessClaims {
        let now = now();
        AccessClaims {
            common: RegisteredClaims {
                issuer: ISSUER.to_owned(),
                subject: self.account,
                audiences: vec![CLIENT.to_owned(), ISSUER.to_owned()],
                issued_at: now,
                expires_at: Timestamp::from_unix(now.unix() + 3600),
            },
            client: ClientId::parse(CLIENT).unwrap(),
            family: self.family,
            id: random::uuid(),
            scope: None,
        }
    }

    /// A valid token.
    pub fn token(&self) -> Value {
        sign(&self.claims(), &self.key).unwrap().into()
    }
}

/// The GraphQL answer with this account.
pub fn account_answer(row: &Value) -> Value {
    json!({ "data": { "iamMeAccount": row } })
}

async fn answer(mut stream: TcpStream, state: Arc<Mutex<State>>) {
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
    let answer = {
        let mut state = state.lock().unwrap();
        *state.counts.entry(path.clone()).or_default() += 1;
        state.last_requests.insert(path.clone(), text);
        state.answers.get(&path).cloned().unwrap_or_else(|| FakeAnswer::text(404, "{}"))
    };
    tokio::time::sleep(answer.delay).await;
    let mut head = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\nconnection: close\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    _ = stream.write_all(head.as_bytes()).await;
    _ = stream.write_all(&answer.body).await;
}
