//! What the rules are tried on: a hub's key, a client, an account, and tokens signed over anything.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use identity::account::Account;
use identity::client::{self, Authenticated, Client, ClientId, GrantType, Redirect, SecretRecord};
use identity::grant::{RefreshRules, Terms};
use identity::keys::{KeyLength, PrivateKey};
use identity::lifetime::Lifetimes;
use identity::parameters::Parameters;
use identity::pkce::Verifier;
use identity::secret_token::{ClientSecret, Code, RefreshToken};
use identity::session::{LiveSession, Session};
use identity::timestamp::Timestamp;
use identity::token::{self, Expectation, ExpiryClock, HubSessionClaims, Unverified, Verified};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use uuid::Uuid;

pub(crate) const ISSUER: &str = "https://hub.example";
pub(crate) const CALLBACK: &str = "https://app.example/callback";
pub(crate) const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);
pub(crate) const ACCOUNT: Uuid = Uuid::from_u128(0xa11c_e000_0000_4000_8000_0000_0000_0001);
pub(crate) const SESSION: Uuid = Uuid::from_u128(0x5e55_1000_0000_4000_8000_0000_0000_0002);
pub(crate) const FAMILY: Uuid = Uuid::from_u128(0xfa31_1000_0000_4000_8000_0000_0000_0003);

pub(crate) static KEY: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::generate(KeyLength::Bits2048).expect("a key"));
pub(crate) static OTHER_KEY: LazyLock<PrivateKey> = LazyLock::new(|| PrivateKey::generate(KeyLength::Bits2048).expect("a key"));

pub(crate) fn seconds(later: i64) -> Timestamp {
    NOW.plus(later)
}

pub(crate) fn secret() -> ClientSecret {
    ClientSecret::from_random([7; 32])
}

pub(crate) fn client() -> Client {
    Client {
        id: ClientId::parse("shop").expect("an id"),
        name: "Shop".to_owned(),
        secret: SecretRecord::new(&secret()),
        redirect: Redirect::register(CALLBACK).expect("a redirect"),
        grants: BTreeSet::from(GrantType::ALL),
        lifetimes: Lifetimes::default(),
        is_active: true,
        administers: false,
        app: None,
    }
}

/// What a grant is decided by, under the rules that a deployment has by default.
pub(crate) fn terms(now: Timestamp) -> Terms {
    Terms { now, rules: RefreshRules::default() }
}

pub(crate) fn proven(client: &Client) -> Authenticated<'_> {
    client::authenticate(Some(client), &secret().expose(), NOW).expect("the client's own secret")
}

pub(crate) fn other_client() -> Client {
    Client { id: ClientId::parse("other").expect("an id"), ..client() }
}

pub(crate) fn ana() -> Account {
    Account { id: ACCOUNT, code: "ana".to_owned(), username: Some("ana".to_owned()), ..Account::anonymous() }
}

pub(crate) fn session() -> LiveSession {
    session_begun(NOW)
}

/// A session that began then and counts now.
pub(crate) fn session_begun(at: Timestamp) -> LiveSession {
    let row = Session::begin(SESSION, ACCOUNT, at);
    LiveSession::of(&cookie(&row), Some(&row), Some(&ana()), NOW).expect("a live session")
}

/// The verified cookie of a session.
pub(crate) fn cookie(session: &Session) -> Verified<HubSessionClaims> {
    let token = token::sign(&session.claims(ISSUER), &KEY).expect("a token");
    let audience = HubSessionClaims::audience(ISSUER);
    let expected = Expectation { issuer: ISSUER, audiences: &[&audience], now: session.authenticated_at, end: ExpiryClock::Own };
    Unverified::read(&token).expect("a token").verify(KEY.public(), &expected).expect("a good one")
}

pub(crate) fn verifier() -> Verifier {
    Verifier::from_random([3; 32])
}

pub(crate) fn code() -> Code {
    Code::from_random([4; 32])
}

pub(crate) fn refresh() -> RefreshToken {
    RefreshToken::from_random([5; 32])
}

pub(crate) fn parameters(pairs: &[(&str, &str)]) -> Parameters {
    Parameters::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))).expect("unique names")
}

/// The same pairs with one replaced, added, or (by an empty value) left out.
pub(crate) fn with<'a>(pairs: &[(&'a str, &'a str)], name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut pairs: Vec<_> = pairs.iter().copied().filter(|(known, _)| *known != name).collect();
    pairs.push((name, value));
    pairs
}

pub(crate) fn base64url(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// A token over any header and payload, whose signature is the key's.
pub(crate) fn forge(header: &str, payload: &str, key: &PrivateKey) -> String {
    let signed = format!("{}.{}", base64url(header), base64url(payload));
    format!("{signed}.{}", base64url(signature(signed.as_bytes(), key)))
}

pub(crate) fn signature(message: &[u8], key: &PrivateKey) -> Vec<u8> {
    let pem = key.to_pem().expect("a PEM");
    let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).expect("PKCS#8");
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).expect("a key");
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).expect("a signature");
    signature
}

/// The parts of a token as JSON.
pub(crate) fn parts(token: &str) -> (serde_json::Value, serde_json::Value) {
    let read = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    let mut parts = token.split('.').map(str::to_owned);
    (read(&parts.next().unwrap()), read(&parts.next().unwrap()))
}
