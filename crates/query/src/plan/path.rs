//! Resolves `field` and `relation.field`, and makes the joins that dot-paths need.

use crate::catalog::{JoinColumns, Relation};
use crate::error::{Code, shorten};
use crate::pointer::{Layer, Location};

use super::lookup::LookupUse;
use super::predicate::Column;
use super::{Join, MAX_JOINED_TABLES, Planner, Rights, Stage, Subject, Table};

/// Which relations a path may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Following {
    /// To-one relations, for `order`.
    ToOne,
    /// All relations.
    Any,
}

/// A name or dot-path in a statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'n> {
    pub(super) name: &'n str,
    pub(super) at: Location,
    pub(super) rights: Rights,
    pub(super) following: Following,
}

/// How many tables the join of a relation has.
fn tables(relation: &Relation) -> usize {
    match relation.join_columns {
        JoinColumns::Direct(_) => 1,
        JoinColumns::Through { .. } => 2,
    }
}

/// `order` by a field of a to-many relation.
pub(super) fn to_many(relation: &str) -> String {
    format!("`{relation}` leads to many rows; `order` follows to-one relations only")
}

impl<'c> Planner<'c, '_> {
    pub(super) fn path(&mut self, table: &Table<'c>, path: Path<'_>, joins: &mut Vec<Join<'c>>) -> Option<Column<'c>> {
        let Path { name, at, rights, following } = path;
        let Some((relation, column)) = name.split_once('.') else {
            let (id, _) = self.usable_field(table.resource, name, at, rights)?;
            return Some(self.column(Subject { resource: table.resource, alias: table.alias, rights }, id, LookupUse::Order));
        };
        if column.contains('.') {
            let message = format!("a dot-path has the form `relation.field`, with exactly one dot; found `{}`", shorten(name));
            self.fault(Code::DotPath, at, message);
            return None;
        }
        let Some(declared) = self.usable_relation(table.resource, relation, rights) else {
            self.unknown_relation(table.resource, relation, at);
            return None;
        };
        if declared.many && following == Following::ToOne {
            self.fault(Code::DotPath, at, to_many(relation));
            return None;
        }
        let index = self.join(table, declared, at, rights, joins)?;
        let target = Subject { resource: joins[index].table.resource, alias: joins[index].table.alias, rights };
        let (id, _) = self.usable_field(target.resource, column, at, rights)?;
        Some(self.column(target, id, LookupUse::Order))
    }

    /// The column of a path in `order` or `groupBy`.
    pub(super) fn sortable(&mut self, table: &Table<'c>, path: Path<'_>, joins: &mut Vec<Join<'c>>) -> Option<Column<'c>> {
        let column = self.path(table, path, joins)?;
        let kind = &column.field.kind;
        if !kind.is_sortable() {
            let message = format!("`{}` of type {} cannot be used in `order` or `groupBy`", path.name, kind.name());
            self.fault(Code::FunctionType, path.at, message);
            return None;
        }
        Some(column)
    }

    /// Attaches the lookups of their fields to the tables of a query.
    pub(super) fn attach_all_lookups(&mut self, table: &mut Table<'c>, joins: &mut [Join<'c>]) {
        self.move_lookups(table);
        let (mut joined, mut lookups) = (0, table.joined_lookups());
        for join in joins {
            self.move_lookups(&mut join.table);
            joined += tables(join.relation);
            lookups += join.table.joined_lookups();
        }
        // Too many dot-paths are reported already.
        if joined <= MAX_JOINED_TABLES {
            self.check_joined(joined + lookups);
        }
    }

    /// The join of a relation; all paths along it share one.
    fn join(
        &mut self,
        table: &Table<'c>,
        relation: &'c Relation,
        at: Location,
        rights: Rights,
        joins: &mut Vec<Join<'c>>,
    ) -> Option<usize> {
        if let Some(index) = joins.iter().position(|join| std::ptr::eq(join.relation, relation)) {
            return Some(index);
        }
        let before: usize = joins.iter().map(|join| tables(join.relation)).sum();
        if before + tables(relation) > MAX_JOINED_TABLES {
            // The manifest's order gives way to the client's.
            if at.layer == Layer::Policy && self.stage == Stage::Request {
                return None;
            }
            if before <= MAX_JOINED_TABLES {
                let message = format!("dot-paths join at most {MAX_JOINED_TABLES} tables; a `through` relation counts as two");
                self.fault(Code::Entries, at, message);
            }
        }
        let target = Table::with_policy(self, relation.target, rights)?;
        let pivot = self.alias();
        joins.push(Join { relation, parent: table.alias, parent_resource: table.resource, pivot, table: target });
        Some(joins.len() - 1)
    }
}
