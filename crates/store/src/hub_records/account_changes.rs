//! The change feed: account changes, numbered in the order of their commits, so that a reader of one number has missed no smaller one.
//!
//! A transaction collects its changes and numbers them just before its commit. It locks the counter from there to the end, so that no
//! number becomes visible before a smaller one. The counter is always the last lock, so it causes no deadlock.

use std::collections::{BTreeMap, BTreeSet};

use identity::client::ClientId;
use identity::token::security_event::{AccountChange, ChangeKind, Subject};
use uuid::Uuid;

use crate::Error;

use super::{Bind, Row, Run, Transaction, unexpected};

/// A transaction with more changes than this announces a change of everybody: a role with a hundred thousand holders is one row.
const MAX_NAMED: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedRange {
    /// The smallest number in the feed; one more than the newest if the feed is empty.
    pub oldest: i64,
    pub newest: i64,
}

impl FeedRange {
    /// Whether the feed holds everything after this number.
    pub fn reach(self, after: i64) -> bool {
        after <= self.newest && after.saturating_add(1) >= self.oldest
    }
}

impl Transaction {
    /// Adds an account change to the change feed; satellites see it after the commit.
    pub(crate) fn announce_change(&mut self, happening: ChangeKind, subject: Subject) {
        let change = (happening, subject);
        if self.changes.len() <= MAX_NAMED && !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

pub(crate) async fn store(transaction: &mut Transaction) -> Result<(), Error> {
    const NUMBERED: &str = "UPDATE peristyle.change_number SET last = last + $1 RETURNING last";
    const KEPT: &str =
        "INSERT INTO peristyle.account_change (sequence, kind, account_id, family_id, client_id) VALUES ($1, $2, $3, $4, $5)";
    let mut changes = std::mem::take(&mut transaction.changes);
    if changes.is_empty() {
        return Ok(());
    }
    if changes.len() > MAX_NAMED {
        changes = vec![(ChangeKind::ClaimsChange, Subject::Everybody)];
    }
    let count = i64::try_from(changes.len()).unwrap_or(i64::MAX);
    let last =
        transaction.row(NUMBERED, &[Bind::Number(count)]).await?.ok_or_else(|| unexpected(0, "the counter of changes"))?.number(0)?;
    for (sequence, (happening, subject)) in (last - count + 1..).zip(&changes) {
        let (account, family, client) = match subject {
            Subject::Account(account) => (Bind::Id(*account), Bind::Null, Bind::Null),
            Subject::Family { family, account } => (Bind::Id(*account), Bind::Id(*family), Bind::Null),
            Subject::Client(client) => (Bind::Null, Bind::Null, Bind::Text(client.as_str())),
            Subject::Everybody => (Bind::Null, Bind::Null, Bind::Null),
        };
        transaction.run(KEPT, &[Bind::Number(sequence), Bind::Text(word(*happening)), account, family, client]).await?;
    }
    Ok(())
}

fn word(happening: ChangeKind) -> &'static str {
    match happening {
        ChangeKind::ClaimsChange => "claims",
        ChangeKind::CredentialChange => "credential",
        ChangeKind::SessionRevoked => "revoked",
    }
}

fn read(row: &Row) -> Result<AccountChange, Error> {
    let subject = match (row.maybe_id(3)?, row.maybe_id(4)?, row.is_null(5)) {
        (Some(account), Some(family), _) => Subject::Family { family, account },
        (Some(account), None, _) => Subject::Account(account),
        (None, _, false) => Subject::Client(row.client(5)?),
        (None, _, true) => Subject::Everybody,
    };
    let happening = match row.text(2)? {
        "claims" => ChangeKind::ClaimsChange,
        "credential" => ChangeKind::CredentialChange,
        "revoked" => ChangeKind::SessionRevoked,
        _ => return Err(unexpected(2, "a kind of change")),
    };
    Ok(AccountChange { sequence: row.number(0)?, happening, subject, at: row.timestamp(1)? })
}

pub async fn range(on: impl Run) -> Result<FeedRange, Error> {
    const SQL: &str = "SELECT last, (SELECT coalesce(min(sequence), last + 1) FROM peristyle.account_change) FROM peristyle.change_number";
    let row = on.row(SQL, &[]).await?.ok_or_else(|| unexpected(0, "the counter of changes"))?;
    Ok(FeedRange { newest: row.number(0)?, oldest: row.number(1)? })
}

/// The changes with larger numbers than this, in their order and without a gap.
pub async fn after(on: impl Run, sequence: i64, limit: i64) -> Result<Vec<AccountChange>, Error> {
    const SQL: &str = "SELECT sequence, at, kind, account_id, family_id, client_id FROM peristyle.account_change WHERE sequence > $1 \
                       ORDER BY sequence LIMIT $2";
    on.rows(SQL, &[Bind::Number(sequence), Bind::Number(limit)]).await?.iter().map(read).collect()
}

/// The clients with grants: only they may hear of a change. A family is stored as long as any of its access tokens can be alive.
pub async fn clients_of(on: impl Run, accounts: &[Uuid], families: &[Uuid]) -> Result<BTreeMap<Uuid, BTreeSet<ClientId>>, Error> {
    const SQL: &str = "SELECT account_id, client_id FROM peristyle.family WHERE account_id IN (SELECT unnest($1)) \
                       UNION SELECT id, client_id FROM peristyle.family WHERE id IN (SELECT unnest($2))";
    let mut clients: BTreeMap<Uuid, BTreeSet<ClientId>> = BTreeMap::new();
    if accounts.is_empty() && families.is_empty() {
        return Ok(clients);
    }
    for row in on.rows(SQL, &[Bind::Ids(accounts), Bind::Ids(families)]).await? {
        clients.entry(row.id(0)?).or_default().insert(row.client(1)?);
    }
    Ok(clients)
}
