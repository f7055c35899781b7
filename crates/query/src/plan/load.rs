//! Rows of the root and of loaded relations, a level each.

use crate::catalog::Resource;
use crate::pointer::Layer;
use crate::statement::RelationNode;

use super::order::OrderPosition;
use super::predicate::Predicate;
use super::{Bounds, Child, FieldId, Planner, Rights, Scope, Select, Show, Table};

impl<'c> Planner<'c, '_> {
    pub(super) fn rows(&mut self, table: Table<'c>, filters: Vec<(Layer, Predicate<'c>)>, bounds: Bounds) -> Select<'c> {
        let statement = self.statement;
        let (mut order, joins) = self.ordered(&table, &statement.order, OrderPosition::Root);
        self.tie_break(&table, &mut order, bounds);
        let children = statement.relations.iter().filter_map(|relation| self.child(&table, relation)).collect();
        let shown = self.shown(table.resource);
        Select { scope: Scope { table, filters, joins, order, bounds }, shown, children }
    }

    pub(super) fn child(&mut self, parent: &Table<'c>, relation: &RelationNode) -> Option<Child<'c>> {
        if self.faults.is_full() {
            return None;
        }
        let rights = Rights::of(relation.at.layer);
        // A relation that the manifest loads also needs the viewer's permission.
        let Some(declared) = self.usable_relation(parent.resource, &relation.name, Rights::Viewer) else {
            if rights == Rights::Viewer || parent.resource.relation(&relation.name).is_none() {
                self.unknown_relation(parent.resource, &relation.name, relation.at);
            }
            return None;
        };
        let table = Table::reach(self, declared.target, Rights::Viewer)?;
        let pivot = self.alias();
        let filters = self.filters(&table, &relation.filters);
        let bounds = Bounds { limit: relation.limit, offset: relation.offset };
        let (mut order, joins) = self.ordered(&table, &relation.order, OrderPosition::RelationNode);
        self.tie_break(&table, &mut order, bounds);
        let children = relation.relations.iter().filter_map(|nested| self.child(&table, nested)).collect();
        let shown = self.shown(table.resource);
        let select = Select { scope: Scope { table, filters, joins, order, bounds }, shown, children };
        Some(Child { relation: declared, pivot, select })
    }

    /// Every field except hidden ones, masked or not.
    fn shown(&self, resource: &Resource) -> Vec<(FieldId, Show)> {
        resource
            .fields
            .iter()
            .enumerate()
            .filter(|(_, field)| !field.hidden)
            .map(|(id, field)| match &field.mask {
                Some((mask, _)) if !self.viewer.sees_unmasked(field) => (id, Show::Masked(*mask)),
                _ => (id, Show::Plain),
            })
            .collect()
    }
}
