//! The throttle's counters. One transaction judges and counts an attempt, so that a thousand parallel guesses count as a thousand.

use identity::throttle::{
    Binding, Counter, Evidence, FORGOTTEN_SECONDS, Failures, Familiarity, ThrottleDecision, UNDECIDED_SECONDS, judge_client, longest_delay,
};
use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::accounts::LoginCandidate;
use crate::hub_records::{Bind, BoundStatement, Records, Row, Transaction, heartbeats};

pub type ThrottleKey = [u8; 32];

/// A familiar address is updated at most once in this time: it expires after half a year.
const FAMILIAR_TO_SECONDS: i64 = 3_600;

/// The counters of an attempt, in locking order.
#[derive(Clone, Debug)]
pub struct ThrottleKeys {
    /// Of the name from the address, of the name, and of the address. A client has only the first, which stands in for the others.
    counters: [ThrottleKey; 3],
    origin: Option<Origin>,
}

#[derive(Clone, Debug)]
struct Origin {
    account: Uuid,
    address: String,
    last_here: Option<Timestamp>,
}

impl ThrottleKeys {
    /// For a sign-in with a name from a client address; the candidate is the account with that name.
    pub fn sign_in(name: &str, address: &str, known: Option<&LoginCandidate>) -> Self {
        let origin = |known: &LoginCandidate| Origin { account: known.account.id, address: address.to_owned(), last_here: known.last_here };
        let counters = [Counter::Pair(name, address), Counter::Account(name), Counter::Address(address)];
        ThrottleKeys { counters: counters.map(Counter::key), origin: known.map(origin) }
    }

    /// For a client that shows its secret from a client address.
    pub fn client(id: &str, address: &str) -> Self {
        ThrottleKeys { counters: [Counter::Client(id, address).key(); 3], origin: None }
    }

    /// The keys of the name from the address, of the name, and of the address.
    pub fn counters(&self) -> [ThrottleKey; 3] {
        self.counters
    }

    fn counter(&self, binding: Binding) -> ThrottleKey {
        let [pair, account, address] = self.counters;
        match binding {
            Binding::Pair => pair,
            Binding::Account => account,
            Binding::Address => address,
        }
    }

    fn address_is(&self) -> Familiarity {
        let last_here = self.origin.as_ref().and_then(|origin| origin.last_here);
        last_here.map_or(Familiarity::Strange, |_| Familiarity::Familiar)
    }
}

/// An attempt that the throttle allowed. It is pending until [`succeeded`] or [`failed`].
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    at: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub struct Delayed {
    pub seconds: i64,
    pub counter: ThrottleKey,
    /// How many of its pending attempts would have to succeed for no delay.
    pub successes_wanted: usize,
}

/// The columns of a counter, in the order [`counter`] expects them.
macro_rules! counter_columns {
    () => {
        "key, count, last_at, undecided, undecided_at, admitted_at"
    };
}

pub async fn evidence(records: &Records, keys: &ThrottleKeys) -> Result<Evidence, Error> {
    const SQL: &str = concat!("SELECT ", counter_columns!(), " FROM peristyle.failure WHERE key IN ($1, $2, $3)");
    read(&records.run(SQL, &bound(keys)).await?, keys)
}

pub async fn attempt(records: &Records, keys: &ThrottleKeys, now: Timestamp) -> Result<Result<Attempt, Delayed>, Error> {
    // An allowed attempt uses its admission up.
    const BEGUN: &str = "UPDATE peristyle.failure SET count = CASE key WHEN $1 THEN $4 WHEN $2 THEN $5 ELSE $6 END, \
                         last_at = CASE key WHEN $1 THEN $7 WHEN $2 THEN $8 ELSE $9 END, \
                         undecided = CASE key WHEN $1 THEN $10 WHEN $2 THEN $11 ELSE $12 END, undecided_at = $13, admitted_at = NULL \
                         WHERE key IN ($1, $2, $3)";
    let (mut transaction, mut before) = lock(records, keys, now).await?;
    for failures in [&mut before.pair, &mut before.account, &mut before.address] {
        // An outage may have kept the hub from storing how they ended.
        if let Some(at) = failures.overdue_since(now)
            && heartbeats::is_outage_between(&mut transaction, (at, at.plus(UNDECIDED_SECONDS)), now).await?
        {
            *failures = failures.without_pending();
        }
    }
    let (binding, seconds) = longest_delay(&before, now);
    if seconds > 0 {
        admit(transaction, keys, &before, now).await?;
        let successes_wanted = binding.successes_wanted(&before, now) as usize;
        return Ok(Err(Delayed { seconds, counter: keys.counter(binding), successes_wanted }));
    }
    let begun = [before.pair, before.account, before.address].map(|failures| failures.begun(now));
    let keys = bound(keys);
    let counts = begun.map(|failures| Bind::Number(failures.count.into()));
    let lasts = begun.map(|failures| last_at(failures, now));
    let undecided = begun.map(|failures| Bind::Number(failures.undecided.into()));
    transaction.commit_with(BEGUN, &[&keys[..], &counts, &lasts, &undecided, &[Bind::timestamp(now)]].concat()).await?;
    Ok(Ok(Attempt { at: now }))
}

/// Stores when an address that waits because of failures elsewhere may try.
async fn admit(transaction: Transaction, keys: &ThrottleKeys, before: &Evidence, now: Timestamp) -> Result<(), Error> {
    const ADMITTED: &str = "UPDATE peristyle.failure SET admitted_at = $2 WHERE key = $1";
    match before.admission(now) {
        Some(at) if before.admitted_at != Some(at) => {
            transaction.commit_with(ADMITTED, &[Bind::Bytes(&keys.counters[0]), Bind::timestamp(at)]).await
        }
        _ => Ok(()),
    }
}

/// Judges a client that showed a wrong secret, and counts the failure unless it must wait.
pub async fn client_failed(records: &Records, keys: &ThrottleKeys, now: Timestamp) -> Result<ThrottleDecision, Error> {
    const COUNTED: &str = "UPDATE peristyle.failure SET count = $2, last_at = $3 WHERE key = $1";
    let (transaction, before) = lock(records, keys, now).await?;
    let verdict = judge_client(before.pair, now);
    if verdict == ThrottleDecision::Try {
        let count = Bind::Number(before.pair.failed(now).count.into());
        transaction.commit_with(COUNTED, &[Bind::Bytes(&keys.counters[0]), count, Bind::timestamp(now)]).await?;
    }
    Ok(verdict)
}

/// Clears the failures of the name from this address and makes the address familiar. Other failures and pending attempts stay.
pub async fn succeeded(records: &Records, keys: &ThrottleKeys, now: Timestamp) -> Result<(), Error> {
    // In locking order, so that no two transactions deadlock. The purge removes empty counters.
    const CLEARED: &str = "DELETE FROM peristyle.failure WHERE key = $1 AND undecided <= 1";
    const FORGIVEN: &str = "UPDATE peristyle.failure SET count = 0, undecided = undecided - 1 WHERE key = $1 AND undecided > 0";
    const DECIDED: &str = "UPDATE peristyle.failure SET undecided = undecided - 1 WHERE key = $1 AND undecided > 0";
    const FAMILIAR: &str = "INSERT INTO peristyle.familiar (account_id, address, last_used_at) VALUES ($1, $2, $3) \
                            ON CONFLICT (account_id, address) DO UPDATE SET last_used_at = excluded.last_used_at";
    let [pair, account, address] = bound(keys).map(|key| [key]);
    let mut statements: Vec<BoundStatement<'_>> = vec![(CLEARED, &pair), (FORGIVEN, &pair), (DECIDED, &account), (DECIDED, &address)];
    let stale = keys.origin.as_ref().filter(|origin| origin.last_here.is_none_or(|last| now.since(last) >= FAMILIAR_TO_SECONDS));
    let familiar = stale.map(|origin| [Bind::Id(origin.account), Bind::Text(&origin.address), Bind::timestamp(now)]);
    statements.extend(familiar.iter().map(|binds| (FAMILIAR, &binds[..])));
    records.run_async_commit(&statements).await
}

pub async fn failed(records: &Records, keys: &ThrottleKeys, attempt: Attempt) -> Result<(), Error> {
    // An attempt that was pending for too long was counted as a failure already.
    const FAILED: &str = "UPDATE peristyle.failure SET undecided = undecided - 1, \
                          count = CASE WHEN last_at <= $3 THEN 1 ELSE count + 1 END, \
                          last_at = CASE WHEN last_at > $2 THEN last_at ELSE $2 END WHERE key = $1 AND undecided > 0";
    let (at, forgotten) = (Bind::timestamp(attempt.at), long_ago(attempt.at));
    let [pair, account, address] = bound(keys).map(|key| [key, at, forgotten]);
    records.run_async_commit(&[(FAILED, &pair), (FAILED, &account), (FAILED, &address)]).await
}

/// Creates missing counters and locks all, so that attempts with a common counter are judged one at a time.
async fn lock(records: &Records, keys: &ThrottleKeys, now: Timestamp) -> Result<(Transaction, Evidence), Error> {
    // Writing an existing row unchanged locks it; the order is always the same.
    const LOCK: &str = concat!(
        "INSERT INTO peristyle.failure AS f (key, count, last_at) VALUES ($1, 0, $4), ($2, 0, $4), ($3, 0, $4) \
         ON CONFLICT (key) DO UPDATE SET count = f.count RETURNING ",
        counter_columns!()
    );
    const PAIR_LOCK: &str = concat!(
        "INSERT INTO peristyle.failure AS f (key, count, last_at) VALUES ($1, 0, $2) \
         ON CONFLICT (key) DO UPDATE SET count = f.count RETURNING ",
        counter_columns!()
    );
    let [pair, account, address] = bound(keys);
    let is_client = keys.counters[0] == keys.counters[1];
    let (transaction, rows) = if is_client {
        records.begin_async_commit(PAIR_LOCK, &[pair, long_ago(now)]).await?
    } else {
        records.begin_async_commit(LOCK, &[pair, account, address, long_ago(now)]).await?
    };
    Ok((transaction, read(&rows, keys)?))
}

fn last_at(failures: Failures, now: Timestamp) -> Bind<'static> {
    failures.last.map_or(long_ago(now), Bind::timestamp)
}

/// The time at which a failure is forgotten by now.
fn long_ago(now: Timestamp) -> Bind<'static> {
    Bind::timestamp(now.plus(-FORGOTTEN_SECONDS))
}

fn bound(keys: &ThrottleKeys) -> [Bind<'_>; 3] {
    keys.counters.each_ref().map(|key| Bind::Bytes(key))
}

fn read(rows: &[Row], keys: &ThrottleKeys) -> Result<Evidence, Error> {
    let mut evidence = Evidence { address_is: keys.address_is(), ..Evidence::default() };
    for row in rows {
        let (key, failures) = (row.bytes(0)?, counter(row)?);
        if key == keys.counters[0] {
            evidence.pair = failures;
            evidence.admitted_at = row.maybe_timestamp(5)?;
        } else if key == keys.counters[1] {
            evidence.account = failures;
        } else {
            evidence.address = failures;
        }
    }
    Ok(evidence)
}

fn counter(row: &Row) -> Result<Failures, Error> {
    let number = |column| Ok::<_, Error>(u32::try_from(row.number(column)?).unwrap_or_default());
    let (count, undecided) = (number(1)?, number(3)?);
    // Without failures or pending attempts the stored times mean nothing.
    let last = if count == 0 { None } else { Some(row.timestamp(2)?) };
    let undecided_at = if undecided == 0 { None } else { row.maybe_timestamp(4)? };
    Ok(Failures { count, last, undecided, undecided_at })
}
