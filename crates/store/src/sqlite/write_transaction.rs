//! Writes on SQLite: one connection that writes, a bounded queue before it, and the transactions on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use query::sql::write::{Diagnosis, WriteQuery};
use query::sql::{ChildLevel, Kind, Param, Source};
use query::value::Value;
use rusqlite::{Connection, ffi};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::Error;
use crate::assemble::{Gathered, Keys};
use crate::run::{AnswerContext, KeyedRows, RelatedRows, StatementPart};
use crate::settings::PoolFigures;
use crate::writes::{
    DatabaseRefusal, Savepoint, Statement, StepError, TransactionError, WriteFailure, WriteFault, WriteTransaction, Written, diagnose,
    write,
};

use super::interrupt::{Interrupt, InterruptOnDrop};
use super::read::{bind_one, key_bytes, key_part, keys_as_json, prepared, related};
use super::{CHECK_STEPS, Sqlite, foreign_keys, refusal};

/// How many writes wait for their turn. More are refused.
const MAX_WAITING: usize = 64;

/// The connection that changes rows.
#[derive(Clone, Debug)]
pub(crate) struct SqliteWrites {
    connection: Arc<Mutex<Connection>>,
    /// Whether the hook of the connection turns a commit that would succeed into a rollback.
    tries_commits: Arc<AtomicBool>,
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
        let mut connection = sqlite.connection()?;
        connection
            .execute_batch("PRAGMA query_only = OFF; PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        let tries_commits = Arc::new(AtomicBool::new(false));
        let is_try = tries_commits.clone();
        connection.commit_hook(Some(move || is_try.load(Ordering::Relaxed)))?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(SqliteWrites { connection, tries_commits, waiting: Arc::default(), sqlite: sqlite.clone() })
    }

    pub(crate) fn for_answer(&self, context: AnswerContext) -> Self {
        SqliteWrites { sqlite: self.sqlite.for_answer(context), ..self.clone() }
    }

    pub(crate) fn pool(&self) -> PoolFigures {
        let in_use = usize::from(self.connection.try_lock().is_err());
        PoolFigures { in_use, idle: 1 - in_use, waiting: self.waiting.load(Ordering::Relaxed).saturating_sub(in_use) }
    }

    pub(crate) async fn write(&self, query: WriteQuery) -> Result<Written, WriteFailure> {
        let work = move |transaction: &mut SqliteWriteTransaction<'_>, runtime: &Handle| {
            let written = runtime.block_on(write(transaction, &query))?;
            if query.dry_run {
                transaction.try_commit()?;
            } else {
                transaction.batch("COMMIT")?;
            }
            Ok(written)
        };
        self.transaction(work).await.map_err(failure)
    }

    pub(crate) async fn diagnose(&self, diagnosis: Diagnosis) -> Result<Vec<WriteFault>, WriteFailure> {
        let work =
            move |transaction: &mut SqliteWriteTransaction<'_>, runtime: &Handle| runtime.block_on(diagnose(transaction, &diagnosis));
        match self.transaction(work).await {
            Err(TransactionError::Retry(_) | TransactionError::Unexplained) => Ok(Vec::new()),
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

    /// Runs work in one transaction, which is rolled back unless the work commits it. IMMEDIATE: one that reads before it writes would fail if another wrote in between.
    async fn transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteWriteTransaction<'_>, &Handle) -> Result<T, TransactionError> + Send + 'static,
    ) -> Result<T, TransactionError> {
        let mut connection = self.turn().await?;
        let (context, memory, runtime) = (self.sqlite.context.clone(), self.sqlite.memory, Handle::current());
        let tries_commits = self.tries_commits.clone();
        let interrupt = Interrupt::new(context.time_left(self.sqlite.timeout));
        let caller = InterruptOnDrop(interrupt.clone());
        let result = tokio::task::spawn_blocking(move || {
            let checked = interrupt.clone();
            connection.progress_handler(CHECK_STEPS, Some(move || checked.is_raised())).map_err(Error::from)?;
            let result = interrupt.during(|| {
                connection.execute_batch("BEGIN IMMEDIATE").map_err(Error::from)?;
                let mut transaction =
                    SqliteWriteTransaction { connection: &connection, tries_commits: &tries_commits, context: &context, memory };
                work(&mut transaction, &runtime)
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
        TransactionError::Retry(_) => WriteFailure::Store(Error::Unavailable("another process kept changing the file".to_owned())),
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
struct SqliteWriteTransaction<'c> {
    connection: &'c Connection,
    tries_commits: &'c AtomicBool,
    context: &'c AnswerContext,
    memory: usize,
}

/// What a row of a statement becomes.
type Parts = Vec<Option<Vec<u8>>>;

impl SqliteWriteTransaction<'_> {
    /// Runs a statement; returns what `read` makes of its rows, and how many rows it changed.
    fn run<T>(
        &self,
        statement: Statement<'_>,
        read: impl FnOnce(&mut rusqlite::Rows<'_>) -> rusqlite::Result<Returned<T>>,
    ) -> Result<(T, u64), StepError> {
        let Statement { sql, params, keys } = statement;
        let running = self.context.begin(sql, StatementPart::Write);
        let mut prepared = prepared(self.connection, sql.text()).map_err(refusal::step_error)?;
        bind_all(&mut prepared, params, keys)?;
        let mut rows = prepared.raw_query();
        let Returned { value, rows: count } = read(&mut rows).map_err(|error| refusal::of_running(self.connection, sql.text(), error))?;
        drop(rows);
        running.end(count);
        Ok((value, self.connection.changes()))
    }

    fn parts(&self, statement: Statement<'_>, width: usize) -> Result<Vec<Parts>, StepError> {
        let read = |rows: &mut rusqlite::Rows<'_>| {
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push((0..width).map(|index| row.get_ref(index).ok().and_then(key_part)).collect());
            }
            Ok(Returned { rows: found.len(), value: found })
        };
        Ok(self.run(statement, read)?.0)
    }

    fn batch(&self, text: &str) -> Result<(), StepError> {
        self.connection.execute_batch(text).map_err(refusal::step_error)
    }

    /// Runs COMMIT up to the commit hook, which rolls it back. SQLite checks deferred foreign keys then.
    fn try_commit(&self) -> Result<(), StepError> {
        self.tries_commits.store(true, Ordering::Relaxed);
        let result = self.connection.execute_batch("COMMIT");
        self.tries_commits.store(false, Ordering::Relaxed);
        match result {
            Err(error) if refusal::extended_code(&error) == ffi::SQLITE_CONSTRAINT_COMMITHOOK => Ok(()),
            result => result.map_err(refusal::step_error),
        }
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

impl RelatedRows for SqliteWriteTransaction<'_> {
    fn context(&self) -> &AnswerContext {
        self.context
    }

    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.connection, self.context, KeyedRows { child, keys, part: StatementPart::Related }, left)
    }
}

impl WriteTransaction for SqliteWriteTransaction<'_> {
    async fn rows(&mut self, part: StatementPart, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.connection, self.context, KeyedRows { child, keys, part }, left)
    }

    async fn read(&mut self, statement: Statement<'_>, width: usize) -> Result<Vec<Parts>, StepError> {
        self.parts(statement, width)
    }

    async fn insert(&mut self, statement: Statement<'_>, width: usize) -> Result<Keys, StepError> {
        self.keys(statement, width).await
    }

    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StepError> {
        let read = |rows: &mut rusqlite::Rows<'_>| {
            while rows.next()?.is_some() {}
            Ok(Returned { value: (), rows: 0 })
        };
        Ok(self.run(statement, read)?.1)
    }

    async fn numbers(&mut self, statement: Statement<'_>) -> Result<Vec<u32>, StepError> {
        let read = |rows: &mut rusqlite::Rows<'_>| {
            let mut numbers = Vec::new();
            while let Some(row) = rows.next()? {
                numbers.push(row.get(0)?);
            }
            Ok(Returned { rows: numbers.len(), value: numbers })
        };
        Ok(self.run(statement, read)?.0)
    }

    async fn check_deferred_constraints(&mut self) -> Result<(), StepError> {
        self.try_commit()
    }

    /// Looks up deferred foreign keys, which SQLite itself checks only at COMMIT.
    async fn check_deferred_for_row(&mut self, table: &str, values: &[(String, Option<Value>)]) -> Result<(), StepError> {
        let broken = foreign_keys::broken(self.connection, table, values).map_err(refusal::step_error)?;
        if broken.is_empty() { Ok(()) } else { Err(StepError::Refused(DatabaseRefusal::SomeReference)) }
    }

    async fn savepoint(&mut self, savepoint: Savepoint) -> Result<(), StepError> {
        // `RAISE(ROLLBACK, …)` in a trigger ended the transaction.
        if self.connection.is_autocommit() {
            return Err(StepError::Refused(DatabaseRefusal::Other));
        }
        self.batch(match savepoint {
            Savepoint::Set => "SAVEPOINT row",
            Savepoint::Release => "RELEASE row",
            Savepoint::Undo => "ROLLBACK TO row; RELEASE row",
        })
    }

    fn key_part(_: Kind, value: &Value) -> Vec<u8> {
        key_bytes(value)
    }

    fn decimal(part: &[u8]) -> Option<String> {
        std::str::from_utf8(part).ok().map(|text| text.trim_matches('"').to_owned())
    }

    async fn broken_references(&mut self, table: &str, values: &[(String, Option<Value>)]) -> Result<Vec<Vec<String>>, StepError> {
        let broken = foreign_keys::broken(self.connection, table, values).map_err(refusal::step_error)?;
        if broken.is_empty() { foreign_keys::partial(self.connection, table, values).map_err(refusal::step_error) } else { Ok(broken) }
    }

    fn memory(&self) -> usize {
        self.memory
    }
}
