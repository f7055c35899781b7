//! Rows of the root and of loaded relations, a level each.

use crate::catalog::Resource;
use crate::error::{Code, shorten};
use crate::messages::did_you_mean;
use crate::parse::FIELDS;
use crate::pointer::Layer;
use crate::statement::{FieldSelection, RelationNode, SelectedField};

use super::order::OrderPosition;
use super::predicate::Predicate;
use super::{Bounds, Child, FieldId, Planner, Rights, Scope, Select, Show, Table};

impl<'c> Planner<'c, '_> {
    pub(super) fn rows(&mut self, table: Table<'c>, filters: Vec<(Layer, Predicate<'c>)>, bounds: Bounds) -> Select<'c> {
        let statement = self.statement;
        let (mut order, joins) = self.ordered(&table, &statement.order, OrderPosition::Root);
        self.tie_break(&table, &mut order, bounds);
        let selection = statement.fields.as_ref();
        let children = self.children(&table, &statement.relations, selection);
        let shown = self.shown(table.resource, selection);
        self.check_selection(table.resource, &statement.relations, selection);
        Select { scope: Scope { table, filters, joins, order, bounds }, shown, children }
    }

    /// The relations that are loaded. One that the selection leaves out is checked and not loaded.
    fn children(&mut self, parent: &Table<'c>, relations: &[RelationNode], selection: Option<&FieldSelection>) -> Vec<Child<'c>> {
        let mut children = Vec::with_capacity(relations.len());
        for relation in relations {
            let selected = selection.map(|selection| selection.find(&relation.name));
            let below = selected.flatten().and_then(|selected| selected.below.as_ref());
            let child = self.child(parent, relation, below);
            if selected.is_none_or(|selected| selected.is_some()) {
                children.extend(child);
            }
        }
        children
    }

    pub(super) fn child(&mut self, parent: &Table<'c>, relation: &RelationNode, selection: Option<&FieldSelection>) -> Option<Child<'c>> {
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
        let children = self.children(&table, &relation.relations, selection);
        let shown = self.shown(table.resource, selection);
        self.check_selection(table.resource, &relation.relations, selection);
        let select = Select { scope: Scope { table, filters, joins, order, bounds }, shown, children };
        Some(Child { relation: declared, pivot, select })
    }

    /// Reports names of a selection that are no field and no loaded relation.
    fn check_selection(&mut self, resource: &'c Resource, loaded: &[RelationNode], selection: Option<&FieldSelection>) {
        for SelectedField { name, below } in selection.into_iter().flat_map(|selection| &selection.0) {
            let field = resource.field(name).filter(|(_, field)| !field.hidden);
            let (code, message) = match (field, self.usable_relation(resource, name, Rights::Viewer)) {
                (Some(_), _) if below.is_none() => continue,
                (Some(_), _) => (Code::DotPath, format!("`{name}` of `{}` is a field, and has no fields", resource.full_name)),
                // If it cannot be loaded, that is reported already.
                _ if loaded.iter().any(|relation| relation.name == *name) => continue,
                // The parser has left out relations, and said so.
                (None, Some(_)) if !self.statement.faults.is_empty() => continue,
                (None, Some(_)) => (Code::UnknownRelation, format!("`fields` names the relation `{name}`; load it in `relations`")),
                (None, None) => {
                    let hint = did_you_mean(name, &[Self::field_names(resource), self.relation_names(resource)].concat());
                    (Code::UnknownField, format!("`{}` has no field or relation `{}`{hint}", resource.full_name, shorten(name)))
                }
            };
            self.faults.add(code, || FIELDS.into(), message);
        }
    }

    /// Every field that is selected and not hidden, masked or not.
    fn shown(&self, resource: &Resource, selection: Option<&FieldSelection>) -> Vec<(FieldId, Show)> {
        resource
            .fields
            .iter()
            .enumerate()
            .filter(|(_, field)| !field.hidden && selection.is_none_or(|selection| selection.find(&field.name).is_some()))
            .map(|(id, field)| match &field.mask {
                Some((mask, _)) if !self.viewer.sees_unmasked(field) => (id, Show::Masked(*mask)),
                _ => (id, Show::Plain),
            })
            .collect()
    }
}
