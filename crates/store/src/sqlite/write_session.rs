//! Writes on SQLite: one connection that writes, a bounded queue before it, and the transactions on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use query::sql::write::{Diagnosis, WriteQuery};
use query::sql::{ChildLevel, Kind, Param, Source};
use query::value::Value;
use rusqlite::{Connection, ErrorCode, ffi};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::Error;
use crate::assemble::{Gathered, Keys};
use crate::run::{AnswerContext, RelatedRows, StatementPart};
use crate::settings::PoolFigures;
use crate::writes::{
    DatabaseRefusal, RefusalKind, Savepoint, SessionError, Statement, TransactionError, WriteFailure, WriteFault, WriteSession, Written,
    diagnose, write,
};

use super::interrupt::{Interrupt, InterruptOnDrop};
use super::read::{KeyedRows, bind_one, key_bytes, key_part, keys_as_json, prepared, related};
use super::{CHECK_STEPS, Sqlite};

/// How many writes wait for their turn. More are refused.
const MAX_WAITING: usize = 64;

/// The connection that changes rows.
#[derive(Clone, Debug)]
pub(crate) struct SqliteWrites {
    connection: Arc<Mutex<Connection>>,
    waiting: Arc<AtomicUsize>,
    sqlite: Sqlite,
}

/// A place in the queue.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SqliteWrites {
    /// Opens the connection in WAL mode, so that readers do not wait for it.
    pub(crate) fn of(sqlite: &Sqlite) -> Result<Self, Error> {
        let connection = sqlite.connection()?;
        connection
            .execute_batch("PRAGMA query_only = OFF; PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        Ok(SqliteWrites { connection: Arc::new(Mutex::new(connection)), waiting: Arc::default(), sqlite: sqlite.clone() })
    }

    pub(crate) fn for_answer(&self, context: AnswerContext) -> Self {
        SqliteWrites { sqlite: self.sqlite.for_answer(context), ..self.clone() }
    }

    pub(crate) fn pool(&self) -> PoolFigures {
        let in_use = usize::from(self.connection.try_lock().is_err());
        PoolFigures { in_use, idle: 1 - in_use, waiting: self.waiting.load(Ordering::Relaxed).saturating_sub(in_use) }
    }

    pub(crate) async fn write(&self, query: WriteQuery) -> Result<Written, WriteFailure> {
        let is_kept = !query.dry_run;
        let work = move |session: &mut SqliteSession<'_>, runtime: &Handle| runtime.block_on(write(session, &query));
        self.transaction(work, is_kept).await.map_err(failure)
    }

    pub(crate) async fn diagnose(&self, diagnosis: Diagnosis) -> Result<Vec<WriteFault>, WriteFailure> {
        let work = move |session: &mut SqliteSession<'_>, runtime: &Handle| runtime.block_on(diagnose(session, &diagnosis));
        match self.transaction(work, false).await {
            Err(TransactionError::Again(_) | TransactionError::Unexplained) => Ok(Vec::new()),
            result => result.map_err(failure),
        }
    }

    /// The turn of a write. Tasks of this process wait here, other processes in SQLite.
    async fn turn(&self) -> Result<OwnedMutexGuard<Connection>, Error> {
        let waiting = Waiting(self.waiting.clone());
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            return Err(Error::Overloaded);
        }
        let timeout = self.sqlite.context.time_left(self.sqlite.timeout);
        let turn = tokio::time::timeout(timeout, self.connection.clone().lock_owned()).await.map_err(|_| Error::Overloaded)?;
        drop(waiting);
        self.sqlite.check_unchanged()?;
        Ok(turn)
    }

    /// Runs work in one transaction. IMMEDIATE: one that reads before it writes would fail if another wrote in between.
    async fn transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteSession<'_>, &Handle) -> Result<T, TransactionError> + Send + 'static,
        is_kept: bool,
    ) -> Result<T, TransactionError> {
        let mut connection = self.turn().await?;
        let (context, memory, runtime) = (self.sqlite.context.clone(), self.sqlite.memory, Handle::current());
        let interrupt = Interrupt::new(context.time_left(self.sqlite.timeout));
        let caller = InterruptOnDrop(interrupt.clone());
        let result = tokio::task::spawn_blocking(move || {
            let checked = interrupt.clone();
            connection.progress_handler(CHECK_STEPS, Some(move || checked.is_raised())).map_err(Error::from)?;
            let result = interrupt.during(|| {
                connection.execute_batch("BEGIN IMMEDIATE").map_err(Error::from)?;
                let mut session = SqliteSession { connection: &connection, context: &context, memory };
                let done = work(&mut session, &runtime)?;
                if is_kept {
                    connection.execute_batch("COMMIT").map_err(session_error)?;
                }
                Ok(done)
            });
            connection.progress_handler(0, None::<fn() -> bool>).map_err(Error::from)?;
            if !connection.is_autocommit() {
                connection.execute_batch("ROLLBACK").map_err(Error::from)?;
            }
            result
        })
        .await;
        drop(caller);
        result.map_err(|error| Error::Unexpected(error.to_string()))?
    }
}

fn failure(error: TransactionError) -> WriteFailure {
    match error {
        TransactionError::Refused(refusal) => WriteFailure::Refused(refusal),
        TransactionError::Unexplained => WriteFailure::Unexplained,
        TransactionError::Again(_) => WriteFailure::Store(Error::Unavailable("another process kept changing the file".to_owned())),
        TransactionError::InDoubt(error) => WriteFailure::InDoubt(error),
        TransactionError::Store(error) => WriteFailure::Store(error),
    }
}

/// What a statement returned, and in how many rows.
struct Returned<T> {
    value: T,
    rows: usize,
}

/// A transaction, used on a blocking thread: its futures block while SQLite works.
struct SqliteSession<'c> {
    connection: &'c Connection,
    context: &'c AnswerContext,
    memory: usize,
}

impl SqliteSession<'_> {
    /// Runs a statement; returns what `read` makes of its rows, and how many rows it changed.
    fn run<T>(
        &self,
        statement: Statement<'_>,
        read: impl FnOnce(&mut rusqlite::Rows<'_>) -> rusqlite::Result<Returned<T>>,
    ) -> Result<(T, u64), SessionError> {
        let Statement { sql, params, keys } = statement;
        let running = self.context.begin(sql, StatementPart::Write);
        let mut prepared = prepared(self.connection, sql.text()).map_err(session_error)?;
        bind_all(&mut prepared, params, keys)?;
        let mut rows = prepared.raw_query();
        let Returned { value, rows: count } = read(&mut rows).map_err(session_error)?;
        drop(rows);
        running.end(count);
        Ok((value, self.connection.changes()))
    }

    fn batch(&self, text: &str) -> Result<(), SessionError> {
        self.connection.execute_batch(text).map_err(session_error)
    }
}

fn bind_all(statement: &mut rusqlite::Statement<'_>, params: &[Param], keys: Option<&Keys>) -> Result<(), Error> {
    for (index, param) in params.iter().enumerate() {
        match (&param.source, keys) {
            (Source::Value(value), _) => bind_one(statement, index + 1, value)?,
            (Source::KeysAsJson, Some(keys)) => statement.raw_bind_parameter(index + 1, keys_as_json(keys))?,
            _ => return Err(Error::Unexpected("the keys of a write are missing".to_owned())),
        }
    }
    Ok(())
}

fn session_error(error: rusqlite::Error) -> SessionError {
    let refusal = match error.sqlite_error().map_or(0, |error| error.extended_code) {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            DatabaseRefusal::Columns { columns: columns(&error), kind: RefusalKind::Unique }
        }
        ffi::SQLITE_CONSTRAINT_NOTNULL => DatabaseRefusal::Columns { columns: columns(&error), kind: RefusalKind::Other },
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => DatabaseRefusal::SomeReference,
        ffi::SQLITE_CONSTRAINT_CHECK => {
            DatabaseRefusal::Constraint { name: after_colon(&error).trim().to_owned(), kind: RefusalKind::Other }
        }
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => DatabaseRefusal::Other,
            _ if error.to_string().contains(super::increment::OUT_OF_RANGE) => DatabaseRefusal::Range,
            _ => return SessionError::Store(error.into()),
        },
    };
    tracing::debug!(%error, "the database refused a write");
    SessionError::Refused(refusal)
}

fn after_colon(error: &rusqlite::Error) -> String {
    let text = match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    };
    text.split_once(": ").map_or(String::new(), |(_, rest)| rest.to_owned())
}

/// The columns of `UNIQUE constraint failed: orders.number, orders.year`.
fn columns(error: &rusqlite::Error) -> Vec<String> {
    after_colon(error).split(", ").filter_map(|name| name.rsplit_once('.').map(|(_, column)| column.to_owned())).collect()
}

impl RelatedRows for SqliteSession<'_> {
    fn context(&self) -> &AnswerContext {
        self.context
    }

    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.connection, self.context, KeyedRows { child, keys, part: StatementPart::Related }, left)
    }
}

impl WriteSession for SqliteSession<'_> {
    async fn rows(&mut self, part: StatementPart, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.connection, self.context, KeyedRows { child, keys, part }, left)
    }

    async fn keys(&mut self, statement: Statement<'_>, width: usize) -> Result<Keys, SessionError> {
        let read = |rows: &mut rusqlite::Rows<'_>| {
            let mut keys = Keys::new(width);
            while let Some(row) = rows.next()? {
                let parts: Vec<Option<Vec<u8>>> = (0..width).map(|index| row.get_ref(index).ok().and_then(key_part)).collect();
                keys.add(parts.iter().map(Option::as_deref));
            }
            Ok(Returned { rows: keys.rows(), value: keys })
        };
        Ok(self.run(statement, read)?.0)
    }

    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, SessionError> {
        let read = |rows: &mut rusqlite::Rows<'_>| {
            while rows.next()?.is_some() {}
            Ok(Returned { value: (), rows: 0 })
        };
        Ok(self.run(statement, read)?.1)
    }

    async fn numbers(&mut self, statement: Statement<'_>) -> Result<Vec<u32>, SessionError> {
        let read = |rows: &mut rusqlite::Rows<'_>| {
            let mut numbers = Vec::new();
            while let Some(row) = rows.next()? {
                numbers.push(row.get(0)?);
            }
            Ok(Returned { rows: numbers.len(), value: numbers })
        };
        Ok(self.run(statement, read)?.0)
    }

    /// A deferred foreign key speaks at the commit, which is refused then.
    async fn settle_constraints(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    async fn savepoint(&mut self, savepoint: Savepoint) -> Result<(), SessionError> {
        self.batch(match savepoint {
            Savepoint::Set => "SAVEPOINT row",
            Savepoint::Release => "RELEASE row",
            Savepoint::Undo => "ROLLBACK TO row; RELEASE row",
        })
    }

    fn key_part(_: Kind, value: &Value) -> Vec<u8> {
        key_bytes(value)
    }

    async fn broken_references(&mut self, table: &str, values: &[(String, Option<Value>)]) -> Result<Vec<Vec<String>>, SessionError> {
        broken_references(self.connection, table, values).map_err(session_error)
    }

    fn memory(&self) -> usize {
        self.memory
    }
}

/// A foreign key: its table, and pairs of own and other columns.
type ForeignKey = (String, Vec<(String, String)>);

/// The own columns of foreign keys that these values break. If none is broken by its values alone, those that have a part of them.
fn broken_references(connection: &Connection, table: &str, values: &[(String, Option<Value>)]) -> rusqlite::Result<Vec<Vec<String>>> {
    let (mut broken, mut partial) = (Vec::new(), Vec::new());
    for (parent, pairs) in foreign_keys(connection, table)? {
        let written = |column: &String| values.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, value)| value);
        if pairs.iter().any(|(own, _)| written(own) == Some(&Some(Value::Null))) {
            continue;
        }
        let Some(given) = pairs.iter().map(|(own, _)| written(own)?.as_ref()).collect::<Option<Vec<&Value>>>() else {
            let own: Vec<String> = pairs.into_iter().map(|(own, _)| own).filter(|own| written(own).is_some()).collect();
            partial.extend(Some(own).filter(|own| !own.is_empty()));
            continue;
        };
        let equal: Vec<String> = pairs.iter().map(|(_, other)| format!("{} = ?", quoted(other))).collect();
        let text = format!("SELECT 1 FROM {} WHERE {}", quoted(&parent), equal.join(" AND "));
        let mut statement = connection.prepare(&text)?;
        for (index, value) in given.into_iter().enumerate() {
            bind_one(&mut statement, index + 1, value)?;
        }
        if statement.raw_query().next()?.is_none() {
            broken.push(pairs.into_iter().map(|(own, _)| own).collect());
        }
    }
    Ok(if broken.is_empty() { partial } else { broken })
}

fn foreign_keys(connection: &Connection, table: &str) -> rusqlite::Result<Vec<ForeignKey>> {
    let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
    let mut statement =
        connection.prepare("SELECT id, \"table\", \"from\", \"to\", seq FROM pragma_foreign_key_list(?) ORDER BY id, seq")?;
    let mut rows = statement.query([table])?;
    while let Some(row) = rows.next()? {
        let (id, parent, own): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let other = match row.get::<_, Option<String>>(3)? {
            Some(other) => other,
            // Without a name it is the key of the parent.
            None => connection.query_row(
                "SELECT name FROM pragma_table_info(?) WHERE pk = ?",
                rusqlite::params![parent, row.get::<_, i64>(4)? + 1],
                |row| row.get(0),
            )?,
        };
        match keys.iter_mut().find(|(known, _)| *known == id) {
            Some((_, (_, pairs))) => pairs.push((own, other)),
            None => keys.push((id, (parent, vec![(own, other)]))),
        }
    }
    Ok(keys.into_iter().map(|(_, key)| key).collect())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
