//! A hub in a few lines: an account, a client, a session, and codes for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use identity::account::{Account, AccountKind, Rights};
use identity::client::{Authenticated, Client, ClientId, GrantType, Redirect, SecretRecord, authenticate};
use identity::grant::authorization_code::CodeRecord;
use identity::grant::{FamilySecrets, RefreshRules, Terms, authorization_code, password, refresh_token};
use identity::lifetime::Lifetimes;
use identity::password::{Password, PasswordHash, Proof, Workspace, prove_in};
use identity::pkce::Verifier;
use identity::scope::Scope;
use identity::secret_token::{ClientSecret, Code, RefreshToken};
use identity::session::Session;
use identity::timestamp::Timestamp;
use store::hub_records::Records;
use store::hub_records::audit_log::AuditContext;
use store::hub_records::sessions::{PreviousSession, SignIn, SignInProof};
use store::hub_records::{accounts, clients, codes, sessions, token_families};
use uuid::Uuid;

use crate::support::open;

pub(crate) const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);
pub(crate) const REDIRECT: &str = "https://app.example/callback";

pub(crate) fn at(seconds: i64) -> AuditContext<'static> {
    AuditContext { now: NOW.plus(seconds), address: Some("203.0.113.7") }
}

pub(crate) fn terms(now: Timestamp) -> Terms {
    Terms { now, rules: RefreshRules::default() }
}

/// A number that no other call gets.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn id() -> Uuid {
    Uuid::from_u128(0xabcd_0000_0000_4000_8000_0000_0000_0000 + u128::from(next()))
}

pub(crate) fn random() -> [u8; 32] {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&next().to_be_bytes());
    bytes
}

pub(crate) fn account(username: &str) -> Account {
    Account {
        id: id(),
        kind: AccountKind::User,
        code: username.to_owned(),
        email: Some(format!("{username}@example.com")),
        username: Some(username.to_owned()),
        is_active: true,
        tags: vec!["a".to_owned(), "b \"c\"".to_owned()],
        scopes: Vec::new(),
        rights: Rights::none(),
        tenants: Vec::new(),
        meta: serde_json::json!({"region": "north", "n": 1}).as_object().unwrap().clone(),
        created_at: NOW,
        updated_at: NOW,
        deleted_at: None,
    }
}

pub(crate) fn client(id: &str, secret: &ClientSecret) -> Client {
    Client {
        id: ClientId::parse(id).unwrap(),
        name: id.to_owned(),
        secret: SecretRecord::new(secret),
        redirect: Redirect::register(REDIRECT).unwrap(),
        grants: GrantType::ALL.into_iter().collect(),
        lifetimes: Lifetimes::new(600, 3_600).unwrap(),
        is_active: true,
        administers: true,
        app: None,
    }
}

/// The same password as another program kept it.
pub(crate) const IMPORTED: &str = "pbkdf2_sha256$1000$seasalt$mQnueSakb748zqBAC1tmWVZsZbi2zPGZarEzTGdfmso=";

pub(crate) fn password() -> Password {
    Password::presented("correct horse").unwrap()
}

/// The password as everybody here has it.
pub(crate) fn hash() -> &'static PasswordHash {
    static HASH: OnceLock<PasswordHash> = OnceLock::new();
    HASH.get_or_init(|| PasswordHash::make(&password(), [1; 16]).unwrap())
}

/// The password, compared with a hash of it.
pub(crate) fn prove(hash: &PasswordHash) -> Proof {
    prove_in(&mut Workspace::default(), Some(hash.clone()), &password(), [9; 16]).expect("the password")
}

pub(crate) async fn set_password(records: &Records, account: Uuid, hash: &PasswordHash) {
    let mut transaction = records.begin().await.expect("a transaction");
    accounts::set_credential(&mut transaction, account, hash, NOW).await.expect("a password");
    transaction.commit().await.expect("committed");
}

/// Begins a session by a password.
pub(crate) async fn sign_in(records: &Records, session: &Session, proof: &Proof, before: PreviousSession) -> Result<bool, store::Error> {
    let arrival = SignIn { session, by: SignInProof::Password(proof), before, device: Some("a browser") };
    sessions::begin(records, &arrival, at(0)).await
}

/// Purges every table.
pub(crate) async fn purge(records: &Records, now: Timestamp) {
    let purged = store::hub_records::purge::purge(records, now).await;
    assert!(purged.problems.is_empty(), "{:?}", purged.problems);
}

pub(crate) async fn records(url: &str) -> Records {
    let records = Records::of(&open(url)).expect("records");
    records.migrate().await.expect("steps");
    records
}

/// A hub with one of each.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) records: Records,
    pub(crate) account: Account,
    pub(crate) client: Client,
    pub(crate) session: Session,
    pub(crate) secret: Arc<ClientSecret>,
}

impl World {
    pub(crate) async fn at(url: &str) -> Self {
        let records = records(url).await;
        let (account, secret) = (account("ana"), ClientSecret::from_random(random()));
        let client = client("web", &secret);
        accounts::insert(&records, &account).await.expect("an account");
        clients::insert(&records, &client, NOW).await.expect("a client");
        let session = Session::begin(id(), account.id, NOW);
        set_password(&records, account.id, hash()).await;
        assert!(sign_in(&records, &session, &prove(hash()), PreviousSession::Nothing).await.expect("a session"));
        World { records, account, client, session, secret: Arc::new(secret) }
    }

    pub(crate) fn authenticated<'a>(&self, client: &'a Client) -> Authenticated<'a> {
        authenticate(Some(client), &self.secret.expose(), NOW).expect("the right secret")
    }

    /// A code that the client may redeem.
    pub(crate) async fn code(&self) -> (Code, Verifier) {
        let (code, verifier) = (Code::from_random(random()), Verifier::from_random(random()));
        let record = self.record(&code, &verifier);
        assert!(codes::insert(&self.records, &record, at(0)).await.expect("a code"));
        (code, verifier)
    }

    pub(crate) fn record(&self, code: &Code, verifier: &Verifier) -> CodeRecord {
        CodeRecord {
            digest: code.digest(),
            client: self.client.id.clone(),
            redirect: self.client.redirect.clone(),
            challenge: verifier.challenge(),
            account: self.account.id,
            session: self.session.id,
            authenticated_at: NOW,
            scope: Scope::parse("openid profile"),
            nonce: Some("n".to_owned()),
            expires_at: NOW.plus(60),
            used_by: None,
        }
    }

    /// What is decided about a code now.
    pub(crate) async fn decide(&self, code: &Code, verifier: &Verifier) -> authorization_code::CodeDecision {
        let found = codes::look_up(&self.records, "web", &code.digest()).await.expect("a read").expect("a client");
        let presented = authorization_code::PresentedCode { client: self.authenticated(&found.client), redirect_uri: REDIRECT, verifier };
        let fresh = FamilySecrets { family: id(), refresh: RefreshToken::from_random(random()) };
        let (record, account) = found.code.unzip();
        authorization_code::decide(presented, record.as_ref(), account.as_ref(), fresh, terms(NOW))
    }

    /// Redeems a code and gives the family and its refresh token.
    pub(crate) async fn family(&self) -> (Uuid, RefreshToken) {
        let (code, verifier) = self.code().await;
        let authorization_code::CodeDecision::Redeem(redemption) = self.decide(&code, &verifier).await else { panic!("not redeemed") };
        let redeemed = codes::redeem(&self.records, &redemption, &self.client, at(0)).await.expect("a redemption");
        assert_eq!(redeemed, codes::Redeemed::Done);
        (redemption.start.family.id, redemption.start.issue.refresh_token().clone())
    }

    /// What the password grant saves for who has proven a password.
    pub(crate) fn entry(&self, proof: Proof) -> password::PasswordGrant {
        let fresh = FamilySecrets { family: id(), refresh: RefreshToken::from_random(random()) };
        let proven = Some((&self.account, proof));
        let password::PasswordDecision::Grant(entry) = password::decide(self.authenticated(&self.client), proven, None, fresh, terms(NOW))
        else {
            panic!("not granted")
        };
        *entry
    }

    /// What is decided about a refresh token.
    pub(crate) async fn refresh(&self, token: &RefreshToken, now: Timestamp) -> refresh_token::RefreshDecision {
        let found = token_families::look_up(&self.records, "web", &token.digest()).await.expect("a read").expect("a client");
        let presented = refresh_token::PresentedToken { client: self.authenticated(&found.client), token, scope: None };
        let rows = found.found.as_ref().map(token_families::FoundToken::as_rows);
        let fresh = refresh_token::SuccessorSecrets { successor: RefreshToken::from_random(random()), nonce: [3; 12] };
        refresh_token::decide(presented, rows, fresh, terms(now))
    }
}
