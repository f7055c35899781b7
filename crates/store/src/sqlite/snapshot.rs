//! Reads a page, or streams an answer, from one snapshot of a SQLite file.

use std::time::Duration;

use query::sql::{ChildLevel, Query};
use rusqlite::{Connection, Rows};
use tokio::runtime::Handle;

use crate::Error;
use crate::assemble::{After, Batch, Gathered, Keys, Portion};
use crate::run::{AnswerContext, BatchSize, Cursor, KeyedRows, RelatedRows, RowSet, Sink, Source, StatementPart, Streaming, load};

use super::read::{bind, prepared, related, take_rows, total};
use super::{Interrupt, Sqlite};

/// The rows of a page with their relations, and the total; none if they do not fit into memory.
pub(crate) async fn page(sqlite: &Sqlite, query: Query) -> Result<(Query, Option<(Batch, i64)>), Error> {
    let (mut left, timeout, runtime, context) = (sqlite.memory, sqlite.timeout, Handle::current(), sqlite.context.clone());
    sqlite
        .run(move |connection, interrupt| {
            // One snapshot for the page, its relations and its total.
            let transaction = connection.unchecked_transaction()?;
            let running = context.begin(&query.root.sql, StatementPart::Rows);
            let mut statement = prepared(connection, query.root.sql.text())?;
            bind(&mut statement, &query.root.sql, None)?;
            let Portion { mut batch, after } = take_rows(&mut statement.raw_query(), &query.root, &BatchSize::whole(left))?;
            drop(statement);
            running.end(batch.len());
            batch.end_page(&query.root, 0);
            if after == After::Nothing {
                let mut snapshot = SqliteSnapshot { connection, interrupt, timeout, context: &context };
                _ = runtime.block_on(load(&mut snapshot, &query.root, &mut batch, &mut left))?;
            }
            if after != After::Nothing || batch.is_heavy() {
                transaction.finish()?;
                return Ok((query, None));
            }
            let total = total(connection, &context, &query, batch.len())?;
            transaction.finish()?;
            Ok((query, Some((batch, total))))
        })
        .await
}

pub(crate) async fn stream(sqlite: &Sqlite, query: Query, mut sink: Sink) -> Result<(), Error> {
    let (timeout, memory, context) = (sqlite.timeout, sqlite.memory, sqlite.context.clone());
    let runtime = Handle::current();
    let reader = sink.reporter();
    let work = sqlite.run(move |connection, interrupt| {
        let transaction = connection.unchecked_transaction()?;
        let mut running = context.begin(&query.root.sql, StatementPart::Rows);
        let mut statement = prepared(connection, query.root.sql.text())?;
        bind(&mut statement, &query.root.sql, None)?;
        let source = SqliteSnapshot { connection, interrupt, timeout, context: &context };
        let mut streaming = Streaming { source, sink: &mut sink, memory };
        let (rows, size) = (RowSet::root(&query.root), BatchSize::first(memory));
        runtime.block_on(streaming.drain(&mut statement.raw_query(), rows, size, &mut running))?;
        drop(statement);
        running.end(0);
        interrupt.renew(timeout);
        let total = total(connection, &context, &query, sink.count())?;
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
struct SqliteSnapshot<'c> {
    connection: &'c Connection,
    interrupt: &'c Interrupt,
    timeout: Duration,
    context: &'c AnswerContext,
}

impl Cursor<SqliteSnapshot<'_>> for Rows<'_> {
    async fn next(&mut self, source: &mut SqliteSnapshot<'_>, rows: RowSet<'_>, size: &BatchSize) -> Result<Portion, Error> {
        // The time that the reader took is not the statement's.
        source.interrupt.renew(source.timeout);
        take_rows(self, rows.level, size)
    }
}

impl RelatedRows for SqliteSnapshot<'_> {
    fn context(&self) -> &AnswerContext {
        self.context
    }

    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.connection, self.context, KeyedRows { child, keys, part: StatementPart::Related }, left)
    }
}

impl Source for SqliteSnapshot<'_> {
    async fn stream_relation(streaming: &mut Streaming<'_, Self>, rows: RowSet<'_>) -> Result<usize, Error> {
        let (sql, context) = (&rows.level.sql, streaming.source.context);
        let mut running = context.begin(sql, StatementPart::Related);
        let mut statement = prepared(streaming.source.connection, sql.text())?;
        bind(&mut statement, sql, rows.keys)?;
        let size = BatchSize::related(rows.many, streaming.memory);
        let written = streaming.drain(&mut statement.raw_query(), rows, size, &mut running).await?;
        running.end(0);
        Ok(written)
    }
}
