//! Whole transactions in one statement, and so in one trip to the database, where the database can do that: PostgreSQL.

use identity::client::{Client, GrantType};
use identity::grant::Beginning;
use identity::grant::authorization_code::Redemption;
use identity::grant::password::Entry;

use crate::Error;
use crate::accounts;
use crate::events::{self, Occasion};
use crate::records::{Bind, Records};

use super::{Rotated, Turn, granted};

/// Who may begin a family: an account, `$3`, that is open. Its row is held, so that closing it waits for the family and then ends it.
macro_rules! open {
    () => {
        "SELECT a.id FROM peristyle.account a WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL FOR SHARE"
    };
}

/// The same where it must also have a password, `$13` or `$14`, that was proven. The credential is held too, for who waited for a change
/// to be shown what it was changed to.
macro_rules! proven {
    () => {
        "SELECT a.id FROM peristyle.account a JOIN peristyle.credential k ON k.account_id = a.id \
         WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL AND (k.hash = $13 OR k.hash = $14) FOR SHARE"
    };
}

/// Either of them; where there is an app, it must be open to the account.
macro_rules! admitted {
    ($holder:ident, $app:literal) => {
        concat!(
            "WITH holder AS (",
            $holder!(),
            "), admitted AS (SELECT h.id FROM holder h WHERE EXISTS (SELECT 1 FROM peristyle.app p \
             LEFT JOIN peristyle.app_account m ON m.app_id = p.id AND m.account_id = $3 WHERE p.id = ",
            $app,
            " AND (NOT p.is_closed OR m.id IS NOT NULL))), "
        )
    };
    ($holder:ident) => {
        concat!("WITH admitted AS (", $holder!(), "), ")
    };
}

/// A code, `$13`, that is used up if somebody may begin a family, and the session that it is of is still the one that was looked up.
macro_rules! used {
    () => {
        "used AS (UPDATE peristyle.code SET used_by = $1 WHERE hash = $13 AND used_by IS NULL AND session_id = $4 AND EXISTS (SELECT 1 FROM admitted) \
         RETURNING account_id AS id), "
    };
}

/// The rows of a family, `$1`, that begins with this grant, with its first refresh token and its event.
macro_rules! begun {
    ($of:literal, $grant:literal) => {
        concat!(
            "family AS (INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, begun_by) \
             SELECT $1, $2, b.id, $4::uuid, $5::text, $6, $7, '",
            $grant,
            "' FROM ",
            $of,
            " b RETURNING account_id), token AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
             SELECT $8, $1, $7, $9 FROM family), \
             noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
             SELECT $7, $10, account_id, $2, $11::text, $12 FROM family) "
        )
    };
    // And its use of the app, if the last one that was noted is a minute ago: who signs in over and over makes no new version of the row.
    ($of:literal, $grant:literal, $app:literal) => {
        concat!(
            begun!($of, $grant),
            ", entered AS (INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at) SELECT $1, ",
            $app,
            ", account_id, $7, $7, $7 FROM family WHERE NOT EXISTS (SELECT 1 FROM peristyle.app_account m WHERE m.app_id = ",
            $app,
            " AND m.account_id = $3 AND m.last_used_at > $7 - interval '1 minute') ON CONFLICT (app_id, account_id) DO UPDATE \
             SET last_used_at = excluded.last_used_at, first_used_at = coalesce(app_account.first_used_at, excluded.first_used_at)) "
        )
    };
}

macro_rules! told {
    () => {
        "SELECT account_id FROM family"
    };
}

/// Begins a family. `false` if nothing was done: the account may not, or may no longer.
pub(super) async fn begin(records: &Records, entry: &Entry, client: &Client, occasion: Occasion<'_>) -> Result<bool, Error> {
    let [compared, renewed] = accounts::proven(&entry.proof);
    // A text of its own where there is no app, so that neither holds what the other one needs.
    let (sql, more) = match client.app {
        None => (concat!(admitted!(proven), begun!("admitted", "password"), told!()), vec![compared, renewed]),
        Some(app) => {
            (concat!(admitted!(proven, "$15"), begun!("admitted", "password", "$15"), told!()), vec![compared, renewed, Bind::Id(app)])
        }
    };
    start(records, (sql, more), &entry.begin, GrantType::Password, occasion).await
}

/// Uses a code up and begins its family. `false` if nothing was done: the code is used, or the account may not.
pub(crate) async fn redeem(records: &Records, redemption: &Redemption, client: &Client, occasion: Occasion<'_>) -> Result<bool, Error> {
    let code = Bind::digest(&redemption.code);
    let (sql, more) = match client.app {
        None => (concat!(admitted!(open), used!(), begun!("used", "authorization_code"), told!()), vec![code]),
        Some(app) => {
            (concat!(admitted!(open, "$14"), used!(), begun!("used", "authorization_code", "$14"), told!()), vec![code, Bind::Id(app)])
        }
    };
    start(records, (sql, more), &redemption.begin, GrantType::AuthorizationCode, occasion).await
}

async fn start(
    records: &Records,
    (sql, more): (&'static str, Vec<Bind<'_>>),
    begin: &Beginning,
    grant: GrantType,
    occasion: Occasion<'_>,
) -> Result<bool, Error> {
    let (family, token) = (&begin.family, &begin.refresh);
    let event = granted(family, grant);
    let parts = events::Parts::of(&event);
    let binds = [
        Bind::Id(family.id),
        Bind::Text(family.client.as_str()),
        Bind::Id(family.account),
        Bind::maybe(family.session, Bind::Id),
        Bind::maybe(family.scope.as_ref(), |scope| Bind::Text(scope.as_str())),
        Bind::moment(family.authenticated_at),
        Bind::moment(family.begun_at),
        Bind::digest(&token.digest),
        Bind::moment(token.expires_at),
        Bind::Text(event.name()),
        Bind::maybe(occasion.address, Bind::Text),
        Bind::Json(&parts.data),
    ];
    if records.run(sql, &[&binds[..], &more].concat()).await?.is_empty() {
        return Ok(false);
    }
    events::line(&event, &parts, occasion).tell();
    Ok(true)
}

/// Uses a refresh token up and keeps its successor.
pub(super) async fn rotate(records: &Records, turn: &Turn<'_>, occasion: Occasion<'_>) -> Result<Rotated, Error> {
    const SQL: &str = "WITH used AS (UPDATE peristyle.refresh_token SET used_at = $2, sealed_successor = $3 \
                       WHERE hash = $1 AND used_at IS NULL RETURNING family_id), \
                       successor AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
                       SELECT $4, family_id, $2, $5 FROM used), \
                       noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
                       SELECT $2, $6, $7, $8, $9, $10 FROM used) SELECT family_id FROM used";
    let Turn { used, next, event, .. } = turn;
    let parts = events::Parts::of(event);
    let binds = [
        used[0],
        used[1],
        used[2],
        next[0],
        next[1],
        Bind::Text(event.name()),
        Bind::maybe(parts.account, Bind::Id),
        Bind::maybe(parts.client.as_deref(), Bind::Text),
        Bind::maybe(occasion.address, Bind::Text),
        Bind::Json(&parts.data),
    ];
    if records.run(SQL, &binds).await?.is_empty() {
        return Ok(Rotated::Late);
    }
    events::line(event, &parts, occasion).tell();
    Ok(Rotated::Done)
}
