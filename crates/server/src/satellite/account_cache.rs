//! The accounts of tokens that were seen before, by the SHA-256 of the token. A token in here was verified, so that finding it again
//! costs a hash and a look; what is known of it is asked again every two minutes, and forgotten when the hub says so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use identity::freshness::{self, ACCOUNT_SECONDS, Freshness};
use identity::moment::Moment;
use identity::token::BearerClaims;
use lru::LruCache;
use uuid::Uuid;

use crate::clock;
use crate::random;

use super::hub_account::Member;

/// Shards have locks of their own, so that requests on many cores rarely meet.
const SHARDS: usize = 16;
const MOST_ENTRIES: usize = 16_384 / SHARDS;
const MOST_BYTES: usize = 64 * 1024 * 1024 / SHARDS;
/// What an entry weighs beside the account's text, which it holds in several forms.
const ENTRY_BYTES: usize = 1_024;
const FORMS: usize = 4;
/// How long a token that the hub refused is refused without asking again.
const REFUSED_SECONDS: i64 = 30;
/// How many things that were dropped are remembered, for fetches that were under way.
const MOST_DROPS: usize = 4_096;

pub(super) type TokenDigest = [u8; 32];

/// What is known of a token.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// Its account, which is current.
    Current(Arc<Member>),
    /// Its account, which serves only if the hub does not answer.
    Bridging(Arc<Member>),
    /// It was refused a moment ago.
    Refused,
    /// Nothing, or nothing that still counts.
    Nothing,
}

#[derive(Debug)]
struct Entry {
    /// None of a token that was refused.
    member: Option<Arc<Member>>,
    account: Uuid,
    /// None where the token names none that could be heard of.
    family: Option<Uuid>,
    token_expires_at: Moment,
    fetched_at: Moment,
    /// Before its two minutes are over, by a little chance, so that what came together is not asked for together.
    renewed_at: Moment,
}

impl Entry {
    fn weight(&self) -> usize {
        ENTRY_BYTES + self.member.as_ref().map_or(0, |member| member.row.len() * FORMS)
    }

    fn found(&self, now: Moment) -> Found {
        let Some(member) = &self.member else {
            return if now < self.renewed_at { Found::Refused } else { Found::Nothing };
        };
        match freshness::account(self.fetched_at, self.token_expires_at, now) {
            Freshness::Current if now < self.renewed_at => Found::Current(member.clone()),
            Freshness::Current | Freshness::Bridging => Found::Bridging(member.clone()),
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
        while self.entries.len() > MOST_ENTRIES || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.entries.pop_lru() else { break };
            self.bytes -= oldest.weight();
        }
    }

    fn remove(&mut self, digest: &TokenDigest) {
        if let Some(entry) = self.entries.pop(digest) {
            self.bytes -= entry.weight();
        }
    }

    /// There are a thousand entries here at most: looking through them costs less than an index on every path.
    fn remove_all(&mut self, concerned: impl Fn(&Entry) -> bool) {
        let digests: Vec<TokenDigest> = self.entries.iter().filter(|(_, entry)| concerned(entry)).map(|(digest, _)| *digest).collect();
        for digest in digests {
            self.remove(&digest);
        }
    }
}

/// What is to be forgotten.
#[derive(Clone, Copy, Debug)]
enum Dropped {
    Account(Uuid),
    Family(Uuid),
}

impl Dropped {
    fn concerns(self, entry: &Entry) -> bool {
        match self {
            Dropped::Account(id) => entry.account == id,
            Dropped::Family(id) => entry.family.is_none_or(|family| family == id),
        }
    }
}

/// What was dropped when: an answer that was asked for before may tell what is no longer true, and is not kept.
#[derive(Debug)]
struct Drops {
    /// By the id of an account or a family.
    of: LruCache<Uuid, u64>,
    of_all: u64,
    /// When any family was: it may be that of a token that names none.
    of_a_family: u64,
}

/// The accounts of tokens.
#[derive(Debug)]
pub(super) struct Accounts {
    shards: [Mutex<Shard>; SHARDS],
    drops: Mutex<Drops>,
    /// Counts drops, so that before and after can be told apart without a clock.
    time: AtomicU64,
}

impl Accounts {
    pub(super) fn new() -> Self {
        let shard = |_| Mutex::new(Shard { entries: LruCache::unbounded(), bytes: 0 });
        let drops = Drops { of: LruCache::unbounded(), of_all: 0, of_a_family: 0 };
        Accounts { shards: std::array::from_fn(shard), drops: Mutex::new(drops), time: AtomicU64::new(0) }
    }

    fn shard(&self, digest: &TokenDigest) -> MutexGuard<'_, Shard> {
        self.shards[usize::from(digest[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a token.
    pub(super) fn find(&self, digest: &TokenDigest, now: Moment) -> Found {
        self.shard(digest).entries.get(digest).map_or(Found::Nothing, |entry| entry.found(now))
    }

    /// When a fetch begins.
    pub(super) fn begin(&self) -> u64 {
        self.time.load(Ordering::Acquire)
    }

    /// Keeps what the hub said of a verified token: its account, or that it is refused. Says whether it was kept; it is not if the
    /// account, the family or everything was dropped since the hub was asked.
    pub(super) fn keep(&self, digest: TokenDigest, claims: &BearerClaims, member: Option<Arc<Member>>, begun: u64) -> bool {
        // Held until the entry is in, so that no drop can pass between.
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        let of_family = match claims.family {
            Some(family) => drops.of.get(&family).copied(),
            None => Some(drops.of_a_family),
        };
        let of_account = drops.of.get(&claims.account).copied();
        if [Some(drops.of_all), of_account, of_family].into_iter().flatten().any(|at| at > begun) {
            return false;
        }
        let now = clock::now();
        let seconds = match member {
            Some(_) => ACCOUNT_SECONDS - (ACCOUNT_SECONDS as f64 / 10.0 * random::fraction()) as i64,
            None => REFUSED_SECONDS,
        };
        let entry = Entry {
            member,
            account: claims.account,
            family: claims.family,
            token_expires_at: claims.expires_at,
            fetched_at: now,
            renewed_at: now.plus(seconds),
        };
        self.shard(&digest).put(digest, entry);
        true
    }

    /// Forgets what is known of every token of an account.
    pub(super) fn drop_account(&self, id: Uuid) {
        self.forget(Dropped::Account(id));
    }

    /// Forgets what is known of every token of a family, and of those that name none: they are asked for once more.
    pub(super) fn drop_family(&self, id: Uuid) {
        self.forget(Dropped::Family(id));
    }

    /// Asks for every account again at its next request. Something may have been missed, nothing is known to have ended: an account
    /// still serves where the hub does not answer, as it would have without anybody to miss anything.
    pub(super) fn doubt_all(&self) {
        let now = clock::now();
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        drops.of_all = self.time.fetch_add(1, Ordering::AcqRel) + 1;
        for shard in &self.shards {
            for (_, entry) in &mut shard.lock().unwrap_or_else(PoisonError::into_inner).entries {
                entry.renewed_at = now;
            }
        }
    }

    fn forget(&self, dropped: Dropped) {
        let mut drops = self.drops.lock().unwrap_or_else(PoisonError::into_inner);
        let time = self.time.fetch_add(1, Ordering::AcqRel) + 1;
        match dropped {
            Dropped::Account(id) => _ = drops.of.put(id, time),
            Dropped::Family(id) => {
                drops.of.put(id, time);
                drops.of_a_family = time;
            }
        }
        // What is pushed out counts as everything: better asked once too often.
        while drops.of.len() > MOST_DROPS {
            let Some((_, oldest)) = drops.of.pop_lru() else { break };
            drops.of_all = drops.of_all.max(oldest);
        }
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).remove_all(|entry| dropped.concerns(entry));
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

    fn member(size: usize) -> Arc<Member> {
        Arc::new(Member { id: Uuid::nil(), viewer: Arc::new(Viewer::anonymous()), row: vec![b'x'; size].into() })
    }

    fn digest(number: usize) -> TokenDigest {
        identity::bearer::digest(&number.to_string())
    }

    fn word(accounts: &Accounts, number: usize, later: i64) -> &'static str {
        match accounts.find(&digest(number), clock::now().plus(later)) {
            Found::Current(_) => "current",
            Found::Bridging(_) => "bridging",
            Found::Refused => "refused",
            Found::Nothing => "nothing",
        }
    }

    #[test]
    fn an_account_is_current_for_a_while_and_never_outlives_its_token() {
        // contract I31.4, attack 45
        let accounts = Accounts::new();
        assert!(accounts.keep(digest(1), &claims(1, 1, 3_600), Some(member(10)), 0));
        assert!(accounts.keep(digest(2), &claims(1, 1, 60), Some(member(10)), 0));
        assert!(accounts.keep(digest(3), &claims(1, 1, 3_600), None, 0));
        assert_eq!(
            [0, 100, 121, 890, 901].map(|later| word(&accounts, 1, later)),
            ["current", "current", "bridging", "bridging", "nothing"]
        );
        assert_eq!([0, 61].map(|later| word(&accounts, 2, later)), ["current", "nothing"]);
        assert_eq!([0, 31].map(|later| word(&accounts, 3, later)), ["refused", "nothing"]);
        assert_eq!(word(&accounts, 4, 0), "nothing");
    }

    #[test]
    fn what_is_dropped_is_forgotten_and_nothing_else() {
        // contract I31.9
        let accounts = Accounts::new();
        let fill = || {
            for (number, account, family) in [(1, 1, 11), (2, 1, 12), (3, 2, 13)] {
                assert!(accounts.keep(digest(number), &claims(account, family, 3_600), Some(member(10)), accounts.begin()));
            }
        };
        let words = || [1, 2, 3].map(|number| word(&accounts, number, 0));
        fill();
        accounts.drop_account(Uuid::from_u128(1));
        assert_eq!(words(), ["nothing", "nothing", "current"]);
        fill();
        accounts.drop_family(Uuid::from_u128(12));
        assert_eq!(words(), ["current", "nothing", "current"]);
        fill();
        accounts.doubt_all();
        assert_eq!(words(), ["bridging"; 3]);
    }

    #[test]
    fn a_token_that_names_no_family_is_forgotten_with_any() {
        // contract I31.9
        let accounts = Accounts::new();
        let nameless = BearerClaims { family: None, ..claims(1, 0, 3_600) };
        let keep = |begun| accounts.keep(digest(1), &nameless, Some(member(10)), begun);
        let begun = accounts.begin();
        assert!(keep(begun));
        accounts.drop_family(Uuid::from_u128(99));
        assert_eq!(word(&accounts, 1, 0), "nothing");
        assert!(!keep(begun), "asked before");
        accounts.drop_account(Uuid::from_u128(2));
        assert!(keep(accounts.begin()));
    }

    #[test]
    fn an_answer_from_before_a_drop_is_not_kept() {
        // contract I31.9
        let accounts = Accounts::new();
        let keep = |begun| accounts.keep(digest(1), &claims(1, 11, 3_600), Some(member(10)), begun);
        let begun = accounts.begin();
        accounts.drop_account(Uuid::from_u128(2));
        assert!(keep(begun), "somebody else's");
        accounts.drop_account(Uuid::from_u128(1));
        assert!(!keep(begun));
        let begun = accounts.begin();
        assert!(keep(begun));
        accounts.drop_family(Uuid::from_u128(11));
        assert!(!keep(begun));
        let begun = accounts.begin();
        accounts.doubt_all();
        assert!(!keep(begun));
        // However many drops there were since, none is forgotten.
        let begun = accounts.begin();
        accounts.drop_account(Uuid::from_u128(1));
        for other in 0..=MOST_DROPS as u128 {
            accounts.drop_account(Uuid::from_u128(1_000 + other));
        }
        assert!(!keep(begun));
        assert!(keep(accounts.begin()));
    }

    #[test]
    fn a_flood_of_tokens_is_bounded_in_number_and_size() {
        // contract I31.9
        let accounts = Accounts::new();
        let (mine, held) = (claims(1, 1, 3_600), member(10));
        for number in 0..20_000 {
            accounts.keep(digest(number), &mine, Some(held.clone()), 0);
        }
        let size = |accounts: &Accounts| {
            let shards = accounts.shards.iter().map(|shard| shard.lock().expect("a shard"));
            shards.fold((0, 0), |(count, bytes), shard| (count + shard.entries.len(), bytes + shard.bytes))
        };
        let (count, bytes) = size(&accounts);
        assert!(count <= 16_384 && bytes == count * (ENTRY_BYTES + 10 * FORMS), "{count} {bytes}");
        let large = member(500_000);
        for number in 0..500 {
            accounts.keep(digest(number), &mine, Some(large.clone()), 0);
        }
        assert!(size(&accounts).1 <= 64 * 1024 * 1024);
        assert_eq!(word(&accounts, 499, 0), "current");
        // One account that alone is too large is not kept, and takes nothing with it but what was oldest.
        accounts.keep(digest(0), &mine, Some(member(MOST_BYTES)), 0);
        assert_eq!(word(&accounts, 0, 0), "nothing");
    }
}
