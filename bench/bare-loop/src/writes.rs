//! The workloads of writes. Each is one transaction with the statements of the server under test, without its checks.

use std::error::Error as StdError;
use std::ops::Range;
use std::pin::pin;

use bytes::{BufMut, BytesMut};
use futures_util::TryStreamExt;
use futures_util::future::try_join;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Error, Row, RowStream, Statement};

use crate::connection::Connection;
use crate::encode;

/// The limits of a transaction belong to the statements of the server under test.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '10s'";
const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

#[derive(Debug)]
pub(crate) enum WriteError {
    Body(serde_json::Error),
    Database(Error),
    /// The program runs without `writes`.
    NotPrepared,
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WriteError::Body(error) => error.fmt(out),
            WriteError::Database(error) => error.fmt(out),
            WriteError::NotPrepared => out.write_str("start the bare loop with the word writes"),
        }
    }
}

impl From<serde_json::Error> for WriteError {
    fn from(error: serde_json::Error) -> Self {
        WriteError::Body(error)
    }
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        WriteError::Database(error)
    }
}

pub(crate) struct WriteStatements {
    lock_order: Statement,
    lock_orders: Statement,
    update_order: Statement,
    update_orders: Statement,
    order: Statement,
    orders: Statement,
    insert_order: Statement,
    insert_orders: Statement,
    new_order: Statement,
    new_orders: Statement,
}

impl WriteStatements {
    pub(crate) async fn prepare(client: &Client) -> Result<Self, Error> {
        const ROW: &str = "t0.id, t0.number, t0.customer_id, t0.status, t0.total, t0.placed_at";
        const UPDATE: &str = "UPDATE bench_orders AS t0 SET status = $1::text, total = $2::numeric";
        const COLUMNS: &str = "number, customer_id, status, total";
        Ok(WriteStatements {
            lock_order: client
                .prepare("SELECT t0.id FROM bench_orders AS t0 WHERE t0.id = $1::int8 ORDER BY t0.id ASC FOR NO KEY UPDATE OF t0")
                .await?,
            lock_orders: client
                .prepare(
                    "SELECT t0.id FROM bench_orders AS t0 WHERE t0.customer_id = $1::int8 ORDER BY t0.id ASC LIMIT $2::int8 \
                     FOR NO KEY UPDATE OF t0",
                )
                .await?,
            update_order: client.prepare(&format!("{UPDATE} WHERE t0.id = ($3::int8[])[1]")).await?,
            update_orders: client.prepare(&format!("{UPDATE} WHERE t0.id = ANY($3::int8[])")).await?,
            order: client.prepare(&format!("SELECT {ROW} FROM bench_orders AS t0 WHERE t0.id = ($1::int8[])[1]")).await?,
            orders: client.prepare(&format!("SELECT {ROW} FROM bench_orders AS t0 WHERE t0.id = ANY($1::int8[])")).await?,
            insert_order: client
                .prepare(&format!(
                    "INSERT INTO bench_new_orders ({COLUMNS}) VALUES ($1::text, $2::int8, $3::text, $4::numeric) RETURNING id"
                ))
                .await?,
            insert_orders: client
                .prepare(&format!(
                    "INSERT INTO bench_new_orders ({COLUMNS}) SELECT r.c0, r.c1, r.c2, r.c3 \
                     FROM unnest($1::text[], $2::int8[], $3::text[], $4::numeric[]) WITH ORDINALITY AS r(c0, c1, c2, c3, n) \
                     ORDER BY r.n RETURNING id",
                ))
                .await?,
            new_order: client.prepare(&format!("SELECT {ROW} FROM bench_new_orders AS t0 WHERE t0.id = ($1::int8[])[1]")).await?,
            new_orders: client.prepare(&format!("SELECT {ROW} FROM bench_new_orders AS t0 WHERE t0.id = ANY($1::int8[])")).await?,
        })
    }
}

/// A decimal with two digits after the point, in hundredths.
#[derive(Debug)]
struct Cents(i64);

impl<'de> Deserialize<'de> for Cents {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(from)?;
        let cents = text.split_once('.').and_then(|(whole, cents)| {
            let (whole, cents): (i64, i64) = (whole.parse().ok()?, (cents.len() == 2).then(|| cents.parse().ok())??);
            Some(whole * 100 + cents)
        });
        cents.map(Cents).ok_or_else(|| D::Error::custom("a decimal has two digits after its point"))
    }
}

impl ToSql for Cents {
    /// Groups of four digits, of which the first three are before the point.
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        let (whole, cents) = (self.0 / 100, self.0 % 100);
        let groups = [whole / 100_000_000, whole / 10_000 % 10_000, whole % 10_000, cents * 100];
        for word in [4, 2, 0, 2].into_iter().chain(groups) {
            out.put_i16(word as i16);
        }
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::NUMERIC
    }

    to_sql_checked!();
}

#[derive(Deserialize)]
struct Body<P> {
    payload: P,
}

#[derive(Deserialize)]
struct NewOrder<'b> {
    number: &'b str,
    #[serde(rename = "customerId")]
    customer_id: i64,
    status: &'b str,
    total: Cents,
}

#[derive(Deserialize)]
struct OrderChange<'b> {
    status: &'b str,
    total: Cents,
}

#[derive(Deserialize)]
struct ByQuery<'b> {
    #[serde(borrow)]
    payload: OrderChange<'b>,
    query: Query,
}

#[derive(Deserialize)]
struct Query {
    r#where: Where,
}

#[derive(Deserialize)]
struct Where {
    #[serde(rename = "customerId")]
    customer_id: Equal,
}

#[derive(Deserialize)]
struct Equal {
    eq: i64,
}

type Parameters<'p> = [&'p (dyn ToSql + Sync)];

/// Runs the first statement of a transaction, in one round trip with its BEGIN. Returns the keys in its first column.
async fn begin(connection: &Connection, statement: &Statement, parameters: &Parameters<'_>) -> Result<Vec<i64>, Error> {
    let client = &connection.client;
    // They are sent in this order.
    let ((), rows) = try_join(client.batch_execute(BEGIN), async { client.query_raw(statement, parameters.iter().copied()).await }).await?;
    rows.and_then(async |row: Row| row.try_get::<_, i64>(0)).try_collect().await
}

/// Changes rows with these keys, in one round trip with the read of the answer.
async fn change(
    connection: &Connection,
    (change, read): (&Statement, &Statement),
    OrderChange { status, total }: OrderChange<'_>,
    keys: &Vec<i64>,
) -> Result<RowStream, Error> {
    let client = &connection.client;
    let (changes, keys): (&Parameters<'_>, &Parameters<'_>) = (&[&status, &total, keys], &[keys]);
    // They are sent in this order.
    let (changed, rows) = try_join(async { client.query_raw(change, changes.iter().copied()).await }, async {
        client.query_raw(read, keys.iter().copied()).await
    })
    .await?;
    changed.try_for_each(async |_| Ok(())).await?;
    Ok(rows)
}

async fn read(connection: &Connection, statement: &Statement, keys: &Vec<i64>) -> Result<RowStream, Error> {
    let parameters: &Parameters<'_> = &[keys];
    connection.client.query_raw(statement, parameters.iter().copied()).await
}

/// Writes the rows in the order of their keys, which ascend, and commits.
async fn commit(connection: &Connection, stream: RowStream, count: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut bytes = Vec::with_capacity(128 * count);
    let mut rows: Vec<(i64, Range<usize>)> = Vec::with_capacity(count);
    {
        let mut stream = pin!(stream);
        while let Some(row) = stream.try_next().await? {
            let start = bytes.len();
            encode::written_order(&mut bytes, &row)?;
            rows.push((row.try_get(0)?, start..bytes.len()));
        }
    }
    connection.client.batch_execute(COMMIT).await?;
    rows.sort_unstable_by_key(|(key, _)| *key);
    out.reserve(bytes.len() + rows.len() + 64);
    for (index, (_, range)) in rows.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&bytes[range]);
    }
    Ok(())
}

/// Commits, and answers with the number of rows and the rows.
async fn commit_list(connection: &Connection, stream: RowStream, count: usize) -> Result<Vec<u8>, WriteError> {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"count\":");
    encode::integer(&mut out, count as i64);
    out.extend_from_slice(b",\"rows\":[");
    commit(connection, stream, count, &mut out).await?;
    out.extend_from_slice(b"]}");
    Ok(out)
}

fn prepared(connection: &Connection) -> Result<&WriteStatements, WriteError> {
    connection.writes.as_ref().ok_or(WriteError::NotPrepared)
}

/// U1
pub(crate) async fn update_by_id(connection: &Connection, id: i64, body: &[u8]) -> Result<Vec<u8>, WriteError> {
    let statements = prepared(connection)?;
    let Body { payload } = serde_json::from_slice(body)?;
    let keys = begin(connection, &statements.lock_order, &[&id]).await?;
    let rows = change(connection, (&statements.update_order, &statements.order), payload, &keys).await?;
    let mut out = Vec::new();
    commit(connection, rows, keys.len(), &mut out).await?;
    Ok(out)
}

/// U2
pub(crate) async fn create(connection: &Connection, body: &[u8]) -> Result<Vec<u8>, WriteError> {
    let statements = prepared(connection)?;
    let Body { payload: NewOrder { number, customer_id, status, total } } = serde_json::from_slice(body)?;
    let keys = begin(connection, &statements.insert_order, &[&number, &customer_id, &status, &total]).await?;
    let mut out = Vec::new();
    commit(connection, read(connection, &statements.new_order, &keys).await?, keys.len(), &mut out).await?;
    Ok(out)
}

/// U3: an array for each column.
pub(crate) async fn create_many(connection: &Connection, body: &[u8]) -> Result<Vec<u8>, WriteError> {
    let statements = prepared(connection)?;
    let Body { payload } = serde_json::from_slice::<Body<Vec<NewOrder<'_>>>>(body)?;
    let (mut numbers, mut customers) = (Vec::with_capacity(payload.len()), Vec::with_capacity(payload.len()));
    let (mut states, mut totals) = (Vec::with_capacity(payload.len()), Vec::with_capacity(payload.len()));
    for NewOrder { number, customer_id, status, total } in payload {
        numbers.push(number);
        customers.push(customer_id);
        states.push(status);
        totals.push(total);
    }
    let keys = begin(connection, &statements.insert_orders, &[&numbers, &customers, &states, &totals]).await?;
    commit_list(connection, read(connection, &statements.new_orders, &keys).await?, keys.len()).await
}

/// U4
pub(crate) async fn update_by_query(connection: &Connection, body: &[u8]) -> Result<Vec<u8>, WriteError> {
    const MAX_ROWS: i64 = 100;
    let statements = prepared(connection)?;
    let ByQuery { payload, query } = serde_json::from_slice(body)?;
    let keys = begin(connection, &statements.lock_orders, &[&query.r#where.customer_id.eq, &(MAX_ROWS + 1)]).await?;
    let rows = change(connection, (&statements.update_orders, &statements.orders), payload, &keys).await?;
    commit_list(connection, rows, keys.len()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_sent_in_groups_of_four_digits() {
        let mut out = BytesMut::new();
        let total: Option<Cents> = serde_json::from_str("\"12000340.50\"").ok();
        assert!(total.is_some_and(|total| total.to_sql(&Type::NUMERIC, &mut out).is_ok()));
        let words: Vec<i16> = out.chunks(2).map(|word| i16::from_be_bytes([word[0], word[1]])).collect();
        assert_eq!(words, [4, 2, 0, 2, 0, 1200, 340, 5000]);
    }
}
