//! A hub and a satellite of it, with a proxy between them that can be cut.

#![allow(unreachable_pub)]

use std::net::SocketAddr;

use identity::client::{ClientId, Redirect};
use peristyle::config::{Binding, ClientPassword, SatelliteSettings};
use serde_json::{Value, json};

use crate::test_hub::{CLIENT, ISSUER, REDIRECT, TestHub, cookie, key_file, parameter};
use crate::support::proxy::Proxy;
use crate::support::{Database, Place, Request, Response, Server, Setup, get, post};

pub const MANIFEST: &str = "
[resource.shop.note]
permission = \"shop.note.get\"
[resource.shop.note.fields]
id = { type = \"int\", key = true }

[resource.shop.open]
table = \"notes\"
[resource.shop.open.fields]
id = { type = \"int\", key = true }

[resource.shop.ledger]
table = \"notes\"
permission = \"satellite.ledger.get\"
[resource.shop.ledger.fields]
id = { type = \"int\", key = true }

[resource.shop.own]
table = \"owned\"
constraint = { where = { owner = { eq = \"$account.id\" }, name = { eq = \"$account.username\" } } }
[resource.shop.own.fields]
id = { type = \"int\", key = true }
owner = \"text\"
name = \"text\"
";
const SCRIPT: &str = "CREATE TABLE notes (id integer PRIMARY KEY); INSERT INTO notes VALUES (1); CREATE TABLE owned (id integer PRIMARY KEY, owner text, name text);";

pub const NOTES: &str = "/api/shop/notes/list";
pub const OPEN: &str = "/api/shop/opens/list";

/// What a satellite is at a hub that is reached here.
pub fn settings(hub: SocketAddr, secret: &str) -> SatelliteSettings {
    SatelliteSettings {
        hub_url: ISSUER.to_owned(),
        hub_internal_url: format!("http://{hub}"),
        client: ClientId::parse(CLIENT).unwrap(),
        secret: ClientPassword::new(secret),
        redirect: Redirect::register(REDIRECT).unwrap(),
        audiences: Vec::new(),
        binding: Binding::On,
    }
}

pub fn setup(settings: SatelliteSettings) -> Setup {
    let mut setup = Setup::new(MANIFEST);
    setup.key = Some(key_file());
    setup.satellite = Some(settings);
    setup.app_url = Some("http://127.0.0.1:4001".to_owned());
    setup
}

/// A database for a satellite's own resources.
pub async fn database() -> Database {
    Database::with(Place::Sqlite, SCRIPT).await
}

pub struct Pair {
    pub hub: TestHub,
    pub proxy: Proxy,
    pub satellite: Server,
    pub database: Database,
}

/// What a browser knows after it was led to the hub.
pub struct Begun {
    pub cookie: String,
    pub address: String,
}

/// What it knows when it is back.
pub struct Returned {
    pub cookie: String,
    pub code: String,
    pub state: String,
}

impl Returned {
    pub fn body(&self) -> String {
        json!({ "code": self.code, "state": self.state }).to_string()
    }

    /// As the app posts it from the browser that began the login.
    pub fn request(&self) -> Request {
        post("/auth/callback", self.body()).header("origin", "http://127.0.0.1:4001").header("cookie", &self.cookie)
    }
}

impl Pair {
    pub async fn start() -> Self {
        Pair::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let hub = TestHub::start(Place::Sqlite).await;
        let proxy = Proxy::to(hub.server.address.to_string()).await;
        let mut setup = setup(settings(proxy.address, &hub.secret));
        change(&mut setup);
        let database = database().await;
        let satellite = setup.serve(&database).await;
        Pair { hub, proxy, satellite, database }
    }

    pub async fn begin(&self, path: &str) -> Begun {
        begin(&self.satellite, path).await
    }

    /// The hub's part: somebody signs in there, and the browser is led back.
    pub async fn back(&self, begun: Begun) -> Returned {
        let session = self.hub.sign_in().await;
        let path = begun.address.strip_prefix(ISSUER).expect("the hub");
        let answer = self.hub.send(&get(path).header("cookie", &session)).await;
        let location = answer.header("location").unwrap_or_else(|| panic!("{}", answer.text()));
        assert!(location.starts_with(REDIRECT), "{location}");
        assert_eq!(parameter(location, "iss"), ISSUER);
        Returned { cookie: begun.cookie, code: parameter(location, "code"), state: parameter(location, "state") }
    }

    /// A whole login: the tokens.
    pub async fn login(&self) -> Value {
        let returned = self.back(self.begin("/auth/login").await).await;
        self.satellite.send(&returned.request()).await.good()
    }

    pub async fn ask(&self, path: &str, token: &Value) -> Response {
        ask(&self.satellite, path, token).await
    }
}

pub async fn begin(satellite: &Server, path: &str) -> Begun {
    let answer = satellite.get(path).await;
    assert_eq!(answer.status(), 302, "{}", answer.text());
    Begun { cookie: cookie(&answer), address: answer.header("location").unwrap().to_owned() }
}

pub async fn ask(satellite: &Server, path: &str, token: &Value) -> Response {
    let token = token.as_str().expect("a token");
    satellite.send(&post(path, "").header("authorization", &format!("Bearer {token}"))).await
}

pub async fn look(satellite: &Server, path: &str, token: &Value) -> Response {
    let token = token.as_str().expect("a token");
    satellite.send(&get(path).header("authorization", &format!("Bearer {token}"))).await
}
