//! OAuth clients, with the digests of their secrets.

use identity::client::{Client, ClientId, GrantType, Redirect, SecretRecord};
use identity::lifetime::Lifetimes;
use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Row, Run, unexpected};

/// The columns of a client `c`, in the order [`read`] expects them.
macro_rules! client_columns {
    () => {
        "c.id, c.name, c.secret_hash, c.previous_secret_hash, c.previous_secret_until, c.redirect, c.grants, c.access_token_seconds, \
         c.refresh_token_seconds, c.is_active, c.administers, c.app_id"
    };
}
pub(crate) use client_columns;

pub(crate) const WIDTH: usize = 12;

pub(crate) fn read(row: &Row, from: usize) -> Result<Client, Error> {
    let previous = match (row.is_null(from + 3), row.maybe_timestamp(from + 4)?) {
        (false, Some(until)) => Some((row.digest(from + 3)?, until)),
        _ => None,
    };
    let grants = row.texts(from + 6)?;
    Ok(Client {
        id: ClientId::parse(row.text(from)?).map_err(|_| unexpected(from, "a client id"))?,
        name: row.text(from + 1)?.to_owned(),
        secret: SecretRecord { current: row.digest(from + 2)?, previous },
        redirect: Redirect::register(row.text(from + 5)?).map_err(|_| unexpected(from + 5, "a redirect"))?,
        grants: grants.iter().filter_map(|word| GrantType::from_word(word)).collect(),
        lifetimes: Lifetimes::new(row.number(from + 7)?, row.number(from + 8)?).map_err(|_| unexpected(from + 7, "a lifetime"))?,
        is_active: row.flag(from + 9)?,
        administers: row.flag(from + 10)?,
        app: row.maybe_id(from + 11)?,
    })
}

/// The client with this id, active or not. An invalid client id finds none.
pub async fn by_id(on: impl Run, id: &str) -> Result<Option<Client>, Error> {
    const SQL: &str = concat!("SELECT ", client_columns!(), " FROM peristyle.client c WHERE c.id = $1");
    if ClientId::parse(id).is_err() {
        return Ok(None);
    }
    on.row(SQL, &[Bind::Text(id)]).await?.map(|row| read(&row, 0)).transpose()
}

pub async fn list(on: impl Run) -> Result<Vec<Client>, Error> {
    const SQL: &str = concat!("SELECT ", client_columns!(), " FROM peristyle.client c ORDER BY c.id");
    on.rows(SQL, &[]).await?.iter().map(|row| read(row, 0)).collect()
}

pub async fn of_app(on: impl Run, app: Uuid) -> Result<Vec<Client>, Error> {
    const SQL: &str = concat!("SELECT ", client_columns!(), " FROM peristyle.client c WHERE c.app_id = $1 ORDER BY c.id");
    on.rows(SQL, &[Bind::Id(app)]).await?.iter().map(|row| read(row, 0)).collect()
}

pub async fn insert(on: impl Run, client: &Client, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.client (id, name, secret_hash, previous_secret_hash, previous_secret_until, redirect, grants, \
                       access_token_seconds, refresh_token_seconds, is_active, app_id, administers, created_at, updated_at) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)";
    save(on, SQL, client, now).await
}

pub async fn update(on: impl Run, client: &Client, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "UPDATE peristyle.client SET name = $2, secret_hash = $3, previous_secret_hash = $4, previous_secret_until = $5, \
                       redirect = $6, grants = $7, access_token_seconds = $8, refresh_token_seconds = $9, is_active = $10, app_id = $11, \
                       administers = $12, updated_at = $13 WHERE id = $1";
    save(on, SQL, client, now).await
}

async fn save(on: impl Run, sql: &'static str, client: &Client, now: Timestamp) -> Result<(), Error> {
    let grants: Vec<String> = client.grants.iter().map(|grant| grant.as_str().to_owned()).collect();
    let previous = client.secret.previous;
    let binds = [
        Bind::Text(client.id.as_str()),
        Bind::Text(&client.name),
        Bind::digest(&client.secret.current),
        Bind::maybe(previous.as_ref(), |(digest, _)| Bind::digest(digest)),
        Bind::maybe(previous, |(_, until)| Bind::timestamp(until)),
        Bind::Text(client.redirect.as_str()),
        Bind::Texts(&grants),
        Bind::Number(client.lifetimes.access_seconds()),
        Bind::Number(client.lifetimes.refresh_seconds()),
        Bind::Flag(client.is_active),
        Bind::maybe(client.app, Bind::Id),
        Bind::Flag(client.administers),
        Bind::timestamp(now),
    ];
    on.rows(sql, &binds).await.map(drop)
}

pub async fn remove(on: impl Run, id: &ClientId) -> Result<(), Error> {
    on.rows("DELETE FROM peristyle.client WHERE id = $1", &[Bind::Text(id.as_str())]).await.map(drop)
}
