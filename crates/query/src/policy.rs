//! Who asks, and what they may read.

use std::collections::HashSet;

use crate::catalog::{Catalog, Field, Resource, ResourceId};
use crate::json::Json;

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
    pub fn has_permission(&self, permission: &str) -> bool {
        match &self.permissions {
            Holding::These(permissions) => permissions.contains(permission),
            Holding::Every => true,
        }
    }

    /// Whether the account may read the resource at all.
    pub fn can_read(&self, resource: &Resource) -> bool {
        resource.permission.as_deref().is_none_or(|permission| self.has_permission(permission))
    }

    /// Whether the field is shown and usable plainly.
    pub fn sees_unmasked(&self, field: &Field) -> bool {
        match &field.mask {
            None => true,
            Some((_, unmask)) => unmask.as_deref().is_some_and(|permission| self.has_permission(permission)),
        }
    }

    /// Whether the resource has a key that is neither hidden nor masked: it can be asked for by id, and may break ties.
    pub fn sees_key(&self, resource: &Resource) -> bool {
        !resource.key.is_empty() && resource.key_fields().all(|field| !field.hidden && self.sees_unmasked(field))
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

/// The fields of an account that `$account.…` looks into.
pub const ACCOUNT_FIELDS: [&str; 11] =
    ["id", "type", "code", "email", "username", "isActive", "tags", "scopes", "dPermissions", "dTenants", "meta"];

/// What a constraint can name of every account; below `$account.meta` each account has what it was given.
pub const ACCOUNT_VARIABLES: [&str; 10] = [
    "$account.id",
    "$account.type",
    "$account.code",
    "$account.email",
    "$account.username",
    "$account.isActive",
    "$account.tags",
    "$account.scopes",
    "$account.dTenants",
    "$account.dPermissions.all",
];

/// Whether there can be an account that has this variable.
pub fn is_account_variable(name: &str) -> bool {
    let is_of_role = |name: &str| name.strip_prefix("$account.dPermissions.").is_some_and(|role| !role.contains('.'));
    ACCOUNT_VARIABLES.contains(&name) || name.starts_with("$account.meta.") || is_of_role(name)
}

/// The proof that this caller may ask a resource: made before its statement is looked at, and what is planned then is planned for nobody
/// else.
#[derive(Clone, Copy, Debug)]
pub struct ReadAccess<'c, 'v> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) resource: ResourceId,
    pub(crate) viewer: &'v Viewer,
}

/// The caller lacks the resource's permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the permission to read this resource is missing")]
pub struct Denied;

/// Decides permission for a resource.
pub fn authorize_read<'c, 'v>(catalog: &'c Catalog, resource: ResourceId, viewer: &'v Viewer) -> Result<ReadAccess<'c, 'v>, Denied> {
    if viewer.can_read(catalog.resource(resource)) { Ok(ReadAccess { catalog, resource, viewer }) } else { Err(Denied) }
}

impl<'c> ReadAccess<'c, '_> {
    /// The resource that was entered.
    pub fn resource(&self) -> &'c Resource {
        self.catalog.resource(self.resource)
    }

    /// Whether the caller can ask for one of its rows by the key.
    pub fn can_find_by_id(&self) -> bool {
        self.viewer.sees_key(self.resource())
    }
}
