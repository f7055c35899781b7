//! What both databases run statements with: how much is read at once, where it goes, what is kept, and when a total is asked.

mod batch_size;
mod sink;

use query::sql::{Query, Sql, Total};

pub(crate) use batch_size::BatchSize;
pub use sink::Chunks;
pub(crate) use sink::{Frame, Opening, Sink, StreamLimits, channel};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As the operation says: an array, a page, or one object.
    Json,
    /// One row a line.
    Lines,
    /// The rows of a page as an array, its numbers beside them.
    Rows,
}

/// The numbers of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageNumbers {
    /// How many rows match.
    pub total: i64,
    /// How many rows are in this page.
    pub count: i64,
}

/// How much of a database's own plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanDetail {
    /// The nodes, how many rows came out of them all, and how long the whole took: no count that includes rows out of the caller's reach.
    Result,
    /// Also the estimates and figures of every node, for people who may read the database itself.
    Figures,
}

/// A longer text is not kept as a prepared statement: a connection keeps many, and a client chooses their shapes.
const KEPT_TEXT: usize = 16 * 1024;

/// Whether a statement is kept once it is prepared.
pub(crate) fn is_kept(text: &str) -> bool {
    text.len() <= KEPT_TEXT
}

/// What is to be done to learn the total.
pub(crate) enum Need<'q> {
    Known(i64),
    Ask(&'q Sql),
}

/// The total is asked only when the page does not tell it.
pub(crate) fn need_total(query: &Query, count: usize) -> Need<'_> {
    let (count, offset) = (count as u64, query.offset);
    let short = query.limit.is_none_or(|limit| count < limit);
    match &query.total {
        Total::Unasked => Need::Known(0),
        Total::One => Need::Known(1),
        Total::Count(_) if short && (count > 0 || offset == 0) => Need::Known((offset + count) as i64),
        Total::Count(sql) => Need::Ask(sql),
    }
}

/// `orders` below the root, `orders.items` below `orders`.
pub(crate) fn below(path: &str, key: &[u8]) -> String {
    let key = String::from_utf8_lossy(key);
    let name = key.trim_matches([',', ':']).trim_matches('"');
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
