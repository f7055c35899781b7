//! The rows that are meant: where they come from, which of them, and how many.

use crate::plan::predicate::Predicate;
use crate::plan::{Bounds, Scope};

use super::predicate::Conjunction;
use super::{Writer, dialect, link};

impl Writer {
    /// A query of these rows begins, with what is joined for its paths.
    pub(super) fn begin_joined(&mut self, scope: &Scope<'_>) {
        self.begin(scope.joins.iter().map(|join| join.table.policy()).chain(conditions(scope)));
    }

    /// `"table" AS t0`
    pub(super) fn named_table(&mut self, scope: &Scope<'_>) {
        self.table_name(&scope.table.resource.table);
        self.raw(" AS ");
        self.alias(scope.table.alias);
    }

    /// ` FROM …`, with the joins made for paths.
    pub(super) fn from(&mut self, scope: &Scope<'_>) {
        self.raw(" FROM ");
        self.named_table(scope);
        for join in &scope.joins {
            link::left_join(self, join);
        }
    }

    /// The policy and the filters of all layers.
    pub(super) fn filtered(&mut self, scope: &Scope<'_>, conjunction: Conjunction) {
        conjunction.write(self, conditions(scope));
    }

    /// ` LIMIT … OFFSET …`
    pub(super) fn bounded(&mut self, bounds: Bounds) {
        match (bounds.limit, bounds.offset) {
            (None, None) => {}
            (None, Some(_)) => dialect::no_limit(self),
            (Some(limit), _) => {
                self.raw(" LIMIT ");
                self.bind_count(limit);
            }
        }
        if let Some(offset) = bounds.offset {
            self.raw(" OFFSET ");
            self.bind_count(offset);
        }
    }
}

pub(super) fn conditions<'p, 'c>(scope: &'p Scope<'c>) -> impl Iterator<Item = &'p Predicate<'c>> {
    std::iter::once(scope.table.policy()).chain(scope.filters.iter().map(|(_, predicate)| predicate))
}
