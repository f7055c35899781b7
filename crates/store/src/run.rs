//! The parts of running a statement that both databases share: batch sizes, streaming, the answer's JSON frame, and totals.

mod answer_context;
mod batch_size;
mod sink;
mod streaming;

use std::sync::Arc;

use query::sql::{Query, Sql, Total};

pub use answer_context::{AnswerContext, StatementEnd, StatementObserver, StatementPart, StatementReport};
pub(crate) use answer_context::{RunningStatement, StatementTime};
pub(crate) use batch_size::BatchSize;
pub use sink::Chunks;
pub(crate) use sink::{Frame, Opening, Sink, StreamLimits, channel};
pub(crate) use streaming::{Cursor, KeyedRows, RelatedRows, RowSet, Source, Streaming, load};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An array, a page or one object, by the operation.
    Json,
    Lines,
    /// The rows of a page as an array, with its numbers beside them.
    Rows,
}

/// What a page says of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageNumbers {
    pub total: i64,
    pub count: i64,
    /// The statement of the next keyset page, as JSON; none at the end.
    pub next: Option<Arc<str>>,
    /// The version of the one row that an id names.
    pub version: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanDetail {
    /// The nodes, the number of rows returned, and the time: no count that includes rows hidden from the caller.
    Result,
    /// Also estimates and figures of every node, for people who may read the database itself.
    Figures,
}

/// Longer statements are not cached as prepared ones: a connection caches many, and clients choose their shapes.
const MAX_CACHED_BYTES: usize = 16 * 1024;

pub(crate) fn is_cached(text: &str) -> bool {
    text.len() <= MAX_CACHED_BYTES
}

pub(crate) enum PageTotal<'q> {
    Known(i64),
    Ask(&'q Sql),
}

/// A page that is not full implies its total.
pub(crate) fn page_total(query: &Query, count: usize) -> PageTotal<'_> {
    let (count, offset) = (count as u64, query.offset);
    let short = query.limit.is_none_or(|limit| count < limit);
    match &query.total {
        Total::Unasked => PageTotal::Known(0),
        Total::One => PageTotal::Known(1),
        Total::Count(_) if short && (count > 0 || offset == 0) => PageTotal::Known((offset + count) as i64),
        Total::Count(sql) => PageTotal::Ask(sql),
    }
}

/// `orders` below the root, `orders.items` below `orders`.
pub(crate) fn below(path: &str, key: &[u8]) -> String {
    let key = String::from_utf8_lossy(key);
    let name = key.trim_matches([',', ':']).trim_matches('"');
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
