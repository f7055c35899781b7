//! Where a streamed answer goes: brackets, commas and totals around batches, with back-pressure and an end to patience.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::Stream;
use query::plan::Operation;
use query::sql::ChildLevel;
use tokio::sync::mpsc;

use crate::Error;
use crate::assemble::{Batch, Rows, Written};

use super::{Format, PageNumbers};

/// How much is written before it is sent on.
const PIECE: usize = 64 * 1024;
/// An answer of more bytes is sent in pieces, however few its rows are.
const WHOLE_BYTES: usize = 1024 * 1024;
/// Room for what stands around the rows.
const ROOM: usize = 1024;

/// A piece of an answer.
#[derive(Debug)]
struct Chunk {
    bytes: Bytes,
    /// The numbers of the page, which the last piece knows.
    end: Option<PageNumbers>,
}

/// What stands around rows: brackets, commas, line ends, and a page's numbers, before the rows where they are known by then.
#[derive(Debug)]
pub(crate) struct Frame {
    operation: Operation,
    format: Format,
    buffer: Vec<u8>,
    rows: usize,
    end: End,
    /// The relations that are open in a row which is written bit by bit, the innermost last: whether something stands in it already.
    open: Vec<Begun>,
}

/// Whether something stands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Yes,
    No,
}

/// What is still to be told after the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Numbers,
    Nothing,
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Sink {
    frame: Frame,
    sender: mpsc::Sender<Result<Chunk, Error>>,
    limits: StreamLimits,
}

/// How long a streamed answer waits for its reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLimits {
    /// How long a reader may take nothing.
    stall_timeout: Duration,
    /// When the whole answer must have been taken.
    deadline: Instant,
}

impl StreamLimits {
    /// Limits of an answer that begins now.
    pub(crate) fn starting_now(stall_timeout: Duration, stream_timeout: Duration) -> Self {
        StreamLimits { stall_timeout, deadline: Instant::now() + stream_timeout }
    }
}

/// The chunks of an answer. One that ends before its last chunk yields an error, so that it never looks whole.
#[derive(Debug)]
pub struct Chunks {
    first: Option<Bytes>,
    rest: mpsc::Receiver<Result<Chunk, Error>>,
    state: Reading,
}

/// How far an answer was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Open,
    Failed,
    Done(PageNumbers),
}

impl Chunks {
    /// The numbers of the page, once all of it was read.
    pub fn numbers(&self) -> Option<PageNumbers> {
        match self.state {
            Reading::Done(numbers) => Some(numbers),
            Reading::Open | Reading::Failed => None,
        }
    }
}

/// What the first chunk told.
pub(crate) enum Opening {
    Whole(Bytes, PageNumbers),
    Chunks(Chunks),
}

/// A sink and the way to what is poured into it.
pub(crate) fn channel(frame: Frame, limits: StreamLimits) -> (Sink, Outlet) {
    let (sender, receiver) = mpsc::channel(2);
    (Sink { frame, sender, limits }, Outlet(receiver))
}

/// The reading end, before anything was read.
pub(crate) struct Outlet(mpsc::Receiver<Result<Chunk, Error>>);

impl Outlet {
    /// The chunks of an answer that can no longer fail before its first byte.
    pub(crate) fn chunks(self) -> Chunks {
        Chunks { first: None, rest: self.0, state: Reading::Open }
    }

    /// Waits for the first chunk, so that a fault before the first byte is told as one.
    pub(crate) async fn open(mut self) -> Result<Opening, Error> {
        match self.0.recv().await {
            None => Err(Error::Unavailable("the statement ended without an answer".to_owned())),
            Some(Err(error)) => Err(error),
            Some(Ok(Chunk { bytes, end: Some(numbers) })) => Ok(Opening::Whole(bytes, numbers)),
            Some(Ok(Chunk { bytes, end: None })) => Ok(Opening::Chunks(Chunks { first: Some(bytes), rest: self.0, state: Reading::Open })),
        }
    }
}

impl Stream for Chunks {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.state != Reading::Open {
            return Poll::Ready(None);
        }
        self.rest.poll_recv(context).map(|item| {
            let item = item.unwrap_or_else(|| Err(Error::Unavailable("the answer was cut".to_owned())));
            self.state = match &item {
                Err(_) => Reading::Failed,
                Ok(Chunk { end: Some(numbers), .. }) => Reading::Done(*numbers),
                Ok(Chunk { end: None, .. }) => Reading::Open,
            };
            Some(item.map(|chunk| chunk.bytes))
        })
    }
}

impl Frame {
    /// The frame of rows that are not counted yet.
    pub(crate) fn new(operation: Operation, format: Format) -> Self {
        Frame { operation, format, buffer: opening(operation, format, b"{\"rows\":["), rows: 0, end: End::Numbers, open: Vec::new() }
    }

    /// The frame of rows whose number is known, and their total.
    pub(crate) fn counted(operation: Operation, format: Format, count: usize, total: i64) -> Self {
        let numbers = format!("{{\"total\":{total},\"count\":{count},\"rows\":[");
        Frame { operation, format, buffer: opening(operation, format, numbers.as_bytes()), rows: 0, end: End::Nothing, open: Vec::new() }
    }

    /// Adds rows until there is enough to be sent; says whether these were all.
    fn add(&mut self, rows: &mut Rows<'_>, enough: usize) -> bool {
        loop {
            if !rows.is_open() {
                if !rows.begin() {
                    return true;
                }
                self.separate();
            }
            if rows.write(&mut self.buffer, enough) == Written::Enough {
                return false;
            }
            self.end_line();
            if self.buffer.len() >= enough {
                return false;
            }
        }
    }

    fn is_lines(&self) -> bool {
        self.format == Format::Lines && self.operation == Operation::List
    }

    /// What stands before a row.
    fn separate(&mut self) {
        let comma = if let Some(begun) = self.open.last_mut() {
            std::mem::replace(begun, Begun::Yes) == Begun::Yes
        } else {
            self.rows += 1;
            self.rows > 1 && !self.is_lines()
        };
        if comma {
            self.buffer.push(b',');
        }
    }

    /// What stands after a row.
    fn end_line(&mut self) {
        if self.open.is_empty() && self.is_lines() {
            self.buffer.push(b'\n');
        }
    }

    /// The whole answer, where it is small enough to be one.
    pub(crate) fn whole(mut self, batch: &Batch, total: i64) -> Option<(Bytes, PageNumbers)> {
        self.buffer.reserve(batch.written_size().saturating_add(ROOM).min(WHOLE_BYTES));
        self.add(&mut batch.rows(), WHOLE_BYTES).then(|| self.end(total))
    }

    /// How many rows were added.
    pub(crate) fn count(&self) -> usize {
        self.rows
    }

    /// What was written since the last time.
    pub(crate) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.buffer).into()
    }

    /// The rest, with the end.
    pub(crate) fn end(mut self, total: i64) -> (Bytes, PageNumbers) {
        match (self.operation, self.format) {
            (Operation::Paginate, Format::Rows) => self.buffer.push(b']'),
            (Operation::Paginate, _) if self.end == End::Nothing => self.buffer.extend_from_slice(b"]}"),
            (Operation::Paginate, _) => {
                let end = format!("],\"count\":{},\"total\":{total}}}", self.rows);
                self.buffer.extend_from_slice(end.as_bytes());
            }
            (Operation::Find, _) | (_, Format::Lines) => {}
            (Operation::List, Format::Json | Format::Rows) => self.buffer.push(b']'),
        }
        (self.buffer.into(), PageNumbers { total, count: self.rows as i64 })
    }
}

fn opening(operation: Operation, format: Format, page: &[u8]) -> Vec<u8> {
    match (operation, format) {
        (Operation::Paginate, Format::Json | Format::Lines) => page.to_vec(),
        (Operation::Find, _) | (_, Format::Lines) => Vec::new(),
        (Operation::Paginate | Operation::List, _) => b"[".to_vec(),
    }
}

impl Sink {
    /// Adds a batch's rows to what is sent next, and sends on what is more than a piece.
    pub(crate) async fn rows(&mut self, batch: &Batch) -> Result<(), Error> {
        let mut rows = batch.rows();
        // Room at once: a buffer that grows has room for twice what is in it, and several of them are on their way to the reader.
        self.frame.buffer.reserve(batch.size().min(PIECE) + ROOM);
        while !self.frame.add(&mut rows, PIECE) {
            self.flush().await?;
        }
        Ok(())
    }

    /// Begins a row that is written bit by bit: these bytes, then its relations.
    pub(crate) fn open_row(&mut self, own: &[u8]) {
        self.frame.separate();
        self.frame.buffer.extend_from_slice(own);
    }

    /// Begins a relation of the open row, whose rows are added next.
    pub(crate) fn open_relation(&mut self, child: &ChildLevel) {
        let Frame { buffer, open, .. } = &mut self.frame;
        // Nothing is sent between a row's own bytes and its first relation.
        let is_first = buffer.last() == Some(&b'{');
        buffer.extend_from_slice(&child.key[usize::from(is_first)..]);
        if child.many {
            buffer.push(b'[');
        }
        open.push(Begun::No);
    }

    pub(crate) fn close_relation(&mut self, child: &ChildLevel) {
        let begun = self.frame.open.pop();
        if child.many {
            self.frame.buffer.push(b']');
        } else if begun == Some(Begun::No) {
            self.frame.buffer.extend_from_slice(b"null");
        }
    }

    pub(crate) fn close_row(&mut self) {
        self.frame.buffer.push(b'}');
        self.frame.end_line();
    }

    /// Sends what was added if that is a piece.
    pub(crate) async fn spill(&mut self) -> Result<(), Error> {
        if self.frame.buffer.len() >= PIECE { self.flush().await } else { Ok(()) }
    }

    /// How many rows were added.
    pub(crate) fn count(&self) -> usize {
        self.frame.count()
    }

    /// Sends what was added, waiting for the reader.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        let bytes = self.frame.take();
        send(&self.sender, Chunk { bytes, end: None }, self.limits).await
    }

    /// Sends the end.
    pub(crate) async fn finish(self, total: i64) -> Result<(), Error> {
        let Sink { frame, sender, limits } = self;
        let (bytes, numbers) = frame.end(total);
        send(&sender, Chunk { bytes, end: Some(numbers) }, limits).await
    }

    /// Waits for the database, but not longer than there is a reader.
    pub(crate) async fn while_read<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::select! {
            result = work => result,
            () = self.sender.closed() => Err(Error::Gone),
            () = tokio::time::sleep_until(self.limits.deadline.into()) => Err(Error::StreamTimeout),
        }
    }

    /// A way to tell a fault after the sink itself is gone.
    pub(crate) fn alarm(&self) -> Alarm {
        Alarm(self.sender.clone())
    }

    /// Whether the reader has gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }
}

async fn send(sender: &mpsc::Sender<Result<Chunk, Error>>, chunk: Chunk, limits: StreamLimits) -> Result<(), Error> {
    let left = limits.deadline.saturating_duration_since(Instant::now());
    match sender.send_timeout(Ok(chunk), limits.stall_timeout.min(left)).await {
        Ok(()) => Ok(()),
        Err(mpsc::error::SendTimeoutError::Timeout(_)) if left <= limits.stall_timeout => Err(Error::StreamTimeout),
        Err(mpsc::error::SendTimeoutError::Timeout(_)) => Err(Error::Stalled),
        Err(mpsc::error::SendTimeoutError::Closed(_)) => Err(Error::Gone),
    }
}

/// Tells the reader of a fault, without waiting for one that does not read.
pub(crate) struct Alarm(mpsc::Sender<Result<Chunk, Error>>);

impl Alarm {
    /// Resolves when the reader has gone.
    pub(crate) async fn gone(&self) {
        self.0.closed().await;
    }

    pub(crate) fn watch(self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            // Its status was sent long ago: this line is all there is to tell what happened.
            match error {
                Error::Gone => tracing::debug!("the client of a streamed answer went away"),
                Error::Stalled | Error::StreamTimeout => tracing::warn!(%error, "a streamed answer was cut"),
                _ => tracing::error!(%error, "a streamed answer was cut"),
            }
            // A reader whose channel is full learns it from the answer that ends before its last chunk.
            _ = self.0.try_send(Err(error));
        }
    }
}
