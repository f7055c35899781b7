//! A snapshot on its way to the reader, batch by batch. Where what is loaded for a batch is more than is held at once, it is cut into parts,
//! down to a single row whose relations are read in portions, each of them a batch again.

use std::time::Duration;

use query::sql::{ChildLevel, Level, Query};
use rusqlite::Connection;
use tokio::runtime::Handle;

use crate::Error;
use crate::assemble::{After, Batch, Keys, Portion};
use crate::run::{BatchSize, Sink};

use super::prepared::prepared;
use super::read::{bind, load, taken, total};
use super::{Brake, Sqlite};

/// Hands all rows to the sink, batch by batch, out of one snapshot.
pub(crate) async fn stream(sqlite: &Sqlite, query: Query, sink: Sink) -> Result<(), Error> {
    let (timeout, memory) = (sqlite.timeout, sqlite.memory);
    let runtime = Handle::current();
    let reader = sink.alarm();
    let work = sqlite.work(move |connection, brake| {
        let mut pump = Pump { connection, brake, sink, runtime, timeout, memory };
        let transaction = connection.unchecked_transaction()?;
        pump.all(&query)?;
        let total = total(connection, &query, pump.sink.count())?;
        transaction.finish()?;
        pump.runtime.block_on(pump.sink.finish(total))
    });
    // Dropping the work pulls its brake, wherever the statement is.
    tokio::select! {
        outcome = work => outcome,
        () = reader.gone() => Err(Error::Gone),
    }
}

/// Reads on a blocking thread and hands on to an asynchronous reader.
struct Pump<'c> {
    connection: &'c Connection,
    brake: &'c Brake,
    sink: Sink,
    runtime: Handle,
    timeout: Duration,
    memory: usize,
}

impl Pump<'_> {
    fn all(&mut self, query: &Query) -> Result<(), Error> {
        let level = &query.root;
        let mut statement = prepared(self.connection, &level.sql)?;
        bind(&mut statement, &level.sql, None)?;
        let mut rows = statement.raw_query();
        let mut size = BatchSize::first(self.memory);
        loop {
            let Portion { batch, after } = taken(&mut rows, level, &size)?;
            let count = batch.len();
            let written = self.rows(level, batch)?;
            if after == After::Nothing {
                return Ok(());
            }
            size.learn(count, written, after);
            if self.sink.is_gone() {
                return Err(Error::Gone);
            }
            self.wait(async |sink| sink.flush().await)?;
        }
    }

    /// Waits for the reader, whose time is not the statement's.
    fn wait(&mut self, send: impl AsyncFnOnce(&mut Sink) -> Result<(), Error>) -> Result<(), Error> {
        self.runtime.block_on(send(&mut self.sink))?;
        self.brake.renew(self.timeout);
        Ok(())
    }

    /// Writes rows with everything below them; says how many bytes that were.
    fn rows(&mut self, level: &Level, mut batch: Batch) -> Result<usize, Error> {
        if !batch.is_heavy() {
            let mut left = self.memory;
            load(self.connection, level, &mut batch, &mut left)?;
        }
        if !batch.is_heavy() {
            self.wait(async |sink| sink.rows(&batch).await)?;
            return Ok(batch.size());
        }
        if batch.len() == 1 {
            return self.row(level, &batch);
        }
        let mut written = 0;
        for part in batch.parts(self.memory / 2) {
            written += self.rows(level, batch.part(part, self.memory))?;
        }
        Ok(written)
    }

    /// Writes a row whose relations are too much at once.
    fn row(&mut self, level: &Level, batch: &Batch) -> Result<usize, Error> {
        let mut written = batch.size();
        self.sink.open_row(batch.row(0));
        for (keys, child) in batch.pending.iter().zip(&level.children) {
            self.sink.open_relation(child);
            if keys.len() > 0 {
                written += self.relation(child, keys)?;
            }
            self.sink.close_relation(child);
        }
        self.sink.close_row();
        Ok(written)
    }

    /// Writes the rows of a relation of one row, portion by portion.
    fn relation(&mut self, child: &ChildLevel, keys: &Keys) -> Result<usize, Error> {
        let mut statement = prepared(self.connection, &child.level.sql)?;
        bind(&mut statement, &child.level.sql, Some((keys, child.parent_columns.len())))?;
        let mut rows = statement.raw_query();
        let (mut size, mut written) = (BatchSize::related(child.many, self.memory), 0);
        loop {
            let Portion { batch, after } = taken(&mut rows, &child.level, &size)?;
            let count = batch.len();
            let bytes = self.rows(&child.level, batch)?;
            written += bytes;
            if after == After::Nothing || !child.many {
                return Ok(written);
            }
            size.learn(count, bytes, after);
            self.wait(async |sink| sink.spill().await)?;
        }
    }
}
