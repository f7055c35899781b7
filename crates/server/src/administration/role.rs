//! Creates, changes and removes roles. An actor can put only permissions that it holds into a role.

use std::collections::BTreeSet;

use identity::account::rights::{ADMINISTRATOR_NAME, may_change_role};
use identity::account::{Permission, RolePermissions};
use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use serde_json::{Map, Value, json};
use store::hub_records::roles::{self, RoleRecord};

use crate::random;

use super::{AdminError, Administration, ChangeTransaction, NameOrId, NullableChange, exists, fields, parse_name, taken};

const TAKEN: &str = "a role with this name";

/// A change of a role; a name that is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleChange {
    pub name: Option<String>,
    pub description: NullableChange,
    pub permissions: PermissionsChange,
}

/// A change of the permissions of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PermissionsChange {
    #[default]
    Keep,
    Replace(Vec<String>),
    /// The others stay.
    Alter {
        add: Vec<String>,
        remove: Vec<String>,
    },
}

impl From<Option<Vec<String>>> for PermissionsChange {
    /// An absent list keeps the stored one.
    fn from(list: Option<Vec<String>>) -> Self {
        list.map_or(PermissionsChange::Keep, PermissionsChange::Replace)
    }
}

impl PermissionsChange {
    /// The permissions after the change of the role with this name.
    fn apply(&self, name: &str, stored: &BTreeSet<Permission>) -> Result<BTreeSet<Permission>, AdminError> {
        match self {
            PermissionsChange::Keep => Ok(stored.clone()),
            PermissionsChange::Replace(list) => parse_permissions(list),
            PermissionsChange::Alter { add, remove } => {
                let (added, removed) = (parse_permissions(add)?, parse_permissions(remove)?);
                if let Some(both) = added.intersection(&removed).next() {
                    return Err(AdminError::Invalid(format!("the permission {} is added and removed; name it once", both.as_str())));
                }
                // A misspelled name would leave the right in place, unnoticed.
                if let Some(absent) = removed.difference(stored).next() {
                    return Err(AdminError::Invalid(format!("the role {name} does not have the permission {}", absent.as_str())));
                }
                Ok(stored.difference(&removed).chain(&added).cloned().collect())
            }
        }
    }
}

/// Checks the name of a role. No name may look like that of the built-in role.
fn parse_role_name(text: &str) -> Result<String, AdminError> {
    let name = parse_name("a role's name", text)?;
    if name.to_lowercase() == ADMINISTRATOR_NAME {
        return Err(taken(TAKEN, &["name"]));
    }
    Ok(name)
}

fn parse_description(text: &str) -> Result<String, AdminError> {
    parse_name("a role's description", text)
}

fn parse_permissions(names: &[String]) -> Result<BTreeSet<Permission>, AdminError> {
    let parse = |name: &String| Permission::parse(name).map_err(|fault| AdminError::Invalid(format!("{name:?}: {fault}")));
    names.iter().map(parse).collect()
}

impl Administration<'_> {
    pub async fn create_role(&self, name: &str, new: RoleChange) -> Result<RoleRecord, AdminError> {
        let mut tx = self.begin("iam.role.create").await?;
        let permissions = new.permissions.apply(name, &BTreeSet::new())?;
        tx.may_grant(&RolePermissions::Listed(permissions.clone()))?;
        let description = new.description.parse(None, parse_description)?;
        let role = RoleRecord { id: random::uuid(), name: parse_role_name(name)?, description, permissions };
        roles::insert(&mut tx.records, &role, self.audit_context.now).await.map_err(exists(TAKEN, &["name"]))?;
        self.finish(tx, ChangedRecord::Role(role.id), RecordChange::Created).await?;
        Ok(role)
    }

    /// Changes a role, and the rights of all its accounts.
    pub async fn update_role(&self, which: NameOrId<'_>, change: RoleChange) -> Result<RoleRecord, AdminError> {
        let mut tx = self.begin("iam.role.update").await?;
        let mut role = tx.role(which).await?;
        let old = describe_role(&role);
        tx.may_grant(role.role().holding())?;
        role.permissions = change.permissions.apply(&role.name, &role.permissions)?;
        tx.may_grant(role.role().holding())?;
        if let Some(name) = &change.name {
            role.name = parse_role_name(name)?;
        }
        role.description = change.description.parse(role.description, parse_description)?;
        roles::update(&mut tx.records, &role, self.audit_context.now).await.map_err(exists(TAKEN, &["name"]))?;
        let altered = ChangedFields::between(&old, &describe_role(&role), &["name", "description", "permissions"]);
        self.finish(tx, ChangedRecord::Role(role.id), RecordChange::Updated(altered)).await?;
        Ok(role)
    }

    pub async fn remove_role(&self, which: NameOrId<'_>) -> Result<(), AdminError> {
        let mut tx = self.begin("iam.role.delete").await?;
        let role = tx.role(which).await?;
        tx.may_grant(role.role().holding())?;
        roles::remove(&mut tx.records, role.id).await?;
        self.finish(tx, ChangedRecord::Role(role.id), RecordChange::Removed).await
    }
}

impl ChangeTransaction {
    async fn role(&mut self, which: NameOrId<'_>) -> Result<RoleRecord, AdminError> {
        let found = match which {
            NameOrId::Name(name) => roles::by_name(&mut self.records, name).await?,
            NameOrId::Id(id) => roles::by_ids(&mut self.records, &[id]).await?.pop(),
        };
        let role = found.ok_or_else(|| AdminError::NotFound(format!("there is no role {which}")))?;
        may_change_role(role.id)?;
        Ok(role)
    }
}

pub(crate) fn describe_role(role: &RoleRecord) -> Map<String, Value> {
    fields([
        ("id", json!(role.id.to_string())),
        ("name", json!(role.name)),
        ("description", json!(role.description)),
        ("permissions", role.permissions.iter().map(Permission::as_str).collect()),
    ])
}
