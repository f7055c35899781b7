//! What rows must be after the change, and what the answer shows of them.

use crate::catalog::write_rules::WriteOperation;
use crate::catalog::{Constraint, FieldId, Relation};
use crate::merge;
use crate::payload::Returning;
use crate::pointer::Layer;
use crate::statement::Statement;

use super::super::predicate::Predicate;
use super::super::{Bounds, Child, Planner, RowSource, Select, Table};
use super::row::RowChange;
use super::{WritePlanner, bounds, references};

impl<'c> WritePlanner<'c, '_> {
    /// What rows must be after the change: in reach, as `check` says, with references that the viewer can read.
    pub(super) fn postcondition(&mut self, rows: &[RowChange], bounded: &[FieldId]) -> Option<Child<'c>> {
        if self.form.operation() == WriteOperation::Delete {
            return None;
        }
        let key_relation = &self.access.rules.key_relation;
        let requirements = self.requirements(rows, bounded);
        self.part(&Statement::empty(Layer::Policy), |planner, table| {
            let filters = requirements.filters(planner, &table, rows);
            Self::rows_by_key(planner, key_relation, table, filters)
        })
    }

    fn requirements(&self, rows: &[RowChange], bounded: &[FieldId]) -> Requirements<'c> {
        let check = self.access.rules.check.as_ref().filter(|check| self.viewer().is_bound_by(check));
        Requirements { check, bounded: bounded.to_vec(), relations: self.written_relations(rows) }
    }

    /// The rows of the answer, as a read would show them. A viewer that may not read sees the key alone, as far as a reader would see it.
    pub(super) fn answer(&mut self, returning: &Returning, rows: &[RowChange], bounded: &[FieldId]) -> Option<Child<'c>> {
        let Returning::Rows(statement) = returning else { return None };
        let key_relation = &self.access.rules.key_relation;
        let can_read = self.viewer().can_read(self.resource());
        let constraint = self.resource().constraint.as_ref().filter(|constraint| can_read && self.viewer().is_bound_by(constraint));
        let statement = match constraint {
            Some(constraint) => merge::relations_of_policy((**statement).clone(), &constraint.statement),
            None => (**statement).clone(),
        };
        let is_delete = self.form.operation() == WriteOperation::Delete;
        let requirements = (!is_delete).then(|| self.requirements(rows, bounded));
        self.part(&statement, |planner, mut table| {
            let bounds = Bounds { limit: None, offset: None };
            let select = if can_read {
                let filters = requirements.map_or_else(Vec::new, |requirements| requirements.filters(planner, &table, rows));
                let mut select = planner.rows(table, filters, bounds);
                select.source.order.clear();
                select.source.joins.clear();
                select
            } else {
                let shown = table.resource.key.iter().filter_map(|id| planner.shown_field(&table, *id)).collect();
                planner.attach_lookups(&mut table);
                let source = RowSource { table, filters: Vec::new(), joins: Vec::new(), order: Vec::new(), bounds };
                Select { source, shown, children: Vec::new() }
            };
            Child { relation: key_relation, pivot: planner.alias(), select }
        })
    }

    /// The rules of the manifest that do not bind the viewer in this write, each with the permission that lifts it.
    pub(super) fn lifted(&self) -> Vec<(Layer, &'c str)> {
        let (rules, operation) = (self.access.rules, self.form.operation());
        let scope = rules.scope.as_ref().filter(|_| operation != WriteOperation::Create);
        let check = rules.check.as_ref().filter(|_| operation != WriteOperation::Delete);
        let of_layers = [(Layer::Scope, scope), (Layer::Check, check)];
        let lifted = |(layer, rule): (Layer, Option<&'c Constraint>)| {
            let rule = rule.filter(|rule| !self.viewer().is_bound_by(rule))?;
            Some((layer, rule.unless.as_deref()?))
        };
        of_layers.into_iter().filter_map(lifted).collect()
    }
}

/// What rows must be after a write, beyond the constraint.
struct Requirements<'c> {
    check: Option<&'c Constraint>,
    /// Fields that the write adds to, and that have bounds.
    bounded: Vec<FieldId>,
    /// References that the write sets.
    relations: Vec<&'c Relation>,
}

impl<'c> Requirements<'c> {
    fn filters(self, planner: &mut Planner<'c, '_>, table: &Table<'c>, rows: &[RowChange]) -> Vec<(Layer, Predicate<'c>)> {
        let mut filters = Vec::new();
        if let Some(check) = self.check {
            filters.push((Layer::Check, planner.constraint(table.resource, table.alias, &check.statement)));
        }
        filters.extend(self.bounded.iter().map(|id| (Layer::Bounds, bounds::within(table, *id))));
        for relation in self.relations {
            filters.extend(references::written(planner, table, relation, rows).map(|filter| (Layer::Reference, filter)));
        }
        filters
    }
}
