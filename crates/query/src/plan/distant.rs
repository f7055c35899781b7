//! The relations of a statement that lead to rows on other servers of Citus. They explain why Citus refuses a statement.

use crate::catalog::{Relation, Resource};

use super::predicate::Predicate;
use super::write::WritePlan;
use super::{Plan, PlanBody, RowSource, Select, Table};

impl WritePlan<'_> {
    /// The same for the rows that a write changes, and for those of its answer.
    pub(crate) fn distant_relations(&self) -> Vec<String> {
        let mut found = Found::default();
        if let Some(target) = &self.target {
            found.select(&target.select);
        }
        if let Some(answer) = &self.answer {
            found.select(&answer.select);
        }
        found.0
    }
}

impl Plan<'_> {
    /// Each relation once. Those of constraints and of derived fields have no name here, because the viewer may not know them.
    pub(crate) fn distant_relations(&self) -> Vec<String> {
        let mut found = Found::default();
        match &self.body {
            PlanBody::Rows(select) => found.select(select),
            PlanBody::Groups(grouped) => found.source(&grouped.source),
        }
        found.0
    }
}

#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn add(&mut self, name: String) {
        if !self.0.contains(&name) {
            self.0.push(name);
        }
    }

    fn relation(&mut self, relation: &Relation, resource: &Resource) {
        if !relation.placement.is_colocated {
            self.add(format!("relation `{}` of `{}`", relation.name, resource.full_name));
        }
    }

    fn select(&mut self, select: &Select<'_>) {
        self.source(&select.source);
        // Related rows are read by a statement of their own.
        for child in &select.children {
            self.select(&child.select);
        }
    }

    fn source(&mut self, source: &RowSource<'_>) {
        self.lookups(&source.table);
        for join in &source.joins {
            self.relation(join.relation, join.parent_resource);
            self.lookups(&join.table);
        }
        for (_, predicate) in source.filters.iter().filter(|(layer, _)| !layer.is_manifest()) {
            self.predicate(predicate);
        }
    }

    fn lookups(&mut self, table: &Table<'_>) {
        if table.lookups().iter().any(|lookup| !lookup.relation.placement.is_colocated) {
            self.add(format!("derived fields of `{}`", table.resource.full_name));
        }
    }

    fn predicate(&mut self, predicate: &Predicate<'_>) {
        match predicate {
            Predicate::All(all) | Predicate::Any(all) => all.iter().for_each(|one| self.predicate(one)),
            Predicate::Not(inner) => self.predicate(inner),
            Predicate::Exists(exists) => {
                self.relation(exists.relation, exists.parent_resource);
                self.lookups(&exists.table);
                self.predicate(&exists.filter);
            }
            _ => {}
        }
    }
}
