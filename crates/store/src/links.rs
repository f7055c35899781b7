//! One-time links that set a password.

use identity::account::Account;
use identity::link::{LinkPurpose, LinkRecord};
use identity::moment::Moment;
use identity::opaque::{Digest, purpose};
use uuid::Uuid;

use crate::Error;
use crate::holding::hold_account;
use crate::records::{Bind, Run, Transaction, unexpected};

/// Keeps a new link; every earlier one of the account is dead.
pub async fn insert(transaction: &mut Transaction, link: &LinkRecord, now: Moment) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.link (hash, account_id, purpose, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)";
    // Two who end the same links could otherwise wait for each other, each with one of them.
    hold_account(transaction, link.account).await?;
    end(transaction, &[link.account]).await?;
    let binds = [
        Bind::digest(&link.digest),
        Bind::Id(link.account),
        Bind::Text(link.purpose.as_str()),
        Bind::moment(now),
        Bind::moment(link.expires_at),
    ];
    transaction.run(SQL, &binds).await.map(drop)
}

/// Ends every link of these accounts: one was made for an account with the password and the rights that it had then, and its maker
/// might not be allowed to make it now.
pub(crate) async fn end(transaction: &mut Transaction, accounts: &[Uuid]) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM peristyle.link WHERE account_id IN (SELECT unnest($1))";
    transaction.run(SQL, &[Bind::Ids(accounts)]).await.map(drop)
}

/// Ends the links of an account that is about to get another email, to which they were not sent, or to be closed.
pub(crate) async fn end_where_moved(transaction: &mut Transaction, account: &Account, email_key: Option<&str>) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM peristyle.link WHERE account_id IN (SELECT id FROM peristyle.account WHERE id = $1 \
                       AND ((email_key IS NOT NULL AND (email_key = $2) IS NOT TRUE) OR is_active <> $3))";
    transaction.run(SQL, &[Bind::Id(account.id), Bind::maybe(email_key, Bind::Text), Bind::Flag(account.is_active)]).await.map(drop)
}

/// The link with this digest, as [`LinkRecord::open`] judges it.
pub async fn load(on: impl Run, digest: &Digest<purpose::Link>) -> Result<Option<LinkRecord>, Error> {
    const SQL: &str = "SELECT account_id, purpose, expires_at, used_at FROM peristyle.link WHERE hash = $1";
    let Some(row) = on.row(SQL, &[Bind::digest(digest)]).await? else { return Ok(None) };
    let word = row.text(1)?;
    let purpose = [LinkPurpose::Invitation, LinkPurpose::Reset].into_iter().find(|purpose| purpose.as_str() == word);
    Ok(Some(LinkRecord {
        digest: *digest,
        account: row.id(0)?,
        purpose: purpose.ok_or_else(|| unexpected(1, "a purpose"))?,
        expires_at: row.moment(2)?,
        used_at: row.maybe_moment(3)?,
    }))
}

/// Uses a link up, in the transaction that sets the password. `false` if it was used or is over: nothing may be set then.
pub async fn take(transaction: &mut Transaction, digest: &Digest<purpose::Link>, now: Moment) -> Result<bool, Error> {
    // The row of the account comes first, as it does for everybody who sets a password.
    const HELD: &str = "SELECT a.id FROM peristyle.account a WHERE a.id = (SELECT l.account_id FROM peristyle.link l WHERE l.hash = $1) \
                        FOR NO KEY UPDATE";
    const SQL: &str = "UPDATE peristyle.link SET used_at = $2 WHERE hash = $1 AND used_at IS NULL AND expires_at > $2 RETURNING account_id";
    transaction.run(HELD, &[Bind::digest(digest)]).await?;
    Ok(!transaction.run(SQL, &[Bind::digest(digest), Bind::moment(now)]).await?.is_empty())
}
