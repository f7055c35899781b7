//! Sessions at the hub, with their device and client address.

use identity::account::Account;
use identity::audit_event::AuditEvent;
use identity::password::Proof;
use identity::revocation::Revocation;
use identity::session::Session;
use identity::timestamp::Timestamp;
use identity::token::{AccessClaims, Verified};
use uuid::Uuid;

use crate::Error;
use crate::hub_records::accounts::{self, account_columns};
use crate::hub_records::audit_log::{self, AuditContext};
use crate::hub_records::{Bind, Records, Row, Run, Transaction, revocation};

/// A session's last use is written at most once in this time, not at each request.
const USE_SECONDS: i64 = 60;

macro_rules! session_columns {
    () => {
        "s.id, s.account_id, s.authenticated_at, s.expires_at, s.ended_at, s.last_used_at"
    };
}

const WIDTH: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDetails {
    pub session: Session,
    /// The browser, by its `User-Agent`.
    pub device: Option<String>,
    pub address: Option<String>,
    /// When it was used last, to the minute.
    pub last_used_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionList {
    pub seen: Vec<SessionDetails>,
    pub all: i64,
}

fn read(row: &Row, from: usize) -> Result<Session, Error> {
    Ok(Session {
        id: row.id(from)?,
        account: row.id(from + 1)?,
        authenticated_at: row.timestamp(from + 2)?,
        expires_at: row.timestamp(from + 3)?,
        ended_at: row.maybe_timestamp(from + 4)?,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousSession {
    Nothing,
    /// One of the same account: it ends, and its codes and families move to the new one.
    Own(Uuid),
    /// One of another account: it ends with its codes and families.
    Other(Uuid),
}

/// The proof of a sign-in. It must still hold when the session is stored.
#[derive(Clone, Copy, Debug)]
pub enum SignInProof<'a> {
    Password(&'a Proof),
    Token(&'a Verified<AccessClaims>),
}

#[derive(Clone, Copy, Debug)]
pub struct SignIn<'a> {
    pub session: &'a Session,
    pub by: SignInProof<'a>,
    pub before: PreviousSession,
    /// The browser, by its `User-Agent`.
    pub device: Option<&'a str>,
}

/// Begins a session, and ends or moves the previous one. `false` if the account was closed meanwhile or the proof no longer holds.
pub async fn begin(records: &Records, sign_in: &SignIn<'_>, context: AuditContext<'_>) -> Result<bool, Error> {
    let session = sign_in.session;
    let mut transaction = records.begin().await?;
    if !insert(&mut transaction, sign_in, context).await? {
        return Ok(false);
    }
    match sign_in.before {
        PreviousSession::Nothing => {}
        PreviousSession::Own(own) => take_over(&mut transaction, own, session, context).await?,
        PreviousSession::Other(other) => {
            let over = revocation::revoke_in(&mut transaction, &Revocation::Logout(other), context.now).await?;
            revocation::log(&mut transaction, &over, context).await?;
        }
    }
    // Last, because revocations lock families last.
    if let SignInProof::Token(token) = sign_in.by
        && !is_open(&mut transaction, token.claims().family).await?
    {
        return Ok(false);
    }
    let event = AuditEvent::SignedIn { account: session.account, session: session.id };
    audit_log::append(&mut transaction, &event, context).await?;
    transaction.commit().await?;
    Ok(true)
}

async fn insert(transaction: &mut Transaction, sign_in: &SignIn<'_>, context: AuditContext<'_>) -> Result<bool, Error> {
    // Locks the account: closing it, or changing its password, waits for the session and then ends it.
    const OPEN: &str = "INSERT INTO peristyle.session (id, account_id, device, address, authenticated_at, last_used_at, expires_at) \
                        SELECT $1, a.id, $3, $4, $5, $6, $7 FROM peristyle.account a \
                        WHERE a.id = $2 AND a.is_active AND a.deleted_at IS NULL FOR SHARE RETURNING id";
    // Locks the credential too, so that after a wait the statement reads the new hash.
    const PROVEN: &str = "INSERT INTO peristyle.session (id, account_id, device, address, authenticated_at, last_used_at, expires_at) \
                          SELECT $1, a.id, $3, $4, $5, $6, $7 FROM peristyle.account a \
                          JOIN peristyle.credential k ON k.account_id = a.id WHERE a.id = $2 AND a.is_active AND a.deleted_at IS NULL \
                          AND (k.hash = $8 OR k.hash = $9) FOR SHARE RETURNING id";
    let SignIn { session, by, device, .. } = *sign_in;
    let binds = [
        Bind::Id(session.id),
        Bind::Id(session.account),
        Bind::maybe(device, Bind::Text),
        Bind::maybe(context.address, Bind::Text),
        Bind::timestamp(session.authenticated_at),
        Bind::timestamp(context.now),
        Bind::timestamp(session.expires_at),
    ];
    let rows = match by {
        SignInProof::Password(proof) => transaction.run(PROVEN, &[&binds[..], &accounts::proven(proof)].concat()).await?,
        SignInProof::Token(_) => transaction.run(OPEN, &binds).await?,
    };
    Ok(!rows.is_empty())
}

async fn is_open(transaction: &mut Transaction, family: Uuid) -> Result<bool, Error> {
    const SQL: &str = "SELECT id FROM peristyle.family WHERE id = $1 AND ended_at IS NULL FOR SHARE";
    Ok(!transaction.run(SQL, &[Bind::Id(family)]).await?.is_empty())
}

async fn take_over(transaction: &mut Transaction, before: Uuid, after: &Session, context: AuditContext<'_>) -> Result<(), Error> {
    // In the order of a revocation: waits for a code that is being redeemed. Revoked families move too: a client may end the session.
    const ENDED: &str = "UPDATE peristyle.session SET ended_at = $2 WHERE id = $1 AND account_id = $3 AND ended_at IS NULL RETURNING id";
    const CODES: &str = "UPDATE peristyle.code SET session_id = $2 WHERE session_id = $1 AND used_by IS NULL";
    const FAMILIES: &str = "UPDATE peristyle.family SET session_id = $2 WHERE session_id = $1";
    let ended = [Bind::Id(before), Bind::timestamp(context.now), Bind::Id(after.account)];
    if transaction.run(ENDED, &ended).await?.is_empty() {
        return Ok(());
    }
    let moved = [Bind::Id(before), Bind::Id(after.id)];
    transaction.run(CODES, &moved).await?;
    transaction.run(FAMILIES, &moved).await?;
    let event = AuditEvent::SessionEnded { account: after.account, session: before };
    audit_log::append(transaction, &event, context).await
}

/// The session with this id and its account, for [`identity::session::LiveSession::of`]. Records its use once a minute.
pub async fn load(records: &Records, id: Uuid, now: Timestamp) -> Result<Option<(Session, Account)>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", ",
        account_columns!(),
        " FROM peristyle.session s JOIN peristyle.current_account a ON a.id = s.account_id WHERE s.id = $1"
    );
    const USED: &str = "UPDATE peristyle.session SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2 AND ended_at IS NULL";
    let Some(row) = records.row(SQL, &[Bind::Id(id)]).await? else { return Ok(None) };
    let (session, account) = (read(&row, 0)?, accounts::read(&row, WIDTH)?);
    if now.since(row.timestamp(WIDTH - 1)?) >= USE_SECONDS && session.ended_at.is_none() {
        records.run_unless_busy(USED, &[Bind::Id(id), Bind::timestamp(now)]).await?;
    }
    Ok(Some((session, account)))
}

pub async fn find(on: impl Run, id: Uuid) -> Result<Option<SessionDetails>, Error> {
    const SQL: &str = concat!("SELECT ", session_columns!(), ", s.device, s.address FROM peristyle.session s WHERE s.id = $1");
    on.row(SQL, &[Bind::Id(id)]).await?.as_ref().map(seen).transpose()
}

pub async fn owner(on: impl Run, id: Uuid, now: Timestamp) -> Result<Option<Uuid>, Error> {
    const SQL: &str = "SELECT account_id FROM peristyle.session WHERE id = $1 AND ended_at IS NULL AND expires_at > $2";
    on.row(SQL, &[Bind::Id(id), Bind::timestamp(now)]).await?.map(|row| row.id(0)).transpose()
}

/// The live sessions of an account: first the named one, then those used last.
pub async fn of_account(on: impl Run, account: Uuid, first: Option<Uuid>, limit: i64, now: Timestamp) -> Result<SessionList, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", s.device, s.address, count(*) OVER () FROM peristyle.session s WHERE s.account_id = $1 AND s.ended_at IS NULL \
         AND s.expires_at > $2 ORDER BY CASE WHEN s.id = $3 THEN 0 ELSE 1 END, s.last_used_at DESC, s.id LIMIT $4"
    );
    let binds = [Bind::Id(account), Bind::timestamp(now), Bind::maybe(first, Bind::Id), Bind::Number(limit)];
    let rows = on.rows(SQL, &binds).await?;
    let all = rows.first().map_or(Ok(0), |row| row.number(WIDTH + 2))?;
    Ok(SessionList { all, seen: rows.iter().map(seen).collect::<Result<_, _>>()? })
}

pub async fn list(on: impl Run, limit: i64, now: Timestamp) -> Result<Vec<SessionDetails>, Error> {
    const SQL: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", s.device, s.address FROM peristyle.session s WHERE s.ended_at IS NULL AND s.expires_at > $1 \
         ORDER BY s.last_used_at DESC, s.id LIMIT $2"
    );
    on.rows(SQL, &[Bind::timestamp(now), Bind::Number(limit)]).await?.iter().map(seen).collect()
}

fn seen(row: &Row) -> Result<SessionDetails, Error> {
    let text = |column| row.maybe_text(column).map(|text| text.map(str::to_owned));
    Ok(SessionDetails { session: read(row, 0)?, last_used_at: row.timestamp(WIDTH - 1)?, device: text(WIDTH)?, address: text(WIDTH + 1)? })
}
