//! The bare loop for tokens: the same statements on the same database and the same RSA signature behind the same HTTP library, written by
//! hand for two requests. It checks nothing.
//!
//! ```text
//! tokens ADDRESS DATABASE_URL PRIVATE_KEY.der CLIENT
//! ```

#![allow(clippy::disallowed_methods, reason = "a measure is a program of its own and makes what it measures")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::{SystemRandom, fill};
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use deadpool::managed::{self, Metrics, RecycleError, RecycleResult};
use tokio::net::TcpListener;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The default of the server under test.
const CONNECTIONS: usize = 16;

const ACCOUNT: &str = "a.id, a.type, a.code, a.email, a.username, a.is_active, a.tags, a.scopes, a.d_permissions, a.d_tenants, a.meta, \
                       a.created_at, a.updated_at, a.deleted_at";
const CLIENT: &str = "c.id, c.name, c.secret_hash, c.previous_secret_hash, c.previous_secret_until, c.redirect, c.grants, \
                      c.access_token_seconds, c.refresh_token_seconds, c.is_active, c.app_id";

struct Connection {
    client: Client,
    by_token: Statement,
    rotate: Statement,
    by_code: Statement,
    rights: Statement,
    redeem: Statement,
}

struct Connector(Config);

impl managed::Manager for Connector {
    type Type = Connection;
    type Error = tokio_postgres::Error;

    async fn create(&self) -> Result<Connection, tokio_postgres::Error> {
        let (client, connection) = self.0.connect(NoTls).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("a connection ended: {error}");
            }
        });
        client.batch_execute("SET jit = off").await?;
        Ok(Connection {
            by_token: client
                .prepare(&format!(
                    "SELECT t.expires_at, t.used_at, t.sealed_successor, f.id, f.client_id, f.account_id, f.session_id, f.scope, \
                     f.authenticated_at, f.ended_at, {ACCOUNT}, {CLIENT} FROM peristyle.client c LEFT JOIN (peristyle.refresh_token t \
                     JOIN peristyle.family f ON f.id = t.family_id JOIN peristyle.account a ON a.id = f.account_id) ON t.hash = $2 \
                     WHERE c.id = $1"
                ))
                .await?,
            rotate: client
                .prepare(
                    "WITH used AS (UPDATE peristyle.refresh_token SET used_at = now(), sealed_successor = $2 \
                     WHERE hash = $1 AND used_at IS NULL RETURNING family_id), \
                     successor AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
                     SELECT $3, family_id, now(), now() + interval '30 days' FROM used), \
                     noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
                     SELECT now(), 'granted', $4, $5, '127.0.0.1', $6::text::jsonb FROM used) SELECT family_id FROM used",
                )
                .await?,
            by_code: client
                .prepare(&format!(
                    "SELECT o.client_id, o.account_id, o.session_id, o.redirect, o.challenge, o.scope, o.nonce, o.authenticated_at, \
                     o.expires_at, o.used_by, {ACCOUNT}, {CLIENT} FROM peristyle.client c LEFT JOIN (peristyle.code o \
                     JOIN peristyle.account a ON a.id = o.account_id) ON o.hash = $2 WHERE c.id = $1"
                ))
                .await?,
            rights: client
                .prepare(
                    "SELECT a.d_permissions, a.d_tenants, CAST(NULL AS uuid), NULL, CAST(NULL AS uuid) FROM peristyle.account a \
                     WHERE a.id = $1 UNION ALL SELECT NULL, NULL, r.role_id, p.permission, NULL FROM peristyle.account_role r \
                     LEFT JOIN peristyle.role_permission p ON p.role_id = r.role_id WHERE r.account_id = $1 \
                     UNION ALL SELECT NULL, NULL, NULL, NULL, t.tenant_id FROM peristyle.account_tenant t WHERE t.account_id = $1",
                )
                .await?,
            redeem: client
                .prepare(
                    "WITH holder AS (SELECT a.id FROM peristyle.account a WHERE a.id = $2 AND a.is_active AND a.deleted_at IS NULL FOR SHARE), \
                     admitted AS (SELECT h.id FROM holder h WHERE EXISTS (SELECT 1 FROM peristyle.app p \
                     LEFT JOIN peristyle.app_account m ON m.app_id = p.id AND m.account_id = $2 \
                     WHERE p.id = $8 AND (NOT p.is_closed OR m.id IS NOT NULL))), \
                     used AS (UPDATE peristyle.code SET used_by = $3 WHERE hash = $1 AND used_by IS NULL \
                     AND EXISTS (SELECT 1 FROM admitted) RETURNING account_id AS id), \
                     family AS (INSERT INTO peristyle.family (id, client_id, account_id, session_id, authenticated_at, created_at) \
                     SELECT $3, $4, b.id, $5, now(), now() FROM used b RETURNING account_id), \
                     token AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
                     SELECT $6, $3, now(), now() + interval '30 days' FROM family), \
                     noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
                     SELECT now(), 'granted', account_id, $4, '127.0.0.1', $7::text::jsonb FROM family), \
                     entered AS (INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at) \
                     SELECT $3, $8, account_id, now(), now(), now() FROM family WHERE NOT EXISTS (SELECT 1 FROM peristyle.app_account m \
                     WHERE m.app_id = $8 AND m.account_id = $2 AND m.last_used_at > now() - interval '1 minute') \
                     ON CONFLICT (app_id, account_id) DO UPDATE SET last_used_at = excluded.last_used_at) SELECT account_id FROM family",
                )
                .await?,
            client,
        })
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<tokio_postgres::Error> {
        if connection.client.is_closed() { Err(RecycleError::message("the connection is closed")) } else { Ok(()) }
    }
}

#[derive(Clone)]
struct TokenServer {
    pool: managed::Pool<Connector>,
    key: Arc<KeyPair>,
    id: Arc<str>,
    client: Arc<str>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, url, key, client] = &arguments[..] else {
        return Err("usage: tokens ADDRESS DATABASE_URL PRIVATE_KEY.der CLIENT".into());
    };
    let pool = managed::Pool::builder(Connector(url.parse()?)).max_size(CONNECTIONS).build()?;
    let pair = KeyPair::from_pkcs8(&std::fs::read(key)?).map_err(|error| format!("{key} holds no RSA key: {error}"))?;
    let server = TokenServer { pool, key: Arc::new(pair), id: token()?.into(), client: client.as_str().into() };
    let router = Router::new()
        .route("/ready", get(async || StatusCode::OK))
        .route("/refresh", post(|State(server): State<TokenServer>, body: Bytes| async move { respond(server.refresh(&body).await) }))
        .route("/code", post(|State(server): State<TokenServer>, body: Bytes| async move { respond(server.redeem(&body).await) }))
        .with_state(server);
    let listener = TcpListener::bind(address).await?.tap_io(|stream| _ = stream.set_nodelay(true));
    axum::serve(listener, router).await?;
    Ok(())
}

type Answer = Result<String, Box<dyn Error + Send + Sync>>;

fn respond(answer: Answer) -> Response {
    match answer {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], json).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

impl TokenServer {
    async fn refresh(&self, body: &[u8]) -> Answer {
        let presented = hash(field(body, "refresh_token").ok_or("no refresh_token")?);
        let connection = self.pool.get().await?;
        let found = connection.client.query_one(&connection.by_token, &[&&*self.client, &presented]).await?;
        let (family, account): (Uuid, Uuid) = (found.get(3), found.get(5));
        touch(&found, 10);
        let successor = token()?;
        let mut sealed = vec![0; 60];
        fill(&mut sealed)?;
        let note = format!(r#"{{"account":"{account}","client":"{}","grant":"refresh_token","family":"{family}"}}"#, self.client);
        let (next, client) = (hash(&successor), &*self.client);
        connection.client.query_one(&connection.rotate, &[&presented, &sealed, &next, &account, &client, &note]).await?;
        drop(connection);
        self.written(account, family, &successor)
    }

    async fn redeem(&self, body: &[u8]) -> Answer {
        let presented = hash(field(body, "code").ok_or("no code")?);
        let connection = self.pool.get().await?;
        let found = connection.client.query_one(&connection.by_code, &[&&*self.client, &presented]).await?;
        let (account, session): (Uuid, Uuid) = (found.get(1), found.get(2));
        let app: Uuid = found.get(found.len() - 1);
        touch(&found, 10);
        connection.client.query(&connection.rights, &[&account]).await?;
        let (successor, family) = (token()?, Uuid::new_v4());
        let note = format!(r#"{{"account":"{account}","client":"{}","grant":"authorization_code","family":"{family}"}}"#, self.client);
        let (next, client) = (hash(&successor), &*self.client);
        connection.client.query_one(&connection.redeem, &[&presented, &account, &family, &client, &session, &next, &note, &app]).await?;
        drop(connection);
        self.written(account, family, &successor)
    }

    #[expect(clippy::disallowed_methods, reason = "no test needs to set the time here")]
    fn written(&self, account: Uuid, family: Uuid, refresh: &str) -> Answer {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let header = format!(r#"{{"alg":"RS256","typ":"at+jwt","kid":"{}"}}"#, self.id);
        let payload = format!(
            r#"{{"iss":"http://127.0.0.1","sub":"{account}","aci":"{account}","aud":["{}","http://127.0.0.1"],"client_id":"{}","sid":"{family}","jti":"{}","iat":{now},"nbf":{now},"exp":{}}}"#,
            self.client,
            self.client,
            Uuid::new_v4(),
            now + 3600
        );
        let mut text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)?;
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        Ok(format!(r#"{{"access_token":"{text}","expires_in":3600,"refresh_token":"{refresh}","scope":"","token_type":"Bearer"}}"#))
    }
}

/// The data of the account that any server reads before it answers.
fn touch(row: &Row, from: usize) {
    let _: (bool, Option<&str>) = (row.get(from + 5), row.get(from + 4));
}

fn hash(text: &str) -> Vec<u8> {
    digest(&SHA256, text.as_bytes()).as_ref().to_vec()
}

fn token() -> Result<String, aws_lc_rs::error::Unspecified> {
    let mut bytes = [0; 32];
    fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// A field of a form. Its values need no decoding.
fn field<'a>(body: &'a [u8], name: &str) -> Option<&'a str> {
    std::str::from_utf8(body).ok()?.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}
