//! The satellite, under `OAUTH_STRATEGY=platform-hub`: verifies tokens by the keys of its hub, caches the accounts that it fetches there,
//! and sends browsers there to sign in. Replicas agree by the replica state.

mod account_cache;
pub(crate) mod endpoints;
mod event_stream;
mod hub_account;
mod hub_client;
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
use identity::token::{BearerClaims, Expectation, ExpiryClock, TokenFault, Unverified, Verified};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use store::replica_state::ReplicaState;

use crate::boot_error::BootError;
use crate::budget::{Budgets, CallerKey};
use crate::caller::Caller;
use crate::clock;
use crate::config::{Config, SatelliteSettings};
use crate::http::bearer_token::{self, refused};
use crate::http::client_address::{ClientAddress, Proxies};
use crate::problem::Problem;

pub(crate) use hub_account::HubAccount;

use account_cache::{AccountCache, Found, TokenDigest};
use hub_account::Lookup;
use hub_client::{HUB_TIMEOUT, HubClient};
use hub_keys::{HubKeys, NoKey};
use refused_token_limit::RefusedTokenLimit;
use single_flight::SingleFlight;

/// How long a new satellite waits for the keys of its hub before it serves without them.
const FIRST_KEYS_TIMEOUT: Duration = Duration::from_secs(2);
/// How long after a failure stale accounts are used without asking the hub.
const BRIDGE_SECONDS: i64 = 2;
/// The least time between two log lines about a wrong audience or issuer.
const REFUSED_TOKEN_SECONDS: i64 = 60;

#[derive(Clone, Debug)]
pub struct Satellite(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    at: Registration,
    settings: SatelliteSettings,
    /// Our own origin, and the origins of pages that may post to us.
    app_url: String,
    origins: Vec<String>,
    proxies: Proxies,
    hub_client: HubClient,
    keys: HubKeys,
    account_cache: AccountCache,
    lookups: SingleFlight<TokenDigest, Lookup>,
    refused_token_limit: RefusedTokenLimit,
    shared: ReplicaState,
    /// When a lookup last failed, in seconds.
    failed_at: AtomicI64,
    budgets: Budgets,
    /// When a wrong audience or issuer was last logged, in seconds.
    refused_token_logged_at: AtomicI64,
    /// When the hub last answered `/health`, in seconds.
    healthy_at: AtomicI64,
    /// 1 while the satellite follows the change feed.
    follows_feed: Gauge,
}

impl Satellite {
    pub(crate) async fn open(config: &Config, settings: SatelliteSettings, budgets: Budgets) -> Result<Self, BootError> {
        let hub_client = HubClient::to(&settings.hub_internal_url)?;
        let shared = match &config.redis_url {
            None => ReplicaState::memory(),
            Some(url) => ReplicaState::redis(url).await.map_err(|error| BootError(format!("REDIS_URL: {error}")))?,
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
            keys: HubKeys::of(hub_client.clone()),
            hub_client,
            account_cache: AccountCache::new(),
            lookups: SingleFlight::new(),
            refused_token_limit: RefusedTokenLimit::new(shared.clone()),
            shared,
            failed_at: AtomicI64::new(i64::MIN),
            refused_token_logged_at: AtomicI64::new(i64::MIN),
            healthy_at: AtomicI64::new(i64::MIN),
            follows_feed: Gauge::default(),
            settings,
            budgets,
        }));
        tokio::spawn(satellite.0.keys.clone().keep());
        tokio::spawn(satellite.clone().follow_invalidations());
        tokio::spawn(subscription::follow(satellite.clone()));
        satellite.wait_for_keys().await;
        Ok(satellite)
    }

    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        let help = "1 while the satellite follows the change feed of its hub, else 0";
        registry.register("peristyle_satellite_follows_change_feed", help, self.0.follows_feed.clone());
    }

    async fn wait_for_keys(&self) {
        let there = async {
            while !self.is_ready() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(FIRST_KEYS_TIMEOUT, there).await.is_err() {
            tracing::warn!(
                "cannot fetch the key set of the hub; tokens are refused with 503 and /ready is 503 until it arrives; trying again"
            );
        }
    }

    async fn follow_invalidations(self) {
        let mut invalidations = self.0.shared.subscribe();
        loop {
            self.0.account_cache.invalidate(invalidations.next().await);
        }
    }

    /// Whether tokens can be verified: the keys of the hub are known.
    pub fn is_ready(&self) -> bool {
        self.0.keys.are_known()
    }

    pub(crate) async fn caller(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Problem> {
        Ok(match self.account(headers).await? {
            None => Caller::anonymous(CallerKey::of_address(ClientAddress::of(extensions))),
            Some(account) => Caller::of_account(account.id, account.viewer.clone(), None),
        })
    }

    /// The account of a request's bearer token; none without a token.
    async fn account(&self, headers: &HeaderMap) -> Result<Option<Arc<HubAccount>>, Problem> {
        let Some(text) = bearer_token::read(headers)? else { return Ok(None) };
        let digest = bearer::digest(text);
        match self.0.account_cache.find(&digest, clock::now()) {
            Found::Current(account) => Ok(Some(account)),
            Found::Refused => Err(REVOKED),
            Found::Stale(account) => Box::pin(self.look_up(text, digest, Some(account))).await.map(Some),
            Found::Nothing => Box::pin(self.look_up(text, digest, None)).await.map(Some),
        }
    }

    /// Verifies a token and looks up its account, within one timeout for all requests to the hub.
    async fn look_up(&self, text: &str, digest: TokenDigest, bridge: Option<Arc<HubAccount>>) -> Result<Arc<HubAccount>, Problem> {
        match tokio::time::timeout(HUB_TIMEOUT, self.verify_and_fetch(text, digest, bridge.clone())).await {
            Ok(answer) => answer,
            Err(_) => bridge.ok_or(Problem::HubUnavailable),
        }
    }

    async fn verify_and_fetch(&self, text: &str, digest: TokenDigest, bridge: Option<Arc<HubAccount>>) -> Result<Arc<HubAccount>, Problem> {
        let token = self.verify(text).await?;
        let now = clock::now().unix();
        if let Some(account) = &bridge
            && now.saturating_sub(self.0.failed_at.load(Ordering::Relaxed)) < BRIDGE_SECONDS
        {
            return Ok(account.clone());
        }
        let claims = token.claims();
        let lookup = self.0.lookups.join(digest, || self.fetch(text, digest, claims)).await;
        match (lookup, bridge) {
            (Lookup::Found(account), _) | (Lookup::Unavailable, Some(account)) => Ok(account),
            (Lookup::Refused, _) => Err(REVOKED),
            (Lookup::Unavailable, None) => Err(Problem::HubUnavailable),
        }
    }

    async fn verify(&self, text: &str) -> Result<Verified<BearerClaims>, Problem> {
        let token = Unverified::read(text).map_err(refused)?;
        let keys = self.0.keys.with(token.key_id()).await.map_err(|none| match none {
            NoKey::Unknown => refused(TokenFault::UnknownKey),
            NoKey::Unavailable => Problem::HubUnavailable,
        })?;
        let key = keys.find(token.key_id()).ok_or(Problem::HubUnavailable)?;
        let own = self.0.settings.client.as_str();
        let audiences: Vec<&str> = std::iter::once(own).chain(self.0.settings.audiences.iter().map(String::as_str)).collect();
        let expected = Expectation { issuer: &self.0.at.issuer, audiences: &audiences, now: clock::now(), end: ExpiryClock::Issuers };
        token.verify_bearer(key, &expected).map_err(|fault| {
            match fault {
                TokenFault::Audience => self.log_refused_token(
                    &audiences.join(", "),
                    "refused a token of the hub for another audience; OAUTH_CLIENT_ID and OAUTH_AUDIENCES name the expected ones",
                ),
                TokenFault::Issuer => self.log_refused_token(
                    expected.issuer,
                    "refused a token of the hub with another issuer; OAUTH_HUB_URL must be the APP_URL of the hub, byte for byte",
                ),
                _ => {}
            }
            refused(fault)
        })
    }

    /// Logs at most once a minute, since every request with such a token comes here.
    fn log_refused_token(&self, expected: &str, message: &'static str) {
        let now = clock::now().unix();
        let last = self.0.refused_token_logged_at.load(Ordering::Relaxed);
        let is_due = now.saturating_sub(last) >= REFUSED_TOKEN_SECONDS;
        if is_due && self.0.refused_token_logged_at.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::warn!(expected, "{message}");
        }
    }

    /// Fetches the account and caches it. If it was dropped meanwhile, fetches once more.
    async fn fetch(&self, text: &str, digest: TokenDigest, claims: &BearerClaims) -> Lookup {
        for _ in 0..2 {
            let begun = self.0.account_cache.begin();
            let lookup = hub_account::fetch(&self.0.hub_client, text, claims.account).await;
            let kept = match &lookup {
                Lookup::Found(account) => self.0.account_cache.keep(digest, claims, Some(account.clone()), begun),
                Lookup::Refused => self.0.account_cache.keep(digest, claims, None, begun),
                Lookup::Unavailable => {
                    self.0.failed_at.store(clock::now().unix(), Ordering::Relaxed);
                    true
                }
            };
            if kept {
                return lookup;
            }
        }
        Lookup::Unavailable
    }

    /// The account of a request's token, as the hub answers it.
    pub(crate) async fn row(&self, headers: &HeaderMap) -> Result<Bytes, Problem> {
        Ok(self.account(headers).await?.ok_or(Problem::Unauthenticated)?.row.clone())
    }

    pub(crate) fn app_origin(&self) -> String {
        self.0.settings.redirect.origin().to_owned()
    }
}

const REVOKED: Problem = Problem::InvalidToken("the access token was revoked or has expired");
