//! The hub's records on PostgreSQL: a pool of writing connections, and transactions on them.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use futures_util::future::{try_join, try_join_all};
use postgres_protocol::types::array_from_sql;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::Error;
use crate::postgres::{Connection, EPOCH_MICROS, Lease, LeaseState, Pool, Postgres, array, figures, first_error, is_stale, lease};
use crate::settings::PoolFigures;

use super::values::{Bind, Row, StoredValue};
use super::{BEGIN, BoundStatement};

/// How many connections may hold a stale prepared statement.
const STALE_TRIES: usize = 32;

/// The least timeout of a migration script: it may wait for the migration of another replica.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct PostgresWriters {
    pool: Pool,
    timeout: Duration,
}

pub(super) struct PostgresTransaction {
    lease: Box<Lease>,
    timeout: Duration,
    stale: bool,
}

impl PostgresWriters {
    pub(super) fn of(postgres: &Postgres) -> Result<Self, Error> {
        Ok(PostgresWriters { pool: postgres.hub_pool(postgres.timeout.max(SCRIPT_TIMEOUT))?, timeout: postgres.timeout })
    }

    pub(super) fn pool(&self) -> PoolFigures {
        figures(&self.pool)
    }

    pub(super) async fn run(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        // A change is a transaction with a COMMIT, because only a COMMIT is never cancelled. It may count before its connection is lost.
        if !sql.starts_with("SELECT") {
            return self.together(BEGIN, &[(sql, binds)]).await;
        }
        let mut can_retry = true;
        loop {
            let mut lease = lease(&self.pool).await?;
            match lease.step(self.timeout, async |connection| run(connection, sql, binds).await).await {
                Err(Error::Unavailable(_)) if can_retry && lease.is_gone() => can_retry = false,
                result => return result,
            }
        }
    }

    /// Begins a transaction and runs its first statement, if there is one, in one round trip.
    pub(super) async fn begin(
        &self,
        begin: &'static str,
        first: Option<BoundStatement<'_>>,
    ) -> Result<(PostgresTransaction, Vec<Row>), Error> {
        let mut can_retry = true;
        loop {
            let mut open = self.open().await?;
            match open.step(async |connection| together(connection, Some(begin), first.as_slice(), End::Open).await).await {
                // The connection was closed, or was discarded with a stale statement.
                Err(Error::Unavailable(_)) if can_retry && open.lease.is_gone() => can_retry = false,
                result => return result.map(|rows| (open, rows)),
            }
        }
    }

    pub(super) async fn together(&self, begin: &'static str, statements: &[BoundStatement<'_>]) -> Result<Vec<Row>, Error> {
        let mut tried = 0;
        loop {
            let mut open = self.open().await?;
            match open.step(async |connection| together(connection, Some(begin), statements, End::Commit).await).await {
                Ok(rows) => {
                    open.give_back();
                    return Ok(rows);
                }
                // PostgreSQL refuses a stale statement before it runs; every connection may hold one.
                Err(_) if open.stale && tried < STALE_TRIES => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A connection for a new transaction. Its state keeps it out of the pool if the caller is dropped.
    async fn open(&self) -> Result<PostgresTransaction, Error> {
        let mut lease = lease(&self.pool).await?;
        lease.enter(LeaseState::InTransaction);
        Ok(PostgresTransaction { lease: Box::new(lease), timeout: self.timeout, stale: false })
    }
}

impl PostgresTransaction {
    async fn step<T>(&mut self, step: impl AsyncFnOnce(&mut Connection) -> Result<T, tokio_postgres::Error>) -> Result<T, Error> {
        match self.lease.step(self.timeout, step).await {
            Err(Error::Refused(refusal)) if refusal.is_stale() => {
                // The transaction is lost; another connection prepares the statement again.
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
        let timeout = self.timeout.max(SCRIPT_TIMEOUT);
        self.lease.step(timeout, async |connection| connection.client.batch_execute(text).await).await
    }

    /// Runs the last statement, if there is one, and commits. After a timeout the result is unknown.
    pub(super) async fn commit(mut self, last: Option<BoundStatement<'_>>) -> Result<(), Error> {
        self.step(async |connection| together(connection, None, last.as_slice(), End::Commit).await).await?;
        self.give_back();
        Ok(())
    }

    fn give_back(mut self) {
        self.lease.enter(LeaseState::Idle);
    }
}

/// What follows the statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Commit,
}

/// Runs statements in one round trip, after a BEGIN and before a COMMIT; returns the rows of all.
async fn together(
    connection: &mut Connection,
    begin: Option<&'static str>,
    statements: &[BoundStatement<'_>],
    end: End,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let mut ready = Vec::with_capacity(statements.len());
    for (sql, binds) in statements {
        ready.push(Ready::of(connection, sql, binds).await?);
    }
    let client = &connection.client;
    let sent = try_join_all(ready.iter().zip(statements).map(|(ready, (_, binds))| ready.send(client, binds)));
    let sent = async { try_join(script(client, begin), sent).await.map(|((), rows)| rows.into_iter().flatten().collect()) };
    match end {
        End::Open => sent.await,
        End::Commit => connection.commit_after(sent).await,
    }
}

async fn script(client: &Client, text: Option<&'static str>) -> Result<(), tokio_postgres::Error> {
    match text {
        Some(text) => client.batch_execute(text).await,
        None => Ok(()),
    }
}

async fn run(connection: &mut Connection, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, tokio_postgres::Error> {
    match send(connection, sql, binds).await {
        Err(error) if is_stale(&error) => {
            connection.forget(sql);
            send(connection, sql, binds).await.map_err(|again| first_error(error, again))
        }
        other => other,
    }
}

async fn send(connection: &mut Connection, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, tokio_postgres::Error> {
    Ready::of(connection, sql, binds).await?.send(&connection.client, binds).await
}

/// A statement that is ready to send. Statements sent together arrive in order, in one round trip.
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
        Bind::Timestamp(_) => Type::TIMESTAMPTZ,
        Bind::Json(_) => Type::JSONB,
        Bind::Texts(_) => Type::TEXT_ARRAY,
        Bind::Ids(_) => Type::UUID_ARRAY,
        Bind::Bytes(_) => Type::BYTEA,
    }
}

impl ToSql for Bind<'_> {
    /// Writes a number in the width of the parameter, everything else by its own type.
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
            Bind::Timestamp(micros) => out.put_i64(micros.checked_sub(EPOCH_MICROS).ok_or("an instant before time")?),
            Bind::Json(text) => {
                // The binary format of jsonb begins with its version.
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

struct Read(StoredValue);

impl<'a> FromSql<'a> for Read {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        let text = |raw: &[u8]| std::str::from_utf8(raw).map(str::to_owned);
        Ok(Read(match *kind {
            Type::BOOL => StoredValue::Flag(raw.first().is_some_and(|byte| *byte != 0)),
            Type::INT2 => StoredValue::Number(i16::from_be_bytes(raw.try_into()?).into()),
            Type::INT4 => StoredValue::Number(i32::from_be_bytes(raw.try_into()?).into()),
            Type::INT8 => StoredValue::Number(i64::from_be_bytes(raw.try_into()?)),
            Type::UUID => StoredValue::Id(Uuid::from_slice(raw)?),
            Type::TIMESTAMPTZ => StoredValue::Timestamp(i64::from_be_bytes(raw.try_into()?).saturating_add(EPOCH_MICROS)),
            Type::JSONB => StoredValue::Text(text(raw.get(1..).unwrap_or_default())?),
            Type::BYTEA => StoredValue::Bytes(raw.to_vec()),
            Type::TEXT_ARRAY => StoredValue::Texts(elements(raw, |raw| Ok(text(raw)?))?),
            Type::UUID_ARRAY => StoredValue::Ids(elements(raw, |raw| Ok(Uuid::from_slice(raw)?))?),
            _ => StoredValue::Text(text(raw)?),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Read(StoredValue::Null))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind.kind(), Kind::Simple | Kind::Array(_))
    }
}

type Fault = Box<dyn std::error::Error + Sync + Send>;

fn elements<T>(raw: &[u8], read: impl Fn(&[u8]) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    array_from_sql(raw)?.values().map(|item| read(item.unwrap_or_default())).collect()
}
