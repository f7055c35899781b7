//! Records on PostgreSQL: a pool of connections that may write, and transactions that end with their connection.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use deadpool::managed::Pool;
use fallible_iterator::FallibleIterator;
use futures_util::future::{try_join, try_join_all, try_join3};
use postgres_protocol::types::array_from_sql;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::Error;
use crate::postgres::{Connection, EPOCH_MICROS, FAILED, Lease, LeaseState, Manager, Postgres, STALE, array, lease};

use super::Bound;
use super::cell::{Bind, Cell, Row};

const COMMIT: &str = "COMMIT";

/// How many connections may still have such a statement.
const STALE_TRIES: usize = 32;

/// How long a script may take at least: the steps of a migration are not statements of a request, and replicas wait for each other.
const SCRIPT: Duration = Duration::from_secs(30);

/// Connections that may write, and how long a statement may take on them.
#[derive(Clone)]
pub(super) struct Writers {
    pool: Pool<Manager>,
    timeout: Duration,
}

impl std::fmt::Debug for Writers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Writers")
    }
}

/// A transaction that is open on a connection of its own.
pub(super) struct Open {
    lease: Box<Lease>,
    timeout: Duration,
    /// Whether a statement was prepared for tables that have changed since.
    stale: bool,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Open")
    }
}

impl Writers {
    pub(super) fn of(postgres: &Postgres) -> Result<Self, Error> {
        Ok(Writers { pool: postgres.writers(postgres.timeout.max(SCRIPT))?, timeout: postgres.timeout })
    }

    pub(super) async fn run(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        let mut patience = if sql.starts_with("SELECT") { Patience::Fresh } else { Patience::Spent };
        loop {
            let mut lease = lease(&self.pool).await?;
            match lease.step(self.timeout, async |connection| run(connection, sql, binds).await).await {
                Ok(rows) => return Ok(rows),
                Err(error) => patience.bear(&lease, error)?,
            }
        }
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self) -> Result<Open, Error> {
        let mut patience = Patience::Fresh;
        loop {
            let mut open = self.open().await?;
            match open.step(async |connection| connection.client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await).await {
                Ok(()) => return Ok(open),
                Err(error) => patience.bear(&open.lease, error)?,
            }
        }
    }

    /// Begins a transaction by these words and runs its first statement, in one trip.
    pub(super) async fn begin_with(&self, words: &'static str, sql: &'static str, binds: &[Bind<'_>]) -> Result<(Open, Vec<Row>), Error> {
        let mut patience = Patience::Fresh;
        loop {
            let mut open = self.open().await?;
            match open.step(async |connection| first(connection, words, (sql, binds)).await).await {
                Ok(rows) => return Ok((open, rows)),
                Err(error) => patience.bear(&open.lease, error)?,
            }
        }
    }

    /// A whole transaction in one trip, begun by these words.
    pub(super) async fn together(&self, words: &'static str, statements: &[Bound<'_>]) -> Result<(), Error> {
        let mut tried = 0;
        loop {
            let mut open = self.open().await?;
            match open.step(async |connection| whole(connection, words, statements).await).await {
                Ok(()) => {
                    open.give_back();
                    return Ok(());
                }
                // Refused before it did anything, on every connection that prepared it before.
                Err(_) if open.stale && tried < STALE_TRIES => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A connection for a transaction that is about to begin: whatever comes in between, it does not go back in the middle of it.
    async fn open(&self) -> Result<Open, Error> {
        let mut lease = lease(&self.pool).await?;
        lease.enter(LeaseState::InTransaction);
        Ok(Open { lease: Box::new(lease), timeout: self.timeout, stale: false })
    }
}

/// Lets one connection be found closed, where another can be tried without harm. What was sent on it may have arrived, and only its
/// answer be lost: so a statement that counts by itself is not sent again, unless all it does is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Fresh,
    Spent,
}

impl Patience {
    fn bear(&mut self, lease: &Lease, error: Error) -> Result<(), Error> {
        // One whose tables have changed was given up too.
        let closed = matches!(error, Error::Unavailable(_)) && lease.is_gone();
        match std::mem::replace(self, Patience::Spent) {
            Patience::Fresh if closed => Ok(()),
            _ => Err(error),
        }
    }
}

impl Open {
    async fn step<T>(&mut self, step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        match self.lease.step(self.timeout, step).await {
            Err(Error::Refused(refusal)) if is_stale(refusal.code()) => {
                // Another connection prepares it anew. This transaction is over.
                self.stale = true;
                self.lease.discard();
                Err(Error::Unavailable(format!("a table has changed: {refusal}")))
            }
            other => other,
        }
    }

    pub(super) async fn run(&mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        self.step(async |connection| run(connection, sql, binds).await).await
    }

    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), Error> {
        let timeout = self.timeout.max(SCRIPT);
        self.lease.step(timeout, async |connection| connection.client.batch_execute(text).await).await
    }

    /// Makes it count. One that did not end in time may count or not: nobody can tell, and the error does not either.
    pub(super) async fn commit(mut self) -> Result<(), Error> {
        self.step(async |connection| connection.client.batch_execute(COMMIT).await).await?;
        self.give_back();
        Ok(())
    }

    /// Runs the last statement and commits, in one trip.
    pub(super) async fn commit_with(mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(), Error> {
        self.step(async |connection| last(connection, (sql, binds)).await).await?;
        self.give_back();
        Ok(())
    }

    /// The transaction is over: the connection goes back to the pool.
    fn give_back(mut self) {
        self.lease.enter(LeaseState::Idle);
    }
}

/// Whether a statement has to be prepared anew, or the transaction met one that has.
fn is_stale(code: &str) -> bool {
    STALE.contains(&code) || code == FAILED
}

async fn first(connection: &mut Connection, words: &'static str, (sql, binds): Bound<'_>) -> Result<Vec<Row>, tokio_postgres::Error> {
    let ready = Ready::of(connection, sql, binds).await?;
    let client = &connection.client;
    let ((), rows) = try_join(client.batch_execute(words), ready.send(client, binds)).await?;
    Ok(rows)
}

async fn last(connection: &mut Connection, (sql, binds): Bound<'_>) -> Result<(), tokio_postgres::Error> {
    let ready = Ready::of(connection, sql, binds).await?;
    let client = &connection.client;
    try_join(ready.send(client, binds), client.batch_execute(COMMIT)).await.map(drop)
}

async fn whole(connection: &mut Connection, words: &'static str, statements: &[Bound<'_>]) -> Result<(), tokio_postgres::Error> {
    let mut ready = Vec::with_capacity(statements.len());
    for (sql, binds) in statements {
        ready.push(Ready::of(connection, sql, binds).await?);
    }
    let client = &connection.client;
    let sent = try_join_all(ready.iter().zip(statements).map(|(ready, (_, binds))| ready.send(client, binds)));
    // When a statement fails, its error is told, and PostgreSQL makes a rollback of the commit.
    try_join3(client.batch_execute(words), sent, client.batch_execute(COMMIT)).await.map(drop)
}

async fn run(connection: &mut Connection, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, tokio_postgres::Error> {
    match Ready::of(connection, sql, binds).await?.send(&connection.client, binds).await {
        Err(error) if error.code().is_some_and(|code| is_stale(code.code())) => {
            connection.forget(sql);
            Ready::of(connection, sql, binds).await?.send(&connection.client, binds).await
        }
        other => other,
    }
}

/// A statement that can be sent without waiting for anything: statements that are sent together arrive in one trip, in their order.
enum Ready {
    Named(Statement),
    Text(&'static str, Vec<Type>),
}

impl Ready {
    async fn of(connection: &mut Connection, sql: &'static str, binds: &[Bind<'_>]) -> Result<Self, tokio_postgres::Error> {
        let types: Vec<Type> = binds.iter().map(kind).collect();
        Ok(connection.named(sql, &types).await?.map_or(Ready::Text(sql, types), Ready::Named))
    }

    async fn send(&self, client: &Client, binds: &[Bind<'_>]) -> Result<Vec<Row>, tokio_postgres::Error> {
        let rows = match self {
            Ready::Named(statement) => {
                let bound: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
                client.query(statement, &bound).await?
            }
            Ready::Text(sql, types) => {
                let bound: Vec<(&(dyn ToSql + Sync), Type)> =
                    binds.iter().zip(types).map(|(bind, kind)| (bind as _, kind.clone())).collect();
                client.query_typed(sql, &bound).await?
            }
        };
        Ok(rows.iter().map(|row| Row((0..row.len()).map(|column| row.get::<_, Read>(column).0).collect())).collect())
    }
}

fn kind(bind: &Bind<'_>) -> Type {
    match bind {
        Bind::Null => Type::UNKNOWN,
        Bind::Flag(_) => Type::BOOL,
        Bind::Number(_) => Type::INT8,
        Bind::Text(_) => Type::TEXT,
        Bind::Id(_) => Type::UUID,
        Bind::Instant(_) => Type::TIMESTAMPTZ,
        Bind::Json(_) => Type::JSONB,
        Bind::Texts(_) => Type::TEXT_ARRAY,
        Bind::Ids(_) => Type::UUID_ARRAY,
        Bind::Bytes(_) => Type::BYTEA,
    }
}

impl ToSql for Bind<'_> {
    /// Written as the statement wants it: a number by its width, the rest by what it is.
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match *self {
            Bind::Null => return Ok(IsNull::Yes),
            Bind::Flag(flag) => out.put_u8(u8::from(flag)),
            Bind::Number(number) => match *wanted {
                Type::INT4 => out.put_i32(number.try_into()?),
                Type::INT2 => out.put_i16(number.try_into()?),
                _ => out.put_i64(number),
            },
            Bind::Text(text) => out.put_slice(text.as_bytes()),
            Bind::Id(id) => out.put_slice(id.as_bytes()),
            Bind::Instant(micros) => out.put_i64(micros.checked_sub(EPOCH_MICROS).ok_or("an instant before time")?),
            Bind::Json(text) => {
                // jsonb begins with its version.
                if *wanted == Type::JSONB {
                    out.put_u8(1);
                }
                out.put_slice(text.as_bytes());
            }
            Bind::Texts(texts) => array(out, &Type::TEXT, texts.len(), texts.iter().map(Some), |out, text| out.put_slice(text.as_bytes())),
            Bind::Ids(ids) => array(out, &Type::UUID, ids.len(), ids.iter().map(Some), |out, id| out.put_slice(id.as_bytes())),
            Bind::Bytes(bytes) => out.put_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A column as it was read.
struct Read(Cell);

impl<'a> FromSql<'a> for Read {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        let text = |raw: &[u8]| std::str::from_utf8(raw).map(str::to_owned);
        Ok(Read(match *kind {
            Type::BOOL => Cell::Flag(raw.first().is_some_and(|byte| *byte != 0)),
            Type::INT2 => Cell::Number(i16::from_be_bytes(raw.try_into()?).into()),
            Type::INT4 => Cell::Number(i32::from_be_bytes(raw.try_into()?).into()),
            Type::INT8 => Cell::Number(i64::from_be_bytes(raw.try_into()?)),
            Type::UUID => Cell::Id(Uuid::from_slice(raw)?),
            Type::TIMESTAMPTZ => Cell::Instant(i64::from_be_bytes(raw.try_into()?).saturating_add(EPOCH_MICROS)),
            Type::JSONB => Cell::Text(text(raw.get(1..).unwrap_or_default())?),
            Type::BYTEA => Cell::Bytes(raw.to_vec()),
            Type::TEXT_ARRAY => Cell::Texts(elements(raw, |raw| Ok(text(raw)?))?),
            Type::UUID_ARRAY => Cell::Ids(elements(raw, |raw| Ok(Uuid::from_slice(raw)?))?),
            _ => Cell::Text(text(raw)?),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Read(Cell::Null))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind.kind(), Kind::Simple | Kind::Array(_))
    }
}

type Fault = Box<dyn std::error::Error + Sync + Send>;

fn elements<T>(raw: &[u8], read: impl Fn(&[u8]) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    array_from_sql(raw)?.values().map(|item| read(item.unwrap_or_default())).collect()
}
