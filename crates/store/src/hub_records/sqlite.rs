//! The hub's records on SQLite: one connection that writes, transactions on it, and connections that only read.

use std::sync::Arc;
use std::time::Duration;

use query::value;
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::Error;
use crate::settings::PoolFigures;
use crate::sqlite::Sqlite;

use super::BoundStatement;
use super::values::{Bind, Row, StoredValue};

/// How the SQL names tables, and how SQLite does.
const SCHEMA: &str = "peristyle.";
const PREFIX: &str = "peristyle_";
/// SQLite has one writer at a time and no row locks.
const ROW_LOCKS: [&str; 4] = [" FOR UPDATE SKIP LOCKED", " FOR UPDATE", " FOR NO KEY UPDATE", " FOR SHARE"];
const LIST: (&str, &str) = ("SELECT unnest(", "SELECT value FROM json_each(");

/// How many lookups read at once. Each takes far less than a millisecond.
const READERS: usize = 8;

/// The writing connection. Tasks of this process wait for it here, other processes in SQLite. Reads have their own connections, since a
/// write may wait for seconds.
#[derive(Clone)]
pub(super) struct SqliteWriter {
    connection: Arc<Mutex<Connection>>,
    readers: Sqlite,
}

pub(super) struct SqliteTransaction(Option<OwnedMutexGuard<Connection>>);

impl SqliteWriter {
    /// Opens the connection in WAL mode, so that readers do not wait for it.
    pub(super) fn of(sqlite: &Sqlite) -> Result<Self, Error> {
        let connection = sqlite.connection()?;
        connection
            .execute_batch("PRAGMA query_only = OFF; PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        SqliteWriter::with(connection, sqlite)
    }

    /// A connection that refuses to write.
    pub(super) fn read_only(sqlite: &Sqlite) -> Result<Self, Error> {
        SqliteWriter::with(sqlite.connection()?, sqlite)
    }

    fn with(connection: Connection, sqlite: &Sqlite) -> Result<Self, Error> {
        Ok(SqliteWriter { connection: Arc::new(Mutex::new(connection)), readers: sqlite.with_own_connections(READERS)? })
    }

    /// One connection, which has no list of those that wait for it.
    pub(super) fn pool(&self) -> PoolFigures {
        let in_use = usize::from(self.connection.try_lock().is_err());
        PoolFigures { in_use, idle: 1 - in_use, waiting: 0 }
    }

    async fn turn(&self) -> Result<OwnedMutexGuard<Connection>, Error> {
        let turn = tokio::time::timeout(self.readers.timeout, self.connection.clone().lock_owned()).await.map_err(|_| Error::Overloaded)?;
        self.readers.check_unchanged()?;
        Ok(turn)
    }

    pub(super) async fn run(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        let binds: Vec<Value> = binds.iter().map(stored).collect();
        if sql.starts_with("SELECT") {
            return self.readers.run(move |connection, _| run(connection, sql, &binds)).await;
        }
        let connection = self.turn().await?;
        blocking(move || run(&connection, sql, &binds)).await
    }

    /// Runs a statement now, or not at all if another one writes.
    pub(super) async fn run_unless_busy(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(), Error> {
        let binds: Vec<Value> = binds.iter().map(stored).collect();
        let Ok(connection) = self.connection.clone().try_lock_owned() else { return Ok(()) };
        self.readers.check_unchanged()?;
        let timeout = self.readers.lock_timeout();
        blocking(move || {
            connection.busy_timeout(Duration::ZERO)?;
            let result = run(&connection, sql, &binds);
            connection.busy_timeout(timeout)?;
            result.map(drop)
        })
        .await
        .or_else(|error| if matches!(error, Error::Unavailable(_)) { Ok(()) } else { Err(error) })
    }

    pub(super) async fn begin(&self) -> Result<SqliteTransaction, Error> {
        let connection = self.turn().await?;
        // IMMEDIATE: a transaction that reads before it writes would fail if another one wrote in between.
        blocking(move || {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            Ok(SqliteTransaction(Some(connection)))
        })
        .await
    }
}

impl SqliteTransaction {
    pub(super) async fn run(&mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        let binds: Vec<Value> = binds.iter().map(stored).collect();
        self.work(move |connection| run(connection, sql, &binds)).await
    }

    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), Error> {
        self.work(move |connection| Ok(connection.execute_batch(text)?)).await
    }

    pub(super) async fn commit(mut self, last: Option<BoundStatement<'_>>) -> Result<(), Error> {
        if let Some((sql, binds)) = last {
            self.run(sql, binds).await?;
        }
        self.script("COMMIT").await?;
        self.0 = None;
        Ok(())
    }

    /// The blocking thread owns the transaction meanwhile, so a caller that is dropped leaves no open transaction.
    async fn work<T: Send + 'static>(&mut self, work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
        let held = SqliteTransaction(self.0.take());
        let (held, result) = blocking(move || {
            let result = held.0.as_deref().ok_or_else(|| Error::Unexpected("the transaction is over".to_owned())).and_then(work);
            Ok((held, result))
        })
        .await?;
        *self = held;
        result
    }
}

impl Drop for SqliteTransaction {
    fn drop(&mut self) {
        let Some(connection) = self.0.take() else { return };
        if let Err(error) = roll_back(&connection) {
            tracing::error!(%error, "could not roll back a transaction");
        }
    }
}

/// Rolls back, unless a commit ended the transaction.
fn roll_back(connection: &Connection) -> rusqlite::Result<()> {
    if connection.is_autocommit() { Ok(()) } else { connection.execute_batch("ROLLBACK") }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Unexpected(error.to_string()))?
}

fn run(connection: &Connection, sql: &'static str, binds: &[Value]) -> Result<Vec<Row>, Error> {
    let mut text = sql.replace(SCHEMA, PREFIX).replace(LIST.0, LIST.1);
    for lock in ROW_LOCKS {
        text = text.replace(lock, "");
    }
    let mut statement = connection.prepare_cached(&text)?;
    for (number, bind) in (1..).zip(binds) {
        // To SQLite `$2` is a name, not a position.
        if let Some(index) = statement.parameter_index(&format!("${number}"))? {
            statement.raw_bind_parameter(index, bind)?;
        }
    }
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = (0..columns).map(|column| row.get_ref(column).map(cell)).collect::<Result<_, _>>()?;
        read.push(Row(cells));
    }
    Ok(read)
}

fn cell(value: ValueRef<'_>) -> StoredValue {
    match value {
        ValueRef::Null => StoredValue::Null,
        ValueRef::Integer(number) => StoredValue::Number(number),
        ValueRef::Real(number) => StoredValue::Text(number.to_string()),
        ValueRef::Text(text) => StoredValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => StoredValue::Bytes(bytes.to_vec()),
    }
}

fn stored(bind: &Bind<'_>) -> Value {
    match *bind {
        Bind::Null => Value::Null,
        Bind::Flag(flag) => Value::Integer(i64::from(flag)),
        Bind::Number(number) => Value::Integer(number),
        Bind::Text(text) | Bind::Json(text) => Value::Text(text.to_owned()),
        Bind::Id(id) => Value::Text(id.to_string()),
        Bind::Timestamp(micros) => Value::Text(value::timestamp_fixed_text(micros)),
        Bind::Texts(texts) => Value::Text(serde_json::json!(texts).to_string()),
        Bind::Ids(ids) => Value::Text(serde_json::json!(ids.iter().map(ToString::to_string).collect::<Vec<_>>()).to_string()),
        Bind::Bytes(bytes) => Value::Blob(bytes.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_is_over_is_not_rolled_back() {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch("CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1); COMMIT").expect("committed");
        roll_back(&connection).expect("nothing to roll back");
        connection.execute_batch("BEGIN; INSERT INTO t VALUES (2)").expect("open");
        roll_back(&connection).expect("rolled back");
        assert!(connection.is_autocommit());
        assert_eq!(connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).expect("a count"), 1);
    }
}
