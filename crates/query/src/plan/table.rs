//! The only way to put a table into a plan: together with its permission, constraint and soft delete.

use crate::catalog::{Resource, ResourceId};

use super::lookup::{Lookup, LookupUse};
use super::predicate::{Alias, Column, Predicate};
use super::{Planner, Rights};

/// A table in a plan, inseparable from its policy.
#[derive(Debug)]
pub(crate) struct Table<'c> {
    pub(crate) resource: &'c Resource,
    pub(crate) alias: Alias,
    policy: Predicate<'c>,
    /// The values of derived fields that the query needs.
    pub(super) lookups: Vec<Lookup<'c>>,
    lifted_by: Option<&'c str>,
}

impl<'c> Table<'c> {
    /// The table of a resource. `None` if the viewer may not read it, or if the plan has too many tables.
    pub(super) fn with_policy(planner: &mut Planner<'c, '_>, resource: ResourceId, rights: Rights) -> Option<Self> {
        let target = planner.catalog.resource(resource);
        if rights == Rights::Viewer && !planner.viewer.can_read(target) {
            return None;
        }
        if !planner.count_table() {
            return None;
        }
        let alias = planner.alias();
        let policy = policy(planner, resource, alias);
        let lifted_by = target.constraint.as_ref().filter(|constraint| !planner.viewer.is_bound_by(constraint));
        Some(Table {
            resource: target,
            alias,
            policy,
            lookups: Vec::new(),
            lifted_by: lifted_by.and_then(|constraint| constraint.unless.as_deref()),
        })
    }

    /// The same table with its deleted rows only, for a restore.
    pub(super) fn with_deleted(self, planner: &mut Planner<'c, '_>) -> Self {
        let resource = self.resource;
        let Some(field) = resource.soft_delete else { return self };
        let deleted = Predicate::Unset(Column { alias: self.alias, field: &resource.fields[field] }).negate();
        let constraint = resource.constraint.as_ref().filter(|constraint| planner.viewer.is_bound_by(constraint));
        let constraint = constraint.map(|constraint| planner.constraint(resource, self.alias, &constraint.statement));
        Table { policy: Predicate::all(std::iter::once(deleted).chain(constraint).collect()), ..self }
    }

    /// The viewer's permission that lifts the constraint of the table.
    pub(crate) fn lifted_by(&self) -> Option<&'c str> {
        self.lifted_by
    }

    pub(crate) fn lookups(&self) -> &[Lookup<'c>] {
        &self.lookups
    }

    /// How many lookups a query joins with this table.
    pub(super) fn joined_lookups(&self) -> usize {
        self.lookups.iter().filter(|lookup| lookup.used > LookupUse::Shown).count()
    }

    /// The condition that every row of this table meets.
    pub(crate) fn policy(&self) -> &Predicate<'c> {
        &self.policy
    }

    /// Whether the account lacks a variable of the constraint, so that no row is visible.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.policy, Predicate::Never)
    }

    /// The column of a field that is no derived field of related rows.
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
    if let Some(constraint) = &resource.constraint
        && !constraint.statement.filters.is_empty()
        // While a catalog is made, each constraint is checked by itself.
        && !planner.is_at_boot()
        && planner.viewer.is_bound_by(constraint)
    {
        all.push(planner.constraint(resource, alias, &constraint.statement));
    }
    Predicate::all(all)
}
