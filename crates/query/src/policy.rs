//! The viewer, its permissions and variables, and the permission to read a resource.

use std::collections::HashSet;

use crate::catalog::write_rules::{WriteOperation, WriteRules};
use crate::catalog::{Catalog, Constraint, Field, Resource, ResourceId};
use crate::json::Json;
use crate::manifest::OperationRight;

pub use crate::account_variables::{ACCOUNT_FIELDS, ACCOUNT_VARIABLES, is_account_variable};

/// The account as the policy sees it: its permissions and its variables.
#[derive(Clone, Debug)]
pub struct Viewer {
    permissions: Permissions,
    account: serde_json::Value,
}

#[derive(Clone, Debug)]
enum Permissions {
    Listed(HashSet<String>),
    All,
}

pub const ANONYMOUS_ID: &str = "00000000-0000-0000-0000-000000000000";

impl Viewer {
    /// The anonymous account: no permissions, no tenants.
    pub fn anonymous() -> Self {
        Viewer::new([], serde_json::json!({ "id": ANONYMOUS_ID, "dPermissions": { "all": [] } }))
    }

    /// An account with its permissions. `$account.…` in a manifest is looked up in `account`.
    pub fn new(permissions: impl IntoIterator<Item = String>, account: serde_json::Value) -> Self {
        Viewer { permissions: Permissions::Listed(permissions.into_iter().collect()), account }
    }

    /// An account with every permission, including those that only this process knows.
    pub fn administrator(account: serde_json::Value) -> Self {
        Viewer { permissions: Permissions::All, account }
    }

    /// The operator at the command line, with every permission. Never made from a request.
    pub fn operator() -> Self {
        Viewer { permissions: Permissions::All, account: serde_json::json!({}) }
    }

    pub fn account(&self) -> &serde_json::Value {
        &self.account
    }

    pub fn has_permission(&self, permission: &str) -> bool {
        match &self.permissions {
            Permissions::Listed(permissions) => permissions.contains(permission),
            Permissions::All => true,
        }
    }

    pub fn can_read(&self, resource: &Resource) -> bool {
        resource.permission.as_deref().is_none_or(|permission| self.has_permission(permission))
    }

    /// Whether the constraint applies to the account.
    pub(crate) fn is_bound_by(&self, constraint: &Constraint) -> bool {
        constraint.unless.as_deref().is_none_or(|permission| !self.has_permission(permission))
    }

    /// Whether the account sees the field without a mask.
    pub fn sees_unmasked(&self, field: &Field) -> bool {
        match &field.mask {
            None => true,
            Some((_, unmask)) => unmask.as_deref().is_some_and(|permission| self.has_permission(permission)),
        }
    }

    /// Whether the field exists for the account: it is not hidden, and the account may read all that it is computed from.
    pub fn knows(&self, field: &Field) -> bool {
        !field.hidden && field.requires.iter().all(|permission| self.has_permission(permission))
    }

    /// Whether a payload of this account may have the field in this operation.
    pub fn can_write(&self, field: &Field, operation: WriteOperation) -> bool {
        field.is_writable(operation) && field.rules.permission.as_deref().is_none_or(|permission| self.has_permission(permission))
    }

    /// Whether the resource has a key that is neither hidden nor masked. Such a key can find a row and break ties.
    pub fn sees_key(&self, resource: &Resource) -> bool {
        !resource.key.is_empty() && resource.key_fields().all(|field| !field.hidden && self.sees_unmasked(field))
    }

    /// The value of `$account.a.b`.
    pub(crate) fn variable(&self, name: &str) -> Option<Json> {
        let path = name.strip_prefix("$account.")?;
        let mut value = &self.account;
        for part in path.split('.') {
            value = value.get(part)?;
        }
        Some(Json::from(value))
    }
}

/// Proof that the viewer may read the resource. A plan needs one and is made for this viewer.
#[derive(Clone, Copy, Debug)]
pub struct ReadAccess<'c, 'v> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) resource: ResourceId,
    pub(crate) viewer: &'v Viewer,
}

/// The viewer lacks this permission, which the resource needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reading this resource needs the permission {0}, which the account lacks")]
pub struct Denied<'c>(pub &'c str);

pub fn authorize_read<'c, 'v>(catalog: &'c Catalog, resource: ResourceId, viewer: &'v Viewer) -> Result<ReadAccess<'c, 'v>, Denied<'c>> {
    match catalog.resource(resource).permission.as_deref() {
        Some(permission) if !viewer.has_permission(permission) => Err(Denied(permission)),
        _ => Ok(ReadAccess { catalog, resource, viewer }),
    }
}

/// Proof that the viewer may use an operation that changes rows of the resource. A plan of a write needs one.
#[derive(Clone, Copy, Debug)]
pub struct WriteAccess<'c, 'v> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) resource: ResourceId,
    pub(crate) rules: &'c WriteRules,
    pub(crate) operation: WriteOperation,
    pub(crate) viewer: &'v Viewer,
}

/// Why an operation that changes rows cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteDenied<'c> {
    #[error("the manifest does not have this operation under `[….write]`")]
    NoOperation,
    #[error("this operation needs the permission {0}, which the account lacks")]
    Permission(&'c str),
}

pub fn authorize_write<'c, 'v>(
    catalog: &'c Catalog,
    resource: ResourceId,
    operation: WriteOperation,
    viewer: &'v Viewer,
) -> Result<WriteAccess<'c, 'v>, WriteDenied<'c>> {
    let rules = catalog.resource(resource).write.as_ref().ok_or(WriteDenied::NoOperation)?;
    match rules.right(operation).ok_or(WriteDenied::NoOperation)? {
        OperationRight::Permission(permission) if !viewer.has_permission(permission) => Err(WriteDenied::Permission(permission)),
        OperationRight::Permission(_) | OperationRight::Everyone => Ok(WriteAccess { catalog, resource, rules, operation, viewer }),
    }
}

impl<'c> WriteAccess<'c, '_> {
    pub fn resource(&self) -> &'c Resource {
        self.catalog.resource(self.resource)
    }

    pub fn operation(&self) -> WriteOperation {
        self.operation
    }
}

impl<'c> ReadAccess<'c, '_> {
    pub fn resource(&self) -> &'c Resource {
        self.catalog.resource(self.resource)
    }

    /// Whether the viewer can find a row by its key.
    pub fn can_find_by_id(&self) -> bool {
        self.viewer.sees_key(self.resource())
    }
}
