//! The hub, under `OAUTH_STRATEGY=local-provider`: issues tokens, publishes its keys, owns the sign-in page, and knows whose token it is
//! shown.
//!
//! Each endpoint reads its request, looks rows up, lets `identity` decide, and saves what was decided in one transaction. Nothing that
//! matters is kept in the process, so that several hubs on one database are one.

mod audit_deduplication;
mod change_feed;
mod client_authentication;
mod credentials;
pub(crate) mod endpoints;
mod form_request;
mod grants;
mod heartbeat;
mod maintenance;
mod password_hasher;
mod pending_attempts;
mod resources;
mod session_cookie;
mod signing_keys;
pub(crate) mod user_agent;

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use identity::account::Account;
use identity::event::{Event, SignInRefusal};
use identity::grant::{RefreshRules, Terms, standing};
use identity::token::{AccessClaims, Claims, End, Expectation, IdClaims, TokenFault, Unverified, Verified};
use query::policy::Viewer;
use serde_json::{Value, json};
use store::events::Occasion;
use store::families::Standing;
use store::records::Records;
use uuid::Uuid;

use crate::boot_error::BootError;
use crate::budget::{Budgets, CallerKey};
use crate::caller::{self, Caller};
use crate::clock;
use crate::config::Config;
use crate::http::bearer_token;
use crate::http::client_address::{ClientAddress, Proxies};
use crate::http::etag::Tagged;
use crate::http::request_context;
use crate::problem::Problem;
use crate::problem::oauth::OauthError;

pub(crate) use change_feed::follow;
pub(crate) use endpoints::account_row;
pub(crate) use heartbeat::beat;
pub(crate) use maintenance::keep;
pub(crate) use resources::{ACCOUNT, manifest};
pub(crate) use signing_keys::KeyFiles;

use audit_deduplication::Refusals;
use change_feed::Feed;
use form_request::RequestContext;
use password_hasher::Hasher;
use pending_attempts::Undecided;
use signing_keys::Keyring;

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
            feed: Feed::new(),
            refusals: Refusals::default(),
            undecided: Undecided::default(),
            proxies: Proxies::new(&config.trusted_proxies),
            metadata: endpoints::metadata::document(&config.app_url),
            budgets,
        })))
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// What a grant is decided by now.
    fn terms(&self) -> Terms {
        Terms { now: clock::now(), rules: self.0.refresh }
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
    async fn note_refusal(&self, event: &Event, sender: &RequestContext) -> Result<(), store::Error> {
        self.0.refusals.note(self.records(), event, sender).await
    }

    /// Notes that an operation of administration was refused, and in a flood how often instead of each time.
    pub(crate) async fn note_refused_operation(&self, event: &Event, occasion: Occasion<'_>) -> Result<(), store::Error> {
        self.0.refusals.note_at(self.records(), event, occasion).await
    }

    /// Refuses what a page of somebody else made a browser send, and notes that.
    async fn refuse_foreign(&self, sender: &RequestContext) -> Result<(), OauthError> {
        let Err(fault) = sender.refuse_foreign(self.issuer()) else { return Ok(()) };
        self.note_foreign(sender).await?;
        Err(fault)
    }

    async fn note_foreign(&self, sender: &RequestContext) -> Result<(), store::Error> {
        self.note_refusal(&Event::SignInRefused { account: None, reason: SignInRefusal::CrossOrigin }, sender).await
    }

    fn budgets(&self) -> &Budgets {
        &self.0.budgets
    }

    fn proxies(&self) -> &Proxies {
        &self.0.proxies
    }

    /// Where a request came from, as it is counted and noted.
    pub(crate) fn address(&self, headers: &HeaderMap, extensions: &Extensions) -> String {
        request_context::address(self.proxies(), headers, extensions)
    }

    /// Verifies a token of ours of one kind.
    fn verify<C: Claims>(&self, text: &str, audience: &str) -> Result<Verified<C>, TokenFault> {
        let token = Unverified::read(text)?;
        let keys = self.keys().current();
        let key = keys.set().find(token.key_id()).ok_or(TokenFault::UnknownKey)?;
        token.verify(key, &Expectation { issuer: self.issuer(), audiences: &[audience], now: clock::now(), end: End::Own })
    }

    /// An id_token of ours, whoever it was for and however old.
    fn hint(&self, text: &str) -> Option<IdClaims> {
        let token = Unverified::read(text).ok()?;
        let keys = self.keys().current();
        let key = keys.set().find(token.key_id())?;
        IdClaims::read_hint(&token, key, self.issuer(), clock::now()).ok().map(Verified::into_claims)
    }

    /// The account of an access token that is good in every way: its family lives, and its account may sign in.
    async fn account_of(&self, token: &Verified<AccessClaims>) -> Result<Option<Account>, store::Error> {
        Ok(self.standing_of(token).await?.map(|standing| standing.account))
    }

    /// The same with the family that the token is of.
    async fn standing_of(&self, token: &Verified<AccessClaims>) -> Result<Option<Standing>, store::Error> {
        let found = store::families::standing(self.records(), token.claims().family).await?;
        Ok(found.filter(|found| standing::account(token, Some(&found.family), Some(&found.account)).is_ok()))
    }

    /// The caller of a request, by its bearer token.
    pub(crate) async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Problem> {
        let address = CallerKey::of_address(ClientAddress::of(extensions));
        let Some(text) = bearer_token::read(headers)? else { return Ok(Caller::anonymous(address)) };
        let token = self.verify::<AccessClaims>(text, self.issuer()).map_err(bearer_token::refused)?;
        let _slot = self.budgets().lookups.acquire(address).await?;
        let standing = self.standing_of(&token).await.map_err(Problem::of_records)?;
        let Standing { family, account, administers } = standing.ok_or(Problem::InvalidToken("the access token was revoked"))?;
        let unmarked_client = if administers { None } else { Some(family.client) };
        Ok(Caller::of_account(account.id, Arc::new(viewer(&account)), unmarked_client))
    }
}

/// An account as the query engine sees it.
fn viewer(account: &Account) -> Viewer {
    caller::viewer(&account.rights, described(account))
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
