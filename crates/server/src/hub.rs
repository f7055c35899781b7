//! The hub, under `OAUTH_STRATEGY=local-provider`: issues tokens, publishes its keys, owns the sign-in page, and knows whose token it is
//! shown.
//!
//! Each endpoint reads its request, looks rows up, lets `identity` decide, and saves what was decided in one transaction. Nothing that
//! matters is kept in the process, so that several hubs on one database are one.

mod account_page;
mod authorize;
mod clients;
mod credentials;
pub(crate) mod device;
mod events;
mod feed;
mod grants;
mod hasher;
mod heartbeat;
mod incoming;
mod introspect;
mod keys;
mod link;
mod logout;
pub(crate) mod me;
mod metadata;
mod metrics;
mod pages;
mod refusals;
mod resources;
mod revoke;
pub(crate) mod routes;
mod session;
mod sign_in;
mod token;
mod undecided;
mod upkeep;
mod userinfo;

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use identity::account::Account;
use identity::audit_event::{AuditEvent, SignInRefusal};
use identity::client::ClientId;
use identity::grant::{RefreshRules, Terms, status};
use identity::token::{AccessClaims, Claims, End, Expectation, IdClaims, TokenFault, Unverified, Verified};
use prometheus_client::registry::Registry;
use query::policy::Viewer;
use serde_json::{Value, json};
use store::hub_records::Records;
use store::hub_records::audit_log::AuditContext;
use store::hub_records::token_families::LoadedFamily;
use uuid::Uuid;

use crate::auth::shown::{self, refused};
use crate::boot_error::BootError;
use crate::budget::{Budgets, CallerKey};
use crate::chance;
use crate::config::Config;
use crate::error::Problem;
use crate::error::oauth::Fault;
use crate::peer::Proxies;
use crate::sender;
use crate::tagged::Tagged;

pub(crate) use feed::follow;
pub(crate) use heartbeat::beat;
pub(crate) use keys::KeyFiles;
pub(crate) use resources::{ACCOUNT, manifest};
pub(crate) use upkeep::keep;

use feed::Feed;
use hasher::Hasher;
use incoming::Sender;
use keys::Keyring;
use metrics::HubMetrics;
use refusals::Refusals;
use undecided::Undecided;

/// A hub. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    issuer: String,
    refresh: RefreshRules,
    records: Records,
    keys: Keyring,
    hasher: Hasher,
    metrics: HubMetrics,
    feed: Feed,
    refusals: Refusals,
    undecided: Undecided,
    proxies: Proxies,
    metadata: Tagged,
    budgets: Budgets,
}

impl Hub {
    /// A hub on these records, whose tables are as this version needs them.
    pub(crate) async fn open(config: &Config, records: Records, files: KeyFiles, budgets: Budgets) -> Result<Self, BootError> {
        let keys = Keyring::open(files, &records).await?;
        Ok(Hub(Arc::new(Inner {
            issuer: config.app_url.clone(),
            refresh: config.refresh,
            keys,
            records,
            hasher: Hasher::new(),
            metrics: HubMetrics::default(),
            feed: Feed::new(),
            refusals: Refusals::default(),
            undecided: Undecided::default(),
            proxies: Proxies::new(&config.trusted_proxies),
            metadata: metadata::document(&config.app_url),
            budgets,
        })))
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// What a grant is decided by now.
    fn terms(&self) -> Terms {
        Terms { now: chance::now(), rules: self.0.refresh }
    }

    pub(crate) fn records(&self) -> &Records {
        &self.0.records
    }

    fn keys(&self) -> &Keyring {
        &self.0.keys
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.0.hasher
    }

    fn metrics(&self) -> &HubMetrics {
        &self.0.metrics
    }

    /// Adds the hub's figures to the metrics of the process.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        self.metrics().register(self.hasher(), registry);
    }

    fn undecided(&self) -> &Undecided {
        &self.0.undecided
    }

    fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// Ends what would go on for ever, since the process is about to end.
    pub(crate) fn retire(&self) {
        self.feed().retire();
    }

    /// Notes that somebody who has proven nothing was refused, and in a flood how often instead of each time.
    async fn note_refusal(&self, event: &AuditEvent, sender: &Sender) -> Result<(), store::Error> {
        self.0.refusals.note(self.records(), event, sender).await
    }

    /// Notes that an operation of administration was refused, and in a flood how often instead of each time.
    pub(crate) async fn note_refused_operation(&self, event: &AuditEvent, occasion: AuditContext<'_>) -> Result<(), store::Error> {
        self.0.refusals.note_at(self.records(), event, occasion).await
    }

    /// Refuses what a page of somebody else made a browser send, and notes that.
    async fn refuse_foreign(&self, sender: &Sender) -> Result<(), Fault> {
        let Err(fault) = sender.refuse_foreign(self.issuer()) else { return Ok(()) };
        self.note_foreign(sender).await?;
        Err(fault)
    }

    async fn note_foreign(&self, sender: &Sender) -> Result<(), store::Error> {
        self.note_refusal(&AuditEvent::SignInRefused { account: None, reason: SignInRefusal::CrossOrigin }, sender).await
    }

    fn budgets(&self) -> &Budgets {
        &self.0.budgets
    }

    fn proxies(&self) -> &Proxies {
        &self.0.proxies
    }

    /// Where a request came from, as it is counted and noted.
    pub(crate) fn address(&self, headers: &HeaderMap, extensions: &Extensions) -> String {
        sender::address(self.proxies(), headers, extensions)
    }

    /// Verifies a token of ours of one kind.
    fn verify<C: Claims>(&self, text: &str, audience: &str) -> Result<Verified<C>, TokenFault> {
        let token = Unverified::read(text)?;
        let keys = self.keys().current();
        let key = keys.set().find(token.key_id()).ok_or(TokenFault::UnknownKey)?;
        token.verify(key, &Expectation { issuer: self.issuer(), audiences: &[audience], now: chance::now(), end: End::Own })
    }

    /// An id_token of ours, whoever it was for and however old.
    fn hint(&self, text: &str) -> Option<IdClaims> {
        let token = Unverified::read(text).ok()?;
        let keys = self.keys().current();
        let key = keys.set().find(token.key_id())?;
        IdClaims::read_hint(&token, key, self.issuer(), chance::now()).ok().map(Verified::into_claims)
    }

    /// The account of an access token that is good in every way: its family lives, and its account may sign in.
    async fn account_of(&self, token: &Verified<AccessClaims>) -> Result<Option<Account>, store::Error> {
        Ok(self.standing_of(token).await?.map(|standing| standing.account))
    }

    /// The same with the family that the token is of.
    async fn standing_of(&self, token: &Verified<AccessClaims>) -> Result<Option<LoadedFamily>, store::Error> {
        let found = store::hub_records::token_families::load(self.records(), token.claims().family).await?;
        Ok(found.filter(|found| status::account(token, Some(&found.family), Some(&found.account)).is_ok()))
    }

    /// Who shows a Bearer token; nobody without one.
    pub(crate) async fn bearer(&self, headers: &HeaderMap, address: CallerKey) -> Result<Option<Holder>, Problem> {
        let Some(text) = shown::bearer(headers)? else { return Ok(None) };
        let token = self.verify::<AccessClaims>(text, self.issuer()).map_err(refused)?;
        let _slot = self.budgets().lookups.acquire(address).await?;
        let standing = self.standing_of(&token).await.map_err(Problem::of_records)?;
        let LoadedFamily { family, account, administers } = standing.ok_or(Problem::InvalidToken("the access token was revoked"))?;
        let unmarked_client = if administers { None } else { Some(family.client) };
        Ok(Some(Holder { account: account.id, viewer: viewer(&account), unmarked_client }))
    }
}

/// Who shows an access token.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) account: Uuid,
    pub(crate) viewer: Viewer,
    /// The token's client, where it is not marked to change the hub's records.
    pub(crate) unmarked_client: Option<ClientId>,
}

/// An account as the query engine sees it.
fn viewer(account: &Account) -> Viewer {
    shown::viewer(&account.rights, described(account))
}

/// What `$account.…` in a manifest looks into.
fn described(account: &Account) -> Value {
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

/// What an account is called.
fn name_of(account: &Account) -> &str {
    account.username.as_deref().or(account.email.as_deref()).unwrap_or(&account.code)
}
