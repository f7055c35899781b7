//! Roles: made, changed, removed. Nobody puts into one what they do not hold.

use std::collections::BTreeSet;

use identity::account::rights::{ADMINISTRATOR_NAME, may_change_role};
use identity::account::{Permission, RolePermissions};
use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use serde_json::{Map, Value, json};
use store::hub_records::roles::{self, RoleRecord};

use crate::random;

use super::{Administration, Fault, Which, Work, fields, readable};

const TAKEN: &str = "a role with this name";

/// What to change of a role; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct RoleChange {
    /// `name`
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it holds, in place of what it held.
    pub permissions: Option<Vec<String>>,
}

/// A role's name. Nobody should take another role for the built-in one, or for one of the same letters.
fn role_name(text: &str) -> Result<String, Fault> {
    let name = readable("a role's name", text)?;
    if name.to_lowercase() == ADMINISTRATOR_NAME {
        return Err(Fault::Exists(format!("{TAKEN} exists already")));
    }
    Ok(name)
}

fn listed(names: &[String]) -> Result<BTreeSet<Permission>, Fault> {
    let read = |name: &String| Permission::parse(name).map_err(|fault| Fault::Invalid(format!("{name:?}: {fault}")));
    names.iter().map(read).collect()
}

impl Administration<'_> {
    /// Makes a role.
    pub async fn create_role(&self, name: &str, new: RoleChange) -> Result<RoleRecord, Fault> {
        let mut work = self.begin("iam.role.create").await?;
        let permissions = listed(&new.permissions.unwrap_or_default())?;
        work.may_grant(&RolePermissions::Listed(permissions.clone()))?;
        let description = new.description.map(|text| readable("a role's description", &text)).transpose()?;
        let role = RoleRecord { id: random::uuid(), name: role_name(name)?, description, permissions };
        let inserted = roles::insert(&mut work.transaction, &role, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, TAKEN))?;
        self.finish(work, ChangedRecord::Role(role.id), RecordChange::Created).await?;
        Ok(role)
    }

    /// Changes a role, and with it the rights of everybody who holds it.
    pub async fn update_role(&self, which: Which<'_>, change: RoleChange) -> Result<RoleRecord, Fault> {
        let mut work = self.begin("iam.role.update").await?;
        let mut role = work.role(which).await?;
        let old = describe_role(&role);
        work.may_grant(role.role().holding())?;
        if let Some(permissions) = &change.permissions {
            role.permissions = listed(permissions)?;
            work.may_grant(role.role().holding())?;
        }
        if let Some(name) = &change.name {
            role.name = role_name(name)?;
        }
        if let Some(description) = &change.description {
            role.description = Some(readable("a role's description", description)?);
        }
        let updated = roles::update(&mut work.transaction, &role, self.occasion.now).await;
        updated.map_err(|error| Fault::named(error, TAKEN))?;
        let altered = ChangedFields::between(&old, &describe_role(&role), &["name", "description", "permissions"]);
        self.finish(work, ChangedRecord::Role(role.id), RecordChange::Updated(altered)).await?;
        Ok(role)
    }

    /// Removes a role from everybody who holds it.
    pub async fn remove_role(&self, which: Which<'_>) -> Result<(), Fault> {
        let mut work = self.begin("iam.role.delete").await?;
        let role = work.role(which).await?;
        work.may_grant(role.role().holding())?;
        roles::remove(&mut work.transaction, role.id).await?;
        self.finish(work, ChangedRecord::Role(role.id), RecordChange::Removed).await
    }
}

impl Work {
    /// The role, if it exists and is not built in.
    async fn role(&mut self, which: Which<'_>) -> Result<RoleRecord, Fault> {
        let found = match which {
            Which::Name(name) => roles::by_name(&mut self.transaction, name).await?,
            Which::Id(id) => roles::by_ids(&mut self.transaction, &[id]).await?.pop(),
        };
        let role = found.ok_or_else(|| Fault::Unknown(format!("there is no role {which}")))?;
        may_change_role(role.id)?;
        Ok(role)
    }
}

/// What can be changed of a role.
pub(crate) fn describe_role(role: &RoleRecord) -> Map<String, Value> {
    fields([
        ("name", json!(role.name)),
        ("description", json!(role.description)),
        ("permissions", role.permissions.iter().map(Permission::as_str).collect()),
    ])
}
