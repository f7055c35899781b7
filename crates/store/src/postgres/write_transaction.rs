//! Writes on PostgreSQL: a pool of writing connections, and the transactions on them.

use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::TryStreamExt;
use futures_util::future::{join, try_join};
use query::sql::write::{Diagnosis, WriteQuery};
use query::sql::{ChildLevel, Dialect, Kind};
use query::value::Value;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::{Client, RowStream};

use crate::assemble::{Gathered, Keys};
use crate::run::{AnswerContext, KeyedRows, RelatedRows, RunningStatement, StatementPart, is_cached};
use crate::settings::{HostFigures, PoolFigures, Prepare};
use crate::writes::{
    RetryReason, Savepoint, Statement, StepError, TransactionError, WriteFailure, WriteFault, WriteTransaction, Written, diagnose, write,
};
use crate::{DatabaseSettings, Error};

use super::refusal::{Purpose, step_error};
use super::row_encoder::column;
use super::rows::{Related, gather, gathered, related};
use super::write_retries::WriteRetries;
use super::{Connection, Lease, LeaseState, Pool, Postgres, WRITER_LIMITS, bind, figures, is_stale, lease_until, numeric};

/// A transaction that waited for a row sees its new version.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Citus locks the rows of one shard only, so a transaction is repeatable read: a row that another one changed meanwhile is a conflict, and
/// the write is tried again. In sequential mode the transaction has one connection to each server, and so one snapshot of its rows.
const BEGIN_ON_CITUS: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL citus.multi_shard_modify_mode TO 'sequential'";

/// The connections that change rows. The readers' connections cannot.
#[derive(Clone)]
pub(crate) struct PostgresWrites {
    pool: Pool,
    /// The settings of reads inside a write.
    postgres: Postgres,
}

impl std::fmt::Debug for PostgresWrites {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PostgresWrites").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

impl PostgresWrites {
    pub(crate) fn of(postgres: &Postgres, settings: &DatabaseSettings) -> Result<Self, Error> {
        Ok(PostgresWrites { pool: postgres.write_pool(settings.write_pool + settings.reserved_for_writes)?, postgres: postgres.clone() })
    }

    pub(crate) fn for_answer(&self, context: AnswerContext) -> Self {
        PostgresWrites { pool: self.pool.clone(), postgres: self.postgres.for_answer(context) }
    }

    pub(crate) fn pool(&self) -> PoolFigures {
        figures(&self.pool)
    }

    pub(crate) fn hosts(&self) -> Vec<HostFigures> {
        self.postgres.hosts()
    }

    /// One timeout counts for a whole write and its repetitions.
    pub(crate) async fn write(&self, query: &WriteQuery) -> Result<Written, WriteFailure> {
        let mut retries = WriteRetries::begin(self.postgres.deadline());
        loop {
            match Box::pin(self.try_write(query, &retries)).await {
                Err(TransactionError::Retry(reason)) if retries.may_retry(&reason) => retries.pause(&reason).await,
                Err(TransactionError::Store(error)) => return Err(error.over_relations(query.distant_relations.clone()).into()),
                result => return result.map_err(failure),
            }
        }
    }

    async fn try_write(&self, query: &WriteQuery, retries: &WriteRetries) -> Result<Written, TransactionError> {
        let mut transaction = self.begin(query.dialect, retries).await?;
        let written = match write(&mut transaction, query).await {
            // Without its COMMIT the server rolls the transaction back.
            Err(TransactionError::Store(Error::Unavailable(reason))) if transaction.lease.is_gone() => {
                return Err(transaction.lost(reason, retries));
            }
            result => result?,
        };
        if query.dry_run {
            // Deferred constraints are checked here.
            transaction.end("SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK").await?;
        } else {
            transaction.commit(retries).await?;
        }
        Ok(written)
    }

    pub(crate) async fn diagnose(&self, diagnosis: &Diagnosis) -> Result<Vec<WriteFault>, WriteFailure> {
        let retries = WriteRetries::begin(self.postgres.deadline());
        let asked = async {
            let mut transaction = self.begin(diagnosis.dialect, &retries).await?;
            let faults = diagnose(&mut transaction, diagnosis).await?;
            transaction.end("ROLLBACK").await?;
            Ok(faults)
        };
        match asked.await {
            // The write itself is tried again.
            Err(TransactionError::Retry(_) | TransactionError::Unexplained) => Ok(Vec::new()),
            result => result.map_err(failure),
        }
    }

    /// A connection for a transaction, which begins with its first statement. A dropped transaction rolls back.
    async fn begin(&self, dialect: Dialect, retries: &WriteRetries) -> Result<PostgresWriteTransaction<'_>, Error> {
        let mut lease = lease_until(&self.pool, retries.deadline).await?;
        lease.set_deadline(Some(retries.deadline));
        if retries.stale > 0 {
            lease.forget_statements();
        }
        let begin = match dialect {
            Dialect::Citus => BEGIN_ON_CITUS,
            Dialect::Postgres | Dialect::Sqlite => BEGIN,
        };
        Ok(PostgresWriteTransaction { lease, postgres: &self.postgres, begin: Some(begin) })
    }
}

fn failure(error: TransactionError) -> WriteFailure {
    let unavailable = |reason: &str| WriteFailure::Store(Error::Unavailable(reason.to_owned()));
    match error {
        TransactionError::Refused(refusal) => WriteFailure::Refused(refusal),
        TransactionError::Unexplained => WriteFailure::Unexplained,
        // The same as after waiting for their locks all the time.
        TransactionError::Retry(RetryReason::Conflict) => WriteFailure::Store(Error::Timeout),
        TransactionError::Retry(RetryReason::Stale) => unavailable("tables of the write kept changing"),
        TransactionError::Retry(RetryReason::ConnectionLost { reason, .. }) => WriteFailure::Store(Error::Unavailable(reason)),
        TransactionError::InDoubt(error) => WriteFailure::InDoubt(error),
        TransactionError::Store(error) => WriteFailure::Store(error),
    }
}

struct PostgresWriteTransaction<'p> {
    lease: Lease,
    postgres: &'p Postgres,
    /// What begins the transaction, until the server has begun it.
    begin: Option<&'static str>,
}

/// What a step returned, or why the database refused it.
type Step<T> = Result<Result<T, StepError>, tokio_postgres::Error>;

impl PostgresWriteTransaction<'_> {
    fn timeout(&self) -> Duration {
        self.postgres.timeout
    }

    async fn batch(&mut self, text: &'static str) -> Result<(), StepError> {
        let timeout = self.timeout();
        self.lease.enter(LeaseState::InTransaction);
        let text = match self.begin {
            Some(begin) => format!("{begin}; {WRITER_LIMITS}; {text}"),
            None => text.to_owned(),
        };
        let step = async |connection: &mut Connection| -> Step<()> {
            split_refusal(connection.client.batch_execute(&text).await, Purpose::Change)
        };
        let result = self.lease.step(timeout, step).await?;
        self.begin = None;
        result
    }

    /// Runs statements, the last of which is a ROLLBACK.
    async fn end(mut self, text: &'static str) -> Result<(), StepError> {
        self.batch(text).await?;
        self.lease.enter(LeaseState::Idle);
        Ok(())
    }

    /// The connection was lost before the COMMIT was sent.
    fn lost(&self, reason: String, retries: &WriteRetries) -> TransactionError {
        TransactionError::Retry(RetryReason::ConnectionLost { reason, was_old: self.lease.made_at() < retries.began })
    }

    /// Once the COMMIT is sent, the transaction is in doubt until the server answers.
    async fn commit(mut self, retries: &WriteRetries) -> Result<(), TransactionError> {
        // No statement was sent.
        if self.begin.is_some() {
            return Ok(());
        }
        let mut is_sent = false;
        let step = async |connection: &mut Connection| {
            is_sent = !connection.client.is_closed();
            Ok(connection.commit().await)
        };
        match self.lease.step(self.postgres.timeout, step).await {
            Ok(Ok(())) => {
                self.lease.enter(LeaseState::Idle);
                Ok(())
            }
            Ok(Err(error)) if error.as_db_error().is_some_and(rolls_back) => {
                split_refusal(Err(error), Purpose::Change).map_err(Error::from)?.map_err(Into::into)
            }
            Ok(Err(error)) if is_sent => Err(TransactionError::InDoubt(error.into())),
            Ok(Err(error)) => Err(self.lost(Error::from(error).to_string(), retries)),
            Err(error) if is_sent => Err(TransactionError::InDoubt(error)),
            Err(error) => Err(TransactionError::Store(error)),
        }
    }

    /// Runs a statement, and reads its rows and their number.
    async fn run<T>(
        &mut self,
        (statement, purpose): (Statement<'_>, Purpose),
        read: impl AsyncFnOnce(RowStream) -> Result<(T, usize), tokio_postgres::Error>,
    ) -> Result<T, StepError> {
        let timeout = self.timeout();
        if self.begin.is_some() {
            // A statement that cannot be prepared begins no transaction, and there is none to roll back.
            let prepare =
                async |connection: &mut Connection| -> Step<()> { split_refusal(prepared(connection, statement).await.map(drop), purpose) };
            self.lease.run(statement.sql, timeout, prepare).await??;
            self.lease.enter(LeaseState::InTransaction);
        }
        let running = self.postgres.context.begin(statement.sql, StatementPart::Write);
        let begin = self.begin;
        let step = async |connection: &mut Connection| -> Step<(T, usize)> {
            let stream = match open(connection, statement, begin).await {
                Ok(stream) => stream,
                Err(error) => {
                    if is_stale(&error) {
                        connection.forget(statement.sql.text());
                    }
                    return split_refusal(Err(error), purpose);
                }
            };
            split_refusal(read(stream).await, purpose)
        };
        let result = self.lease.run(statement.sql, timeout, step).await?;
        self.begin = None;
        let (value, rows) = result?;
        running.end(rows);
        Ok(value)
    }
}

/// Starts a statement. The first one takes the BEGIN with it, in the same round trip.
async fn open(connection: &mut Connection, statement: Statement<'_>, begin: Option<&'static str>) -> Started {
    let prepared = prepared(connection, statement).await?;
    let client = &connection.client;
    let begin = async {
        match begin {
            Some(begin) => client.batch_execute(&format!("{begin}; {WRITER_LIMITS}")).await,
            None => Ok(()),
        }
    };
    // They are sent in this order.
    try_join(begin, start(client, prepared.as_ref(), statement)).await.map(|((), stream)| stream)
}

/// The statement as the server knows it; none if it is sent as text.
async fn prepared(
    connection: &mut Connection,
    statement: Statement<'_>,
) -> Result<Option<tokio_postgres::Statement>, tokio_postgres::Error> {
    if connection.prepare == Prepare::On && is_cached(statement.sql.text()) {
        return connection.statement(statement.sql).await.map(Some);
    }
    Ok(None)
}

async fn start(client: &Client, prepared: Option<&tokio_postgres::Statement>, statement: Statement<'_>) -> Started {
    let Statement { sql, params, keys } = statement;
    match prepared {
        Some(prepared) => client.query_raw(prepared, bind::list(params, keys)).await,
        None => client.query_typed_raw(sql.text(), bind::typed_list(params, keys)).await,
    }
}

/// A running statement, or why it does not run.
type Started = Result<RowStream, tokio_postgres::Error>;

/// Starts two statements in one round trip.
async fn start_both(
    connection: &mut Connection,
    first: Statement<'_>,
    second: Statement<'_>,
) -> Result<(Started, Started), tokio_postgres::Error> {
    let statements = (prepared(connection, first).await?, prepared(connection, second).await?);
    let client = &connection.client;
    // They are sent in this order.
    Ok(join(start(client, statements.0.as_ref(), first), start(client, statements.1.as_ref(), second)).await)
}

/// A row of keys.
type Parts = Vec<Option<Vec<u8>>>;

/// The rows and their number.
async fn parts(stream: RowStream, width: usize) -> Result<(Vec<Parts>, usize), tokio_postgres::Error> {
    let mut stream = pin!(stream);
    let mut rows = Vec::new();
    while let Some(row) = stream.try_next().await? {
        rows.push((0..width).map(|index| column(&row, index).map(<[u8]>::to_vec)).collect());
    }
    let count = rows.len();
    Ok((rows, count))
}

/// How many rows a running statement changed.
async fn changed(stream: RowStream) -> Result<u64, tokio_postgres::Error> {
    let mut stream = pin!(stream);
    while stream.try_next().await?.is_some() {}
    Ok(stream.rows_affected().unwrap_or(0))
}

/// Whether this answer to a COMMIT says that the transaction does not count. A server that ends the session may have committed before.
fn rolls_back(refusal: &DbError) -> bool {
    refusal.parsed_severity() == Some(Severity::Error) && refusal.code().code() != "40003"
}

/// Keeps a refusal of the database apart from failures of the connection.
fn split_refusal<T>(result: Result<T, tokio_postgres::Error>, purpose: Purpose) -> Step<T> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => match error.as_db_error().and_then(|error| step_error(error, purpose)) {
            Some(refused) => Ok(Err(refused)),
            None => Err(error),
        },
    }
}

impl RelatedRows for PostgresWriteTransaction<'_> {
    fn context(&self) -> &AnswerContext {
        &self.postgres.context
    }

    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(&mut self.lease, self.postgres, KeyedRows { child, keys, part: StatementPart::Related }, left).await
    }
}

impl WriteTransaction for PostgresWriteTransaction<'_> {
    async fn rows(&mut self, part: StatementPart, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(&mut self.lease, self.postgres, KeyedRows { child, keys, part }, left).await
    }

    async fn read(&mut self, statement: Statement<'_>, width: usize) -> Result<Vec<Parts>, StepError> {
        self.run((statement, Purpose::Read), async |stream| parts(stream, width).await).await
    }

    async fn insert(&mut self, statement: Statement<'_>, width: usize) -> Result<Keys, StepError> {
        let mut keys = Keys::new(width);
        for row in self.run((statement, Purpose::Change), async |stream| parts(stream, width).await).await? {
            keys.add(row.iter().map(Option::as_deref));
        }
        Ok(keys)
    }

    async fn execute(&mut self, statement: Statement<'_>) -> Result<u64, StepError> {
        self.run((statement, Purpose::Change), async |stream| Ok((changed(stream).await?, 0))).await
    }

    /// Both in one round trip.
    async fn execute_and_read(
        &mut self,
        statement: Statement<'_>,
        child: &ChildLevel,
        keys: &Keys,
        left: &mut usize,
    ) -> Result<(u64, Gathered), StepError> {
        let (timeout, context) = (self.timeout(), &self.postgres.context);
        let read = Statement::of(&child.level.sql, Some(keys));
        let changing = context.begin(statement.sql, StatementPart::Write);
        let step = async |connection: &mut Connection| -> Step<(u64, Related, RunningStatement<'_>)> {
            let result = async {
                let (change, answer) = start_both(connection, statement, read).await?;
                // The error of the change comes first: the transaction refuses the read after it.
                let changed = changed(change?).await?;
                changing.end(0);
                // The database began it now.
                let reading = context.begin(read.sql, StatementPart::Rows);
                Ok((changed, gather(answer?, child, keys, left, usize::MAX).await?, reading))
            }
            .await;
            if result.as_ref().is_err_and(is_stale) {
                connection.forget(statement.sql.text());
                connection.forget(read.sql.text());
            }
            split_refusal(result, Purpose::Change)
        };
        let (changed, related, reading) = self.lease.run(statement.sql, timeout, step).await??;
        Ok((changed, gathered(related, &mut self.lease, self.postgres, reading)?))
    }

    async fn numbers(&mut self, statement: Statement<'_>) -> Result<Vec<u32>, StepError> {
        let read = async |stream: RowStream| {
            let rows: Vec<_> = stream.try_collect().await?;
            let numbers = rows.iter().map(|row| Ok((row.try_get::<_, i64>(0)? - 1) as u32));
            Ok((numbers.collect::<Result<Vec<u32>, _>>()?, rows.len()))
        };
        self.run((statement, Purpose::Read), read).await
    }

    async fn check_deferred_constraints(&mut self) -> Result<(), StepError> {
        self.batch("SET CONSTRAINTS ALL IMMEDIATE").await
    }

    async fn check_deferred_for_row(&mut self, _: &str, _: &[(String, Option<Value>)]) -> Result<(), StepError> {
        self.check_deferred_constraints().await
    }

    async fn savepoint(&mut self, savepoint: Savepoint) -> Result<(), StepError> {
        self.batch(match savepoint {
            Savepoint::Set => "SAVEPOINT row",
            Savepoint::Release => "RELEASE SAVEPOINT row",
            Savepoint::Undo => "ROLLBACK TO SAVEPOINT row; RELEASE SAVEPOINT row",
        })
        .await
    }

    fn key_part(kind: Kind, value: &Value) -> Vec<u8> {
        let mut out = BytesMut::new();
        bind::scalar(&mut out, kind, value);
        out.to_vec()
    }

    fn decimal(part: &[u8]) -> Option<String> {
        numeric::text(part)
    }

    /// An error names the constraint.
    async fn broken_references(&mut self, _: &str, _: &[(String, Option<Value>)]) -> Result<Vec<Vec<String>>, StepError> {
        Ok(Vec::new())
    }

    fn memory(&self) -> usize {
        self.postgres.memory
    }
}

#[cfg(test)]
mod tests;
