//! `order` → sort keys: own columns, and columns of to-one relations at the root.

use crate::error::Code;
use crate::statement::{Direction, Order};

use super::path::{Following, Path};
use super::predicate::Column;
use super::{Bounds, Join, Planner, Rights, Sort, Table};

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderPosition {
    /// At top level, where a dot-path may follow a to-one relation.
    Root,
    /// In a relation node, whose own columns are all there is.
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
                self.fault(
                    Code::DotPath,
                    entry.at,
                    "inside a relation the order names its own columns; a dot-path is allowed at top level only",
                );
                continue;
            }
            let path = Path { name: &entry.field, at: entry.at, rights: Rights::of(entry.at.layer), following: Following::ToOne };
            let column = self.sortable(table, path, &mut joins);
            sorts.extend(column.map(|column| Sort { column, direction: entry.direction }));
        }
        (sorts, joins)
    }

    /// Appends what breaks ties. The key does where there is a limit, so that pages never overlap. A key that the viewer cannot see plainly
    /// must not show in the order: everything that they see plainly breaks ties then, with or without a limit, since databases tend to
    /// leave equal rows in the order of their key. A resource without a key has nothing that breaks them.
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
            if !field.hidden && self.viewer.sees_unmasked(field) && field.kind.is_sortable() {
                append(order, table.column(id));
            }
        }
    }
}

/// Sorts by one more column, unless it is sorted by already.
fn append<'c>(order: &mut Vec<Sort<'c>>, column: Column<'c>) {
    let named = order.iter().any(|sort| sort.column.alias == column.alias && std::ptr::eq(sort.column.field, column.field));
    if !named {
        order.push(Sort { column, direction: Direction::Ascending });
    }
}
