//! The cache of accounts, by the SHA-256 of a verified token. Entries are renewed every two minutes and dropped when the hub reports a change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use identity::freshness::{self, ACCOUNT_SECONDS, Freshness};
use identity::timestamp::Timestamp;
use identity::token::BearerClaims;
use lru::LruCache;
use store::replica_state::Invalidation;
use uuid::Uuid;

use crate::mutex::lock;
use crate::{clock, random};

use super::hub_account::HubAccount;

/// Each shard has its own lock, so that requests on many cores rarely wait.
const SHARDS: usize = 16;
const MAX_ENTRIES: usize = 16_384 / SHARDS;
const MAX_BYTES: usize = 64 * 1024 * 1024 / SHARDS;
/// The size of an entry without its account, and the forms in which it holds the account.
const ENTRY_BYTES: usize = 1_024;
const FORMS: usize = 4;
/// How long a refused token is refused without asking the hub.
const REFUSED_SECONDS: i64 = 30;
/// The drops that are remembered, for fetches in flight.
const MAX_DROPS: usize = 4_096;

pub(super) type TokenDigest = [u8; 32];

#[derive(Clone, Debug)]
pub(super) enum Found {
    Current(Arc<HubAccount>),
    /// The account, used only if the hub does not answer.
    Stale(Arc<HubAccount>),
    Refused,
    /// No entry, or an expired one.
    Nothing,
}

#[derive(Debug)]
struct Entry {
    /// None for a refused token.
    account: Option<Arc<HubAccount>>,
    account_id: Uuid,
    /// None if the token has no `sid`.
    family: Option<Uuid>,
    token_expires_at: Timestamp,
    fetched_at: Timestamp,
    /// A random time before the two minutes end, so that entries of one moment are not renewed together.
    renewed_at: Timestamp,
}

impl Entry {
    fn weight(&self) -> usize {
        ENTRY_BYTES + self.account.as_ref().map_or(0, |account| account.row.len() * FORMS)
    }

    fn found(&self, now: Timestamp) -> Found {
        let Some(account) = &self.account else {
            return if now < self.renewed_at { Found::Refused } else { Found::Nothing };
        };
        match freshness::account(self.fetched_at, self.token_expires_at, now) {
            Freshness::Current if now < self.renewed_at => Found::Current(account.clone()),
            Freshness::Current | Freshness::Bridging => Found::Stale(account.clone()),
            Freshness::Over => Found::Nothing,
        }
    }
}

#[derive(Debug)]
struct Shard {
    entries: LruCache<TokenDigest, Entry>,
    bytes: usize,
}

impl Shard {
    fn put(&mut self, digest: TokenDigest, entry: Entry) {
        self.bytes += entry.weight();
        if let Some(before) = self.entries.put(digest, entry) {
            self.bytes -= before.weight();
        }
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let Some((_, oldest)) = self.entries.pop_lru() else { break };
            self.bytes -= oldest.weight();
        }
    }

    /// A scan of at most a thousand entries costs less than an index.
    fn remove_all(&mut self, concerned: impl Fn(&Entry) -> bool) {
        let digests: Vec<TokenDigest> = self.entries.iter().filter(|(_, entry)| concerned(entry)).map(|(digest, _)| *digest).collect();
        for digest in digests {
            self.bytes -= self.entries.pop(&digest).map_or(0, |entry| entry.weight());
        }
    }
}

/// When something was dropped. An answer that was requested before is not cached, since it may be out of date.
#[derive(Debug)]
struct Drops {
    /// By the id of the account or the family.
    of: LruCache<Uuid, u64>,
    of_all: u64,
    /// The last drop of any family: it may be that of a token without `sid`.
    of_a_family: u64,
}

#[derive(Debug)]
pub(super) struct AccountCache {
    shards: [Mutex<Shard>; SHARDS],
    drops: Mutex<Drops>,
    /// Counts drops. It orders drops and fetches without a clock.
    time: AtomicU64,
}

impl AccountCache {
    pub(super) fn new() -> Self {
        let shard = |_| Mutex::new(Shard { entries: LruCache::unbounded(), bytes: 0 });
        let drops = Drops { of: LruCache::unbounded(), of_all: 0, of_a_family: 0 };
        AccountCache { shards: std::array::from_fn(shard), drops: Mutex::new(drops), time: AtomicU64::new(0) }
    }

    fn shard(&self, digest: &TokenDigest) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(digest[0]) % SHARDS])
    }

    pub(super) fn find(&self, digest: &TokenDigest, now: Timestamp) -> Found {
        self.shard(digest).entries.get(digest).map_or(Found::Nothing, |entry| entry.found(now))
    }

    pub(super) fn begin(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    /// Caches the hub's answer for a verified token: its account, or a refusal. Returns `false` if the account, the family or everything was
    /// dropped since the fetch began.
    pub(super) fn keep(&self, digest: TokenDigest, claims: &BearerClaims, account: Option<Arc<HubAccount>>, begun: u64) -> bool {
        // Held until the entry is in, so that no drop comes between.
        let mut drops = lock(&self.drops);
        let of_family = match claims.family {
            Some(family) => drops.of.get(&family).copied(),
            None => Some(drops.of_a_family),
        };
        let of_account = drops.of.get(&claims.account).copied();
        if [Some(drops.of_all), of_account, of_family].into_iter().flatten().any(|at| at > begun) {
            return false;
        }
        let now = clock::now();
        let seconds = match account {
            Some(_) => ACCOUNT_SECONDS - (ACCOUNT_SECONDS as f64 / 10.0 * random::fraction()) as i64,
            None => REFUSED_SECONDS,
        };
        let entry = Entry {
            account,
            account_id: claims.account,
            family: claims.family,
            token_expires_at: claims.expires_at,
            fetched_at: now,
            renewed_at: now.plus(seconds),
        };
        self.shard(&digest).put(digest, entry);
        true
    }

    /// Drops the tokens of an account, or of a family together with the tokens without `sid`. `Everything` makes every entry stale instead:
    /// nothing is known to have ended, so a stale account is still used if the hub does not answer.
    pub(super) fn invalidate(&self, invalidation: Invalidation) {
        let now = clock::now();
        let mut drops = lock(&self.drops);
        let time = self.time.fetch_add(1, Ordering::AcqRel) + 1;
        match invalidation {
            Invalidation::Account(id) => _ = drops.of.put(id, time),
            Invalidation::Family(id) => {
                drops.of.put(id, time);
                drops.of_a_family = time;
            }
            Invalidation::Everything => drops.of_all = time,
        }
        // A forgotten drop counts as a drop of everything.
        while drops.of.len() > MAX_DROPS {
            let Some((_, oldest)) = drops.of.pop_lru() else { break };
            drops.of_all = drops.of_all.max(oldest);
        }
        for shard in &self.shards {
            let mut shard = lock(shard);
            match invalidation {
                Invalidation::Account(id) => shard.remove_all(|entry| entry.account_id == id),
                Invalidation::Family(id) => shard.remove_all(|entry| entry.family.is_none_or(|family| family == id)),
                Invalidation::Everything => shard.entries.iter_mut().for_each(|(_, entry)| entry.renewed_at = now),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use query::policy::Viewer;

    use super::*;

    fn claims(account: u128, family: u128, seconds: i64) -> BearerClaims {
        BearerClaims { account: Uuid::from_u128(account), family: Some(Uuid::from_u128(family)), expires_at: clock::now().plus(seconds) }
    }

    fn hub_account(size: usize) -> Arc<HubAccount> {
        Arc::new(HubAccount { id: Uuid::nil(), viewer: Arc::new(Viewer::anonymous()), row: vec![b'x'; size].into() })
    }

    fn digest(number: usize) -> TokenDigest {
        identity::bearer::digest(&number.to_string())
    }

    fn account(id: u128) -> Invalidation {
        Invalidation::Account(Uuid::from_u128(id))
    }

    fn family(id: u128) -> Invalidation {
        Invalidation::Family(Uuid::from_u128(id))
    }

    fn word(accounts: &AccountCache, number: usize, later: i64) -> &'static str {
        match accounts.find(&digest(number), clock::now().plus(later)) {
            Found::Current(_) => "current",
            Found::Stale(_) => "stale",
            Found::Refused => "refused",
            Found::Nothing => "nothing",
        }
    }

    #[test]
    fn an_account_is_fresh_for_a_while_and_never_outlives_its_token() {
        // contract I31.4, attack 45
        let accounts = AccountCache::new();
        assert!(accounts.keep(digest(1), &claims(1, 1, 3_600), Some(hub_account(10)), 0));
        assert!(accounts.keep(digest(2), &claims(1, 1, 60), Some(hub_account(10)), 0));
        assert!(accounts.keep(digest(3), &claims(1, 1, 3_600), None, 0));
        assert_eq!([0, 100, 121, 890, 901].map(|later| word(&accounts, 1, later)), ["current", "current", "stale", "stale", "nothing"]);
        assert_eq!([0, 61].map(|later| word(&accounts, 2, later)), ["current", "nothing"]);
        assert_eq!([0, 31].map(|later| word(&accounts, 3, later)), ["refused", "nothing"]);
        assert_eq!(word(&accounts, 4, 0), "nothing");
    }

    #[test]
    fn a_drop_removes_its_entries_and_no_others() {
        // contract I31.9
        let accounts = AccountCache::new();
        let fill = || {
            for (number, account, family) in [(1, 1, 11), (2, 1, 12), (3, 2, 13)] {
                assert!(accounts.keep(digest(number), &claims(account, family, 3_600), Some(hub_account(10)), accounts.begin()));
            }
        };
        let words = || [1, 2, 3].map(|number| word(&accounts, number, 0));
        fill();
        accounts.invalidate(account(1));
        assert_eq!(words(), ["nothing", "nothing", "current"]);
        fill();
        accounts.invalidate(family(12));
        assert_eq!(words(), ["current", "nothing", "current"]);
        fill();
        accounts.invalidate(Invalidation::Everything);
        assert_eq!(words(), ["stale"; 3]);
    }

    #[test]
    fn a_token_without_a_family_is_dropped_with_any_family() {
        // contract I31.9
        let accounts = AccountCache::new();
        let nameless = BearerClaims { family: None, ..claims(1, 0, 3_600) };
        let keep = |begun| accounts.keep(digest(1), &nameless, Some(hub_account(10)), begun);
        let begun = accounts.begin();
        assert!(keep(begun));
        accounts.invalidate(family(99));
        assert_eq!(word(&accounts, 1, 0), "nothing");
        assert!(!keep(begun), "asked before");
        accounts.invalidate(account(2));
        assert!(keep(accounts.begin()));
    }

    #[test]
    fn an_answer_from_before_a_drop_is_not_cached() {
        // contract I31.9
        let accounts = AccountCache::new();
        let keep = |begun| accounts.keep(digest(1), &claims(1, 11, 3_600), Some(hub_account(10)), begun);
        let begun = accounts.begin();
        accounts.invalidate(account(2));
        assert!(keep(begun), "a drop of another account");
        accounts.invalidate(account(1));
        assert!(!keep(begun));
        let begun = accounts.begin();
        assert!(keep(begun));
        accounts.invalidate(family(11));
        assert!(!keep(begun));
        let begun = accounts.begin();
        accounts.invalidate(Invalidation::Everything);
        assert!(!keep(begun));
        // No drop is forgotten, however many follow.
        let begun = accounts.begin();
        accounts.invalidate(account(1));
        for other in 0..=MAX_DROPS as u128 {
            accounts.invalidate(account(1_000 + other));
        }
        assert!(!keep(begun));
        assert!(keep(accounts.begin()));
    }

    #[test]
    fn a_flood_of_tokens_is_bounded_in_number_and_size() {
        // contract I31.9
        let accounts = AccountCache::new();
        let (mine, held) = (claims(1, 1, 3_600), hub_account(10));
        for number in 0..20_000 {
            accounts.keep(digest(number), &mine, Some(held.clone()), 0);
        }
        let size = |accounts: &AccountCache| {
            let shards = accounts.shards.iter().map(|shard| shard.lock().expect("a shard"));
            shards.fold((0, 0), |(count, bytes), shard| (count + shard.entries.len(), bytes + shard.bytes))
        };
        let (count, bytes) = size(&accounts);
        assert!(count <= 16_384 && bytes == count * (ENTRY_BYTES + 10 * FORMS), "{count} {bytes}");
        let large = hub_account(500_000);
        for number in 0..500 {
            accounts.keep(digest(number), &mine, Some(large.clone()), 0);
        }
        assert!(size(&accounts).1 <= 64 * 1024 * 1024);
        assert_eq!(word(&accounts, 499, 0), "current");
        // An account that is too large by itself is not cached.
        accounts.keep(digest(0), &mine, Some(hub_account(MAX_BYTES)), 0);
        assert_eq!(word(&accounts, 0, 0), "nothing");
    }
}
