//! Streams an answer from one snapshot of a SQLite file.

use std::time::Duration;

use query::sql::{ChildLevel, Query};
use rusqlite::{Connection, Rows};
use tokio::runtime::Handle;

use crate::Error;
use crate::assemble::{Gathered, Keys, Portion};
use crate::run::{BatchSize, Cursor, RowSet, Sink, Source, Streaming};

use super::prepared::prepared;
use super::read::{bind, related, take_rows, total};
use super::{Interrupt, Sqlite};

pub(crate) async fn stream(sqlite: &Sqlite, query: Query, mut sink: Sink) -> Result<(), Error> {
    let (timeout, memory) = (sqlite.timeout, sqlite.memory);
    let runtime = Handle::current();
    let reader = sink.reporter();
    let work = sqlite.run(move |connection, interrupt| {
        let transaction = connection.unchecked_transaction()?;
        let mut statement = prepared(connection, &query.root.sql)?;
        bind(&mut statement, &query.root.sql, None)?;
        let source = SqliteSnapshot { connection, interrupt, timeout };
        let mut streaming = Streaming { source, sink: &mut sink, memory };
        let (rows, size) = (RowSet::root(&query.root), BatchSize::first(memory));
        runtime.block_on(streaming.drain(&mut statement.raw_query(), rows, size))?;
        drop(statement);
        interrupt.renew(timeout);
        let total = total(connection, &query, sink.count())?;
        transaction.finish()?;
        runtime.block_on(sink.finish(total))
    });
    // Dropping the work interrupts its statement.
    tokio::select! {
        outcome = work => outcome,
        () = reader.gone() => Err(Error::Gone),
    }
}

/// A read transaction, used on a blocking thread: its futures block while SQLite works, and wait only for the reader.
pub(super) struct SqliteSnapshot<'c> {
    pub(super) connection: &'c Connection,
    pub(super) interrupt: &'c Interrupt,
    pub(super) timeout: Duration,
}

impl Cursor<SqliteSnapshot<'_>> for Rows<'_> {
    async fn next(&mut self, source: &mut SqliteSnapshot<'_>, rows: RowSet<'_>, size: &BatchSize) -> Result<Portion, Error> {
        // The time that the reader took is not the statement's.
        source.interrupt.renew(source.timeout);
        take_rows(self, rows.level, size)
    }
}

impl Source for SqliteSnapshot<'_> {
    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.connection, child, keys, left)
    }

    async fn stream_relation(streaming: &mut Streaming<'_, Self>, rows: RowSet<'_>) -> Result<usize, Error> {
        let sql = &rows.level.sql;
        let mut statement = prepared(streaming.source.connection, sql)?;
        bind(&mut statement, sql, rows.keys)?;
        let size = BatchSize::related(rows.many, streaming.memory);
        streaming.drain(&mut statement.raw_query(), rows, size).await
    }
}
