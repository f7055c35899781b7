//! Writes a streamed answer: brackets, commas and totals around batches, with back-pressure and timeouts.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::Stream;
use query::plan::Operation;
use query::plan::keyset::NextStatement;
use query::sql::{ChildLevel, Query};
use tokio::sync::mpsc;

use crate::Error;
use crate::assemble::{Batch, PagePosition, Rows};

use super::{Format, PageNumbers};

const CHUNK_BYTES: usize = 64 * 1024;
/// Larger answers are sent in chunks.
const MAX_WHOLE_BYTES: usize = 1024 * 1024;
const FRAME_BYTES: usize = 1024;

#[derive(Debug)]
struct Chunk {
    bytes: Bytes,
    end: Option<PageNumbers>,
    /// The version of the one row that an id names.
    version: Option<Arc<str>>,
}

/// The JSON around the rows: brackets, commas, line ends, and the numbers of a page, before the rows if they are known by then.
#[derive(Debug)]
pub(crate) struct Frame {
    operation: Operation,
    format: Format,
    buffer: Vec<u8>,
    rows: usize,
    /// Whether the numbers of a page follow its rows, and not precede them.
    numbers_follow: bool,
    /// The relations that are open in a row, the innermost last, each with the number of its rows so far.
    open: Vec<usize>,
    /// How the next keyset page is asked for, and where this one ends.
    next: Option<NextStatement>,
    position: PagePosition,
}

#[derive(Debug)]
pub(crate) struct Sink {
    frame: Frame,
    sender: mpsc::Sender<Result<Chunk, Error>>,
    limits: StreamLimits,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLimits {
    /// How long a reader may read nothing.
    stall_timeout: Duration,
    /// When the whole answer must have been read.
    deadline: Instant,
}

impl StreamLimits {
    pub(crate) fn starting_now(stall_timeout: Duration, stream_timeout: Duration) -> Self {
        StreamLimits { stall_timeout, deadline: Instant::now() + stream_timeout }
    }
}

/// The chunks of an answer. If it ends early, the last item is an error, so that it never looks complete.
#[derive(Debug)]
pub struct Chunks {
    first: Option<Bytes>,
    version: Option<Arc<str>>,
    rest: mpsc::Receiver<Result<Chunk, Error>>,
    state: Reading,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading {
    Open,
    Failed,
    Done(PageNumbers),
}

impl Chunks {
    /// Waits for the first chunk, so that a failure before the first byte is returned as an error.
    pub(crate) async fn open(mut self) -> Result<Opening, Error> {
        match self.rest.recv().await {
            None => Err(Error::Unavailable("the statement ended without an answer".to_owned())),
            Some(Err(error)) => Err(error),
            Some(Ok(Chunk { bytes, end: Some(numbers), .. })) => Ok(Opening::Whole(bytes, numbers)),
            Some(Ok(Chunk { bytes, end: None, version })) => Ok(Opening::Chunks(Chunks { first: Some(bytes), version, ..self })),
        }
    }

    /// The version of the one row that an id names.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    pub fn numbers(&self) -> Option<PageNumbers> {
        match &self.state {
            Reading::Done(numbers) => Some(numbers.clone()),
            Reading::Open | Reading::Failed => None,
        }
    }
}

pub(crate) enum Opening {
    Whole(Bytes, PageNumbers),
    Chunks(Chunks),
}

pub(crate) fn channel(frame: Frame, limits: StreamLimits) -> (Sink, Chunks) {
    let (sender, receiver) = mpsc::channel(2);
    let version = frame.version();
    (Sink { frame, sender, limits }, Chunks { first: None, version, rest: receiver, state: Reading::Open })
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
                Ok(Chunk { end: Some(numbers), .. }) => Reading::Done(numbers.clone()),
                Ok(Chunk { end: None, .. }) => Reading::Open,
            };
            Some(item.map(|chunk| chunk.bytes))
        })
    }
}

impl Frame {
    pub(crate) fn new(query: &Query, format: Format) -> Self {
        Frame {
            operation: query.operation,
            format,
            buffer: opening(query.operation, format, b"{\"rows\":["),
            rows: 0,
            numbers_follow: true,
            open: Vec::new(),
            next: query.next.clone(),
            position: PagePosition::default(),
        }
    }

    pub(crate) fn counted(query: &Query, format: Format, count: usize, total: i64) -> Self {
        let numbers = match query.operation {
            Operation::KeysetPaginate => format!("{{\"count\":{count},\"rows\":["),
            _ => format!("{{\"total\":{total},\"count\":{count},\"rows\":["),
        };
        let buffer = opening(query.operation, format, numbers.as_bytes());
        Frame { buffer, numbers_follow: false, ..Frame::new(query, format) }
    }

    pub(crate) fn ending_at(mut self, position: &PagePosition) -> Self {
        self.position = position.clone();
        self
    }

    fn version(&self) -> Option<Arc<str>> {
        self.position.version().filter(|_| self.operation == Operation::Find).map(Arc::from)
    }

    /// The statement of the next keyset page; none at the end.
    pub(crate) fn next(&self) -> Result<Option<Arc<str>>, Error> {
        let Some((next, position)) = self.next.as_ref().zip(self.position.end()) else { return Ok(None) };
        Ok(Some(next.after(position).map_err(Error::PageEnd)?.into()))
    }

    /// Adds rows until there is enough to send; returns whether these were all.
    fn add(&mut self, rows: &mut Rows<'_>, enough: usize) -> bool {
        loop {
            if !rows.is_open() {
                if !rows.begin() {
                    return true;
                }
                self.separate();
            }
            if !rows.write(&mut self.buffer, enough) {
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

    fn separate(&mut self) {
        let is_line = self.open.is_empty() && self.is_lines();
        let count = self.open.last_mut().unwrap_or(&mut self.rows);
        *count += 1;
        if *count > 1 && !is_line {
            self.buffer.push(b',');
        }
    }

    fn end_line(&mut self) {
        if self.open.is_empty() && self.is_lines() {
            self.buffer.push(b'\n');
        }
    }

    pub(crate) fn whole(mut self, batch: &Batch, total: i64) -> Result<Option<(Bytes, PageNumbers)>, Error> {
        self.buffer.reserve(batch.written_size().saturating_add(FRAME_BYTES).min(MAX_WHOLE_BYTES));
        if self.add(&mut batch.rows(), MAX_WHOLE_BYTES) { self.end(total).map(Some) } else { Ok(None) }
    }

    fn end(mut self, total: i64) -> Result<(Bytes, PageNumbers), Error> {
        let next = self.next()?;
        match (self.operation, self.format) {
            (Operation::Paginate | Operation::KeysetPaginate, Format::Rows) => self.buffer.push(b']'),
            (Operation::Paginate, _) if self.numbers_follow => {
                let end = format!("],\"count\":{},\"total\":{total}}}", self.rows);
                self.buffer.extend_from_slice(end.as_bytes());
            }
            (Operation::Paginate, _) => self.buffer.extend_from_slice(b"]}"),
            (Operation::KeysetPaginate, _) => {
                let count = if self.numbers_follow { format!(",\"count\":{}", self.rows) } else { String::new() };
                let end = format!("]{count},\"next\":{}}}", next.as_deref().unwrap_or("null"));
                self.buffer.extend_from_slice(end.as_bytes());
            }
            (Operation::Find, _) | (_, Format::Lines) => {}
            (Operation::List, Format::Json | Format::Rows) => self.buffer.push(b']'),
        }
        let version = self.version();
        Ok((self.buffer.into(), PageNumbers { total, count: self.rows as i64, next, version }))
    }
}

fn opening(operation: Operation, format: Format, page: &[u8]) -> Vec<u8> {
    match (operation, format) {
        (Operation::Paginate | Operation::KeysetPaginate, Format::Json | Format::Lines) => page.to_vec(),
        (Operation::Find, _) | (_, Format::Lines) => Vec::new(),
        (Operation::Paginate | Operation::KeysetPaginate | Operation::List, _) => b"[".to_vec(),
    }
}

impl Sink {
    pub(crate) async fn rows(&mut self, batch: &Batch) -> Result<(), Error> {
        let mut rows = batch.rows();
        // Reserve at once: a buffer that grows doubles, and several are on their way to the reader.
        self.frame.buffer.reserve(batch.size().min(CHUNK_BYTES) + FRAME_BYTES);
        while !self.frame.add(&mut rows, CHUNK_BYTES) {
            self.flush().await?;
        }
        Ok(())
    }

    /// Begins a row that is written in parts: its own fields, then its relations.
    pub(crate) fn open_row(&mut self, own: &[u8]) {
        self.frame.separate();
        self.frame.buffer.extend_from_slice(own);
    }

    /// Begins a relation of the open row; its rows are added next.
    pub(crate) fn open_relation(&mut self, child: &ChildLevel) {
        let Frame { buffer, open, .. } = &mut self.frame;
        // Nothing is sent between a row's own bytes and its first relation.
        let is_first = buffer.last() == Some(&b'{');
        buffer.extend_from_slice(&child.key[usize::from(is_first)..]);
        if child.many {
            buffer.push(b'[');
        }
        open.push(0);
    }

    pub(crate) fn close_relation(&mut self, child: &ChildLevel) {
        let count = self.frame.open.pop();
        if child.many {
            self.frame.buffer.push(b']');
        } else if count == Some(0) {
            self.frame.buffer.extend_from_slice(b"null");
        }
    }

    pub(crate) fn close_row(&mut self) {
        self.frame.buffer.push(b'}');
        self.frame.end_line();
    }

    pub(crate) async fn flush_full(&mut self) -> Result<(), Error> {
        if self.frame.buffer.len() >= CHUNK_BYTES { self.flush().await } else { Ok(()) }
    }

    pub(crate) fn count(&self) -> usize {
        self.frame.rows
    }

    /// Notes where the rows end that come next.
    pub(crate) fn note_position(&mut self, position: &PagePosition) {
        self.frame.position.extend(position);
    }

    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        let bytes = std::mem::take(&mut self.frame.buffer).into();
        let version = self.frame.version();
        send(&self.sender, Chunk { bytes, end: None, version }, self.limits).await
    }

    pub(crate) async fn finish(self, total: i64) -> Result<(), Error> {
        let Sink { frame, sender, limits } = self;
        let (bytes, numbers) = frame.end(total)?;
        send(&sender, Chunk { bytes, end: Some(numbers), version: None }, limits).await
    }

    /// Waits for the database while there is a reader, until the deadline.
    pub(crate) async fn while_read<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::select! {
            result = work => result,
            () = self.sender.closed() => Err(Error::Gone),
            () = tokio::time::sleep_until(self.limits.deadline.into()) => Err(Error::StreamTimeout),
        }
    }

    pub(crate) fn reporter(&self) -> FailureReporter {
        FailureReporter(self.sender.clone())
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

/// Reports how a stream ended, without waiting for the reader.
pub(crate) struct FailureReporter(mpsc::Sender<Result<Chunk, Error>>);

impl FailureReporter {
    pub(crate) async fn gone(&self) {
        self.0.closed().await;
    }

    pub(crate) fn report(self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            // The status was sent already, so the log is the only place that says why.
            match error {
                Error::Gone => tracing::debug!("the client of a streamed answer disconnected"),
                Error::Stalled | Error::StreamTimeout | Error::TooManyRows { .. } | Error::PageEnd(_) => {
                    tracing::warn!(%error, "a streamed answer was cut");
                }
                _ => tracing::error!(%error, "a streamed answer was cut"),
            }
            // If the channel is full, the reader sees that the last chunk is missing.
            _ = self.0.try_send(Err(error));
        }
    }
}
