//! Authorization codes: stored with their session, redeemed once.

use identity::account::Account;
use identity::audit_event::AuditEvent;
use identity::client::{Client, ClientId, GrantType, Redirect};
use identity::grant::authorization_code::{CodeRecord, Redemption};
use identity::pkce::Challenge;
use identity::scope::Scope;
use identity::secret_token::{Digest, purpose};

use crate::Error;
use crate::hub_records::accounts::{self, account_columns};
use crate::hub_records::audit_log::{self, AuditColumns, AuditContext};
use crate::hub_records::clients::{self, client_columns};
use crate::hub_records::token_families::{self, FamilyStart, granted};
use crate::hub_records::{Bind, Records, Row, Run, rights, unexpected};

#[derive(Clone, Debug)]
pub struct CodeLookup {
    pub client: Client,
    pub code: Option<(CodeRecord, Account)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    Done,
    /// Another request was faster, or the browser signed in again: look the code up and decide again.
    Late,
    /// The account was closed meanwhile, or its app is closed to it. The code stays unused.
    Refused,
}

/// Stores a code. `false` if its session ended meanwhile: the caller must not issue the code.
pub async fn insert(records: &Records, code: &CodeRecord, context: AuditContext<'_>) -> Result<bool, Error> {
    // Locks the session: ending it waits for the code and then removes it.
    const SQL: &str = "INSERT INTO peristyle.code (hash, client_id, account_id, session_id, redirect, challenge, scope, nonce, \
                       authenticated_at, expires_at) SELECT $1, $2, $3, s.id, $5, $6, $7, $8, $9, $10 FROM peristyle.session s \
                       WHERE s.id = $4 AND s.ended_at IS NULL FOR SHARE RETURNING session_id";
    let binds = [
        Bind::digest(&code.digest),
        Bind::Text(code.client.as_str()),
        Bind::Id(code.account),
        Bind::Id(code.session),
        Bind::Text(code.redirect.as_str()),
        Bind::Text(code.challenge.as_str()),
        Bind::maybe(code.scope.as_ref(), |scope| Bind::Text(scope.as_str())),
        Bind::maybe(code.nonce.as_deref(), Bind::Text),
        Bind::timestamp(code.authenticated_at),
        Bind::timestamp(code.expires_at),
    ];
    let mut transaction = records.begin().await?;
    if transaction.run(SQL, &binds).await?.is_empty() {
        return Ok(false);
    }
    let event = AuditEvent::CodeIssued { account: code.account, client: code.client.clone() };
    audit_log::append(&mut transaction, &event, context).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Looks up a client and a code in one query. `None` if there is no such client.
pub async fn look_up(records: &Records, client: &str, code: &Digest<purpose::Code>) -> Result<Option<CodeLookup>, Error> {
    const SQL: &str = concat!(
        "SELECT o.client_id, o.account_id, o.session_id, o.redirect, o.challenge, o.scope, o.nonce, o.authenticated_at, o.expires_at, \
         o.used_by, ",
        account_columns!(),
        ", ",
        client_columns!(),
        " FROM peristyle.client c LEFT JOIN (peristyle.code o JOIN peristyle.current_account a ON a.id = o.account_id) ON o.hash = $2 WHERE c.id = $1"
    );
    if ClientId::parse(client).is_err() {
        return Ok(None);
    }
    let Some(row) = records.row(SQL, &[Bind::Text(client), Bind::digest(code)]).await? else { return Ok(None) };
    let client = clients::read(&row, WIDTH + accounts::WIDTH)?;
    let code = if row.is_null(0) { None } else { Some((read(&row, *code)?, accounts::read(&row, WIDTH)?)) };
    Ok(Some(CodeLookup { client, code }))
}

const WIDTH: usize = 10;

fn read(row: &Row, digest: Digest<purpose::Code>) -> Result<CodeRecord, Error> {
    Ok(CodeRecord {
        digest,
        client: row.client(0)?,
        account: row.id(1)?,
        session: row.id(2)?,
        redirect: Redirect::register(row.text(3)?).map_err(|_| unexpected(3, "a redirect"))?,
        challenge: Challenge::parse(row.text(4)?).ok_or_else(|| unexpected(4, "a challenge"))?,
        scope: row.maybe_text(5)?.and_then(Scope::parse),
        nonce: row.maybe_text(6)?.map(str::to_owned),
        authenticated_at: row.timestamp(7)?,
        expires_at: row.timestamp(8)?,
        used_by: row.maybe_id(9)?,
    })
}

/// Of all requests in all processes one gets `Done`. PostgreSQL needs one statement; if it does nothing, the steps find out why.
pub async fn redeem(records: &Records, redemption: &Redemption, client: &Client, context: AuditContext<'_>) -> Result<Redeemed, Error> {
    rights::refresh(records, redemption.start.family.account).await?;
    if records.dialect().is_postgres() {
        if redeem_in_one_statement(records, redemption, client, context).await? {
            return Ok(Redeemed::Done);
        }
        if !is_unused(records, redemption).await? {
            return Ok(Redeemed::Late);
        }
    }
    redeem_in_steps(records, redemption, client, context).await
}

/// Whether a code is still as it was looked up: a late request learns it without a transaction.
async fn is_unused(records: &Records, redemption: &Redemption) -> Result<bool, Error> {
    const SQL: &str = "SELECT account_id FROM peristyle.code WHERE hash = $1 AND used_by IS NULL AND session_id = $2";
    let binds = [Bind::digest(&redemption.code), Bind::maybe(redemption.start.family.session, Bind::Id)];
    Ok(!records.run(SQL, &binds).await?.is_empty())
}

pub async fn redeem_in_steps(
    records: &Records,
    redemption: &Redemption,
    client: &Client,
    context: AuditContext<'_>,
) -> Result<Redeemed, Error> {
    // Locks the account first, as a revocation does. The code of a session that moved must start a family of the new session.
    const USED: &str = "UPDATE peristyle.code SET used_by = $2 WHERE hash = $1 AND used_by IS NULL AND session_id = $4 \
                        AND EXISTS (SELECT 1 FROM peristyle.account WHERE id = $3 FOR SHARE) RETURNING account_id";
    let start = &redemption.start;
    let family = &start.family;
    let mut transaction = records.begin().await?;
    let binds = [Bind::digest(&redemption.code), Bind::Id(family.id), Bind::Id(family.account), Bind::maybe(family.session, Bind::Id)];
    if transaction.run(USED, &binds).await?.is_empty() {
        return Ok(Redeemed::Late);
    }
    if token_families::insert(&mut transaction, start, None, client, context).await? != FamilyStart::Done {
        return Ok(Redeemed::Refused);
    }
    audit_log::append(&mut transaction, &granted(family, GrantType::AuthorizationCode), context).await?;
    transaction.commit().await?;
    Ok(Redeemed::Done)
}

/// The account `$3`, if it is active. The lock lets a transaction that closes it wait for the family and then end it.
macro_rules! active_account {
    () => {
        "SELECT a.id FROM peristyle.account a WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL FOR SHARE"
    };
}

/// Uses up the code `$13`, if it is of the session that was looked up, and inserts the family `$1`, its first token and its audit event.
macro_rules! redeem {
    () => {
        "used AS (UPDATE peristyle.code SET used_by = $1 WHERE hash = $13 AND used_by IS NULL AND session_id = $4 \
         AND EXISTS (SELECT 1 FROM admitted) RETURNING account_id AS id), \
         family AS (INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, begun_by) \
         SELECT $1, $2, b.id, $4::uuid, $5::text, $6, $7, 'authorization_code' FROM used b RETURNING account_id), \
         token AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) SELECT $8, $1, $7, $9 FROM family), \
         noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
         SELECT $7, $10, account_id, $2, $11::text, $12 FROM family) "
    };
}

/// [`redeem_in_steps`] in one statement of PostgreSQL. `false` if it did nothing: the code is used, or the account or the app is closed.
pub async fn redeem_in_one_statement(
    records: &Records,
    redemption: &Redemption,
    client: &Client,
    context: AuditContext<'_>,
) -> Result<bool, Error> {
    const WITHOUT_APP: &str = concat!("WITH admitted AS (", active_account!(), "), ", redeem!(), "SELECT account_id FROM family");
    // The use of the app is recorded once a minute, so that frequent sign-ins make no new row versions.
    const WITH_APP: &str = concat!(
        "WITH holder AS (",
        active_account!(),
        "), admitted AS (SELECT h.id FROM holder h WHERE EXISTS (SELECT 1 FROM peristyle.app p \
         LEFT JOIN peristyle.app_account m ON m.app_id = p.id AND m.account_id = $3 \
         WHERE p.id = $14 AND (NOT p.is_closed OR m.id IS NOT NULL))), ",
        redeem!(),
        ", entered AS (INSERT INTO peristyle.app_account (id, app_id, account_id, first_used_at, last_used_at, created_at) \
         SELECT $1, $14, account_id, $7, $7, $7 FROM family WHERE NOT EXISTS (SELECT 1 FROM peristyle.app_account m \
         WHERE m.app_id = $14 AND m.account_id = $3 AND m.last_used_at > $7 - interval '1 minute') \
         ON CONFLICT (app_id, account_id) DO UPDATE SET last_used_at = excluded.last_used_at, \
         first_used_at = coalesce(app_account.first_used_at, excluded.first_used_at)) SELECT account_id FROM family"
    );
    let (family, token) = (&redemption.start.family, &redemption.start.refresh);
    let event = granted(family, GrantType::AuthorizationCode);
    let columns = AuditColumns::of(&event);
    let mut binds = token_families::binds(family).to_vec();
    binds.extend([
        Bind::digest(&token.digest),
        Bind::timestamp(token.expires_at),
        Bind::Text(event.name()),
        Bind::maybe(context.address, Bind::Text),
        Bind::Json(&columns.data),
        Bind::digest(&redemption.code),
    ]);
    binds.extend(client.app.map(Bind::Id));
    let sql = if client.app.is_some() { WITH_APP } else { WITHOUT_APP };
    if records.run(sql, &binds).await?.is_empty() {
        return Ok(false);
    }
    audit_log::line(&event, &columns, context).write();
    Ok(true)
}
