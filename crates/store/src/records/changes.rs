//! What changes of accounts and of what they were granted, numbered in the order in which it comes to count, so that whoever has heard
//! of one number has missed none below it.
//!
//! A transaction gathers its changes and numbers them as the last thing before it commits. The counter is held from there to the end,
//! so that no number becomes visible before a smaller one does, and since it is always held last, nobody waits for another in a circle.

use std::collections::{BTreeMap, BTreeSet};

use identity::client::ClientId;
use identity::token::security_event::{Happening, SecurityEvent, Subject};
use uuid::Uuid;

use crate::Error;

use super::{Bind, Row, Run, Transaction, unexpected};

/// How many changes a transaction names; with more of them anybody may be meant. A role with a hundred thousand holders is one row.
const MOST_NAMED: usize = 32;

/// What is gathered of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<(Happening, Subject)>);

/// The numbers of changes that are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The smallest that is still kept; one more than the newest if none is.
    pub oldest: i64,
    /// The largest that was ever given.
    pub newest: i64,
}

impl Numbers {
    /// Whether everything after this number can be told.
    pub fn reach(self, after: i64) -> bool {
        after <= self.newest && after.saturating_add(1) >= self.oldest
    }
}

impl Changes {
    pub(crate) fn add(&mut self, happening: Happening, subject: Subject) {
        let change = (happening, subject);
        if self.0.len() <= MOST_NAMED && !self.0.contains(&change) {
            self.0.push(change);
        }
    }

    /// What is told: each change, or that there were too many to name.
    fn told(self) -> Vec<(Happening, Subject)> {
        if self.0.len() <= MOST_NAMED { self.0 } else { vec![(Happening::ClaimsChange, Subject::Everybody)] }
    }
}

/// Numbers what a transaction changed and keeps it.
pub(crate) async fn keep(transaction: &mut Transaction, changes: Changes) -> Result<(), Error> {
    const NUMBERED: &str = "UPDATE peristyle.change_number SET last = last + $1 RETURNING last";
    const KEPT: &str =
        "INSERT INTO peristyle.account_change (sequence, kind, account_id, family_id, client_id) VALUES ($1, $2, $3, $4, $5)";
    let told = changes.told();
    if told.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(told.len()).unwrap_or(i64::MAX);
    let last =
        transaction.row(NUMBERED, &[Bind::Number(count)]).await?.ok_or_else(|| unexpected(0, "the counter of changes"))?.number(0)?;
    for (sequence, (happening, subject)) in (last - count + 1..).zip(&told) {
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

fn word(happening: Happening) -> &'static str {
    match happening {
        Happening::ClaimsChange => "claims",
        Happening::CredentialChange => "credential",
        Happening::SessionRevoked => "revoked",
    }
}

fn read(row: &Row) -> Result<SecurityEvent, Error> {
    let subject = match (row.maybe_id(3)?, row.maybe_id(4)?, row.is_null(5)) {
        (Some(account), Some(family), _) => Subject::Family { family, account },
        (Some(account), None, _) => Subject::Account(account),
        (None, _, false) => Subject::Client(row.client(5)?),
        (None, _, true) => Subject::Everybody,
    };
    let happening = match row.text(2)? {
        "claims" => Happening::ClaimsChange,
        "credential" => Happening::CredentialChange,
        "revoked" => Happening::SessionRevoked,
        _ => return Err(unexpected(2, "a kind of change")),
    };
    Ok(SecurityEvent { sequence: row.number(0)?, happening, subject, at: row.moment(1)? })
}

/// Which numbers there are.
pub async fn numbers(on: impl Run) -> Result<Numbers, Error> {
    const SQL: &str = "SELECT last, (SELECT coalesce(min(sequence), last + 1) FROM peristyle.account_change) FROM peristyle.change_number";
    let row = on.row(SQL, &[]).await?.ok_or_else(|| unexpected(0, "the counter of changes"))?;
    Ok(Numbers { newest: row.number(0)?, oldest: row.number(1)? })
}

/// The changes with larger numbers than this, in their order and without a gap.
pub async fn after(on: impl Run, sequence: i64, limit: i64) -> Result<Vec<SecurityEvent>, Error> {
    const SQL: &str = "SELECT sequence, at, kind, account_id, family_id, client_id FROM peristyle.account_change WHERE sequence > $1 \
                       ORDER BY sequence LIMIT $2";
    on.rows(SQL, &[Bind::Number(sequence), Bind::Number(limit)]).await?.iter().map(read).collect()
}

/// The clients that each of these accounts was granted something through, and those of these families: whoever else heard of them would
/// learn what is none of its business. A family stays as long as any of its access tokens can be alive.
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
