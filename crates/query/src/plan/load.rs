//! Rows of the root and of loaded relations, a level each.

use crate::catalog::{FieldId, Mask, Relation, Resource};
use crate::error::{Code, shorten};
use crate::messages::did_you_mean;
use crate::pointer::Layer;
use crate::statement::{FieldSelection, RelationNode, SelectedField};

use super::lookup::LookupUse;
use super::order::OrderPosition;
use super::predicate::{Column, Predicate};
use super::{Bounds, Child, Planner, Rights, RowSource, Select, Show, Subject, Table};

impl<'c> Planner<'c, '_> {
    pub(super) fn rows(&mut self, mut table: Table<'c>, filters: Vec<(Layer, Predicate<'c>)>, bounds: Bounds) -> Select<'c> {
        let statement = self.statement;
        let (mut order, mut joins) = self.ordered(&table, &statement.order, OrderPosition::Root);
        self.tie_break(&table, &mut order, bounds);
        let selection = statement.fields.as_ref();
        let children = self.children(&table, &statement.relations, selection);
        let shown = self.shown(&table, selection);
        self.check_selection(table.resource, &statement.relations, selection);
        self.attach_all_lookups(&mut table, &mut joins);
        Select { source: RowSource { table, filters, joins, order, bounds }, shown, children }
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
        let mut table = Table::with_policy(self, declared.target, Rights::Viewer)?;
        let pivot = self.alias();
        let filters = self.filters(&table, &relation.filters);
        let bounds = Bounds { limit: relation.limit, offset: relation.offset };
        let (mut order, joins) = self.ordered(&table, &relation.order, OrderPosition::RelationNode);
        self.tie_break(&table, &mut order, bounds);
        let children = self.children(&table, &relation.relations, selection);
        let shown = self.shown(&table, selection);
        self.check_selection(table.resource, &relation.relations, selection);
        self.attach_lookups(&mut table);
        let select = Select { source: RowSource { table, filters, joins, order, bounds }, shown, children };
        Some(Child { relation: declared, pivot, select })
    }

    /// Reports names of a selection that are no field and no loaded relation.
    fn check_selection(&mut self, resource: &'c Resource, loaded: &[RelationNode], selection: Option<&FieldSelection>) {
        let Some(selection) = selection else { return };
        for SelectedField { name, below } in &selection.fields {
            let field = resource.field(name).filter(|(_, field)| self.viewer.knows(field));
            let (code, message) = match (field, self.usable_relation(resource, name, Rights::Viewer)) {
                (Some(_), _) if below.is_none() => continue,
                (Some(_), _) => (Code::DotPath, format!("`{name}` of `{}` is a field, and has no fields", resource.full_name)),
                // One that the statement names is reported already if it cannot be loaded. One that the manifest loads is as unknown as any.
                (None, relation) if is_loaded(loaded, name, relation) => continue,
                // The parser has left out relations, and said so.
                (None, Some(_)) if !self.statement.faults.is_empty() => continue,
                (None, Some(_)) => (Code::UnknownRelation, format!("`fields` names the relation `{name}`; load it in `relations`")),
                (None, None) => {
                    let hint = did_you_mean(name, &[self.field_names(resource), self.relation_names(resource)].concat());
                    (Code::UnknownField, format!("`{}` has no field or relation `{}`{hint}", resource.full_name, shorten(name)))
                }
            };
            self.faults.add(code, || selection.pointer(name), message);
        }
    }

    /// Every field that is selected and not hidden, masked or not. Without a selection, those that are eager.
    fn shown(&mut self, table: &Table<'c>, selection: Option<&FieldSelection>) -> Vec<(Column<'c>, Show)> {
        let mut shown = Vec::with_capacity(table.resource.fields.len());
        for (id, field) in table.resource.fields.iter().enumerate() {
            if selection.map_or(field.eager, |selection| selection.find(&field.name).is_some()) {
                shown.extend(self.shown_field(table, id));
            }
        }
        shown
    }

    /// How the viewer sees a field; none if it is hidden.
    pub(super) fn shown_field(&mut self, table: &Table<'c>, id: FieldId) -> Option<(Column<'c>, Show)> {
        let field = &table.resource.fields[id];
        if !self.viewer.knows(field) {
            return None;
        }
        let subject = Subject { resource: table.resource, alias: table.alias, rights: Rights::Viewer };
        Some(match &field.mask {
            // No value is read.
            Some((Mask::Redact, _)) if !self.viewer.sees_unmasked(field) => (table.column(id), Show::Masked(Mask::Redact)),
            Some((mask, _)) if !self.viewer.sees_unmasked(field) => (self.column(subject, id, LookupUse::Shown), Show::Masked(*mask)),
            _ => (self.column(subject, id, LookupUse::Shown), Show::Plain),
        })
    }
}

fn is_loaded(nodes: &[RelationNode], name: &str, usable: Option<&Relation>) -> bool {
    nodes.iter().any(|node| *node.name == *name && (usable.is_some() || !node.at.layer.is_manifest()))
}
