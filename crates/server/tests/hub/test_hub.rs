//! A hub with one account and one client, and the requests of a browser and of a client.

#![allow(unreachable_pub)]

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use identity::account::{Account, AccountKind, Permission, Rights};
use identity::client::{Client, ClientId, GrantType, Redirect, SecretRecord};
use identity::form;
use identity::keys::{KeyLength, PrivateKey};
use identity::lifetime::Lifetimes;
use identity::password::{Password, PasswordHash};
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::pkce::Verifier;
use identity::secret_token::{ClientSecret, LinkToken};
use identity::timestamp::Timestamp;
use peristyle::random;
use serde_json::Value;
use store::DatabaseSettings;
use store::hub_records::Records;
use store::hub_records::roles::RoleRecord;
use uuid::Uuid;

use crate::support::{Backend, Database, Request, Response, Server, Setup};

pub const ISSUER: &str = "http://hub.test";
pub const REDIRECT: &str = "https://shop.test/callback";
pub const PASSWORD: &str = "correct horse battery";
pub const CLIENT: &str = "shop";

const MANIFEST: &str = "[resource.shop.note]\npermission = \"shop.note.get\"\n[resource.shop.note.write]\ncreate = \"shop.note.create\"\n[resource.shop.note.fields]\nid = { type = \"int\", key = true, write = \"create\" }\n[resource.shop.open]\ntable = \"notes\"\n[resource.shop.open.fields]\nid = { type = \"int\", key = true }\n";
const SCRIPT: &str = "CREATE TABLE notes (id integer PRIMARY KEY); INSERT INTO notes VALUES (1);";

pub struct TestHub {
    pub server: Server,
    pub records: Records,
    pub secret: String,
    pub account: Uuid,
    /// Dropped at the end of the test; only some tests read it.
    #[allow(dead_code)]
    pub database: Database,
}

/// One key for all tests, because generating a key is slow.
pub fn key_file() -> PathBuf {
    static KEY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = KEY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("oauth-private.key");
        std::fs::write(&path, PrivateKey::generate(KeyLength::Bits2048).unwrap().to_pem().unwrap().as_str()).unwrap();
        (folder, path)
    });
    path.clone()
}

pub fn private_key() -> PrivateKey {
    PrivateKey::from_pem(&std::fs::read_to_string(key_file()).unwrap()).unwrap()
}

/// A token with any header and claims, signed by openssl with the key of the hub.
pub fn signed(header: &str, claims: &str) -> String {
    let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut command = std::process::Command::new("openssl");
    command.args(["dgst", "-sha256", "-sign"]).arg(key_file()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("openssl runs");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let signature = child.wait_with_output().unwrap().stdout;
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// One password hash for all accounts, because hashing is slow.
fn hash() -> &'static PasswordHash {
    static HASH: OnceLock<PasswordHash> = OnceLock::new();
    HASH.get_or_init(|| PasswordHash::make(&Password::presented(PASSWORD).unwrap(), [7; 16]).unwrap())
}

pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "rows of a test have the current time")]
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_unix(since.as_secs() as i64)
}

impl TestHub {
    pub async fn start(backend: Backend) -> Self {
        TestHub::with(backend, &setup()).await
    }

    pub async fn with(backend: Backend, setup: &Setup) -> Self {
        let database = Database::with(backend, SCRIPT).await;
        let server = setup.serve(&database).await;
        let settings = DatabaseSettings { pool: 4, ..DatabaseSettings::default() };
        let records = Records::of(&store::Database::open(&database.url, &settings).unwrap()).unwrap();
        let mut hub = TestHub { server, records, secret: String::new(), account: Uuid::nil(), database };
        hub.account = hub.add_account("ada", &["shop.note.get"]).await;
        hub.secret = hub.add_client(CLIENT, &GrantType::ALL, None).await;
        hub
    }

    pub async fn add_account(&self, name: &str, permissions: &[&str]) -> Uuid {
        let id = random::uuid();
        let account = Account {
            id,
            kind: AccountKind::User,
            code: name.to_owned(),
            email: Some(format!("{name}@example.com")),
            username: Some(name.to_owned()),
            is_active: true,
            tags: Vec::new(),
            scopes: Vec::new(),
            rights: Rights::none(),
            tenants: Vec::new(),
            meta: serde_json::Map::new(),
            created_at: now(),
            updated_at: now(),
            deleted_at: None,
        };
        store::hub_records::accounts::insert(&self.records, &account).await.unwrap();
        let mut transaction = self.records.begin().await.unwrap();
        store::hub_records::accounts::set_credential(&mut transaction, id, hash(), now()).await.unwrap();
        transaction.commit().await.unwrap();
        let listed: Vec<Permission> = permissions.iter().map(|name| Permission::parse(name).unwrap()).collect();
        self.give(id, &listed).await;
        id
    }

    async fn give(&self, account: Uuid, permissions: &[Permission]) {
        let role = random::uuid();
        add_role(&self.records, role, permissions).await;
        let mut transaction = self.records.begin().await.unwrap();
        store::hub_records::accounts::set_roles(&mut transaction, account, &[role]).await.unwrap();
        transaction.commit().await.unwrap();
        store::hub_records::rights::refresh(&self.records, account).await.unwrap();
    }

    pub async fn add_client(&self, id: &str, grants: &[GrantType], app: Option<Uuid>) -> String {
        let secret = ClientSecret::from_random(*random::uuid().as_bytes().repeat(2).first_chunk().unwrap());
        let client = Client {
            id: ClientId::parse(id).unwrap(),
            name: format!("The {id}"),
            secret: SecretRecord::new(&secret),
            redirect: Redirect::register(REDIRECT).unwrap(),
            grants: grants.iter().copied().collect(),
            lifetimes: Lifetimes::default(),
            is_active: true,
            administers: false,
            app,
        };
        store::hub_records::clients::insert(&self.records, &client, now()).await.unwrap();
        secret.expose().as_str().to_owned()
    }

    pub async fn send(&self, request: &Request) -> Response {
        self.server.send(request).await
    }

    /// Posts to the token endpoint as the client.
    pub async fn token(&self, pairs: &[(&str, &str)]) -> Response {
        self.send(&self.token_request(pairs)).await
    }

    pub fn token_request(&self, pairs: &[(&str, &str)]) -> Request {
        posted("/token", pairs).header("authorization", &basic(CLIENT, &self.secret))
    }

    /// Lengthens the delays of recorded failures, so that they last on a slow machine. Fails if no failures are recorded.
    pub async fn lengthen_delays(&self) {
        let more = "UPDATE peristyle.failure SET count = count + 20 WHERE count >= 5 RETURNING key";
        assert!(!self.records.run(more, &[]).await.unwrap().is_empty());
    }

    /// Signs in on the page; returns the cookie.
    pub async fn sign_in(&self) -> String {
        let answer = self.send(&posted("/sign-in", &[("username", "ada"), ("password", PASSWORD), ("continue", "/")])).await;
        assert_eq!(answer.status(), 303, "{}", answer.text());
        cookie(&answer)
    }

    /// Signs in and gets a code for this verifier.
    pub async fn code(&self, verifier: &Verifier, scope: &str) -> String {
        let cookie = self.sign_in().await;
        let answer =
            self.send(&Request::new("GET", &authorize(verifier, &[("scope", scope), ("nonce", "n-1")])).header("cookie", &cookie)).await;
        assert_eq!(answer.status(), 302, "{}", answer.text());
        parameter(answer.header("location").unwrap(), "code")
    }

    pub async fn redeem(&self, code: &str, verifier: &Verifier) -> Response {
        self.token(&redemption(code, verifier)).await
    }

    /// Tokens of the account ada by the password grant.
    pub async fn tokens(&self) -> Value {
        self.tokens_of("ada").await
    }

    pub async fn tokens_of(&self, username: &str) -> Value {
        self.token(&[&password_form(username)[..], &[("scope", "openid profile")]].concat()).await.good()
    }

    /// Stores a one-time link for the password of ada.
    pub async fn add_password_link(&self) -> LinkToken {
        let token = LinkToken::from_random([3; 32]);
        let link = LinkRecord::make(&token, self.account, LinkPurpose::Reset, now());
        let mut transaction = self.records.begin().await.unwrap();
        store::hub_records::password_links::insert(&mut transaction, &link, now()).await.unwrap();
        transaction.commit().await.unwrap();
        token
    }
}

pub async fn add_role(records: &Records, id: Uuid, permissions: &[Permission]) {
    store::hub_records::rights::declare(records, permissions.iter().cloned(), now()).await.unwrap();
    let mut transaction = records.begin().await.unwrap();
    let role = RoleRecord { id, name: id.to_string(), description: None, permissions: permissions.iter().cloned().collect() };
    store::hub_records::roles::insert(&mut transaction, &role, now()).await.unwrap();
    transaction.commit().await.unwrap();
}

pub fn setup() -> Setup {
    let mut setup = Setup::new(MANIFEST);
    setup.key = Some(key_file());
    setup.database.pool = 16;
    setup.app_url = Some(ISSUER.to_owned());
    setup
}

pub fn redemption<'a>(code: &'a str, verifier: &'a Verifier) -> [(&'a str, &'a str); 4] {
    [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", REDIRECT), ("code_verifier", verifier.expose())]
}

pub fn refresh_form(tokens: &Value) -> [(&str, &str); 2] {
    [("grant_type", "refresh_token"), ("refresh_token", tokens["refresh_token"].as_str().unwrap())]
}

pub fn password_form(username: &str) -> [(&str, &str); 3] {
    [("grant_type", "password"), ("username", username), ("password", PASSWORD)]
}

pub fn verifier() -> Verifier {
    Verifier::from_random([9; 32])
}

/// A URL of the authorize endpoint, with parameters added or replaced; an empty value removes one.
pub fn authorize(verifier: &Verifier, more: &[(&str, &str)]) -> String {
    let challenge = verifier.challenge();
    let mut pairs = vec![
        ("client_id", CLIENT),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "s-1"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in more {
        pairs.retain(|(other, _)| other != name);
        if !value.is_empty() {
            pairs.push((name, value));
        }
    }
    format!("/authorize?{}", form::write(pairs))
}

pub fn posted(path: &str, pairs: &[(&str, &str)]) -> Request {
    Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(form::write(pairs.iter().copied()))
}

pub fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{}:{}", form::encode(id), form::encode(secret))))
}

pub fn bearer(token: &Value) -> String {
    format!("Bearer {}", token.as_str().expect("a token"))
}

/// The cookie of an answer, as a browser sends it back.
pub fn cookie(answer: &Response) -> String {
    answer.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned()
}

/// A parameter in the query of a URL.
pub fn parameter(url: &str, name: &str) -> String {
    let query = url.split_once('?').expect("a query").1;
    let pairs = form::pairs(query).unwrap();
    pairs.into_iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("{name} in {url}")).1
}

/// Decodes a part of a token without verification.
pub fn part(token: &Value, index: usize) -> Value {
    let text = token.as_str().unwrap().split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

/// The error code of an OAuth answer; checks its shape.
pub fn error(answer: &Response, status: u16) -> String {
    assert_eq!(answer.status(), status, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{}", answer.text());
    let body = answer.json();
    assert!(body["error_description"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
    body["error"].as_str().expect("a code").to_owned()
}
