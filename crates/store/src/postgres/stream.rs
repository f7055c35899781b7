//! Streams answers of any length from PostgreSQL.

use std::pin::Pin;

use futures_util::TryStreamExt;
use query::sql::{ChildLevel, Dialect, Level, Query, Sql, Total};
use tokio_postgres::types::Type;
use tokio_postgres::{Row, RowStream};

use crate::Error;
use crate::assemble::{After, Batch, Gathered, Keys, Portion};
use crate::run::{
    self, AnswerContext, BatchSize, Cursor, KeyedRows, PageTotal, RelatedRows, RowSet, Sink, Source, StatementPart, StatementTime,
    Streaming, page_total,
};

use super::read_retries::ReadRetries;
use super::rows::{collect, open, related, take_rows, total};
use super::{Connection, Lease, LeaseState, Postgres, bind};

/// A reopened cursor must meet the same rows in the same order, so scans are not synchronized. The reader may take any time.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL synchronize_seqscans = off; \
                                   SET LOCAL idle_in_transaction_session_timeout = 0";

pub(crate) enum StreamStart {
    Complete(Batch, i64),
    Partial(Batch, Box<OpenStream>),
}

pub(crate) struct OpenStream {
    lease: Lease,
    cursor: OpenRows,
    size: BatchSize,
    time: Option<StatementTime>,
}

enum OpenRows {
    /// The rows of a statement without relations. It is a snapshot of its own.
    Statement(Pin<Box<RowStream>>),
    /// A cursor in a read-only snapshot, from which the relations are loaded too.
    Cursor(NamedCursor),
}

struct PostgresSnapshot<'a> {
    postgres: &'a Postgres,
    lease: &'a mut Lease,
}

/// An open cursor. One of each depth is open at most, and the depth is its name. If the rows of a fetch exceed the memory, it returns to the
/// last row that was kept.
#[derive(Debug)]
struct NamedCursor {
    depth: u32,
    read: usize,
    /// Citus reads rows in another order each time. But it holds all rows of a statement, so that a cursor can go back.
    scrolls: bool,
}

impl NamedCursor {
    async fn open(connection: &mut Connection, rows: RowSet<'_>, dialect: Dialect) -> Result<Self, tokio_postgres::Error> {
        let cursor = NamedCursor { depth: rows.depth, read: 0, scrolls: dialect == Dialect::Citus };
        cursor.declare(connection, rows).await?;
        Ok(cursor)
    }

    async fn declare(&self, connection: &mut Connection, rows: RowSet<'_>) -> Result<(), tokio_postgres::Error> {
        let scroll = if self.scrolls { "SCROLL" } else { "NO SCROLL" };
        let text = format!("DECLARE batch_{} {scroll} CURSOR FOR {}", self.depth, rows.level.sql.text());
        let params = bind::typed(&rows.level.sql, rows.keys);
        connection.client.query_typed_raw(&text, params).await?.try_collect::<Vec<Row>>().await.map(drop)
    }

    async fn fetch(&mut self, connection: &mut Connection, rows: RowSet<'_>, size: &BatchSize) -> Result<Portion, tokio_postgres::Error> {
        let none: [(&str, Type); 0] = [];
        let text = format!("FETCH {} FROM batch_{}", size.rows, self.depth);
        let stream = Box::pin(connection.client.query_typed_raw(&text, none)).await?;
        let mut portion = collect(rows.level, stream, size).await?;
        self.read += portion.batch.len();
        match portion.after {
            After::Dropped => self.go_back(connection, rows).await?,
            After::Nothing if portion.batch.len() == size.rows => portion.after = After::Perhaps,
            After::Nothing | After::Perhaps => {}
        }
        Ok(portion)
    }

    /// Goes back behind the rows that were kept.
    async fn go_back(&self, connection: &mut Connection, rows: RowSet<'_>) -> Result<(), tokio_postgres::Error> {
        let NamedCursor { depth, read, scrolls } = self;
        if *scrolls {
            // From the beginning: some plans cannot run backwards.
            return connection
                .client
                .batch_execute(&format!("MOVE ABSOLUTE 0 IN batch_{depth}; MOVE FORWARD {read} IN batch_{depth}"))
                .await;
        }
        self.close(connection).await?;
        self.declare(connection, rows).await?;
        connection.client.batch_execute(&format!("MOVE FORWARD {read} IN batch_{depth}")).await
    }

    async fn close(&self, connection: &mut Connection) -> Result<(), tokio_postgres::Error> {
        connection.client.batch_execute(&format!("CLOSE batch_{}", self.depth)).await
    }
}

impl Cursor<PostgresSnapshot<'_>> for OpenRows {
    async fn next(&mut self, source: &mut PostgresSnapshot<'_>, rows: RowSet<'_>, size: &BatchSize) -> Result<Portion, Error> {
        let timeout = source.postgres.timeout;
        match self {
            OpenRows::Statement(stream) => {
                let portion = source.lease.run(&rows.level.sql, timeout, async |_| take_rows(stream, rows.level, size).await).await;
                if portion.is_err() {
                    // The statement has ended, so the connection can be used again.
                    source.lease.enter(LeaseState::Idle);
                }
                portion
            }
            OpenRows::Cursor(cursor) => {
                source.lease.run(&rows.level.sql, timeout, async |connection| cursor.fetch(connection, rows, size).await).await
            }
        }
    }
}

impl RelatedRows for PostgresSnapshot<'_> {
    fn context(&self) -> &AnswerContext {
        &self.postgres.context
    }

    async fn related(&mut self, child: &ChildLevel, keys: &Keys, left: &mut usize) -> Result<Gathered, Error> {
        related(self.lease, self.postgres, KeyedRows { child, keys, part: StatementPart::Related }, left).await
    }
}

impl Source for PostgresSnapshot<'_> {
    async fn stream_relation(streaming: &mut Streaming<'_, Self>, rows: RowSet<'_>) -> Result<usize, Error> {
        let (postgres, timeout) = (streaming.source.postgres, streaming.source.postgres.timeout);
        let mut running = postgres.context.begin(&rows.level.sql, StatementPart::Related);
        let sql = &rows.level.sql;
        let dialect = postgres.dialect();
        let open = streaming.source.lease.run(sql, timeout, async |connection| NamedCursor::open(connection, rows, dialect).await);
        let mut cursor = OpenRows::Cursor(streaming.sink.while_read(open).await?);
        let size = BatchSize::related(rows.many, streaming.memory);
        let written = streaming.drain(&mut cursor, rows, size, &mut running).await?;
        running.end(0);
        if let OpenRows::Cursor(cursor) = cursor {
            streaming.source.lease.step(timeout, async |connection| cursor.close(connection).await).await?;
        }
        Ok(written)
    }
}

/// Loads the levels below a batch. The box hides the generic future, which the compiler cannot prove to be `Send` further up.
pub(super) fn load<'a>(
    postgres: &'a Postgres,
    lease: &'a mut Lease,
    level: &'a Level,
    batch: &'a mut Batch,
    left: &'a mut usize,
) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>> {
    Box::pin(async move { run::load(&mut PostgresSnapshot { postgres, lease }, level, batch, left).await.map(drop) })
}

/// Nothing was sent before the first batch is there, so until then the read can start again.
pub(crate) async fn start(postgres: &Postgres, query: &Query) -> Result<StreamStart, Error> {
    let (mut retries, mut statements) = (ReadRetries::begin(postgres), Statements::Kept);
    loop {
        let mut lease = retries.lease(postgres).await?;
        match first_batch(postgres, &mut lease, query, statements).await {
            // A table changed under a prepared statement, and a failed transaction cannot prepare it again.
            Err(Error::Refused(refusal)) if refusal.is_stale() && statements == Statements::Kept => statements = Statements::Forgotten,
            Err(error) if retries.may_retry(&error, &lease) => {}
            Err(error) => return Err(error),
            Ok(FirstBatch::Complete(batch, total)) => return Ok(StreamStart::Complete(batch, total)),
            Ok(FirstBatch::Partial(batch, cursor, size, time)) => {
                lease.set_deadline(None);
                return Ok(StreamStart::Partial(batch, Box::new(OpenStream { lease, cursor, size, time })));
            }
        }
        postgres.context.forget_related_rows();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Statements {
    Kept,
    Forgotten,
}

enum FirstBatch {
    Complete(Batch, i64),
    Partial(Batch, OpenRows, BatchSize, Option<StatementTime>),
}

/// The first batch has one timeout with its related rows, as a page has; each further step has its own.
async fn first_batch(postgres: &Postgres, lease: &mut Lease, query: &Query, statements: Statements) -> Result<FirstBatch, Error> {
    let rows = RowSet::root(&query.root);
    let mut size = BatchSize::first(postgres.memory);
    let mut running = postgres.context.begin(&query.root.sql, StatementPart::Rows);
    let mut cursor = open_rows(postgres, lease, query, statements).await?;
    let Portion { mut batch, after } = cursor.next(&mut PostgresSnapshot { postgres, lease }, rows, &size).await?;
    running.pause(batch.len());
    batch.end_page(&query.root, 0);
    let mut left = postgres.memory;
    load(postgres, lease, &query.root, &mut batch, &mut left).await?;
    if after == After::Nothing && !batch.is_heavy() {
        running.end(0);
        let total = finish(postgres, lease, query, batch.len()).await?;
        return Ok(FirstBatch::Complete(batch, total));
    }
    size.count(batch.len());
    size.learn(batch.len(), batch.size(), after);
    Ok(FirstBatch::Partial(batch, cursor, size, running.detach()))
}

/// Whether the total may need a statement, which must see the same snapshot. Without limit and offset the rows themselves tell it.
fn may_ask_total(query: &Query) -> bool {
    matches!(query.total, Total::Count(_)) && (query.limit.is_some() || query.offset > 0)
}

/// Writes the first batch and the rest to the sink. A reader that goes away ends it.
pub(crate) async fn proceed(postgres: &Postgres, query: &Query, batch: Batch, rest: OpenStream, mut sink: Sink) -> Result<(), Error> {
    let OpenStream { mut lease, mut cursor, mut size, time } = rest;
    let mut running = postgres.context.resume(&query.root.sql, StatementPart::Rows, time);
    let rows = RowSet::root(&query.root);
    let mut streaming = Streaming { source: PostgresSnapshot { postgres, lease: &mut lease }, sink: &mut sink, memory: postgres.memory };
    streaming.sink.note_position(&batch.position);
    let count = batch.len();
    let written = streaming.write(rows, batch).await?;
    size.learn(count, written, After::Perhaps);
    streaming.drain(&mut cursor, rows, size, &mut running).await?;
    running.end(0);
    let total = sink.while_read(finish(postgres, &mut lease, query, sink.count())).await?;
    sink.finish(total).await
}

async fn finish(postgres: &Postgres, lease: &mut Lease, query: &Query, count: usize) -> Result<i64, Error> {
    let is_in_transaction = lease.state == LeaseState::InTransaction;
    if !is_in_transaction {
        lease.enter(LeaseState::Idle);
    }
    let total = match page_total(query, count) {
        PageTotal::Known(total) => total,
        PageTotal::Ask(sql) => total(postgres, lease, sql).await?,
    };
    if is_in_transaction {
        lease.step(postgres.timeout, async |connection| connection.client.batch_execute("COMMIT").await).await?;
        lease.enter(LeaseState::Idle);
    }
    Ok(total)
}

async fn open_rows(postgres: &Postgres, lease: &mut Lease, query: &Query, statements: Statements) -> Result<OpenRows, Error> {
    if query.root.children.is_empty() && !may_ask_total(query) {
        return open_statement(postgres, lease, &query.root.sql).await;
    }
    Box::pin(open_cursor(postgres, lease, RowSet::root(&query.root), statements)).await
}

async fn open_statement(postgres: &Postgres, lease: &mut Lease, sql: &Sql) -> Result<OpenRows, Error> {
    let rows = lease.run(sql, postgres.timeout, async |connection| open(connection, sql, None).await).await?;
    // The statement keeps running, and is cancelled if the lease is dropped.
    lease.enter(LeaseState::Running);
    Ok(OpenRows::Statement(Box::pin(rows)))
}

async fn open_cursor(postgres: &Postgres, lease: &mut Lease, rows: RowSet<'_>, statements: Statements) -> Result<OpenRows, Error> {
    lease.enter(LeaseState::InTransaction);
    let declare = lease.run(&rows.level.sql, postgres.timeout, async |connection| {
        if statements == Statements::Forgotten {
            connection.forget_all();
        }
        connection.client.batch_execute(SNAPSHOT).await?;
        NamedCursor::open(connection, rows, postgres.dialect()).await
    });
    declare.await.map(OpenRows::Cursor)
}
