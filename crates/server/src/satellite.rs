//! The satellite, under `OAUTH_STRATEGY=platform-hub`: issues nothing, verifies tokens by the keys of its hub, fetches accounts from it,
//! and leaves signing in to it.
//!
//! What it knows of accounts is a cache and nothing else; what replicas must agree on stands in what they share.

mod account_cache;
pub(crate) mod endpoints;
mod event_stream;
mod hub_account;
mod hub_client;
mod hub_health;
mod hub_keys;
mod json_request;
mod refused_token_limit;
mod rotated_tokens;
mod single_flight;
mod subscription;
mod token_exchange;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Extensions, HeaderMap};
use identity::bearer;
use identity::login::Registration;
use identity::token::{BearerClaims, End, Expectation, Unverified, Verified};
use store::shared::{Invalidation, Shared};
use uuid::Uuid;

use crate::boot_error::BootError;
use crate::budget::{Budgets, CallerKey};
use crate::caller::Caller;
use crate::clock;
use crate::config::{Binding, Config, SatelliteSettings};
use crate::http::bearer_token::{self, refused};
use crate::http::client_address::{ClientAddress, Proxies};
use crate::problem::Problem;

pub(crate) use hub_account::Member;

use account_cache::{Accounts, Found, TokenDigest};
use hub_account::Word;
use hub_client::{PATIENCE, Upstream};
use hub_health::Presence;
use hub_keys::{Keys, NoKey};
use refused_token_limit::TokenLimit;
use single_flight::Flights;

/// How long a satellite that starts waits for its hub's keys before it serves without them.
const FIRST_KEYS: Duration = Duration::from_secs(2);
/// How long after a failure accounts that may bridge it do so without asking the hub again.
const BRIDGE_SECONDS: i64 = 2;

/// A satellite. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Satellite(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    at: Registration,
    settings: SatelliteSettings,
    /// Our own origin, and those of pages that may post to us.
    app_url: String,
    origins: Vec<String>,
    proxies: Proxies,
    upstream: Upstream,
    keys: Keys,
    accounts: Accounts,
    flights: Flights<TokenDigest, Word>,
    token_limit: TokenLimit,
    shared: Shared,
    /// When the hub last could not be asked, in seconds.
    failed_at: AtomicI64,
    budgets: Budgets,
    presence: Presence,
}

impl Satellite {
    /// A satellite with these settings. Its hub need not be there yet.
    pub(crate) async fn open(config: &Config, settings: SatelliteSettings, budgets: Budgets) -> Result<Self, BootError> {
        let upstream = Upstream::to(&settings.hub_internal_url)?;
        let shared = match &config.redis_url {
            None => Shared::memory(),
            Some(url) => Shared::redis(url).await.map_err(|error| BootError(format!("REDIS_URL: {error}")))?,
        };
        let at = Registration {
            issuer: settings.hub_url.clone(),
            client: settings.client.clone(),
            redirect: settings.redirect.clone(),
            scope: None,
        };
        let satellite = Satellite(Arc::new(Inner {
            at,
            app_url: config.app_url.clone(),
            origins: config.cors_origins.clone(),
            proxies: Proxies::new(&config.trusted_proxies),
            keys: Keys::of(upstream.clone()),
            upstream,
            accounts: Accounts::new(),
            flights: Flights::new(),
            token_limit: TokenLimit::new(shared.clone()),
            shared,
            failed_at: AtomicI64::new(i64::MIN),
            presence: Presence::default(),
            settings,
            budgets,
        }));
        tokio::spawn(satellite.0.keys.clone().keep());
        tokio::spawn(satellite.clone().listen());
        tokio::spawn(subscription::follow(satellite.clone()));
        satellite.wait_for_keys().await;
        Ok(satellite)
    }

    async fn wait_for_keys(&self) {
        let there = async {
            while !self.is_ready() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(FIRST_KEYS, there).await.is_err() {
            tracing::warn!("the hub's keys are not there yet: this satellite serves, and is ready when they are");
        }
    }

    /// Forgets what replicas say is no longer true; works until the process ends.
    async fn listen(self) {
        let mut told = self.0.shared.subscribe();
        loop {
            match told.next().await {
                Invalidation::Account(id) => self.drop_account(id),
                Invalidation::Family(id) => self.drop_family(id),
                Invalidation::Everything => self.doubt_all(),
            }
        }
    }

    /// Whether tokens can be verified: the hub's keys are there.
    pub fn is_ready(&self) -> bool {
        self.0.keys.are_there()
    }

    /// Forgets what is known of every token of an account: the hub is asked at its next request.
    pub fn drop_account(&self, id: Uuid) {
        self.0.accounts.drop_account(id);
    }

    /// Forgets what is known of every token of a family (`sid`).
    pub fn drop_family(&self, id: Uuid) {
        self.0.accounts.drop_family(id);
    }

    /// Asks for every account again at its next request, since word of something may have been missed. Where the hub does not answer,
    /// what was known serves on as ever.
    pub fn doubt_all(&self) {
        self.0.accounts.doubt_all();
    }

    /// The caller of a request, by its bearer token.
    pub(crate) async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Problem> {
        Ok(match self.account(headers).await? {
            None => Caller::anonymous(CallerKey::of_address(ClientAddress::of(extensions))),
            Some(account) => Caller::of_account(account.id, account.viewer.clone(), None),
        })
    }

    /// The account of a request's bearer token; none without a token.
    async fn account(&self, headers: &HeaderMap) -> Result<Option<Arc<Member>>, Problem> {
        let Some(text) = bearer_token::read(headers)? else { return Ok(None) };
        let digest = bearer::digest(text);
        match self.0.accounts.find(&digest, clock::now()) {
            Found::Current(member) => Ok(Some(member)),
            Found::Refused => Err(REVOKED),
            Found::Bridging(member) => Box::pin(self.ask(text, digest, Some(member))).await.map(Some),
            Found::Nothing => Box::pin(self.ask(text, digest, None)).await.map(Some),
        }
    }

    /// The account of a token that is not known, or not any more. However often the hub must be asked for it, for a key and for the
    /// account, nobody waits for longer than for one answer.
    async fn ask(&self, text: &str, digest: TokenDigest, bridge: Option<Arc<Member>>) -> Result<Arc<Member>, Problem> {
        match tokio::time::timeout(PATIENCE, self.verify_and_ask(text, digest, bridge.clone())).await {
            Ok(answer) => answer,
            Err(_) => bridge.ok_or(Problem::Identity),
        }
    }

    /// Verified here, then asked for at the hub.
    async fn verify_and_ask(&self, text: &str, digest: TokenDigest, bridge: Option<Arc<Member>>) -> Result<Arc<Member>, Problem> {
        let token = self.verify(text).await?;
        let now = clock::now().unix();
        if let Some(member) = &bridge
            && now.saturating_sub(self.0.failed_at.load(Ordering::Relaxed)) < BRIDGE_SECONDS
        {
            return Ok(member.clone());
        }
        let claims = token.claims();
        let word = self.0.flights.join(digest, || self.fetch(text, digest, claims)).await;
        match (word, bridge) {
            (Word::Good(member), _) | (Word::Nothing, Some(member)) => Ok(member),
            (Word::Refused, _) => Err(REVOKED),
            (Word::Nothing, None) => Err(Problem::Identity),
        }
    }

    /// Verifies a token by the hub's keys.
    async fn verify(&self, text: &str) -> Result<Verified<BearerClaims>, Problem> {
        let token = Unverified::read(text).map_err(refused)?;
        let keys = self.0.keys.with(token.key_id()).await.map_err(|none| match none {
            NoKey::Unknown => refused(identity::token::TokenFault::UnknownKey),
            NoKey::Unavailable => Problem::Identity,
        })?;
        let key = keys.find(token.key_id()).ok_or(Problem::Identity)?;
        let own = self.0.settings.client.as_str();
        let audiences: Vec<&str> = std::iter::once(own).chain(self.0.settings.audiences.iter().map(String::as_str)).collect();
        let expected = Expectation { issuer: &self.0.at.issuer, audiences: &audiences, now: clock::now(), end: End::Issuers };
        token.verify_bearer(key, &expected).map_err(refused)
    }

    /// Asks the hub, and keeps what it says. What was dropped meanwhile is asked once more.
    async fn fetch(&self, text: &str, digest: TokenDigest, claims: &BearerClaims) -> Word {
        for _ in 0..2 {
            let begun = self.0.accounts.begin();
            let word = hub_account::ask(&self.0.upstream, text, claims.account).await;
            let kept = match &word {
                Word::Good(member) => self.0.accounts.keep(digest, claims, Some(member.clone()), begun),
                Word::Refused => self.0.accounts.keep(digest, claims, None, begun),
                Word::Nothing => {
                    self.0.failed_at.store(clock::now().unix(), Ordering::Relaxed);
                    true
                }
            };
            if kept {
                return word;
            }
        }
        Word::Nothing
    }

    /// The account of a request's token, as the hub tells it.
    pub(crate) async fn row(&self, headers: &HeaderMap) -> Result<Bytes, Problem> {
        Ok(self.account(headers).await?.ok_or(Problem::Unauthenticated)?.row.clone())
    }

    /// Where the app is: at the origin that logins come back to.
    pub(crate) fn app_origin(&self) -> String {
        self.0.settings.redirect.origin().to_owned()
    }

    /// Whether logins are tied to browsers.
    fn is_bound(&self) -> bool {
        self.0.settings.binding == Binding::On
    }
}

const REVOKED: Problem = Problem::InvalidToken("the access token was revoked or has expired");
