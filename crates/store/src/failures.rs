//! Failed attempts, counted by what they are throttled by. Judging and counting are one step, so that a thousand parallel guesses count
//! as a thousand.

use identity::moment::Moment;
use identity::throttle::{Counter, Evidence, FORGOTTEN_SECONDS, Failures, Familiarity, Verdict, judge, judge_client};
use uuid::Uuid;

use crate::Error;
use crate::records::{Bind, Records, Row, Run, Transaction};

type Key = [u8; 32];

/// The counters of an attempt, in the order in which they are locked.
#[derive(Clone, Debug)]
pub struct Watch {
    pair: Key,
    account: Option<Key>,
    address: Option<Key>,
    familiar: Option<(Uuid, String)>,
}

impl Watch {
    /// Somebody signs in by a name from an address; the account is the one that has the name, if any has.
    pub fn sign_in(name: &str, address: &str, account: Option<Uuid>) -> Self {
        Watch {
            pair: Counter::Pair(name, address).key(),
            account: Some(Counter::Account(name).key()),
            address: Some(Counter::Address(address).key()),
            familiar: account.map(|account| (account, address.to_owned())),
        }
    }

    /// A client shows its secret from an address.
    pub fn client(id: &str, address: &str) -> Self {
        Watch { pair: Counter::Client(id, address).key(), account: None, address: None, familiar: None }
    }
}

/// An attempt that was let through and counts as a failure until it is forgiven.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    at: Moment,
    before: Evidence,
}

/// What is known, without counting anything.
pub async fn evidence(records: &Records, watch: &Watch) -> Result<Evidence, Error> {
    const SQL: &str = "SELECT key, count, last_at FROM peristyle.failure WHERE key IN ($1, $2, $3)";
    let mut evidence = read(&records.run(SQL, &bound(watch)).await?, watch)?;
    evidence.address_is = familiarity(records, watch).await?;
    Ok(evidence)
}

/// Judges an attempt and, if it may be made, counts it as a failure ahead of its outcome.
pub async fn attempt(records: &Records, watch: &Watch, now: Moment) -> Result<Result<Attempt, Verdict>, Error> {
    let address_is = familiarity(records, watch).await?;
    let mut transaction = records.begin_fleeting().await?;
    let mut before = hold(&mut transaction, watch, now).await?;
    before.address_is = address_is;
    if let verdict @ Verdict::Wait(_) = judge(&before, now) {
        return Ok(Err(verdict));
    }
    write(&mut transaction, watch, counters(watch, &before).map(|(_, failures)| failures.failed(now))).await?;
    transaction.commit().await?;
    Ok(Ok(Attempt { at: now, before }))
}

/// Judges a client that showed a wrong secret, and counts that unless it is told to wait.
pub async fn client_failed(records: &Records, watch: &Watch, now: Moment) -> Result<Verdict, Error> {
    let mut transaction = records.begin_fleeting().await?;
    let before = hold(&mut transaction, watch, now).await?;
    let verdict = judge_client(before.pair, now);
    if verdict == Verdict::Try {
        write(&mut transaction, watch, [before.pair.failed(now)].into_iter()).await?;
        transaction.commit().await?;
    }
    Ok(verdict)
}

/// Takes back what was counted ahead, since the attempt was a success; the address is familiar from now on.
pub async fn forgive(records: &Records, watch: &Watch, attempt: Attempt, now: Moment) -> Result<(), Error> {
    const FAMILIAR: &str = "INSERT INTO peristyle.familiar (account_id, address, last_used_at) VALUES ($1, $2, $3) \
                            ON CONFLICT (account_id, address) DO UPDATE SET last_used_at = excluded.last_used_at";
    let mut transaction = records.begin_fleeting().await?;
    let found = hold(&mut transaction, watch, now).await?;
    let after = counters(watch, &found)
        .zip(counters(watch, &attempt.before))
        .map(|((key, failures), (_, before))| if *key == watch.pair { Failures::default() } else { failures.forgiven(attempt.at, before) });
    write(&mut transaction, watch, after).await?;
    if let Some((account, address)) = &watch.familiar {
        transaction.run(FAMILIAR, &[Bind::Id(*account), Bind::Text(address), Bind::moment(now)]).await?;
    }
    transaction.commit().await
}

/// Whether the account signed in from the address before.
async fn familiarity(on: impl Run, watch: &Watch) -> Result<Familiarity, Error> {
    const SQL: &str = "SELECT 1 FROM peristyle.familiar WHERE account_id = $1 AND address = $2";
    let Some((account, address)) = &watch.familiar else { return Ok(Familiarity::Strange) };
    let row = on.row(SQL, &[Bind::Id(*account), Bind::Text(address)]).await?;
    Ok(if row.is_some() { Familiarity::Familiar } else { Familiarity::Strange })
}

/// Makes the counters where they are missing and holds them, so that attempts that share one are judged one after the other.
async fn hold(transaction: &mut Transaction, watch: &Watch, now: Moment) -> Result<Evidence, Error> {
    // What is there already is written as it is, which holds it; the order is the same for all.
    const HELD: &str = "INSERT INTO peristyle.failure AS f (key, count, last_at) VALUES ($1, 0, $4), ($2, 0, $4), ($3, 0, $4) \
                        ON CONFLICT (key) DO UPDATE SET count = f.count RETURNING key, count, last_at";
    const PAIR_HELD: &str = "INSERT INTO peristyle.failure AS f (key, count, last_at) VALUES ($1, 0, $2) \
                             ON CONFLICT (key) DO UPDATE SET count = f.count RETURNING key, count, last_at";
    let [pair, account, address] = bound(watch);
    let long_ago = Bind::moment(now.plus(-FORGOTTEN_SECONDS));
    let rows = match watch.account {
        Some(_) => transaction.run(HELD, &[pair, account, address, long_ago]).await?,
        None => transaction.run(PAIR_HELD, &[pair, long_ago]).await?,
    };
    read(&rows, watch)
}

fn bound(watch: &Watch) -> [Bind<'_>; 3] {
    // A counter that does not matter is the pair once more.
    let [account, address] = [&watch.account, &watch.address].map(|key| key.as_ref().unwrap_or(&watch.pair));
    [Bind::Bytes(&watch.pair), Bind::Bytes(account), Bind::Bytes(address)]
}

fn read(rows: &[Row], watch: &Watch) -> Result<Evidence, Error> {
    let mut evidence = Evidence::default();
    for row in rows {
        let key = row.bytes(0)?;
        let count = u32::try_from(row.number(1)?).unwrap_or_default();
        // A counter that was only made to be held knows of no failure.
        let failures = Failures { count, last: if count == 0 { None } else { Some(row.moment(2)?) } };
        if key == watch.pair {
            evidence.pair = failures;
        } else if watch.account.is_some_and(|account| key == account) {
            evidence.account = failures;
        } else {
            evidence.address = failures;
        }
    }
    Ok(evidence)
}

fn counters<'a>(watch: &'a Watch, evidence: &Evidence) -> impl Iterator<Item = (&'a Key, Failures)> {
    let pair = Some((&watch.pair, evidence.pair));
    let account = watch.account.as_ref().map(|key| (key, evidence.account));
    let address = watch.address.as_ref().map(|key| (key, evidence.address));
    [pair, account, address].into_iter().flatten()
}

/// Writes what the counters are from now on, in their order; one that knows of no failure is not kept.
async fn write(transaction: &mut Transaction, watch: &Watch, after: impl Iterator<Item = Failures>) -> Result<(), Error> {
    const COUNTED: &str = "UPDATE peristyle.failure SET \
                           count = CASE key WHEN $1 THEN $4 WHEN $2 THEN $5 ELSE $6 END, \
                           last_at = CASE key WHEN $1 THEN $7 WHEN $2 THEN $8 ELSE $9 END WHERE key IN ($1, $2, $3)";
    const CLEARED: &str = "DELETE FROM peristyle.failure WHERE key IN ($1, $2, $3) AND count = 0";
    let [pair, account, address] = bound(watch);
    let (mut counts, mut moments, mut cleared) = ([Bind::Number(0); 3], [Bind::moment(Moment::from_unix(0)); 3], false);
    for (place, failures) in after.enumerate() {
        match failures.last.filter(|_| failures.count > 0) {
            Some(last) => (counts[place], moments[place]) = (Bind::Number(failures.count.into()), Bind::moment(last)),
            None => cleared = true,
        }
    }
    let [one, two, three] = counts;
    let [first, second, third] = moments;
    transaction.run(COUNTED, &[pair, account, address, one, two, three, first, second, third]).await?;
    if cleared {
        transaction.run(CLEARED, &[pair, account, address]).await?;
    }
    Ok(())
}
