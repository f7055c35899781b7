//! Failed attempts, counted by what they are throttled by. Judging and counting are one step, so that a thousand parallel guesses count
//! as a thousand.

use identity::moment::Moment;
use identity::throttle::{Binding, Counter, Evidence, FORGOTTEN_SECONDS, Failures, Familiarity, Verdict, judge_client, longest};
use uuid::Uuid;

use crate::Error;
use crate::accounts::Known;
use crate::records::{Bind, Bound, Records, Row, Transaction};

/// The name that a counter is kept under.
pub type Key = [u8; 32];

/// When the last sign-in from an address was is known to the hour: it is asked for by the half year.
const FAMILIAR_TO_SECONDS: i64 = 3_600;

/// The counters of an attempt, in the order in which they are locked.
#[derive(Clone, Debug)]
pub struct Watch {
    pair: Key,
    account: Option<Key>,
    address: Option<Key>,
    visitor: Option<Visitor>,
}

/// The account that somebody wants to sign in to, and where they are.
#[derive(Clone, Debug)]
struct Visitor {
    account: Uuid,
    address: String,
    last_here: Option<Moment>,
}

impl Watch {
    /// Somebody signs in by a name from an address; the account is the one that has the name, if any has.
    pub fn sign_in(name: &str, address: &str, known: Option<&Known>) -> Self {
        let visitor = |known: &Known| Visitor { account: known.account.id, address: address.to_owned(), last_here: known.last_here };
        Watch {
            pair: Counter::Pair(name, address).key(),
            account: Some(Counter::Account(name).key()),
            address: Some(Counter::Address(address).key()),
            visitor: known.map(visitor),
        }
    }

    /// A client shows its secret from an address.
    pub fn client(id: &str, address: &str) -> Self {
        Watch { pair: Counter::Client(id, address).key(), account: None, address: None, visitor: None }
    }

    /// The counters that it stands in: of the name from the address, of the name, of the address.
    pub fn counters(&self) -> [Key; 3] {
        // One that does not matter is the pair once more.
        [self.pair, self.account.unwrap_or(self.pair), self.address.unwrap_or(self.pair)]
    }

    fn counter(&self, binding: Binding) -> Key {
        let [pair, account, address] = self.counters();
        match binding {
            Binding::Pair => pair,
            Binding::Account => account,
            Binding::Address => address,
        }
    }

    fn address_is(&self) -> Familiarity {
        let last_here = self.visitor.as_ref().and_then(|visitor| visitor.last_here);
        last_here.map_or(Familiarity::Strange, |_| Familiarity::Familiar)
    }
}

/// An attempt that was let through. It is undecided until [`succeeded`] or [`failed`] is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    at: Moment,
}

/// An attempt that may not be made yet.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// How many seconds it is too early.
    pub seconds: i64,
    /// The counter that says so.
    pub counter: Key,
    /// How many failures that it knows of would have to turn out as successes.
    pub successes_wanted: usize,
}

/// The columns of a counter, in the order [`counter`] expects them.
macro_rules! counter_columns {
    () => {
        "key, count, last_at, undecided, undecided_at, admitted_at"
    };
}

/// What is known, without counting anything.
pub async fn evidence(records: &Records, watch: &Watch) -> Result<Evidence, Error> {
    const SQL: &str = concat!("SELECT ", counter_columns!(), " FROM peristyle.failure WHERE key IN ($1, $2, $3)");
    read(&records.run(SQL, &bound(watch)).await?, watch)
}

/// Judges an attempt and, if it may be made, counts it as undecided.
pub async fn attempt(records: &Records, watch: &Watch, now: Moment) -> Result<Result<Attempt, Refused>, Error> {
    // Whoever was admitted uses that up.
    const BEGUN: &str = "UPDATE peristyle.failure SET count = CASE key WHEN $1 THEN $4 WHEN $2 THEN $5 ELSE $6 END, \
                         last_at = CASE key WHEN $1 THEN $7 WHEN $2 THEN $8 ELSE $9 END, \
                         undecided = CASE key WHEN $1 THEN $10 WHEN $2 THEN $11 ELSE $12 END, undecided_at = $13, admitted_at = NULL \
                         WHERE key IN ($1, $2, $3)";
    let (transaction, before) = hold(records, watch, now).await?;
    let (binding, seconds) = longest(&before, now);
    if seconds > 0 {
        admit(transaction, watch, &before, now).await?;
        let successes_wanted = binding.successes_wanted(&before, now) as usize;
        return Ok(Err(Refused { seconds, counter: watch.counter(binding), successes_wanted }));
    }
    let begun = [before.pair, before.account, before.address].map(|failures| failures.begun(now));
    let keys = bound(watch);
    let counts = begun.map(|failures| Bind::Number(failures.count.into()));
    let lasts = begun.map(|failures| last_at(failures, now));
    let undecided = begun.map(|failures| Bind::Number(failures.undecided.into()));
    transaction.commit_with(BEGUN, &[&keys[..], &counts, &lasts, &undecided, &[Bind::moment(now)]].concat()).await?;
    Ok(Ok(Attempt { at: now }))
}

/// Keeps from when on an address that must wait for failures elsewhere may try.
async fn admit(transaction: Transaction, watch: &Watch, before: &Evidence, now: Moment) -> Result<(), Error> {
    const ADMITTED: &str = "UPDATE peristyle.failure SET admitted_at = $2 WHERE key = $1";
    match before.admission(now) {
        Some(at) if before.admitted_at != Some(at) => {
            transaction.commit_with(ADMITTED, &[Bind::Bytes(&watch.pair), Bind::moment(at)]).await
        }
        _ => Ok(()),
    }
}

/// Judges a client that showed a wrong secret, and counts that unless it is told to wait.
pub async fn client_failed(records: &Records, watch: &Watch, now: Moment) -> Result<Verdict, Error> {
    const COUNTED: &str = "UPDATE peristyle.failure SET count = $2, last_at = $3 WHERE key = $1";
    let (transaction, before) = hold(records, watch, now).await?;
    let verdict = judge_client(before.pair, now);
    if verdict == Verdict::Try {
        let count = Bind::Number(before.pair.failed(now).count.into());
        transaction.commit_with(COUNTED, &[Bind::Bytes(&watch.pair), count, Bind::moment(now)]).await?;
    }
    Ok(verdict)
}

/// Notes that an attempt was a success. The failures of the name from this address are forgiven, and the address is familiar from now on;
/// no other failure is touched, nor an attempt that is still undecided.
pub async fn succeeded(records: &Records, watch: &Watch, now: Moment) -> Result<(), Error> {
    // One after the other in the order in which they are held, so that no two wait for each other. A counter that counts nothing any more
    // is purged in time.
    const CLEARED: &str = "DELETE FROM peristyle.failure WHERE key = $1 AND undecided <= 1";
    const FORGIVEN: &str = "UPDATE peristyle.failure SET count = 0, undecided = undecided - 1 WHERE key = $1 AND undecided > 0";
    const DECIDED: &str = "UPDATE peristyle.failure SET undecided = undecided - 1 WHERE key = $1 AND undecided > 0";
    const FAMILIAR: &str = "INSERT INTO peristyle.familiar (account_id, address, last_used_at) VALUES ($1, $2, $3) \
                            ON CONFLICT (account_id, address) DO UPDATE SET last_used_at = excluded.last_used_at";
    let [pair, account, address] = bound(watch).map(|key| [key]);
    let mut statements: Vec<Bound<'_>> = vec![(CLEARED, &pair), (FORGIVEN, &pair), (DECIDED, &account), (DECIDED, &address)];
    let stale = watch.visitor.as_ref().filter(|visitor| visitor.last_here.is_none_or(|last| now.since(last) >= FAMILIAR_TO_SECONDS));
    let familiar = stale.map(|visitor| [Bind::Id(visitor.account), Bind::Text(&visitor.address), Bind::moment(now)]);
    statements.extend(familiar.iter().map(|binds| (FAMILIAR, &binds[..])));
    records.run_fleeting(&statements).await
}

/// Notes that an attempt was a failure.
pub async fn failed(records: &Records, watch: &Watch, attempt: Attempt) -> Result<(), Error> {
    // One that was undecided for too long was counted as a failure already.
    const FAILED: &str = "UPDATE peristyle.failure SET undecided = undecided - 1, \
                          count = CASE WHEN last_at <= $3 THEN 1 ELSE count + 1 END, \
                          last_at = CASE WHEN last_at > $2 THEN last_at ELSE $2 END WHERE key = $1 AND undecided > 0";
    let (at, forgotten) = (Bind::moment(attempt.at), long_ago(attempt.at));
    let [pair, account, address] = bound(watch).map(|key| [key, at, forgotten]);
    records.run_fleeting(&[(FAILED, &pair), (FAILED, &account), (FAILED, &address)]).await
}

/// Makes the counters where they are missing and holds them, so that attempts that share one are judged one after the other.
async fn hold(records: &Records, watch: &Watch, now: Moment) -> Result<(Transaction, Evidence), Error> {
    // What is there already is written as it is, which holds it; the order is the same for all.
    const HELD: &str = concat!(
        "INSERT INTO peristyle.failure AS f (key, count, last_at) VALUES ($1, 0, $4), ($2, 0, $4), ($3, 0, $4) \
         ON CONFLICT (key) DO UPDATE SET count = f.count RETURNING ",
        counter_columns!()
    );
    const PAIR_HELD: &str = concat!(
        "INSERT INTO peristyle.failure AS f (key, count, last_at) VALUES ($1, 0, $2) \
         ON CONFLICT (key) DO UPDATE SET count = f.count RETURNING ",
        counter_columns!()
    );
    let [pair, account, address] = bound(watch);
    let (transaction, rows) = match watch.account {
        Some(_) => records.begin_fleeting(HELD, &[pair, account, address, long_ago(now)]).await?,
        None => records.begin_fleeting(PAIR_HELD, &[pair, long_ago(now)]).await?,
    };
    Ok((transaction, read(&rows, watch)?))
}

/// When the last failure was, of a counter that may know of none.
fn last_at(failures: Failures, now: Moment) -> Bind<'static> {
    failures.last.map_or(long_ago(now), Bind::moment)
}

/// When a failure would be forgotten by now.
fn long_ago(now: Moment) -> Bind<'static> {
    Bind::moment(now.plus(-FORGOTTEN_SECONDS))
}

fn bound(watch: &Watch) -> [Bind<'_>; 3] {
    // As [`Watch::counters`], without a copy.
    let [account, address] = [&watch.account, &watch.address].map(|key| key.as_ref().unwrap_or(&watch.pair));
    [Bind::Bytes(&watch.pair), Bind::Bytes(account), Bind::Bytes(address)]
}

fn read(rows: &[Row], watch: &Watch) -> Result<Evidence, Error> {
    let mut evidence = Evidence { address_is: watch.address_is(), ..Evidence::default() };
    for row in rows {
        let (key, failures) = (row.bytes(0)?, counter(row)?);
        if key == watch.pair {
            evidence.pair = failures;
            evidence.admitted_at = row.maybe_moment(5)?;
        } else if watch.account.is_some_and(|account| key == account) {
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
    // A time that nothing happened at is the one of a counter that was only made to be held, or of what is decided by now.
    let last = if count == 0 { None } else { Some(row.moment(2)?) };
    let undecided_at = if undecided == 0 { None } else { row.maybe_moment(4)? };
    Ok(Failures { count, last, undecided, undecided_at })
}
