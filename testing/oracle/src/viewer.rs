//! The permissions and the account of a viewer.

use crate::schema::{Field, Resource};
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Viewer {
    pub name: &'static str,
    pub permissions: Vec<String>,
    /// The account that `$account` refers to: id, dTenants, meta and so on.
    pub account: Value,
}

impl Viewer {
    pub fn has_permission(&self, permission: &str) -> bool {
        self.permissions.iter().any(|held| held == permission)
    }

    pub fn can_read(&self, resource: &Resource) -> bool {
        resource.permission.as_deref().is_none_or(|permission| self.has_permission(permission))
    }

    /// The constraint of a resource, unless a permission lifts it.
    pub fn constraint<'r>(&self, resource: &'r Resource) -> Option<&'r Value> {
        resource.constraint.as_ref().filter(|_| !resource.unless.as_deref().is_some_and(|permission| self.has_permission(permission)))
    }

    /// Whether the field shows its mask instead of its value.
    pub fn sees_masked(&self, field: &Field) -> bool {
        field.mask.is_some() && !field.unmask.as_deref().is_some_and(|permission| self.has_permission(permission))
    }

    /// Whether there is a key without hidden or masked fields.
    pub fn sees_key(&self, resource: &Resource) -> bool {
        let keys = resource.keys();
        !keys.is_empty() && keys.into_iter().all(|key| self.may_use(key))
    }

    /// Whether where, order, groupBy and aggregation accept the field.
    pub fn may_use(&self, field: &Field) -> bool {
        self.knows(field) && !self.sees_masked(field)
    }

    /// Whether the field exists for the viewer: it is not hidden, and the viewer may read all that it is computed from.
    pub fn knows(&self, field: &Field) -> bool {
        !field.hidden && field.requires.iter().all(|permission| self.has_permission(permission))
    }
}
