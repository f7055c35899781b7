//! A hub and its satellite, with a proxy between them.

#![allow(unreachable_pub)]

use std::net::SocketAddr;

use identity::client::{ClientId, Redirect};
use peristyle::config::{Binding, SatelliteSettings, Secret};
use serde_json::{Value, json};

use crate::support::proxy::Proxy;
use crate::support::{Backend, Database, Request, Response, Server, Setup, get, post};
use crate::test_hub::{CLIENT, ISSUER, REDIRECT, TestHub, cookie, key_file, parameter};

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

/// Settings of a satellite whose hub has this socket address.
pub fn settings(hub: SocketAddr, secret: &str) -> SatelliteSettings {
    SatelliteSettings {
        hub_url: ISSUER.to_owned(),
        hub_internal_url: format!("http://{hub}"),
        client: ClientId::parse(CLIENT).unwrap(),
        secret: Secret::new(secret),
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

/// A database with the resources of the satellite.
pub async fn database() -> Database {
    Database::with(Backend::Sqlite, SCRIPT).await
}

pub struct Pair {
    pub hub: TestHub,
    pub proxy: Proxy,
    pub satellite: Server,
    pub database: Database,
}

/// A login before the sign-in: the cookie of the browser and the URL at the hub.
pub struct StartedLogin {
    pub cookie: String,
    pub url: String,
}

/// A login after the sign-in.
pub struct ReturnedLogin {
    pub cookie: String,
    pub code: String,
    pub state: String,
}

impl ReturnedLogin {
    pub fn body(&self) -> String {
        json!({ "code": self.code, "state": self.state }).to_string()
    }

    /// The callback, as the app posts it from the same browser.
    pub fn request(&self) -> Request {
        post("/auth/callback", self.body()).header("origin", "http://127.0.0.1:4001").header("cookie", &self.cookie)
    }
}

impl Pair {
    pub async fn start() -> Self {
        Pair::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let hub = TestHub::start(Backend::Sqlite).await;
        let proxy = Proxy::to(hub.server.address.to_string()).await;
        let mut setup = setup(settings(proxy.address, &hub.secret));
        change(&mut setup);
        let database = database().await;
        let satellite = setup.serve(&database).await;
        Pair { hub, proxy, satellite, database }
    }

    pub async fn start_login(&self, path: &str) -> StartedLogin {
        start_login(&self.satellite, path).await
    }

    /// Signs in at the hub and follows its redirect.
    pub async fn sign_in_at_hub(&self, started: StartedLogin) -> ReturnedLogin {
        let session = self.hub.sign_in().await;
        let path = started.url.strip_prefix(ISSUER).expect("the hub");
        let answer = self.hub.send(&get(path).header("cookie", &session)).await;
        let location = answer.header("location").unwrap_or_else(|| panic!("{}", answer.text()));
        assert!(location.starts_with(REDIRECT), "{location}");
        assert_eq!(parameter(location, "iss"), ISSUER);
        ReturnedLogin { cookie: started.cookie, code: parameter(location, "code"), state: parameter(location, "state") }
    }

    /// Signs in through the satellite; returns the tokens.
    pub async fn login(&self) -> Value {
        let returned = self.sign_in_at_hub(self.start_login("/auth/login").await).await;
        self.satellite.send(&returned.request()).await.good()
    }

    pub async fn post_with_token(&self, path: &str, token: &Value) -> Response {
        post_with_token(&self.satellite, path, token).await
    }
}

/// A request to `/auth/refresh` or `/auth/logout`.
pub fn post_refresh_token(path: &str, token: &Value) -> Request {
    post(path, json!({ "refresh_token": token }).to_string())
}

pub async fn start_login(satellite: &Server, path: &str) -> StartedLogin {
    let answer = satellite.get(path).await;
    assert_eq!(answer.status(), 302, "{}", answer.text());
    StartedLogin { cookie: cookie(&answer), url: answer.header("location").unwrap().to_owned() }
}

pub async fn post_with_token(satellite: &Server, path: &str, token: &Value) -> Response {
    let token = token.as_str().expect("a token");
    satellite.send(&post(path, "").header("authorization", &format!("Bearer {token}"))).await
}

pub async fn get_with_token(satellite: &Server, path: &str, token: &Value) -> Response {
    let token = token.as_str().expect("a token");
    satellite.send(&get(path).header("authorization", &format!("Bearer {token}"))).await
}
