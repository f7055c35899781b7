//! Apps, the accounts on their lists, and whether an account may sign in to one.

use identity::client::Client;
use identity::grant::Family;
use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Row, Run, Transaction};

pub use identity::grant::Admission;

/// An app: what people sign in to. Several clients may belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    pub id: Uuid,
    /// `code`: a unique readable name.
    pub code: String,
    pub name: String,
    pub url: Option<String>,
    pub access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Open,
    Closed,
}

fn read(row: &Row) -> Result<App, Error> {
    Ok(App {
        id: row.id(0)?,
        code: row.text(1)?.to_owned(),
        name: row.text(2)?.to_owned(),
        url: row.maybe_text(3)?.map(str::to_owned),
        access: if row.flag(4)? { Access::Closed } else { Access::Open },
    })
}

pub async fn list(on: impl Run) -> Result<Vec<App>, Error> {
    on.rows("SELECT id, code, name, url, is_closed FROM peristyle.app ORDER BY code", &[]).await?.iter().map(read).collect()
}

pub async fn by_code(on: impl Run, code: &str) -> Result<Option<App>, Error> {
    const SQL: &str = "SELECT id, code, name, url, is_closed FROM peristyle.app WHERE code = $1";
    on.row(SQL, &[Bind::Text(code)]).await?.as_ref().map(read).transpose()
}

pub async fn by_id(on: impl Run, id: Uuid) -> Result<Option<App>, Error> {
    const SQL: &str = "SELECT id, code, name, url, is_closed FROM peristyle.app WHERE id = $1";
    on.row(SQL, &[Bind::Id(id)]).await?.as_ref().map(read).transpose()
}

pub async fn insert(on: impl Run, app: &App, now: Timestamp) -> Result<(), Error> {
    const SQL: &str =
        "INSERT INTO peristyle.app (id, code, name, url, is_closed, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6)";
    save(on, SQL, app, now).await
}

pub async fn update(on: impl Run, app: &App, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "UPDATE peristyle.app SET code = $2, name = $3, url = $4, is_closed = $5, updated_at = $6 WHERE id = $1";
    save(on, SQL, app, now).await
}

async fn save(on: impl Run, sql: &'static str, app: &App, now: Timestamp) -> Result<(), Error> {
    let binds = [
        Bind::Id(app.id),
        Bind::Text(&app.code),
        Bind::Text(&app.name),
        Bind::maybe(app.url.as_deref(), Bind::Text),
        Bind::Flag(app.access == Access::Closed),
        Bind::timestamp(now),
    ];
    on.rows(sql, &binds).await.map(drop)
}

/// Removes an app; its clients then belong to none.
pub async fn remove(on: impl Run, id: Uuid) -> Result<(), Error> {
    on.rows("DELETE FROM peristyle.app WHERE id = $1", &[Bind::Id(id)]).await.map(drop)
}

pub async fn remove_unused(on: impl Run, code: &str) -> Result<(), Error> {
    const SQL: &str =
        "DELETE FROM peristyle.app AS p WHERE p.code = $1 AND NOT EXISTS (SELECT 1 FROM peristyle.client c WHERE c.app_id = p.id)";
    on.rows(SQL, &[Bind::Text(code)]).await.map(drop)
}

/// Puts an account on the list of an app, in a row with this id. `false` if it is there already.
pub async fn admit(on: impl Run, id: Uuid, app: Uuid, account: Uuid, now: Timestamp) -> Result<bool, Error> {
    const SQL: &str = "INSERT INTO peristyle.app_account (id, app_id, account_id, created_at) VALUES ($1, $2, $3, $4) \
                       ON CONFLICT (app_id, account_id) DO NOTHING RETURNING id";
    let listed = on.rows(SQL, &[Bind::Id(id), Bind::Id(app), Bind::Id(account), Bind::timestamp(now)]).await?;
    Ok(!listed.is_empty())
}

pub async fn listing(on: impl Run, id: Uuid) -> Result<Option<(Uuid, Uuid)>, Error> {
    let row = on.row("SELECT app_id, account_id FROM peristyle.app_account WHERE id = $1", &[Bind::Id(id)]).await?;
    row.map(|row| Ok((row.id(0)?, row.id(1)?))).transpose()
}

pub async fn expel(on: impl Run, app: Uuid, account: Uuid) -> Result<bool, Error> {
    const SQL: &str = "DELETE FROM peristyle.app_account WHERE app_id = $1 AND account_id = $2 RETURNING id";
    Ok(!on.rows(SQL, &[Bind::Id(app), Bind::Id(account)]).await?.is_empty())
}

pub async fn members(on: impl Run, app: Uuid) -> Result<Vec<(Uuid, Option<Timestamp>)>, Error> {
    const SQL: &str = "SELECT account_id, last_used_at FROM peristyle.app_account WHERE app_id = $1 ORDER BY account_id";
    on.rows(SQL, &[Bind::Id(app)]).await?.iter().map(|row| Ok((row.id(0)?, row.maybe_timestamp(1)?))).collect()
}

pub async fn admission(on: impl Run, client: &Client, account: Uuid) -> Result<Admission, Error> {
    const SQL: &str = "SELECT 1 FROM peristyle.app p LEFT JOIN peristyle.app_account m ON m.app_id = p.id AND m.account_id = $2 \
                       WHERE p.id = $1 AND p.is_closed AND m.id IS NULL";
    let Some(app) = client.app else { return Ok(Admission::Admitted) };
    let refusal = on.row(SQL, &[Bind::Id(app), Bind::Id(account)]).await?;
    Ok(if refusal.is_some() { Admission::Refused } else { Admission::Admitted })
}

/// Records the use of a client's app by an account, if the app admits it.
pub(crate) async fn enter(transaction: &mut Transaction, client: &Client, family: &Family, now: Timestamp) -> Result<Admission, Error> {
    const LISTED: &str = "UPDATE peristyle.app_account SET last_used_at = $3, first_used_at = coalesce(first_used_at, $3) \
                          WHERE app_id = $1 AND account_id = $2 RETURNING id";
    const FIRST: &str = "INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at) \
                         SELECT $4, p.id, $2, $3, $3, $3 FROM peristyle.app p WHERE p.id = $1 AND p.is_closed = $5 \
                         ON CONFLICT (app_id, account_id) DO NOTHING RETURNING id";
    let Some(app) = client.app else { return Ok(Admission::Admitted) };
    // The id of the row must only be random, as that of the first family is.
    let binds = [Bind::Id(app), Bind::Id(family.account), Bind::timestamp(now), Bind::Id(family.id), Bind::Flag(false)];
    if !transaction.run(LISTED, &binds[..3]).await?.is_empty() || !transaction.run(FIRST, &binds).await?.is_empty() {
        return Ok(Admission::Admitted);
    }
    // No row was written: the app is closed, or another request put the account on the list meanwhile.
    admission(&mut *transaction, client, family.account).await
}
