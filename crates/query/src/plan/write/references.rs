//! The to-one relations that a write sets: they must lead to rows that the viewer can read.

use crate::catalog::{FieldId, JoinColumns, Relation};
use crate::payload::WriteForm;
use crate::pointer::Layer;
use crate::statement::Statement;

use super::super::predicate::{Comparison, Exists, Predicate};
use super::super::{Bounds, Child, Planner, Rights, RowSource, Select, Table};
use super::WritePlanner;
use super::row::RowChange;

/// A to-one relation that the payload writes.
#[derive(Debug)]
pub(crate) struct ReferencePlan<'c> {
    pub(crate) fields: Vec<FieldId>,
    /// The rows of the target that the caller can read.
    pub(crate) child: Child<'c>,
    /// The fields of the target, if new rows of the same payload can be the target.
    pub(crate) new_row_fields: Option<Vec<FieldId>>,
    /// The rows in reach with a reference that leads to no row that the caller can read.
    pub(crate) dangling: Option<Child<'c>>,
}

impl<'c> WritePlanner<'c, '_> {
    /// The references that are written to targets that the viewer may read. Otherwise the database alone decides.
    pub(super) fn references(&mut self, rows: &[RowChange]) -> Vec<ReferencePlan<'c>> {
        let mut plans = Vec::new();
        for relation in self.written_relations(rows) {
            let child = self.part(&Statement::empty(Layer::Policy), |planner, _| {
                let mut table = Table::with_policy(planner, relation.target, Rights::Viewer)?;
                planner.attach_lookups(&mut table);
                let source = RowSource {
                    table,
                    filters: Vec::new(),
                    joins: Vec::new(),
                    order: Vec::new(),
                    bounds: Bounds { limit: None, offset: None },
                };
                Some(Child { relation, pivot: planner.alias(), select: Select { source, shown: Vec::new(), children: Vec::new() } })
            });
            if let Some(Some(child)) = child {
                let dangling = self.dangling(relation);
                plans.push(ReferencePlan {
                    fields: relation.join_columns.own_fields(),
                    child,
                    new_row_fields: self.new_row_fields(relation),
                    dangling,
                });
            }
        }
        plans
    }

    fn new_row_fields(&self, relation: &Relation) -> Option<Vec<FieldId>> {
        match &relation.join_columns {
            JoinColumns::Direct(pairs) if self.form == WriteForm::Create && relation.target == self.access.resource => {
                Some(pairs.iter().map(|(_, other)| *other).collect())
            }
            _ => None,
        }
    }

    /// A row out of reach is not listed. Otherwise the answer would reveal its reference.
    fn dangling(&mut self, relation: &'c Relation) -> Option<Child<'c>> {
        let key_relation = &self.access.rules.key_relation;
        self.part(&Statement::empty(Layer::Policy), |planner, table| {
            let filters = reference(planner, &table, relation).map(|filter| (Layer::Reference, filter.negate())).into_iter().collect();
            Self::rows_by_key(planner, key_relation, table, filters)
        })
    }

    pub(super) fn written_relations(&self, rows: &[RowChange]) -> Vec<&'c Relation> {
        let is_written = |relation: &&Relation| is_reference(relation) && rows.iter().any(|row| writes(row, relation));
        let can_read = |relation: &&Relation| self.viewer().can_read(self.access.catalog.resource(relation.target));
        self.resource().relations.iter().filter(is_written).filter(can_read).collect()
    }
}

fn is_reference(relation: &Relation) -> bool {
    !relation.many && matches!(relation.join_columns, JoinColumns::Direct(_))
}

fn writes(row: &RowChange, relation: &Relation) -> bool {
    let own = relation.join_columns.own_fields();
    row.fields().any(|id| own.contains(&id))
}

/// Rows that the payload gives a reference lead to a row that the viewer can read. Other rows of a list keep what they have.
pub(super) fn written<'c>(
    planner: &mut Planner<'c, '_>,
    table: &Table<'c>,
    relation: &'c Relation,
    rows: &[RowChange],
) -> Option<Predicate<'c>> {
    let leads = reference(planner, table, relation)?;
    if rows.iter().all(|row| row.key.is_empty() || writes(row, relation)) {
        return Some(leads);
    }
    let equal = |row: &RowChange| {
        let parts = table.resource.key.iter().zip(&row.key);
        let part = |(id, value): (&FieldId, _)| Predicate::Compare {
            column: table.column(*id),
            comparison: Comparison::Eq,
            value: Clone::clone(value),
        };
        Predicate::all(parts.map(part).collect())
    };
    let others: Vec<Predicate<'c>> = rows.iter().filter(|row| !writes(row, relation)).map(equal).collect();
    Some(Predicate::any(vec![Predicate::any(others), leads]))
}

/// The own fields of the relation are empty, or lead to a row that the viewer can read.
fn reference<'c>(planner: &mut Planner<'c, '_>, table: &Table<'c>, relation: &'c Relation) -> Option<Predicate<'c>> {
    let mut target = Table::with_policy(planner, relation.target, Rights::Viewer)?;
    let pivot = planner.alias();
    planner.attach_lookups(&mut target);
    let mut any: Vec<Predicate<'c>> =
        relation.join_columns.own_fields().into_iter().map(|id| Predicate::IsNull(table.column(id))).collect();
    any.push(Predicate::Exists(Box::new(Exists {
        parent: table.alias,
        parent_resource: table.resource,
        relation,
        pivot,
        table: target,
        filter: Predicate::Always,
    })));
    Some(Predicate::any(any))
}
