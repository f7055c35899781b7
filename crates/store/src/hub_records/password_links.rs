//! One-time links that set a password.

use identity::account::Account;
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::secret_token::{Digest, purpose};
use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Run, Transaction, unexpected};

pub async fn insert(transaction: &mut Transaction, link: &LinkRecord, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.link (hash, account_id, purpose, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)";
    // Without the lock two transactions that delete the same links could deadlock.
    transaction.lock_account(link.account).await?;
    delete(transaction, &[link.account]).await?;
    let binds = [
        Bind::digest(&link.digest),
        Bind::Id(link.account),
        Bind::Text(link.purpose.as_str()),
        Bind::timestamp(now),
        Bind::timestamp(link.expires_at),
    ];
    transaction.run(SQL, &binds).await.map(drop)
}

/// Deletes every link of these accounts. A link was made for the password and the rights of that time; today its maker may lack the right.
pub(crate) async fn delete(transaction: &mut Transaction, accounts: &[Uuid]) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM peristyle.link WHERE account_id IN (SELECT unnest($1))";
    transaction.run(SQL, &[Bind::Ids(accounts)]).await.map(drop)
}

/// Deletes every link of the accounts with a role.
pub(crate) async fn delete_of_role(transaction: &mut Transaction, role: Uuid) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM peristyle.link WHERE account_id IN (SELECT account_id FROM peristyle.account_role WHERE role_id = $1)";
    transaction.run(SQL, &[Bind::Id(role)]).await.map(drop)
}

/// Deletes every link of a tenant's accounts.
pub(crate) async fn delete_of_tenant(transaction: &mut Transaction, tenant: Uuid) -> Result<(), Error> {
    const SQL: &str =
        "DELETE FROM peristyle.link WHERE account_id IN (SELECT account_id FROM peristyle.account_tenant WHERE tenant_id = $1)";
    transaction.run(SQL, &[Bind::Id(tenant)]).await.map(drop)
}

/// Deletes the links of an account that gets another email, to which they were not sent, or is closed.
pub(crate) async fn delete_if_moved(transaction: &mut Transaction, account: &Account, email_key: Option<&str>) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM peristyle.link WHERE account_id IN (SELECT id FROM peristyle.account WHERE id = $1 \
                       AND ((email_key IS NOT NULL AND (email_key = $2) IS NOT TRUE) OR is_active <> $3))";
    transaction.run(SQL, &[Bind::Id(account.id), Bind::maybe(email_key, Bind::Text), Bind::Flag(account.is_active)]).await.map(drop)
}

pub async fn load(on: impl Run, digest: &Digest<purpose::Link>) -> Result<Option<LinkRecord>, Error> {
    const SQL: &str = "SELECT account_id, purpose, expires_at, used_at FROM peristyle.link WHERE hash = $1";
    let Some(row) = on.row(SQL, &[Bind::digest(digest)]).await? else { return Ok(None) };
    let word = row.text(1)?;
    let purpose = [LinkPurpose::Invitation, LinkPurpose::Reset].into_iter().find(|purpose| purpose.as_str() == word);
    Ok(Some(LinkRecord {
        digest: *digest,
        account: row.id(0)?,
        purpose: purpose.ok_or_else(|| unexpected(1, "a purpose"))?,
        expires_at: row.timestamp(2)?,
        used_at: row.maybe_timestamp(3)?,
    }))
}

/// Uses a link up, in the transaction that sets the password. `false` if it is used or expired; the caller then sets nothing.
pub async fn use_up(transaction: &mut Transaction, digest: &Digest<purpose::Link>, now: Timestamp) -> Result<bool, Error> {
    // Locks the account first, like every change of a password.
    const HELD: &str = "SELECT a.id FROM peristyle.account a WHERE a.id = (SELECT l.account_id FROM peristyle.link l WHERE l.hash = $1) \
                        FOR NO KEY UPDATE";
    const SQL: &str = "UPDATE peristyle.link SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2 RETURNING account_id";
    transaction.run(HELD, &[Bind::digest(digest)]).await?;
    Ok(!transaction.run(SQL, &[Bind::digest(digest), Bind::timestamp(now)]).await?.is_empty())
}
