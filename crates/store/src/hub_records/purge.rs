//! Purges expired rows in batches, so that no request waits long for it.

use identity::lifetime::{LEEWAY_SECONDS, MAX_TOKEN_SECONDS};
use identity::throttle::FORGOTTEN_SECONDS;
use identity::timestamp::Timestamp;
use identity::token::security_event::FEED_SECONDS;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Records};

const BATCH: i64 = 1_000;
const DAY: i64 = 86_400;
pub const EVENT_SECONDS: i64 = 366 * DAY;
/// How long outages are stored: longer than the time between the first and the last one that can matter to one token.
const OUTAGE_SECONDS: i64 = 30 * DAY;
/// How long a client address stays familiar after the last sign-in from it.
pub const FAMILIAR_SECONDS: i64 = 180 * DAY;

const LINKS: &str =
    "DELETE FROM peristyle.link WHERE hash IN (SELECT hash FROM peristyle.link WHERE expires_at <= $1 LIMIT $2) RETURNING 1";
const SESSIONS: &str =
    "DELETE FROM peristyle.session WHERE id IN (SELECT id FROM peristyle.session WHERE expires_at <= $1 LIMIT $2) RETURNING 1";
/// SKIP LOCKED: waiting for a counter that a sign-in locks could deadlock.
const FAILURES: &str = "DELETE FROM peristyle.failure WHERE key IN (SELECT key FROM peristyle.failure WHERE last_at <= $1 \
                        AND (undecided_at IS NULL OR undecided_at <= $1) AND (admitted_at IS NULL OR admitted_at <= $1) LIMIT $2 \
                        FOR UPDATE SKIP LOCKED) RETURNING 1";
const FAMILIAR: &str = "DELETE FROM peristyle.familiar WHERE (account_id, address) IN \
                        (SELECT account_id, address FROM peristyle.familiar WHERE last_used_at <= $1 LIMIT $2) RETURNING 1";
const EVENTS: &str =
    "DELETE FROM peristyle.event WHERE sequence IN (SELECT sequence FROM peristyle.event WHERE at <= $1 LIMIT $2) RETURNING 1";
const OUTAGES: &str = "DELETE FROM peristyle.outage WHERE ended_at IN (SELECT ended_at FROM peristyle.outage WHERE ended_at <= $1 LIMIT $2) \
                       RETURNING 1";
/// Purges from the smallest number without a gap: a reader gets everything after its number, or learns that it is too late.
const CHANGES: &str = "DELETE FROM peristyle.account_change WHERE sequence IN (SELECT sequence FROM peristyle.account_change \
                       WHERE sequence <= (SELECT max(sequence) FROM peristyle.account_change WHERE at <= $1) ORDER BY sequence LIMIT $2) \
                       RETURNING 1";
/// A used code detects a replay, so it stays as long as its family.
const CODES: &str = "DELETE FROM peristyle.code WHERE hash IN \
                     (SELECT hash FROM peristyle.code WHERE expires_at <= $1 AND used_by IS NULL LIMIT $2) RETURNING 1";
const TOKENS: &str = "DELETE FROM peristyle.refresh_token WHERE hash IN \
                      (SELECT hash FROM peristyle.refresh_token WHERE expires_at <= $1 LIMIT $2) RETURNING family_id";
const FAMILIES: &str = "DELETE FROM peristyle.family WHERE id IN (SELECT unnest($1)) \
                        AND NOT EXISTS (SELECT 1 FROM peristyle.refresh_token t WHERE t.family_id = peristyle.family.id) \
                        RETURNING id, account_id";
/// By the account, because its index exists already.
const USED_CODES: &str =
    "DELETE FROM peristyle.code WHERE account_id IN (SELECT unnest($2)) AND used_by IN (SELECT unnest($1)) RETURNING 1";

#[derive(Debug, Default)]
pub struct Purged {
    pub rows: usize,
    /// The tables that could not be purged.
    pub problems: Vec<(&'static str, Error)>,
}

impl Purged {
    fn add(&mut self, table: &'static str, result: Result<usize, Error>) {
        match result {
            Ok(rows) => self.rows += rows,
            Err(error) => self.problems.push((table, error)),
        }
    }
}

/// Purges every table. A table that cannot be purged does not keep the others from it.
pub async fn purge(records: &Records, now: Timestamp) -> Purged {
    let mut purged = Purged::default();
    purged.add("refresh_token", families(records, now).await);
    for (table, sql, until) in [
        ("link", LINKS, now),
        ("session", SESSIONS, now.plus(-DAY)),
        ("failure", FAILURES, now.plus(-FORGOTTEN_SECONDS)),
        ("familiar", FAMILIAR, now.plus(-FAMILIAR_SECONDS)),
        ("account_change", CHANGES, now.plus(-FEED_SECONDS)),
        ("code", CODES, now),
        ("outage", OUTAGES, now.plus(-OUTAGE_SECONDS)),
        // Last, because it may take long.
        ("event", EVENTS, now.plus(-EVENT_SECONDS)),
    ] {
        purged.add(table, batches(records, sql, until).await);
    }
    purged
}

async fn batches(records: &Records, sql: &'static str, until: Timestamp) -> Result<usize, Error> {
    let mut removed = 0;
    loop {
        let batch = records.run(sql, &[Bind::timestamp(until), Bind::Number(BATCH)]).await?.len();
        removed += batch;
        if batch < BATCH as usize {
            return Ok(removed);
        }
    }
}

/// A family stays until the access token issued with its last refresh token has expired: without it that token would be refused.
async fn families(records: &Records, now: Timestamp) -> Result<usize, Error> {
    let until = now.plus(-MAX_TOKEN_SECONDS).plus(-LEEWAY_SECONDS);
    let mut removed = 0;
    loop {
        let mut transaction = records.begin().await?;
        let tokens = transaction.run(TOKENS, &[Bind::timestamp(until), Bind::Number(BATCH)]).await?;
        let families: Vec<Uuid> = tokens.iter().map(|row| row.id(0)).collect::<Result<_, _>>()?;
        let rows = transaction.run(FAMILIES, &[Bind::Ids(&families)]).await?;
        let families: Vec<Uuid> = rows.iter().map(|row| row.id(0)).collect::<Result<_, _>>()?;
        let accounts: Vec<Uuid> = rows.iter().map(|row| row.id(1)).collect::<Result<_, _>>()?;
        let codes = transaction.run(USED_CODES, &[Bind::Ids(&families), Bind::Ids(&accounts)]).await?.len();
        transaction.commit().await?;
        removed += tokens.len() + families.len() + codes;
        if tokens.len() < BATCH as usize {
            return Ok(removed);
        }
    }
}
