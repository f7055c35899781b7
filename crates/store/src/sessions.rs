//! Sign-ins at the hub, with the device and the address they came from.

use identity::account::Account;
use identity::event::Event;
use identity::moment::Moment;
use identity::password::Proof;
use identity::session::{Ending, Session};
use identity::token::{AccessClaims, Verified};
use uuid::Uuid;

use crate::Error;
use crate::accounts::{self, account_columns};
use crate::endings;
use crate::events::{self, Occasion};
use crate::records::{Bind, Records, Row, Run, Transaction};

/// How exactly the last use of a session is known: a write a minute, not one a request.
const USE_SECONDS: i64 = 60;

macro_rules! session_columns {
    () => {
        "s.id, s.account_id, s.authenticated_at, s.expires_at, s.ended_at, s.last_used_at"
    };
}

const WIDTH: usize = 6;

/// A session as its owner sees it in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The session.
    pub session: Session,
    /// What the browser calls itself.
    pub device: Option<String>,
    /// From where it began.
    pub address: Option<String>,
    /// When it was used last, to the minute.
    pub last_used_at: Moment,
}

/// Sessions of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Those that were asked for.
    pub seen: Vec<Seen>,
    /// How many there are.
    pub all: i64,
}

fn read(row: &Row, from: usize) -> Result<Session, Error> {
    Ok(Session {
        id: row.id(from)?,
        account: row.id(from + 1)?,
        authenticated_at: row.moment(from + 2)?,
        expires_at: row.moment(from + 3)?,
        ended_at: row.maybe_moment(from + 4)?,
    })
}

/// The session that a browser had when it signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// There was none.
    Nothing,
    /// One of the same account: it ends, and its codes and families go on in the new one.
    Own(Uuid),
    /// Somebody else's: it ends with all that it gave.
    Other(Uuid),
}

/// What a session is begun by. It was good when it was looked at, and must be when the session is saved.
#[derive(Clone, Copy, Debug)]
pub enum By<'a> {
    /// A password.
    Password(&'a Proof),
    /// An access token.
    Token(&'a Verified<AccessClaims>),
}

/// Somebody who signs in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// What begins.
    pub session: &'a Session,
    /// By what.
    pub by: By<'a>,
    /// In place of what.
    pub before: Before,
    /// What the browser calls itself.
    pub device: Option<&'a str>,
}

/// Begins a session in place of the one before, and notes what began and what ended, all of it or nothing. `false` if the account was
/// closed in the meantime, or what it is begun by has ended: the password is another one, or the token's family is over.
pub async fn begin(records: &Records, arrival: &Arrival<'_>, occasion: Occasion<'_>) -> Result<bool, Error> {
    let session = arrival.session;
    let mut transaction = records.begin().await?;
    if !insert(&mut transaction, arrival, occasion).await? {
        return Ok(false);
    }
    match arrival.before {
        Before::Nothing => {}
        Before::Own(own) => take_over(&mut transaction, own, session, occasion).await?,
        Before::Other(other) => {
            let over = endings::carry_out(&mut transaction, &Ending::Logout(other), occasion.now).await?;
            endings::note(&mut transaction, &over, occasion).await?;
        }
    }
    // Families come last in the order in which endings go, so the one that a token is of is asked for here.
    if let By::Token(token) = arrival.by
        && !is_open(&mut transaction, token.claims().family).await?
    {
        return Ok(false);
    }
    let event = Event::SignedIn { account: session.account, session: session.id };
    events::append(&mut transaction, &event, occasion).await?;
    transaction.commit().await?;
    Ok(true)
}

async fn insert(transaction: &mut Transaction, arrival: &Arrival<'_>, occasion: Occasion<'_>) -> Result<bool, Error> {
    // The row of the account is held, so that closing it, or changing its password, waits for the session and then ends it.
    const OPEN: &str = "INSERT INTO peristyle.session (id, account_id, device, address, authenticated_at, last_used_at, expires_at) \
                        SELECT $1, a.id, $3, $4, $5, $6, $7 FROM peristyle.account a \
                        WHERE a.id = $2 AND a.is_active AND a.deleted_at IS NULL FOR SHARE RETURNING id";
    // The credential is held too, for who waited for a change to be shown what it was changed to.
    const PROVEN: &str = "INSERT INTO peristyle.session (id, account_id, device, address, authenticated_at, last_used_at, expires_at) \
                          SELECT $1, a.id, $3, $4, $5, $6, $7 FROM peristyle.account a \
                          JOIN peristyle.credential k ON k.account_id = a.id WHERE a.id = $2 AND a.is_active AND a.deleted_at IS NULL \
                          AND (k.hash = $8 OR k.hash = $9) FOR SHARE RETURNING id";
    let Arrival { session, by, device, .. } = *arrival;
    let binds = [
        Bind::Id(session.id),
        Bind::Id(session.account),
        Bind::maybe(device, Bind::Text),
        Bind::maybe(occasion.address, Bind::Text),
        Bind::moment(session.authenticated_at),
        Bind::moment(occasion.now),
        Bind::moment(session.expires_at),
    ];
    let rows = match by {
        By::Password(proof) => transaction.run(PROVEN, &[&binds[..], &accounts::proven(proof)].concat()).await?,
        By::Token(_) => transaction.run(OPEN, &binds).await?,
    };
    Ok(!rows.is_empty())
}

async fn is_open(transaction: &mut Transaction, family: Uuid) -> Result<bool, Error> {
    const SQL: &str = "SELECT id FROM peristyle.family WHERE id = $1 AND ended_at IS NULL FOR SHARE";
    Ok(!transaction.run(SQL, &[Bind::Id(family)]).await?.is_empty())
}

async fn take_over(transaction: &mut Transaction, before: Uuid, after: &Session, occasion: Occasion<'_>) -> Result<(), Error> {
    // In the order in which endings go: a code that is being redeemed is waited for, and its family taken over with the others. Families
    // that have ended go along: a client that holds a token of one may still end the session.
    const ENDED: &str = "UPDATE peristyle.session SET ended_at = $2 WHERE id = $1 AND account_id = $3 AND ended_at IS NULL RETURNING id";
    const CODES: &str = "UPDATE peristyle.code SET session_id = $2 WHERE session_id = $1 AND used_by IS NULL";
    const FAMILIES: &str = "UPDATE peristyle.family SET session_id = $2 WHERE session_id = $1";
    let ended = [Bind::Id(before), Bind::moment(occasion.now), Bind::Id(after.account)];
    if transaction.run(ENDED, &ended).await?.is_empty() {
        return Ok(());
    }
    let moved = [Bind::Id(before), Bind::Id(after.id)];
    transaction.run(CODES, &moved).await?;
    transaction.run(FAMILIES, &moved).await?;
    let event = Event::SessionEnded { account: after.account, session: before };
    events::append(transaction, &event, occasion).await
}

/// The session with this id and its account: what [`identity::session::LiveSession::of`] asks for. Its use is noted once a minute.
pub async fn load(records: &Records, id: Uuid, now: Moment) -> Result<Option<(Session, Account)>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", ",
        account_columns!(),
        " FROM peristyle.session s JOIN peristyle.account a ON a.id = s.account_id WHERE s.id = $1"
    );
    const USED: &str = "UPDATE peristyle.session SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2 AND ended_at IS NULL";
    let Some(row) = records.row(SQL, &[Bind::Id(id)]).await? else { return Ok(None) };
    let (session, account) = (read(&row, 0)?, accounts::read(&row, WIDTH)?);
    if now.since(row.moment(WIDTH - 1)?) >= USE_SECONDS && session.ended_at.is_none() {
        records.run(USED, &[Bind::Id(id), Bind::moment(now)]).await?;
    }
    Ok(Some((session, account)))
}

/// The session with this id, live or not.
pub async fn find(on: impl Run, id: Uuid) -> Result<Option<Seen>, Error> {
    const SQL: &str = concat!("SELECT ", session_columns!(), ", s.device, s.address FROM peristyle.session s WHERE s.id = $1");
    on.row(SQL, &[Bind::Id(id)]).await?.as_ref().map(seen).transpose()
}

/// Whose live session this is.
pub async fn owner(on: impl Run, id: Uuid, now: Moment) -> Result<Option<Uuid>, Error> {
    const SQL: &str = "SELECT account_id FROM peristyle.session WHERE id = $1 AND ended_at IS NULL AND expires_at > $2";
    on.row(SQL, &[Bind::Id(id), Bind::moment(now)]).await?.map(|row| row.id(0)).transpose()
}

/// Some of the live sessions of an account: those used last, and before them the one that is named, if it is among them.
pub async fn of_account(on: impl Run, account: Uuid, first: Option<Uuid>, limit: i64, now: Moment) -> Result<Listed, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", s.device, s.address, count(*) OVER () FROM peristyle.session s WHERE s.account_id = $1 AND s.ended_at IS NULL \
         AND s.expires_at > $2 ORDER BY CASE WHEN s.id = $3 THEN 0 ELSE 1 END, s.last_used_at DESC, s.id LIMIT $4"
    );
    let binds = [Bind::Id(account), Bind::moment(now), Bind::maybe(first, Bind::Id), Bind::Number(limit)];
    let rows = on.rows(SQL, &binds).await?;
    let all = rows.first().map_or(Ok(0), |row| row.number(WIDTH + 2))?;
    Ok(Listed { all, seen: rows.iter().map(seen).collect::<Result<_, _>>()? })
}

/// The live sessions of everybody, the one used last first.
pub async fn list(on: impl Run, limit: i64, now: Moment) -> Result<Vec<Seen>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", s.device, s.address FROM peristyle.session s WHERE s.ended_at IS NULL AND s.expires_at > $1 \
         ORDER BY s.last_used_at DESC, s.id LIMIT $2"
    );
    on.rows(SQL, &[Bind::moment(now), Bind::Number(limit)]).await?.iter().map(seen).collect()
}

fn seen(row: &Row) -> Result<Seen, Error> {
    let text = |column| row.maybe_text(column).map(|text| text.map(str::to_owned));
    Ok(Seen { session: read(row, 0)?, last_used_at: row.moment(WIDTH - 1)?, device: text(WIDTH)?, address: text(WIDTH + 1)? })
}
