//! Whole transactions in one statement, and so in one trip to the database, where the database can do that: PostgreSQL.

use identity::client::{Client, GrantType};
use identity::event::Event;
use identity::grant::Beginning;
use identity::grant::authorization_code::Redemption;

use crate::Error;
use crate::events::{self, Occasion};
use crate::records::{Bind, Records};

use super::{Binds, Rotated, granted};

/// Who may begin a family: `$3` is the account, `$12` the app that it is for. The row of the account is held, so that closing it waits
/// for the family and then ends it.
macro_rules! admitted {
    () => {
        "WITH holder AS (SELECT a.id FROM peristyle.account a WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL FOR SHARE), \
         admitted AS (SELECT h.id FROM holder h WHERE $12::uuid IS NULL OR EXISTS (SELECT 1 FROM peristyle.app p \
         LEFT JOIN peristyle.app_account m ON m.app_id = p.id AND m.account_id = $3 \
         WHERE p.id = $12::uuid AND (NOT p.is_closed OR m.id IS NOT NULL))), "
    };
}

/// The rows of a family, `$1`, with its first refresh token, its use of the app and its event.
macro_rules! begun {
    ($of:literal) => {
        concat!(
            "family AS (INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at) \
             SELECT $1, $2, b.id, $4::uuid, $5::text, $6, $7 FROM ",
            $of,
            " b RETURNING account_id), token AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
             SELECT $8, $1, $7, $9 FROM family), \
             entered AS (INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at) \
             SELECT $1, $12::uuid, account_id, $7, $7, $7 FROM family WHERE $12::uuid IS NOT NULL \
             ON CONFLICT (app_id, account_id) DO UPDATE SET last_used_at = excluded.last_used_at, \
             first_used_at = coalesce(app_account.first_used_at, excluded.first_used_at)), \
             noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
             SELECT $7, $10, account_id, $2, $11::text, $13 FROM family) SELECT account_id FROM family"
        )
    };
}

/// Begins a family. `false` if nothing was done: the account may not, or may no longer.
pub(super) async fn begin(records: &Records, begin: &Beginning, client: &Client, occasion: Occasion<'_>) -> Result<bool, Error> {
    const SQL: &str = concat!(admitted!(), begun!("admitted"));
    start(records, SQL, (begin, GrantType::Password, None), client, occasion).await
}

/// Uses a code up and begins its family. `false` if nothing was done: the code is used, or the account may not.
pub(crate) async fn redeem(records: &Records, redemption: &Redemption, client: &Client, occasion: Occasion<'_>) -> Result<bool, Error> {
    const SQL: &str = concat!(
        admitted!(),
        "used AS (UPDATE peristyle.code SET used_by = $1 WHERE hash = $14 AND used_by IS NULL AND EXISTS (SELECT 1 FROM admitted) \
         RETURNING account_id AS id), ",
        begun!("used")
    );
    let code = Some(Bind::digest(&redemption.code));
    start(records, SQL, (&redemption.begin, GrantType::AuthorizationCode, code), client, occasion).await
}

async fn start(
    records: &Records,
    sql: &'static str,
    (begin, grant, code): (&Beginning, GrantType, Option<Bind<'_>>),
    client: &Client,
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
        Bind::moment(occasion.now),
        Bind::digest(&token.digest),
        Bind::moment(token.expires_at),
        Bind::Text(event.name()),
        Bind::maybe(occasion.address, Bind::Text),
        Bind::maybe(client.app, Bind::Id),
        Bind::Json(&parts.data),
        code.unwrap_or(Bind::Null),
    ];
    // Only a code has a fourteenth.
    let bound = if code.is_some() { &binds[..] } else { &binds[..13] };
    if records.run(sql, bound).await?.is_empty() {
        return Ok(false);
    }
    events::tell(&event, &parts, occasion);
    Ok(true)
}

/// Uses a refresh token up and keeps its successor.
pub(super) async fn rotate(records: &Records, (used, next): Binds<'_>, event: &Event, occasion: Occasion<'_>) -> Result<Rotated, Error> {
    const SQL: &str = "WITH used AS (UPDATE peristyle.refresh_token SET used_at = $2, sealed_successor = $3 \
                       WHERE hash = $1 AND used_at IS NULL RETURNING family_id), \
                       successor AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
                       SELECT $4, family_id, $2, $5 FROM used), \
                       noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
                       SELECT $2, $6, $7, $8, $9, $10 FROM used) SELECT family_id FROM used";
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
    events::tell(event, &parts, occasion);
    Ok(Rotated::Done)
}
