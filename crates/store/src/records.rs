//! The process's own tables: fixed statements in transactions, on either database.
//!
//! One text serves both databases, but for the few that say which one they are for. Tables are written `peristyle.account`: a schema of
//! that name on PostgreSQL, a prefix on SQLite, so that they stand beside anybody's tables. Values are bound by what they are, never by
//! how a database keeps them.

mod cell;
pub mod changes;
mod log_line;
mod migrate;
mod postgres;
mod rights;
mod sqlite;

use identity::token::security_event::{Happening, Subject};
use query::sql::Dialect;

use crate::Error;
use crate::database::Database;

pub(crate) use cell::unexpected;
pub use cell::{Bind, Row};
use changes::Changes;
pub use log_line::LogLine;

/// How a transaction begins on PostgreSQL that waits for no disk at its end.
const FLEETING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off";

/// A statement with its values.
pub type Bound<'a> = (&'static str, &'a [Bind<'a>]);

/// Where the process keeps its own records.
#[derive(Clone, Debug)]
pub struct Records(Kept);

#[derive(Clone, Debug)]
enum Kept {
    Postgres(postgres::Writers),
    Sqlite(sqlite::Writer),
}

/// Statements that count together or not at all. Dropped without [`Transaction::commit`], nothing of it counts.
#[derive(Debug)]
pub struct Transaction {
    open: Open,
    changes: Changes,
    /// What the log is told once it counts.
    lines: Vec<LogLine>,
}

#[derive(Debug)]
enum Open {
    Postgres(postgres::Open),
    Sqlite(sqlite::Open),
}

impl Records {
    /// The records kept in a database, beside whatever else it holds.
    pub fn of(database: &Database) -> Result<Self, Error> {
        Ok(Records(match database {
            Database::Postgres(handle) => Kept::Postgres(postgres::Writers::of(&handle.0)?),
            Database::Sqlite(handle) => Kept::Sqlite(sqlite::Writer::of(&handle.0)?),
        }))
    }

    /// Brings the tables to the shape this version needs; says which steps were taken.
    pub async fn migrate(&self) -> Result<Vec<&'static str>, Error> {
        migrate::migrate(self).await
    }

    /// Whether [`Records::migrate`] has something to do.
    pub async fn is_pending(&self) -> Result<bool, Error> {
        migrate::is_pending(self).await
    }

    /// Runs one statement that counts by itself.
    pub async fn run(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        match &self.0 {
            Kept::Postgres(writers) => writers.run(sql, binds).await,
            Kept::Sqlite(writer) => writer.run(sql, binds).await,
        }
    }

    /// Which SQL it speaks.
    pub fn dialect(&self) -> Dialect {
        match &self.0 {
            Kept::Postgres(_) => Dialect::Postgres,
            Kept::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Begins a transaction.
    pub async fn begin(&self) -> Result<Transaction, Error> {
        Ok(Transaction::of(match &self.0 {
            Kept::Postgres(writers) => Open::Postgres(writers.begin().await?),
            Kept::Sqlite(writer) => Open::Sqlite(writer.begin().await?),
        }))
    }

    /// Begins a fleeting transaction with its first statement: one that a crash of the database may take back within a moment after its
    /// commit, which therefore waits for no disk. It is for counters that many touch at once.
    pub async fn begin_fleeting(&self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(Transaction, Vec<Row>), Error> {
        let (open, rows) = match &self.0 {
            Kept::Postgres(writers) => {
                let (open, rows) = writers.begin_with(FLEETING, sql, binds).await?;
                (Open::Postgres(open), rows)
            }
            Kept::Sqlite(writer) => {
                let mut open = writer.begin().await?;
                let rows = open.run(sql, binds).await?;
                (Open::Sqlite(open), rows)
            }
        };
        Ok((Transaction::of(open), rows))
    }

    /// A whole fleeting transaction, whose statements need no answers.
    pub async fn run_fleeting(&self, statements: &[Bound<'_>]) -> Result<(), Error> {
        match &self.0 {
            Kept::Postgres(writers) => writers.together(FLEETING, statements).await,
            Kept::Sqlite(writer) => {
                let mut open = writer.begin().await?;
                for (sql, binds) in statements {
                    open.run(sql, binds).await?;
                }
                open.commit().await
            }
        }
    }
}

/// What a single statement can run on: the records, where it counts by itself, or a transaction.
pub trait Run: Send {
    /// Runs a statement.
    fn rows(self, sql: &'static str, binds: &[Bind<'_>]) -> impl Future<Output = Result<Vec<Row>, Error>> + Send;

    /// The first row of a statement.
    fn row(self, sql: &'static str, binds: &[Bind<'_>]) -> impl Future<Output = Result<Option<Row>, Error>> + Send
    where
        Self: Sized,
    {
        async move { Ok(self.rows(sql, binds).await?.into_iter().next()) }
    }

    /// Runs a statement that notes an event, of which the log is told as soon as it counts.
    fn note(self, sql: &'static str, binds: &[Bind<'_>], line: LogLine) -> impl Future<Output = Result<(), Error>> + Send;
}

impl Run for &Records {
    async fn rows(self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        self.run(sql, binds).await
    }

    async fn note(self, sql: &'static str, binds: &[Bind<'_>], line: LogLine) -> Result<(), Error> {
        self.run(sql, binds).await?;
        line.tell();
        Ok(())
    }
}

impl Run for &mut Transaction {
    async fn rows(self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        self.run(sql, binds).await
    }

    async fn note(self, sql: &'static str, binds: &[Bind<'_>], line: LogLine) -> Result<(), Error> {
        self.run(sql, binds).await?;
        self.lines.push(line);
        Ok(())
    }
}

impl Transaction {
    fn of(open: Open) -> Self {
        Transaction { open, changes: Changes::default(), lines: Vec::new() }
    }

    /// Which SQL it speaks.
    pub fn dialect(&self) -> Dialect {
        match &self.open {
            Open::Postgres(_) => Dialect::Postgres,
            Open::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Runs a statement.
    pub async fn run(&mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<Vec<Row>, Error> {
        match &mut self.open {
            Open::Postgres(open) => open.run(sql, binds).await,
            Open::Sqlite(open) => open.run(sql, binds).await,
        }
    }

    /// Runs a script of ours, which may be several statements.
    async fn script(&mut self, text: &'static str) -> Result<(), Error> {
        match &mut self.open {
            Open::Postgres(open) => open.script(text).await,
            Open::Sqlite(open) => open.script(text).await,
        }
    }

    /// Says what it changes, for those who may have cached it: it is told once the transaction counts.
    pub(crate) fn announce(&mut self, happening: Happening, subject: Subject) {
        self.changes.add(happening, subject);
    }

    /// Makes it count, and numbers what it changes.
    pub async fn commit(mut self) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.changes);
        changes::keep(&mut self, changes).await?;
        match self.open {
            Open::Postgres(open) => open.commit().await?,
            Open::Sqlite(open) => open.commit().await?,
        }
        self.lines.into_iter().for_each(LogLine::tell);
        Ok(())
    }

    /// Runs its last statement and makes it count.
    pub async fn commit_with(mut self, sql: &'static str, binds: &[Bind<'_>]) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.changes);
        changes::keep(&mut self, changes).await?;
        match self.open {
            Open::Postgres(open) => open.commit_with(sql, binds).await?,
            Open::Sqlite(mut open) => {
                open.run(sql, binds).await?;
                open.commit().await?;
            }
        }
        self.lines.into_iter().for_each(LogLine::tell);
        Ok(())
    }
}
