//! `order` → sort keys: own columns, and columns of to-one relations at the root.

use crate::error::Code;
use crate::statement::{Direction, Order};

use super::path::{Following, Path};
use super::{Bounds, Join, Planner, Rights, Sort, Table};

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// At top level, where a dot-path may follow a to-one relation.
    Root,
    /// In a relation node, whose own columns are all there is.
    Relation,
}

impl<'c> Planner<'c, '_> {
    pub(super) fn ordered(&mut self, table: &Table<'c>, order: &[Order], standing: Standing) -> (Vec<Sort<'c>>, Vec<Join<'c>>) {
        let mut joins = Vec::new();
        let mut sorts = Vec::with_capacity(order.len());
        for entry in order {
            if self.faults.is_full() {
                break;
            }
            if standing == Standing::Relation && entry.field.contains('.') {
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

    /// Appends the key, so that pages never overlap.
    pub(super) fn tie_break(table: &Table<'c>, order: &mut Vec<Sort<'c>>, bounds: Bounds) {
        if order.is_empty() || !bounds.given() {
            return;
        }
        for id in &table.resource.key {
            let column = table.column(*id);
            let named = order.iter().any(|sort| sort.column.alias == column.alias && std::ptr::eq(sort.column.field, column.field));
            if !named {
                order.push(Sort { column, direction: Direction::Ascending });
            }
        }
    }
}
