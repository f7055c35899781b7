//! The hub, under `OAUTH_STRATEGY=local-provider`: issues tokens, publishes its keys, shows the sign-in page, and authenticates callers. The
//! process keeps no state that matters, so that several hubs on one database act as one.

mod audit_deduplication;
mod change_feed;
mod client_authentication;
mod credentials;
pub(crate) mod endpoints;
mod form_request;
mod maintenance;
mod metrics;
mod pages;
mod password_hasher;
mod pending_attempts;
mod session_cookie;
mod signing_keys;
mod unsettled_attempts;
pub(crate) mod user_agent;

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use identity::account::Account;
use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::grant::{RefreshRules, Terms, status};
use identity::session::LiveSession;
use identity::token::{AccessClaims, Claims, Expectation, ExpiryClock, IdClaims, PageClaims, TokenFault, Unverified, Verified};
use prometheus_client::registry::Registry;
use query::manifest::{Manifest, ManifestError};
use query::sql::Dialect;
use serde_json::{Value, json};
use store::hub_records::Records;
use store::hub_records::audit_log::AuditContext;
use store::hub_records::sessions;
use store::hub_records::token_families::{self, LoadedFamily};
use store::hub_records::unknown_secrets::UnknownSecret;
use uuid::Uuid;

use crate::boot_error::BootError;
use crate::budget::{Budgets, CallerKey};
use crate::caller::{self, Caller};
use crate::clock;
use crate::config::Config;
use crate::http::bearer_token;
use crate::http::client_address::{ClientAddress, Proxies};
use crate::http::etag::StaticDocument;
use crate::http::request_context;
use crate::problem::oauth::OauthError;
use crate::problem::{Problem, ReadOnlyToken};

pub(crate) use change_feed::follow;
pub(crate) use endpoints::{ACCOUNT_RELATIONS, account_row};
pub(crate) use maintenance::start as start_maintenance;
pub(crate) use signing_keys::KeyFiles;

use audit_deduplication::RefusalLog;
use change_feed::ChangeFeed;
use form_request::RequestContext;
use metrics::HubMetrics;
use password_hasher::PasswordHasher;
use pending_attempts::PendingAttempts;
use signing_keys::SigningKeys;
use unsettled_attempts::UnsettledAttempts;

pub(crate) const ACCOUNT: &str = "iam.account";

/// The hub's own records as resources, read by the same engine as every manifest.
pub(crate) fn manifest(dialect: Dialect) -> Result<Manifest, ManifestError> {
    let text = include_str!("hub/resources.toml");
    match dialect {
        Dialect::Postgres | Dialect::Citus => Manifest::read(text),
        // SQLite has no schemas, so the schema becomes a prefix.
        Dialect::Sqlite => Manifest::read(&text.replace("\"peristyle.", "\"peristyle_")),
    }
}

#[derive(Clone, Debug)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    issuer: String,
    refresh: RefreshRules,
    records: Records,
    keys: SigningKeys,
    hasher: PasswordHasher,
    metrics: HubMetrics,
    feed: ChangeFeed,
    refusal_log: RefusalLog,
    pending_attempts: PendingAttempts,
    unsettled_attempts: UnsettledAttempts,
    proxies: Proxies,
    metadata: StaticDocument,
    budgets: Budgets,
}

impl Hub {
    /// A hub on these records. Their tables are up to date.
    pub(crate) async fn open(config: &Config, records: Records, files: KeyFiles, budgets: Budgets) -> Result<Self, BootError> {
        let keys = SigningKeys::open(files, &records).await?;
        Ok(Hub(Arc::new(Inner {
            issuer: config.app_url.clone(),
            refresh: config.refresh,
            keys,
            records,
            hasher: PasswordHasher::new(),
            metrics: HubMetrics::default(),
            feed: ChangeFeed::new(),
            refusal_log: RefusalLog::default(),
            pending_attempts: PendingAttempts::default(),
            unsettled_attempts: UnsettledAttempts::default(),
            proxies: Proxies::new(&config.trusted_proxies),
            metadata: endpoints::metadata::document(&config.app_url),
            budgets,
        })))
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    fn terms(&self) -> Terms {
        Terms { now: clock::now(), rules: self.0.refresh }
    }

    pub(crate) fn records(&self) -> &Records {
        &self.0.records
    }

    pub(crate) fn hasher(&self) -> &PasswordHasher {
        &self.0.hasher
    }

    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        self.0.metrics.register(self.hasher(), registry);
    }

    pub(crate) fn retire(&self) {
        self.0.feed.retired.send_replace(true);
    }

    /// Records a refusal. Of a flood it records the number.
    pub(crate) async fn note_refusal(&self, event: &AuditEvent, context: AuditContext<'_>) -> Result<(), store::Error> {
        self.0.refusal_log.note(self.records(), event, context).await
    }

    /// Refuses a request that a page of another origin sent, and records the refusal.
    async fn refuse_cross_origin(&self, context: &RequestContext) -> Result<(), OauthError> {
        let Err(error) = context.refuse_cross_origin(self.issuer()) else { return Ok(()) };
        self.note_cross_origin(context).await?;
        Err(error)
    }

    /// Records the refusal of a secret that no row has. `false` if it has one after all: look it up again.
    async fn refuse_unknown(&self, secret: UnknownSecret<'_>, event: &AuditEvent, context: AuditContext<'_>) -> Result<bool, store::Error> {
        self.0.refusal_log.note_unknown(self.records(), secret, event, context).await
    }

    async fn note_cross_origin(&self, context: &RequestContext) -> Result<(), store::Error> {
        self.note_refusal(&AuditEvent::SignInRefused { account: None, reason: SignInRefusal::CrossOrigin }, context.audit_context()).await
    }

    pub(crate) fn address(&self, headers: &HeaderMap, extensions: &Extensions) -> String {
        request_context::address(&self.0.proxies, headers, extensions)
    }

    fn verify<C: Claims>(&self, text: &str, audience: &str) -> Result<Verified<C>, TokenFault> {
        let token = Unverified::read(text)?;
        let keys = self.0.keys.current();
        let key = keys.set.find(token.key_id()).ok_or(TokenFault::UnknownKey)?;
        token.verify(key, &Expectation { issuer: self.issuer(), audiences: &[audience], now: clock::now(), end: ExpiryClock::Own })
    }

    /// The claims of an `id_token_hint`, for any client and of any age.
    fn hint(&self, text: &str) -> Option<IdClaims> {
        let token = Unverified::read(text).ok()?;
        let keys = self.0.keys.current();
        let key = keys.set.find(token.key_id())?;
        IdClaims::read_hint(&token, key, self.issuer(), clock::now()).ok().map(Verified::into_claims)
    }

    /// The family and the account of an access token, if the family is active and the account may sign in.
    async fn active_family(&self, token: &Verified<AccessClaims>) -> Result<Option<LoadedFamily>, store::Error> {
        let found = token_families::load(self.records(), token.claims().family).await?;
        Ok(found.filter(|found| status::account(token, Some(&found.family), Some(&found.account)).is_ok()))
    }

    pub(crate) async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Problem> {
        let address = CallerKey::of_address(ClientAddress::of(extensions));
        let Some(text) = bearer_token::read(headers)? else { return Ok(Caller::anonymous(address)) };
        let token = match self.verify::<AccessClaims>(text, self.issuer()) {
            Err(TokenFault::Kind) => return self.page_caller(text, address).await,
            token => token.map_err(bearer_token::refused)?,
        };
        let _slot = self.0.budgets.lookups.acquire(address).await?;
        let found = self.active_family(&token).await.map_err(Problem::of_records)?;
        let LoadedFamily { family, account, administers } = found.ok_or(Problem::InvalidToken("the access token was revoked"))?;
        let read_only = if administers { None } else { Some(ReadOnlyToken::Client(family.client)) };
        Ok(Caller::of_account(account.id, Arc::new(caller::viewer(&account.rights, details(&account))), read_only))
    }

    /// The caller of a page token: the account of its session, while that is live.
    async fn page_caller(&self, text: &str, address: CallerKey) -> Result<Caller, Problem> {
        let token = self.verify::<PageClaims>(text, &PageClaims::audience(self.issuer())).map_err(bearer_token::refused)?;
        let _slot = self.0.budgets.lookups.acquire(address).await?;
        let now = clock::now();
        let found = sessions::load(self.records(), token.claims().session, now).await.map_err(Problem::of_records)?;
        let live = found.filter(|(row, account)| LiveSession::of_page(&token, Some(row), Some(account), now).is_some());
        let (_, account) = live.ok_or(Problem::InvalidToken("the session of the token has ended"))?;
        Ok(Caller::of_account(account.id, Arc::new(caller::viewer(&account.rights, details(&account))), Some(ReadOnlyToken::Page)))
    }
}

/// The object that `$account.…` in a manifest reads.
fn details(account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "type": account.kind.as_str(),
        "code": account.code,
        "email": account.email,
        "username": account.username,
        "isActive": account.is_active,
        "tags": account.tags,
        "scopes": account.scopes,
        "dPermissions": account.rights.to_json(),
        "dTenants": account.tenants.iter().map(Uuid::to_string).collect::<Vec<_>>(),
        "meta": account.meta,
    })
}

fn name_of(account: &Account) -> &str {
    account.username.as_deref().or(account.email.as_deref()).unwrap_or(&account.code)
}
