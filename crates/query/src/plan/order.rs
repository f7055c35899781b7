//! `order` → sort keys: own columns, and columns of to-one relations at the root.

use crate::catalog::{FieldId, Link, Relation, Resource};
use crate::error::Code;
use crate::pointer::{At, Layer};
use crate::statement::{Direction, Order};

use super::predicate::Column;
use super::{Bounds, Join, Planner, Rights, Sort, Stage, Table};

/// How many tables the dot-paths of a statement may join. SQLite joins 64, the root included.
pub(super) const MOST_JOINS: usize = 60;

/// How many tables stand in a relation's join.
fn tables(relation: &Relation) -> usize {
    match relation.link {
        Link::Direct(_) => 1,
        Link::Through { .. } => 2,
    }
}

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
            let rights = Rights::of(entry.at.layer);
            let column = match entry.field.split_once('.') {
                None => self.sortable(table.resource, &entry.field, entry.at, rights).map(|id| table.column(id)),
                Some(_) if standing == Standing::Relation => {
                    self.fault(
                        Code::DotPath,
                        entry.at,
                        "inside a relation the order names its own columns; a dot-path is allowed at top level only",
                    );
                    None
                }
                Some((relation, column)) => self.dotted(table, (relation, column), (entry.at, rights), &mut joins),
            };
            sorts.extend(column.map(|column| Sort { column, direction: entry.direction }));
        }
        (sorts, joins)
    }

    fn dotted(
        &mut self,
        table: &Table<'c>,
        (relation, column): (&str, &str),
        (at, rights): (At, Rights),
        joins: &mut Vec<Join<'c>>,
    ) -> Option<Column<'c>> {
        if column.contains('.') {
            self.several_dots(&format!("{relation}.{column}"), at);
            return None;
        }
        let Some(declared) = self.usable_relation(table.resource, relation, rights) else {
            self.unknown_relation(table.resource, relation, at);
            return None;
        };
        if declared.many {
            self.fault(Code::DotPath, at, format!("`{relation}` leads to many rows; order follows to-one relations only"));
            return None;
        }
        let index = self.join(table, declared, (at, rights), joins)?;
        let id = self.sortable(joins[index].table.resource, column, at, rights)?;
        Some(joins[index].table.column(id))
    }

    /// The join of a relation, made once however many paths follow it.
    pub(super) fn join(
        &mut self,
        table: &Table<'c>,
        relation: &'c Relation,
        (at, rights): (At, Rights),
        joins: &mut Vec<Join<'c>>,
    ) -> Option<usize> {
        if let Some(index) = joins.iter().position(|join| std::ptr::eq(join.relation, relation)) {
            return Some(index);
        }
        let before: usize = joins.iter().map(|join| tables(join.relation)).sum();
        if before + tables(relation) > MOST_JOINS {
            // The manifest's own order gives way to what was asked.
            if at.layer == Layer::Policy && self.stage == Stage::Request {
                return None;
            }
            if before <= MOST_JOINS {
                let message = format!("dot-paths lead to at most {MOST_JOINS} tables, where a `through` relation counts as two");
                self.fault(Code::Entries, at, message);
            }
        }
        let target = Table::reach(self, relation.target, rights)?;
        let pivot = self.alias();
        joins.push(Join { relation, parent: table.alias, parent_resource: table.resource, pivot, table: target });
        Some(joins.len() - 1)
    }

    /// A field that can be sorted by.
    pub(super) fn sortable(&mut self, resource: &'c Resource, name: &str, at: At, rights: Rights) -> Option<FieldId> {
        let (id, field) = self.usable_field(resource, name, at, rights)?;
        if !field.kind.is_sortable() {
            self.fault(Code::FunctionType, at, format!("`{name}` of type {} cannot be sorted or grouped by", field.kind.name()));
            return None;
        }
        Some(id)
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
