//! Where a keyset page ends: its last row, and whether another row follows. One row more than the page is read and not shown.
//! A `find` by id reads the version of its one row in the same way.

use query::plan::keyset::PositionValue;
use query::sql::{Level, PageEnd};

use super::Batch;

type Position = Vec<PositionValue>;

/// The last row of a keyset page.
#[derive(Clone, Debug, Default)]
pub(crate) struct PagePosition {
    last: Option<Position>,
    /// Whether a row follows the page.
    follows: bool,
}

impl PagePosition {
    /// The position after which the next page begins; none if there is no next page.
    pub(crate) fn end(&self) -> Option<&[PositionValue]> {
        self.last.as_deref().filter(|_| self.follows)
    }

    /// The version of the one row.
    pub(crate) fn version(&self) -> Option<&str> {
        match self.last.as_deref() {
            Some([PositionValue::Shown(digits)]) => std::str::from_utf8(digits).ok(),
            _ => None,
        }
    }

    /// Adds the end of the next batch of the same page.
    pub(crate) fn extend(&mut self, next: &PagePosition) {
        self.follows |= next.follows;
        if next.last.is_some() {
            self.last.clone_from(&next.last);
        }
    }
}

impl Batch {
    /// Notes the position of the last row of the page.
    pub(crate) fn note_position(&mut self, position: Position) {
        self.position.last = Some(position);
    }

    /// Drops the row after the page. So many rows of the page were read before this batch.
    pub(crate) fn end_page(&mut self, level: &Level, read: usize) {
        let Some(PageEnd { rows, .. }) = &level.page_end else { return };
        let shown = rows.saturating_sub(read);
        if self.len() > shown {
            self.truncate(shown);
            self.position.follows = true;
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        for keys in &mut self.pending {
            *keys = keys.part(0..rows);
        }
    }
}
