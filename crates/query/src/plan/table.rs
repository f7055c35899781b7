//! The only place where a table enters a plan: with its constraint, its soft delete and the viewer's rights, or not at all.

use crate::catalog::{Constraint, Resource, ResourceId};

use super::predicate::{Alias, Column, Predicate};
use super::{Planner, Rights};

/// A table in a plan, inseparable from its policy.
#[derive(Debug)]
pub(crate) struct Table<'c> {
    pub(crate) resource: &'c Resource,
    pub(crate) alias: Alias,
    policy: Predicate<'c>,
}

impl<'c> Table<'c> {
    /// Reaches a resource's rows: nothing if the viewer has no right to them, or if the plan is full.
    pub(super) fn reach(planner: &mut Planner<'c, '_>, resource: ResourceId, rights: Rights) -> Option<Self> {
        let target = planner.catalog.resource(resource);
        if rights == Rights::Viewer && !planner.viewer.can_read(target) {
            return None;
        }
        if !planner.seat() {
            return None;
        }
        let alias = planner.alias();
        let policy = policy(planner, resource, alias);
        Some(Table { resource: target, alias, policy })
    }

    /// What must hold of every row of this table.
    pub(crate) fn policy(&self) -> &Predicate<'c> {
        &self.policy
    }

    /// Whether a variable that its constraint needs is missing, so that the policy lets no row through.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.policy, Predicate::Never)
    }

    pub(crate) fn column(&self, field: usize) -> Column<'c> {
        Column { alias: self.alias, field: &self.resource.fields[field] }
    }
}

fn policy<'c>(planner: &mut Planner<'c, '_>, id: ResourceId, alias: Alias) -> Predicate<'c> {
    let resource = planner.catalog.resource(id);
    let mut all = Vec::new();
    if let Some(field) = resource.soft_delete {
        all.push(Predicate::Unset(Column { alias, field: &resource.fields[field] }));
    }
    if let Some(Constraint { statement, .. }) = &resource.constraint
        && !statement.filters.is_empty()
        // At boot a constraint is checked by itself; the ones it follows are checked in their own turn.
        && !planner.is_at_boot()
    {
        all.push(planner.constraint(resource, alias, statement));
    }
    Predicate::all(all)
}
