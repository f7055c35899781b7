//! The hub's own records: one module for each table or task, over fixed statements in transactions on either database.
//!
//! The same SQL serves both databases, except where a statement names its database. SQL writes `peristyle.account`: a schema of that name
//! on PostgreSQL, a prefix on SQLite, so that the tables can share a database with others.

pub mod account_changes;
pub mod accounts;
pub mod apps;
pub mod audit_log;
pub mod clients;
pub mod codes;
pub mod heartbeats;
mod migrate;
pub mod password_links;
mod postgres;
pub mod purge;
pub mod revocation;
pub mod rights;
pub mod roles;
pub mod sessions;
pub mod signing_keys;
mod sqlite;
pub mod summaries;
pub mod tenants;
pub mod throttle;
pub mod token_families;
pub mod unknown_secrets;
mod values;

use identity::token::security_event::{ChangeKind, Subject};
use query::sql::Dialect;
use uuid::Uuid;

use crate::Error;
use crate::database::{Database, Engine};
use crate::settings::PoolFigures;

pub use audit_log::AuditLine;
pub use migrate::TablesState;
pub(crate) use values::unexpected;
pub use values::{Bind, Row};

/// A server that waits for this process ends the transaction soon, and its locks.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '10s'";
/// The commit does not wait for the disk.
const ASYNC_COMMIT: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = '10s'; \
                            SET LOCAL synchronous_commit = off";

pub type BoundStatement<'a> = (&'static str, &'a [Bind<'a>]);

#[derive(Clone)]
pub struct Records(Backend);

impl std::fmt::Debug for Records {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Records")
    }
}

#[derive(Clone)]
enum Backend {
    Postgres(postgres::PostgresWriters),
    Sqlite(sqlite::SqliteWriter),
}

/// A transaction. Dropped without [`Transaction::commit`], it rolls back.
pub struct Transaction {
    open: OpenTransaction,
    changes: Vec<(ChangeKind, Subject)>,
    /// Lines that the log of the process gets after the commit.
    lines: Vec<AuditLine>,
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Transaction")
    }
}

enum OpenTransaction {
    Postgres(postgres::PostgresTransaction),
    Sqlite(sqlite::SqliteTransaction),
}

impl Records {
    pub fn of(database: &Database) -> Result<Self, Error> {
        Ok(Records(match &database.0 {
            Engine::Postgres(postgres) => Backend::Postgres(postgres::PostgresWriters::of(postgres)?),
            Engine::Sqlite(sqlite) => Backend::Sqlite(sqlite::SqliteWriter::of(sqlite)?),
        }))
    }

    /// The records of a database that must stay as it is. A SQLite file keeps its journal mode.
    pub fn read_only(database: &Database) -> Result<Self, Error> {
        Ok(Records(match &database.0 {
            Engine::Postgres(postgres) => Backend::Postgres(postgres::PostgresWriters::of(postgres)?),
            Engine::Sqlite(sqlite) => Backend::Sqlite(sqlite::SqliteWriter::read_only(sqlite)?),
        }))
    }

    pub async fn run(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        match &self.0 {
            Backend::Postgres(writers) => writers.run(sql, binds).await,
            Backend::Sqlite(writer) => writer.run(sql, binds).await,
        }
    }

    /// Runs a statement that may be left out: on SQLite it is, if another one writes.
    async fn run_unless_busy(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(), Error> {
        match &self.0 {
            Backend::Postgres(writers) => writers.run(sql, binds).await.map(drop),
            Backend::Sqlite(writer) => writer.run_unless_busy(sql, binds).await,
        }
    }

    pub fn dialect(&self) -> Dialect {
        match &self.0 {
            Backend::Postgres(_) => Dialect::Postgres,
            Backend::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// What the connections do that change records.
    pub fn pool(&self) -> PoolFigures {
        match &self.0 {
            Backend::Postgres(writers) => writers.pool(),
            Backend::Sqlite(writer) => writer.pool(),
        }
    }

    pub async fn begin(&self) -> Result<Transaction, Error> {
        Ok(Transaction::of(match &self.0 {
            Backend::Postgres(writers) => OpenTransaction::Postgres(writers.begin(BEGIN, None).await?.0),
            Backend::Sqlite(writer) => OpenTransaction::Sqlite(writer.begin().await?),
        }))
    }

    /// With asynchronous commit: a crash of the database may lose it, so it is for counters that many requests update at once.
    pub async fn begin_async_commit(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(Transaction, Vec<Row>), Error> {
        let (open, rows) = match &self.0 {
            Backend::Postgres(writers) => {
                let (open, rows) = writers.begin(ASYNC_COMMIT, Some((sql, binds))).await?;
                (OpenTransaction::Postgres(open), rows)
            }
            Backend::Sqlite(writer) => {
                let mut open = writer.begin().await?;
                let rows = open.run(sql, binds).await?;
                (OpenTransaction::Sqlite(open), rows)
            }
        };
        Ok((Transaction::of(open), rows))
    }

    pub async fn run_async_commit(&self, statements: &[BoundStatement<'_>]) -> Result<(), Error> {
        match &self.0 {
            Backend::Postgres(writers) => writers.together(ASYNC_COMMIT, statements).await.map(drop),
            Backend::Sqlite(writer) => {
                let mut open = writer.begin().await?;
                for (sql, binds) in statements {
                    open.run(sql, binds).await?;
                }
                open.commit(None).await
            }
        }
    }
}

/// Runs single statements: on the records, in a transaction of its own, or inside a transaction.
pub trait Run: Send {
    fn rows(self, sql: &'static str, binds: &[Bind<'_>]) -> impl Future<Output = Result<Vec<Row>, Error>> + Send;

    fn row(self, sql: &'static str, binds: &[Bind<'_>]) -> impl Future<Output = Result<Option<Row>, Error>> + Send
    where
        Self: Sized,
    {
        async move { Ok(self.rows(sql, binds).await?.into_iter().next()) }
    }

    /// Runs a statement that stores an audit event; its line goes to the log after the commit.
    fn note(self, sql: &'static str, binds: &[Bind<'_>], line: AuditLine) -> impl Future<Output = Result<(), Error>> + Send;
}

impl Run for &Records {
    async fn rows(self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        self.run(sql, binds).await
    }

    async fn note(self, sql: &'static str, binds: &[Bind<'_>], line: AuditLine) -> Result<(), Error> {
        self.run(sql, binds).await?;
        line.write();
        Ok(())
    }
}

impl Run for &mut Transaction {
    async fn rows(self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        self.run(sql, binds).await
    }

    async fn note(self, sql: &'static str, binds: &[Bind<'_>], line: AuditLine) -> Result<(), Error> {
        self.run(sql, binds).await?;
        self.lines.push(line);
        Ok(())
    }
}

impl Transaction {
    fn of(open: OpenTransaction) -> Self {
        Transaction { open, changes: Vec::new(), lines: Vec::new() }
    }

    pub fn dialect(&self) -> Dialect {
        match &self.open {
            OpenTransaction::Postgres(_) => Dialect::Postgres,
            OpenTransaction::Sqlite(_) => Dialect::Sqlite,
        }
    }

    pub async fn run(&mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        match &mut self.open {
            OpenTransaction::Postgres(open) => open.run(sql, binds).await,
            OpenTransaction::Sqlite(open) => open.run(sql, binds).await,
        }
    }

    async fn script(&mut self, text: &'static str) -> Result<(), Error> {
        match &mut self.open {
            OpenTransaction::Postgres(open) => open.script(text).await,
            OpenTransaction::Sqlite(open) => open.script(text).await,
        }
    }

    /// Locks the row of an account until the end. Each change that touches more than this row locks it first, so that none deadlocks.
    pub(crate) async fn lock_account(&mut self, account: Uuid) -> Result<(), Error> {
        self.run("SELECT id FROM peristyle.account WHERE id = $1 FOR NO KEY UPDATE", &[Bind::Id(account)]).await.map(drop)
    }

    pub async fn commit(self) -> Result<(), Error> {
        self.end(None).await
    }

    pub async fn commit_with(self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(), Error> {
        self.end(Some((sql, binds))).await
    }

    async fn end(mut self, last: Option<BoundStatement<'_>>) -> Result<(), Error> {
        account_changes::store(&mut self).await?;
        match self.open {
            OpenTransaction::Postgres(open) => open.commit(last).await?,
            OpenTransaction::Sqlite(open) => open.commit(last).await?,
        }
        self.lines.into_iter().for_each(AuditLine::write);
        Ok(())
    }
}
