//! Accounts and their passwords. [`crate::hub_records::rights`] derives their rights from their roles.

use identity::account::{Account, AccountKind, Rights, login_name};
use identity::client::{Client, ClientId};
use identity::password::{PasswordHash, Proof};
use identity::timestamp::Timestamp;
use identity::token::security_event::{ChangeKind, Subject};
use serde_json::Value;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::clients::{self, client_columns};
use crate::hub_records::{Bind, Row, Run, Transaction, password_links, unexpected};

/// The columns of an account `a`, in the order [`read`] expects them.
macro_rules! account_columns {
    () => {
        "a.id, a.type, a.code, a.email, a.username, a.is_active, a.tags, a.scopes, a.d_permissions, a.d_tenants, a.meta, a.created_at, \
         a.updated_at, a.deleted_at"
    };
}
pub(crate) use account_columns;

pub(crate) const WIDTH: usize = 14;

pub(crate) fn read(row: &Row, from: usize) -> Result<Account, Error> {
    let Value::Object(meta) = row.json(from + 10)? else { return Err(unexpected(from + 10, "an object")) };
    Ok(Account {
        id: row.id(from)?,
        kind: AccountKind::from_word(row.text(from + 1)?).ok_or_else(|| unexpected(from + 1, "a kind of account"))?,
        code: row.text(from + 2)?.to_owned(),
        email: row.maybe_text(from + 3)?.map(str::to_owned),
        username: row.maybe_text(from + 4)?.map(str::to_owned),
        is_active: row.flag(from + 5)?,
        tags: row.texts(from + 6)?,
        scopes: row.texts(from + 7)?,
        rights: Rights::from_json(&row.json(from + 8)?).ok_or_else(|| unexpected(from + 8, "dPermissions"))?,
        tenants: row.ids(from + 9)?,
        meta,
        created_at: row.timestamp(from + 11)?,
        updated_at: row.timestamp(from + 12)?,
        deleted_at: row.maybe_timestamp(from + 13)?,
    })
}

/// The account with this id, removed and inactive ones included.
pub async fn by_id(on: impl Run, id: Uuid) -> Result<Option<Account>, Error> {
    const SQL: &str = concat!("SELECT ", account_columns!(), " FROM peristyle.current_account a WHERE a.id = $1");
    on.row(SQL, &[Bind::Id(id)]).await?.map(|row| read(&row, 0)).transpose()
}

#[derive(Clone, Debug)]
pub struct LoginCandidate {
    pub account: Account,
    pub hash: Option<PasswordHash>,
    /// When it last signed in from this client address.
    pub last_here: Option<Timestamp>,
}

/// The columns of a login candidate, `a` with its credential `k`, for the client address `$2`.
macro_rules! candidate_columns {
    () => {
        concat!(
            account_columns!(),
            ", k.hash, (SELECT f.last_used_at FROM peristyle.familiar f WHERE f.account_id = a.id AND f.address = $2)"
        )
    };
}

/// The account with the name `$1`. Removed accounts have no names.
macro_rules! named {
    () => {
        "(a.username_key = $1 OR a.email_key = $1) AND a.deleted_at IS NULL"
    };
}

/// The lookup key of a name. PostgreSQL strings cannot hold U+0000, so such a name gets the empty key, which no account has.
fn key_of(name: &str) -> String {
    if name.contains('\0') { String::new() } else { login_name(name) }
}

fn read_candidate(row: &Row) -> Result<LoginCandidate, Error> {
    Ok(LoginCandidate { account: read(row, 0)?, hash: credential(row, WIDTH)?, last_here: row.maybe_timestamp(WIDTH + 1)? })
}

pub async fn login_candidate(on: impl Run, name: &str, address: &str) -> Result<Option<LoginCandidate>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        candidate_columns!(),
        " FROM peristyle.current_account a LEFT JOIN peristyle.credential k ON k.account_id = a.id WHERE ",
        named!()
    );
    on.row(SQL, &[Bind::Text(&key_of(name)), Bind::Text(address)]).await?.as_ref().map(read_candidate).transpose()
}

/// The same together with the client; `None` without the client.
pub async fn login_candidate_at(
    on: impl Run,
    client: &str,
    name: &str,
    address: &str,
) -> Result<Option<(Client, Option<LoginCandidate>)>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        candidate_columns!(),
        ", ",
        client_columns!(),
        " FROM peristyle.client c LEFT JOIN (peristyle.current_account a LEFT JOIN peristyle.credential k ON k.account_id = a.id) ON ",
        named!(),
        " WHERE c.id = $3"
    );
    if ClientId::parse(client).is_err() {
        return Ok(None);
    }
    let Some(row) = on.row(SQL, &[Bind::Text(&key_of(name)), Bind::Text(address), Bind::Text(client)]).await? else { return Ok(None) };
    let known = if row.is_null(0) { None } else { Some(read_candidate(&row)?) };
    Ok(Some((clients::read(&row, WIDTH + 2)?, known)))
}

pub async fn by_login(on: impl Run, name: &str) -> Result<Option<Account>, Error> {
    const SQL: &str = concat!("SELECT ", account_columns!(), " FROM peristyle.current_account a WHERE ", named!());
    on.row(SQL, &[Bind::Text(&key_of(name))]).await?.map(|row| read(&row, 0)).transpose()
}

pub async fn credential_of(on: impl Run, account: Uuid) -> Result<Option<PasswordHash>, Error> {
    let row = on.row("SELECT hash FROM peristyle.credential WHERE account_id = $1", &[Bind::Id(account)]).await?;
    row.map_or(Ok(None), |row| credential(&row, 0))
}

fn credential(row: &Row, column: usize) -> Result<Option<PasswordHash>, Error> {
    let text = row.maybe_text(column)?;
    text.map(PasswordHash::parse).transpose().map_err(|_| unexpected(column, "a password hash"))
}

pub async fn list(on: impl Run, limit: i64, offset: i64) -> Result<Vec<Account>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        account_columns!(),
        " FROM peristyle.current_account a WHERE a.deleted_at IS NULL ORDER BY a.code, a.id LIMIT $1 OFFSET $2"
    );
    on.rows(SQL, &[Bind::Number(limit), Bind::Number(offset)]).await?.iter().map(|row| read(row, 0)).collect()
}

/// Inserts an account. Its roles and tenants follow by [`set_roles`] and [`set_tenants`].
pub async fn insert(on: impl Run, account: &Account) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.account (id, type, code, email, email_key, username, username_key, is_active, tags, scopes, \
                       d_permissions, d_tenants, meta, created_at, updated_at) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)";
    let (keys, meta) = (login_keys(account), Value::Object(account.meta.clone()).to_string());
    let rights = account.rights.to_json().to_string();
    let derived = [Bind::Json(&rights), Bind::Ids(&account.tenants)];
    let binds = [&binds(account, &keys)[..], &derived, &[Bind::Json(&meta), Bind::timestamp(account.created_at)]].concat();
    on.rows(SQL, &binds).await.map(drop)
}

pub async fn update(transaction: &mut Transaction, account: &Account, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "UPDATE peristyle.account SET type = $2, code = $3, email = $4, email_key = $5, username = $6, username_key = $7, \
                       is_active = $8, tags = $9, scopes = $10, meta = $11, updated_at = $12 WHERE id = $1 AND deleted_at IS NULL";
    let (keys, meta) = (login_keys(account), Value::Object(account.meta.clone()).to_string());
    let binds = [&binds(account, &keys)[..], &[Bind::Json(&meta), Bind::timestamp(now)]].concat();
    transaction.announce_change(ChangeKind::ClaimsChange, Subject::Account(account.id));
    transaction.lock_account(account.id).await?;
    password_links::delete_if_moved(transaction, account, keys[0].as_deref()).await?;
    transaction.run(SQL, &binds).await.map(drop)
}

/// The fields that another account has the same values in: `username`, `email`, `code`.
pub async fn taken_names(on: impl Run, account: &Account) -> Result<Vec<&'static str>, Error> {
    const SQL: &str = "SELECT username_key, email_key, code FROM peristyle.account \
                       WHERE deleted_at IS NULL AND id <> $1 AND (username_key = $2 OR email_key = $3 OR code = $4)";
    let [email_key, username_key] = login_keys(account);
    let own = [("username", username_key), ("email", email_key), ("code", Some(account.code.clone()))];
    let key = |place: usize| Bind::maybe(own[place].1.as_deref(), Bind::Text);
    let rows = on.rows(SQL, &[Bind::Id(account.id), key(0), key(1), key(2)]).await?;
    let mut taken = Vec::new();
    for (column, (name, value)) in own.iter().enumerate().filter(|(_, (_, value))| value.is_some()) {
        for row in &rows {
            if row.maybe_text(column)? == value.as_deref() && !taken.contains(name) {
                taken.push(*name);
            }
        }
    }
    Ok(taken)
}

/// The lookup keys of the email and the username.
fn login_keys(account: &Account) -> [Option<String>; 2] {
    [&account.email, &account.username].map(|name| name.as_deref().map(login_name))
}

/// The first values of an insert and an update.
fn binds<'a>(account: &'a Account, [email_key, username_key]: &'a [Option<String>; 2]) -> [Bind<'a>; 10] {
    let maybe = |text: Option<&'a str>| Bind::maybe(text, Bind::Text);
    [
        Bind::Id(account.id),
        Bind::Text(account.kind.as_str()),
        Bind::Text(&account.code),
        maybe(account.email.as_deref()),
        maybe(email_key.as_deref()),
        maybe(account.username.as_deref()),
        maybe(username_key.as_deref()),
        Bind::Flag(account.is_active),
        Bind::Texts(&account.tags),
        Bind::Texts(&account.scopes),
    ]
}

/// Removes an account: its row stays for references, its names become free, and it loses everything else.
pub async fn remove(transaction: &mut Transaction, id: Uuid, now: Timestamp) -> Result<(), Error> {
    const REMOVED: &str =
        "UPDATE peristyle.account SET deleted_at = $2, updated_at = $2, is_active = $3 WHERE id = $1 AND deleted_at IS NULL";
    transaction.announce_change(ChangeKind::SessionRevoked, Subject::Account(id));
    transaction.run(REMOVED, &[Bind::Id(id), Bind::timestamp(now), Bind::Flag(false)]).await?;
    for sql in [
        "DELETE FROM peristyle.credential WHERE account_id = $1",
        "DELETE FROM peristyle.account_role WHERE account_id = $1",
        "DELETE FROM peristyle.account_tenant WHERE account_id = $1",
        "DELETE FROM peristyle.app_account WHERE account_id = $1",
        "DELETE FROM peristyle.link WHERE account_id = $1",
        "DELETE FROM peristyle.familiar WHERE account_id = $1",
    ] {
        transaction.run(sql, &[Bind::Id(id)]).await?;
    }
    Ok(())
}

pub async fn set_credential(transaction: &mut Transaction, account: Uuid, hash: &PasswordHash, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.credential (account_id, hash, changed_at) VALUES ($1, $2, $3) \
                       ON CONFLICT (account_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at";
    transaction.lock_account(account).await?;
    transaction.run(SQL, &[Bind::Id(account), Bind::Text(hash.as_str()), Bind::timestamp(now)]).await?;
    password_links::delete(transaction, &[account]).await
}

/// Replaces the password that was proven. `false` if the password changed since.
pub async fn replace_credential(
    transaction: &mut Transaction,
    account: Uuid,
    present: &Proof,
    chosen: &PasswordHash,
    now: Timestamp,
) -> Result<bool, Error> {
    const SQL: &str = "UPDATE peristyle.credential SET hash = $2, changed_at = $3 WHERE account_id = $1 AND (hash = $4 OR hash = $5) \
                       RETURNING account_id";
    let [compared, renewed] = proven(present);
    transaction.lock_account(account).await?;
    let binds = [Bind::Id(account), Bind::Text(chosen.as_str()), Bind::timestamp(now), compared, renewed];
    if transaction.run(SQL, &binds).await?.is_empty() {
        return Ok(false);
    }
    password_links::delete(transaction, &[account]).await?;
    Ok(true)
}

/// A proof holds if one of these hashes is the stored one: the compared one, or its renewal by the same sign-in.
pub(crate) fn proven(proof: &Proof) -> [Bind<'_>; 2] {
    [Bind::Text(proof.compared().as_str()), Bind::maybe(proof.renewed(), |hash| Bind::Text(hash.as_str()))]
}

/// Stores the same password under today's parameters. `false` if the compared hash is not the stored one any more.
pub async fn rehash(on: impl Run, account: Uuid, proof: &Proof) -> Result<bool, Error> {
    const SQL: &str = "UPDATE peristyle.credential SET hash = $3 WHERE account_id = $1 AND hash = $2 RETURNING account_id";
    let Some(after) = proof.renewed() else { return Ok(false) };
    let binds = [Bind::Id(account), Bind::Text(proof.compared().as_str()), Bind::Text(after.as_str())];
    Ok(!on.rows(SQL, &binds).await?.is_empty())
}

/// Replaces the roles of an account. The caller recomputes its rights.
pub async fn set_roles(transaction: &mut Transaction, account: Uuid, roles: &[Uuid]) -> Result<(), Error> {
    const ADDED: &str = "INSERT INTO peristyle.account_role (account_id, role_id) SELECT $1, r.id FROM peristyle.role r \
                         WHERE r.id IN (SELECT unnest($2))";
    transaction.run("DELETE FROM peristyle.account_role WHERE account_id = $1", &[Bind::Id(account)]).await?;
    transaction.run(ADDED, &[Bind::Id(account), Bind::Ids(roles)]).await.map(drop)
}

/// Replaces the tenants of an account. The caller recomputes its rights.
pub async fn set_tenants(transaction: &mut Transaction, account: Uuid, tenants: &[Uuid]) -> Result<(), Error> {
    const ADDED: &str = "INSERT INTO peristyle.account_tenant (account_id, tenant_id) SELECT $1, t.id FROM peristyle.tenant t \
                         WHERE t.id IN (SELECT unnest($2))";
    transaction.run("DELETE FROM peristyle.account_tenant WHERE account_id = $1", &[Bind::Id(account)]).await?;
    transaction.run(ADDED, &[Bind::Id(account), Bind::Ids(tenants)]).await.map(drop)
}

pub async fn active_administrators(on: impl Run) -> Result<usize, Error> {
    const SQL: &str = "SELECT count(*) FROM peristyle.account a JOIN peristyle.account_role r ON r.account_id = a.id \
                       WHERE r.role_id = $1 AND a.is_active AND a.deleted_at IS NULL";
    let row = on.row(SQL, &[Bind::Id(identity::account::ADMINISTRATOR)]).await?;
    row.map_or(Ok(0), |row| Ok(usize::try_from(row.number(0)?).unwrap_or_default()))
}

/// Whether the hub has an account.
pub async fn is_any(on: impl Run) -> Result<bool, Error> {
    Ok(on.row("SELECT 1 FROM peristyle.account WHERE deleted_at IS NULL LIMIT 1", &[]).await?.is_some())
}
