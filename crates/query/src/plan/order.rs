//! `order` → sort keys: own columns, and columns of to-one relations at the root; and the tie-break.

use crate::error::Code;
use crate::statement::{Direction, Order};

use super::path::{Following, Path};
use super::predicate::Column;
use super::{Bounds, Join, Planner, Rights, Sort, Table};

/// Where an `order` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderPosition {
    /// At top level, where dot-paths may follow to-one relations.
    Root,
    /// In a relation node, which accepts own columns only.
    RelationNode,
}

impl<'c> Planner<'c, '_> {
    pub(super) fn ordered(&mut self, table: &Table<'c>, order: &[Order], position: OrderPosition) -> (Vec<Sort<'c>>, Vec<Join<'c>>) {
        let mut joins = Vec::new();
        let mut sorts = Vec::with_capacity(order.len());
        for entry in order {
            if self.faults.is_full() {
                break;
            }
            if position == OrderPosition::RelationNode && entry.field.contains('.') {
                let message = "`order` in a relation node takes own fields only; a dot-path is accepted at top level";
                self.fault(Code::DotPath, entry.at, message);
                continue;
            }
            let path = Path { name: &entry.field, at: entry.at, rights: Rights::of(entry.at.layer), following: Following::ToOne };
            let column = self.sortable(table, path, &mut joins);
            sorts.extend(column.map(|column| Sort { column, direction: entry.direction }));
        }
        (sorts, joins)
    }

    /// Appends a tie-break. With a limit it is the key, so that pages never overlap. If the viewer does not see the key, the order must not
    /// reveal it: all visible fields break ties then, even without a limit, because databases tend to return equal rows in key order. A
    /// resource without a key has no tie-break.
    pub(super) fn tie_break(&self, table: &Table<'c>, order: &mut Vec<Sort<'c>>, bounds: Bounds) {
        let resource = table.resource;
        if order.is_empty() || resource.key.is_empty() {
            return;
        }
        if self.viewer.sees_key(resource) {
            if bounds.given() {
                resource.key.iter().for_each(|id| append(order, table.column(*id)));
            }
            return;
        }
        for (id, field) in resource.fields.iter().enumerate() {
            // Related rows are not looked up for a tie-break.
            let is_of_row = field.related().is_none();
            if is_of_row && self.viewer.knows(field) && self.viewer.sees_unmasked(field) && field.kind.is_sortable() {
                append(order, table.column(id));
            }
        }
    }
}

/// Adds a sort key, unless its column is one already.
pub(super) fn append<'c>(order: &mut Vec<Sort<'c>>, column: Column<'c>) {
    let named = order.iter().any(|sort| sort.column.alias == column.alias && std::ptr::eq(sort.column.field, column.field));
    if !named {
        order.push(Sort { column, direction: Direction::Ascending });
    }
}
