//! Who asks, and what they may reach. The only place where a table enters a plan: with its constraint, its soft delete
//! and the viewer's rights, or not at all.

use std::collections::HashSet;

use crate::catalog::{Catalog, Field, Resource, ResourceId};
use crate::json::Json;
use crate::plan::predicate::{Alias, Column, Predicate};
use crate::plan::{Planner, Rights};

/// The caller: an account and the permissions it holds.
#[derive(Clone, Debug)]
pub struct Viewer {
    permissions: Holding,
    account: serde_json::Value,
}

#[derive(Clone, Debug)]
enum Holding {
    These(HashSet<String>),
    Every,
}

/// The id of the account that stands for nobody.
pub const ANONYMOUS_ID: &str = "00000000-0000-0000-0000-000000000000";

impl Viewer {
    /// Nobody in particular: no permissions, no tenants.
    pub fn anonymous() -> Self {
        Viewer::new([], serde_json::json!({ "id": ANONYMOUS_ID, "dPermissions": { "all": [] } }))
    }

    /// An account with its permissions. `account` is what `$account.…` in a manifest looks into.
    pub fn new(permissions: impl IntoIterator<Item = String>, account: serde_json::Value) -> Self {
        Viewer { permissions: Holding::These(permissions.into_iter().collect()), account }
    }

    /// An account that holds every permission, also those that only this process knows.
    pub fn administrator(account: serde_json::Value) -> Self {
        Viewer { permissions: Holding::Every, account }
    }

    /// The person at the command line, who could read the database without us. Never made from a request.
    pub fn operator() -> Self {
        Viewer { permissions: Holding::Every, account: serde_json::json!({}) }
    }

    /// The account, as `$account.…` looks into it.
    pub fn account(&self) -> &serde_json::Value {
        &self.account
    }

    /// Whether the account holds this permission.
    pub fn holds(&self, permission: &str) -> bool {
        match &self.permissions {
            Holding::These(permissions) => permissions.contains(permission),
            Holding::Every => true,
        }
    }

    /// Whether the account may read the resource at all.
    pub fn may_read(&self, resource: &Resource) -> bool {
        resource.permission.as_deref().is_none_or(|permission| self.holds(permission))
    }

    /// Whether the field is shown and usable plainly.
    pub fn sees_plainly(&self, field: &Field) -> bool {
        match &field.mask {
            None => true,
            Some((_, unmask)) => unmask.as_deref().is_some_and(|permission| self.holds(permission)),
        }
    }

    /// The value of `$account.a.b`, if the account has one.
    pub(crate) fn variable(&self, name: &str) -> Option<Json> {
        let path = name.strip_prefix("$account.")?;
        let mut value = &self.account;
        for part in path.split('.') {
            value = value.get(part)?;
        }
        Some(Json::from(value))
    }
}

/// The proof that the caller may ask a resource: made before its statement is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Entrance<'c> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) resource: ResourceId,
}

/// The caller lacks the resource's permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the permission to read this resource is missing")]
pub struct Denied;

/// Decides permission for a resource.
pub fn enter<'c>(catalog: &'c Catalog, resource: ResourceId, viewer: &Viewer) -> Result<Entrance<'c>, Denied> {
    if viewer.may_read(catalog.resource(resource)) { Ok(Entrance { catalog, resource }) } else { Err(Denied) }
}

impl<'c> Entrance<'c> {
    /// The resource that was entered.
    pub fn resource(&self) -> &'c Resource {
        self.catalog.resource(self.resource)
    }
}

/// A table in a plan, inseparable from its policy.
#[derive(Debug)]
pub struct Table<'c> {
    pub(crate) resource: &'c Resource,
    pub(crate) alias: Alias,
    policy: Predicate<'c>,
}

impl<'c> Table<'c> {
    /// Reaches a resource's rows: nothing if the viewer has no right to them, or if the plan is full.
    pub(crate) fn reach(planner: &mut Planner<'c, '_>, resource: ResourceId, rights: Rights) -> Option<Self> {
        let target = planner.catalog.resource(resource);
        if rights == Rights::Viewer && !planner.viewer.may_read(target) {
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
        && !constraint.filters.is_empty()
    {
        // At boot a constraint is checked by itself; the ones it follows are checked in their own turn.
        if !planner.is_at_boot() {
            all.push(planner.constraint(resource, alias, constraint));
        }
    }
    Predicate::all(all)
}
