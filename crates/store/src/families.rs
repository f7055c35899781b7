//! Families of grants and their refresh tokens: begun once, rotated with exactly one successor, ended together.

pub(crate) mod at_once;

use identity::account::Account;
use identity::client::{Client, ClientId, GrantType};
use identity::event::Event;
use identity::grant::password::Entry;
use identity::grant::refresh_token::{self, Rotation};
use identity::grant::sealed::Sealed;
use identity::grant::{Admission, Beginning, Family, RefreshRecord, RefreshState};
use identity::opaque::{Digest, purpose};
use identity::password::Proof;
use identity::scope::Scope;
use query::sql::Dialect;
use uuid::Uuid;

use crate::accounts::{self, account_columns};
use crate::clients::{self, client_columns};
use crate::events::{self, Occasion};
use crate::records::{Bind, Records, Row, Run, Transaction, unexpected};
use crate::{Error, apps, rights};

/// The columns of a family `f`, in the order [`read`] expects them.
macro_rules! family_columns {
    () => {
        "f.id, f.client_id, f.account_id, f.session_id, f.scope, f.begun_by, f.created_at, f.authenticated_at, f.ended_at"
    };
}

const WIDTH: usize = 9;

/// What became of a family that was to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It counts.
    Done,
    /// Its app is closed to the account.
    Refused,
    /// The account was closed in the meantime, or its password is not the one that was proven any more.
    Lapsed,
}

/// What a request with a refresh token is about.
#[derive(Clone, Debug)]
pub struct Presented {
    /// The client that it names.
    pub client: Client,
    /// What is known of the token.
    pub found: Option<Found>,
}

/// What is known of a refresh token.
#[derive(Clone, Debug)]
pub struct Found {
    /// The token's row.
    pub record: RefreshRecord,
    /// Its family.
    pub family: Family,
    /// The family's account.
    pub account: Account,
    /// Whether the client's app is open to it.
    pub admission: Admission,
}

impl Found {
    /// The rows as [`refresh_token`] asks for them.
    pub fn as_rows(&self) -> refresh_token::Found<'_> {
        let Found { record, family, account, admission } = self;
        refresh_token::Found { record, family, account: Some(account), admission: *admission, outage_seconds: 0 }
    }
}

/// What became of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotated {
    /// It counts.
    Done,
    /// Another request was faster: look the token up and decide again.
    Late,
}

impl From<Admission> for Begun {
    fn from(admission: Admission) -> Self {
        match admission {
            Admission::Admitted => Begun::Done,
            Admission::Refused => Begun::Refused,
        }
    }
}

fn read(row: &Row, from: usize) -> Result<Family, Error> {
    Ok(Family {
        id: row.id(from)?,
        client: row.client(from + 1)?,
        account: row.id(from + 2)?,
        session: row.maybe_id(from + 3)?,
        scope: row.maybe_text(from + 4)?.and_then(Scope::parse),
        begun_by: row.maybe_text(from + 5)?.and_then(GrantType::from_word),
        begun_at: row.moment(from + 6)?,
        authenticated_at: row.moment(from + 7)?,
        ended_at: row.maybe_moment(from + 8)?,
    })
}

/// Begins a family that no code stands behind: the password grant.
pub async fn begin(records: &Records, entry: &Entry, client: &Client, occasion: Occasion<'_>) -> Result<Begun, Error> {
    let begin = &entry.begin;
    rights::refresh(records, begin.family.account).await?;
    if records.dialect() == Dialect::Postgres && at_once::begin(records, entry, client, occasion).await? {
        return Ok(Begun::Done);
    }
    let mut transaction = records.begin().await?;
    let begun = insert(&mut transaction, begin, Some(&entry.proof), client, occasion).await?;
    if begun == Begun::Done {
        note(&mut transaction, &begin.family, GrantType::Password, occasion).await?;
        transaction.commit().await?;
    }
    Ok(begun)
}

/// Keeps a family and its first refresh token, if the password that it begins by, where it does, is still the account's.
pub(crate) async fn insert(
    transaction: &mut Transaction,
    begin: &Beginning,
    proof: Option<&Proof>,
    client: &Client,
    occasion: Occasion<'_>,
) -> Result<Begun, Error> {
    // The row of the account is held, so that closing it, or changing its password, waits for the family and then ends it.
    const OPEN: &str = "INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, \
                        begun_by) SELECT $1, $2, a.id, $4, $5, $6, $7, $8 FROM peristyle.account a \
                        WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL FOR SHARE RETURNING id";
    // The credential is held too, for who waited for a change to be shown what it was changed to.
    const PROVEN: &str = "INSERT INTO peristyle.family (id, client_id, account_id, session_id, scope, authenticated_at, created_at, \
                          begun_by) SELECT $1, $2, a.id, $4, $5, $6, $7, $8 FROM peristyle.account a \
                          JOIN peristyle.credential k ON k.account_id = a.id WHERE a.id = $3 AND a.is_active AND a.deleted_at IS NULL \
                          AND (k.hash = $9 OR k.hash = $10) FOR SHARE RETURNING id";
    const TOKEN: &str = "INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    let (family, token) = (&begin.family, &begin.refresh);
    let binds = [
        Bind::Id(family.id),
        Bind::Text(family.client.as_str()),
        Bind::Id(family.account),
        Bind::maybe(family.session, Bind::Id),
        Bind::maybe(family.scope.as_ref(), |scope| Bind::Text(scope.as_str())),
        Bind::moment(family.authenticated_at),
        Bind::moment(family.begun_at),
        Bind::maybe(family.begun_by, |grant| Bind::Text(grant.as_str())),
    ];
    let rows = match proof {
        Some(proof) => transaction.run(PROVEN, &[&binds[..], &accounts::proven(proof)].concat()).await?,
        None => transaction.run(OPEN, &binds).await?,
    };
    if rows.is_empty() {
        return Ok(Begun::Lapsed);
    }
    let binds = [Bind::digest(&token.digest), Bind::Id(family.id), Bind::moment(occasion.now), Bind::moment(token.expires_at)];
    transaction.run(TOKEN, &binds).await?;
    Ok(apps::enter(transaction, client, family, occasion.now).await?.into())
}

pub(crate) async fn note(transaction: &mut Transaction, family: &Family, grant: GrantType, occasion: Occasion<'_>) -> Result<(), Error> {
    events::append(transaction, &granted(family, grant), occasion).await
}

fn granted(family: &Family, grant: GrantType) -> Event {
    Event::Granted { account: family.account, client: family.client.clone(), grant, family: family.id }
}

/// Looks up, at once, the client that a request names and the refresh token that it presents. `None` if there is no such client.
pub async fn presented(records: &Records, client: &str, token: &Digest<purpose::Refresh>) -> Result<Option<Presented>, Error> {
    const SQL: &str = concat!(
        "SELECT t.expires_at, t.used_at, t.sealed_successor, ",
        family_columns!(),
        ", ",
        account_columns!(),
        ", ",
        client_columns!(),
        ", (SELECT 1 FROM peristyle.app p WHERE p.id = c.app_id AND p.is_closed AND NOT EXISTS (SELECT 1 FROM peristyle.app_account m \
         WHERE m.app_id = p.id AND m.account_id = f.account_id)) FROM peristyle.client c LEFT JOIN (peristyle.refresh_token t JOIN peristyle.family f ON f.id = t.family_id \
         JOIN peristyle.account a ON a.id = f.account_id) ON t.hash = $2 WHERE c.id = $1"
    );
    if ClientId::parse(client).is_err() {
        return Ok(None);
    }
    let Some(row) = records.row(SQL, &[Bind::Text(client), Bind::digest(token)]).await? else { return Ok(None) };
    let (after_family, after_account) = (3 + WIDTH, 3 + WIDTH + accounts::WIDTH);
    let client = clients::read(&row, after_account)?;
    if row.is_null(0) {
        return Ok(Some(Presented { client, found: None }));
    }
    let family = read(&row, 3)?;
    let state = match (row.maybe_moment(1)?, row.maybe_bytes(2)?) {
        (Some(at), Some(sealed)) => {
            RefreshState::Rotated { at, successor: Sealed::from_bytes(sealed).ok_or_else(|| unexpected(2, "a sealed token"))? }
        }
        _ => RefreshState::Live,
    };
    let record = RefreshRecord { digest: *token, family: family.id, expires_at: row.moment(0)?, state };
    let admission = if row.is_null(after_account + clients::WIDTH) { Admission::Admitted } else { Admission::Refused };
    Ok(Some(Presented { client, found: Some(Found { record, family, account: accounts::read(&row, after_family)?, admission }) }))
}

/// Trades a refresh token for its one successor: of any number of requests, in any number of processes, one gets `Done`.
pub async fn rotate(records: &Records, rotation: &Rotation, occasion: Occasion<'_>) -> Result<Rotated, Error> {
    let RefreshState::Rotated { at, successor: sealed } = &rotation.state else { return Ok(Rotated::Late) };
    let family = rotation.issue.family();
    let event = granted(family, GrantType::RefreshToken);
    let used = [Bind::digest(&rotation.digest), Bind::moment(*at), Bind::Bytes(sealed.as_bytes())];
    let next = [Bind::digest(&rotation.successor.digest), Bind::moment(rotation.successor.expires_at)];
    let turn = Turn { family: family.id, used, next, event };
    match records.dialect() {
        Dialect::Postgres => at_once::rotate(records, &turn, occasion).await,
        Dialect::Sqlite => rotate_in_steps(records, &turn, occasion).await,
    }
}

/// What a rotation writes.
struct Turn<'a> {
    family: Uuid,
    /// The digest of the token that is used, when, and its successor, sealed.
    used: [Bind<'a>; 3],
    /// The digest of the successor, and its end.
    next: [Bind<'a>; 2],
    event: Event,
}

async fn rotate_in_steps(records: &Records, turn: &Turn<'_>, occasion: Occasion<'_>) -> Result<Rotated, Error> {
    const USED: &str = "UPDATE peristyle.refresh_token SET used_at = $2, sealed_successor = $3 WHERE hash = $1 AND used_at IS NULL \
                        RETURNING family_id";
    const NEXT: &str = "INSERT INTO peristyle.refresh_token (hash, family_id, created_at, expires_at) VALUES ($1, $2, $3, $4)";
    let Turn { family, used, next, event } = turn;
    let mut transaction = records.begin().await?;
    if transaction.run(USED, used).await?.is_empty() {
        return Ok(Rotated::Late);
    }
    transaction.run(NEXT, &[next[0], Bind::Id(*family), used[1], next[1]]).await?;
    events::append(&mut transaction, event, occasion).await?;
    transaction.commit().await?;
    Ok(Rotated::Done)
}

/// What an access token stands for: the family that it names and its account, as [`identity::grant::standing::account`] asks for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The family.
    pub family: Family,
    /// Its account.
    pub account: Account,
    /// Whether its client may change the hub's records.
    pub administers: bool,
}

/// What the access tokens of a family stand for.
pub async fn standing(records: &Records, family: Uuid) -> Result<Option<Standing>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        family_columns!(),
        ", ",
        account_columns!(),
        ", c.administers FROM peristyle.family f JOIN peristyle.account a ON a.id = f.account_id \
         JOIN peristyle.client c ON c.id = f.client_id WHERE f.id = $1"
    );
    let Some(row) = records.row(SQL, &[Bind::Id(family)]).await? else { return Ok(None) };
    let (family, account) = (read(&row, 0)?, accounts::read(&row, WIDTH)?);
    Ok(Some(Standing { family, account, administers: row.flag(WIDTH + accounts::WIDTH)? }))
}

/// The family that a refresh token belongs to, for revocation and introspection.
pub async fn of_refresh_token(records: &Records, token: &Digest<purpose::Refresh>) -> Result<Option<Family>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        family_columns!(),
        " FROM peristyle.refresh_token t JOIN peristyle.family f ON f.id = t.family_id WHERE t.hash = $1"
    );
    records.row(SQL, &[Bind::digest(token)]).await?.map(|row| read(&row, 0)).transpose()
}
