//! Token families and their refresh tokens: started once, rotated to exactly one successor, revoked together.

use identity::account::Account;
use identity::audit_event::AuditEvent;
use identity::client::{Client, ClientId, GrantType};
use identity::grant::password::PasswordGrant;
use identity::grant::refresh_token::{Rotation, TokenRows};
use identity::grant::sealed::Sealed;
use identity::grant::{Admission, Family, NewFamily, RefreshRecord, RefreshState};
use identity::password::Proof;
use identity::scope::Scope;
use identity::secret_token::{Digest, purpose};
use query::sql::Dialect;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::accounts::{self, account_columns};
use crate::hub_records::audit_log::{self, AuditColumns, AuditContext};
use crate::hub_records::clients::{self, client_columns};
use crate::hub_records::{Bind, Records, Row, Run, Transaction, apps, rights, unexpected};

/// The columns of a family `f`, in the order [`read`] expects them.
macro_rules! family_columns {
    () => {
        "f.id, f.client_id, f.account_id, f.session_id, f.scope, f.begun_by, f.created_at, f.authenticated_at, f.ended_at"
    };
}

const WIDTH: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyStart {
    Done,
    /// Its app is closed to the account.
    Refused,
    /// The account was closed meanwhile, or its password changed since the proof.
    Lapsed,
}

#[derive(Clone, Debug)]
pub struct TokenLookup {
    pub client: Client,
    pub found: Option<FoundToken>,
}

#[derive(Clone, Debug)]
pub struct FoundToken {
    pub record: RefreshRecord,
    pub family: Family,
    pub account: Account,
    pub admission: Admission,
}

impl FoundToken {
    /// The rows for [`identity::grant::refresh_token::decide`].
    pub fn as_rows(&self) -> TokenRows<'_> {
        let FoundToken { record, family, account, admission } = self;
        TokenRows { record, family, account: Some(account), admission: *admission, outage_seconds: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotated {
    Done,
    /// Another request was faster: look the token up and decide again.
    Late,
}

fn read(row: &Row, from: usize) -> Result<Family, Error> {
    Ok(Family {
        id: row.id(from)?,
        client: row.client(from + 1)?,
        account: row.id(from + 2)?,
        session: row.maybe_id(from + 3)?,
        scope: row.maybe_text(from + 4)?.and_then(Scope::parse),
        begun_by: row.maybe_text(from + 5)?.and_then(GrantType::from_word),
        begun_at: row.timestamp(from + 6)?,
        authenticated_at: row.timestamp(from + 7)?,
        ended_at: row.maybe_timestamp(from + 8)?,
    })
}

pub async fn begin(records: &Records, grant: &PasswordGrant, client: &Client, context: AuditContext<'_>) -> Result<FamilyStart, Error> {
    let family = &grant.start.family;
    rights::refresh(records, family.account).await?;
    let mut transaction = records.begin().await?;
    let started = insert(&mut transaction, &grant.start, Some(&grant.proof), client, context).await?;
    if started == FamilyStart::Done {
        audit_log::append(&mut transaction, &granted(family, GrantType::Password), context).await?;
        transaction.commit().await?;
    }
    Ok(started)
}

/// Inserts a family and its first refresh token. With a proof, only if the proven password is still the account's.
pub(crate) async fn insert(
    transaction: &mut Transaction,
    start: &NewFamily,
    proof: Option<&Proof>,
    client: &Client,
    context: AuditContext<'_>,
) -> Result<FamilyStart, Error> {
    // Locks the account: closing it, or changing its password, waits for the family and then ends it.
    const OPEN: &str = "INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, \
                        begun_by) SELECT $1, $2, a.id, $4, $5, $6, $7, $8 FROM peristyle.account a \
                        WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL FOR SHARE RETURNING id";
    // Locks the credential too, so that after a wait the statement reads the new hash.
    const PROVEN: &str = "INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, \
                          begun_by) SELECT $1, $2, a.id, $4, $5, $6, $7, $8 FROM peristyle.account a \
                          JOIN peristyle.credential k ON k.account_id = a.id WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL \
                          AND (k.hash = $9 OR k.hash = $10) FOR SHARE RETURNING id";
    const TOKEN: &str = "INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    let (family, token) = (&start.family, &start.refresh);
    let begun_by = Bind::maybe(family.begun_by, |grant| Bind::Text(grant.as_str()));
    let binds = [&binds(family)[..], &[begun_by]].concat();
    let rows = match proof {
        Some(proof) => transaction.run(PROVEN, &[&binds[..], &accounts::proven(proof)].concat()).await?,
        None => transaction.run(OPEN, &binds).await?,
    };
    if rows.is_empty() {
        return Ok(FamilyStart::Lapsed);
    }
    let binds = [Bind::digest(&token.digest), Bind::Id(family.id), Bind::timestamp(context.now), Bind::timestamp(token.expires_at)];
    transaction.run(TOKEN, &binds).await?;
    Ok(match apps::enter(transaction, client, family, context.now).await? {
        Admission::Admitted => FamilyStart::Done,
        Admission::Refused => FamilyStart::Refused,
    })
}

/// The first values of an insert.
pub(crate) fn binds(family: &Family) -> [Bind<'_>; 7] {
    [
        Bind::Id(family.id),
        Bind::Text(family.client.as_str()),
        Bind::Id(family.account),
        Bind::maybe(family.session, Bind::Id),
        Bind::maybe(family.scope.as_ref(), |scope| Bind::Text(scope.as_str())),
        Bind::timestamp(family.authenticated_at),
        Bind::timestamp(family.begun_at),
    ]
}

pub(crate) fn granted(family: &Family, grant: GrantType) -> AuditEvent {
    AuditEvent::Granted { account: family.account, client: family.client.clone(), grant, family: family.id }
}

/// Looks up a client and a refresh token in one query. `None` if there is no such client.
pub async fn look_up(records: &Records, client: &str, token: &Digest<purpose::Refresh>) -> Result<Option<TokenLookup>, Error> {
    const SQL: &str = concat!(
        "SELECT t.expires_at, t.used_at, t.sealed_successor, ",
        family_columns!(),
        ", ",
        account_columns!(),
        ", ",
        client_columns!(),
        ", (SELECT 1 FROM peristyle.app p WHERE p.id = c.app_id AND p.is_closed AND NOT EXISTS (SELECT 1 FROM peristyle.app_account m \
         WHERE m.app_id = p.id AND m.account_id = f.account_id)) FROM peristyle.client c LEFT JOIN (peristyle.refresh_token t JOIN peristyle.family f ON f.id = t.family_id \
         JOIN peristyle.current_account a ON a.id = f.account_id) ON t.hash = $2 WHERE c.id = $1"
    );
    if ClientId::parse(client).is_err() {
        return Ok(None);
    }
    let Some(row) = records.row(SQL, &[Bind::Text(client), Bind::digest(token)]).await? else { return Ok(None) };
    let (after_family, after_account) = (3 + WIDTH, 3 + WIDTH + accounts::WIDTH);
    let client = clients::read(&row, after_account)?;
    if row.is_null(0) {
        return Ok(Some(TokenLookup { client, found: None }));
    }
    let family = read(&row, 3)?;
    let state = match (row.maybe_timestamp(1)?, row.maybe_bytes(2)?) {
        (Some(at), Some(sealed)) => {
            RefreshState::Rotated { at, successor: Sealed::from_bytes(sealed).ok_or_else(|| unexpected(2, "a sealed token"))? }
        }
        _ => RefreshState::Live,
    };
    let record = RefreshRecord { digest: *token, family: family.id, expires_at: row.timestamp(0)?, state };
    let admission = if row.is_null(after_account + clients::WIDTH) { Admission::Admitted } else { Admission::Refused };
    let found = FoundToken { record, family, account: accounts::read(&row, after_family)?, admission };
    Ok(Some(TokenLookup { client, found: Some(found) }))
}

/// Rotates a refresh token to its one successor: of all requests in all processes one gets `Done`. One statement is faster.
pub async fn rotate(records: &Records, rotation: &Rotation, context: AuditContext<'_>) -> Result<Rotated, Error> {
    match records.dialect() {
        Dialect::Postgres | Dialect::Citus => rotate_in_one_statement(records, rotation, context).await,
        Dialect::Sqlite => rotate_in_steps(records, rotation, context).await,
    }
}

/// The digest of the used token, the time of its use, its sealed successor, the digest of the successor, and when that expires.
fn rotation_binds(rotation: &Rotation) -> Option<[Bind<'_>; 5]> {
    let RefreshState::Rotated { at, successor: sealed } = &rotation.state else { return None };
    let next = &rotation.successor;
    let used = Bind::digest(&rotation.digest);
    Some([used, Bind::timestamp(*at), Bind::Bytes(sealed.as_bytes()), Bind::digest(&next.digest), Bind::timestamp(next.expires_at)])
}

pub async fn rotate_in_steps(records: &Records, rotation: &Rotation, context: AuditContext<'_>) -> Result<Rotated, Error> {
    const USED: &str = "UPDATE peristyle.refresh_token SET used_at = $2, sealed_successor = $3 WHERE hash = $1 AND used_at IS NULL \
                        RETURNING family_id";
    const NEXT: &str = "INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    let Some([used, at, sealed, next, expires_at]) = rotation_binds(rotation) else { return Ok(Rotated::Late) };
    let family = rotation.issue.family();
    let mut transaction = records.begin().await?;
    if transaction.run(USED, &[used, at, sealed]).await?.is_empty() {
        return Ok(Rotated::Late);
    }
    transaction.run(NEXT, &[next, Bind::Id(family.id), at, expires_at]).await?;
    audit_log::append(&mut transaction, &granted(family, GrantType::RefreshToken), context).await?;
    transaction.commit().await?;
    Ok(Rotated::Done)
}

async fn rotate_in_one_statement(records: &Records, rotation: &Rotation, context: AuditContext<'_>) -> Result<Rotated, Error> {
    const SQL: &str = "WITH used AS (UPDATE peristyle.refresh_token SET used_at = $2, sealed_successor = $3 \
                       WHERE hash = $1 AND used_at IS NULL RETURNING family_id), \
                       successor AS (INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) \
                       SELECT $4, family_id, $2, $5 FROM used), \
                       noted AS (INSERT INTO peristyle.event (at, kind, account_id, client_id, address, detail) \
                       SELECT $2, $6, $7, $8, $9, $10 FROM used) SELECT family_id FROM used";
    let Some(binds) = rotation_binds(rotation) else { return Ok(Rotated::Late) };
    let event = granted(rotation.issue.family(), GrantType::RefreshToken);
    let columns = AuditColumns::of(&event);
    let noted = [
        Bind::Text(event.name()),
        Bind::maybe(columns.account, Bind::Id),
        Bind::maybe(columns.client.as_deref(), Bind::Text),
        Bind::maybe(context.address, Bind::Text),
        Bind::Json(&columns.data),
    ];
    if records.run(SQL, &[binds, noted].concat()).await?.is_empty() {
        return Ok(Rotated::Late);
    }
    audit_log::line(&event, &columns, context).write();
    Ok(Rotated::Done)
}

/// A family with the rows that [`identity::grant::status::account`] asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedFamily {
    pub family: Family,
    pub account: Account,
    pub administers: bool,
}

pub async fn load(records: &Records, family: Uuid) -> Result<Option<LoadedFamily>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        family_columns!(),
        ", ",
        account_columns!(),
        ", c.administers FROM peristyle.family f JOIN peristyle.current_account a ON a.id = f.account_id \
         JOIN peristyle.client c ON c.id = f.client_id WHERE f.id = $1"
    );
    let Some(row) = records.row(SQL, &[Bind::Id(family)]).await? else { return Ok(None) };
    let (family, account) = (read(&row, 0)?, accounts::read(&row, WIDTH)?);
    Ok(Some(LoadedFamily { family, account, administers: row.flag(WIDTH + accounts::WIDTH)? }))
}

pub async fn of_refresh_token(records: &Records, token: &Digest<purpose::Refresh>) -> Result<Option<Family>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        family_columns!(),
        " FROM peristyle.refresh_token t JOIN peristyle.family f ON f.id = t.family_id WHERE t.hash = $1"
    );
    records.row(SQL, &[Bind::digest(token)]).await?.map(|row| read(&row, 0)).transpose()
}
