//! Roles: made, changed, removed. Nobody puts into one what they do not hold.

use std::collections::BTreeSet;

use identity::account::rights::may_change_role;
use identity::account::{Holding, Permission};
use identity::event::{Change, Record};
use store::records::Transaction;
use store::rights;
use store::roles::{self, RoleRecord};

use crate::chance;

use super::{Administration, Fault, readable};

fn listed(names: &[String]) -> Result<BTreeSet<Permission>, Fault> {
    let read = |name: &String| Permission::parse(name).map_err(|fault| Fault::Invalid(format!("{name:?}: {fault}")));
    names.iter().map(read).collect()
}

impl Administration<'_> {
    /// Makes a role.
    pub async fn create_role(&self, name: &str, permissions: &[String]) -> Result<RoleRecord, Fault> {
        self.need("iam.role.create")?;
        let permissions = listed(permissions)?;
        self.may_grant(&Holding::Listed(permissions.clone()))?;
        let role = RoleRecord { id: chance::id(), name: readable("a role's name", name)?, description: None, permissions };
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        let inserted = roles::insert(&mut transaction, &role, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, "a role with this name"))?;
        self.finish(transaction, Record::Role(role.id), Change::Created).await?;
        Ok(role)
    }

    /// Gives a role these permissions in place of those it has, and perhaps a new name.
    pub async fn update_role(&self, name: &str, rename: Option<&str>, permissions: Option<&[String]>) -> Result<RoleRecord, Fault> {
        self.need("iam.role.update")?;
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        let mut role = changeable(&mut transaction, name).await?;
        self.may_grant(role.role().holding())?;
        if let Some(permissions) = permissions {
            role.permissions = listed(permissions)?;
            self.may_grant(role.role().holding())?;
        }
        if let Some(rename) = rename {
            role.name = readable("a role's name", rename)?;
        }
        let updated = roles::update(&mut transaction, &role, self.occasion.now).await;
        updated.map_err(|error| Fault::named(error, "a role with this name"))?;
        self.finish(transaction, Record::Role(role.id), Change::Updated).await?;
        Ok(role)
    }

    /// Removes a role from everybody who holds it.
    pub async fn remove_role(&self, name: &str) -> Result<(), Fault> {
        self.need("iam.role.delete")?;
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        let role = changeable(&mut transaction, name).await?;
        self.may_grant(role.role().holding())?;
        roles::remove(&mut transaction, role.id).await?;
        self.finish(transaction, Record::Role(role.id), Change::Removed).await
    }
}

async fn changeable(transaction: &mut Transaction, name: &str) -> Result<RoleRecord, Fault> {
    let role = roles::by_name(transaction, name).await?.ok_or_else(|| Fault::Unknown(format!("there is no role {name:?}")))?;
    may_change_role(role.id)?;
    Ok(role)
}
