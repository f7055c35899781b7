//! Roles and their permissions. [`crate::hub_records::rights`] derives the rights of their holders.

use std::collections::BTreeSet;

use identity::account::{Permission, Role};
use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::rights::{AffectedAccounts, MemberGroup};
use crate::hub_records::{Bind, Row, Run, Transaction, rights, unexpected};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRecord {
    pub id: Uuid,
    pub name: String,
    pub description: Option<String>,
    /// Its permissions. The built-in role lists all known ones, and holds unknown ones too.
    pub permissions: BTreeSet<Permission>,
}

impl RoleRecord {
    pub fn role(&self) -> Role {
        Role::new(self.id, self.permissions.clone())
    }
}

macro_rules! select_roles {
    ($condition:literal) => {
        concat!(
            "SELECT r.id, r.name, r.description, p.permission FROM peristyle.role r \
             LEFT JOIN peristyle.role_permission p ON p.role_id = r.id",
            $condition,
            " ORDER BY r.name, r.id, p.permission"
        )
    };
}

pub async fn list(on: impl Run) -> Result<Vec<RoleRecord>, Error> {
    gather(&on.rows(select_roles!(""), &[]).await?)
}

/// The roles with these names, without those that do not exist.
pub async fn by_names(on: impl Run, names: &[String]) -> Result<Vec<RoleRecord>, Error> {
    gather(&on.rows(select_roles!(" WHERE r.name IN (SELECT unnest($1))"), &[Bind::Texts(names)]).await?)
}

/// The roles with these ids, without those that do not exist.
pub async fn by_ids(on: impl Run, ids: &[Uuid]) -> Result<Vec<RoleRecord>, Error> {
    gather(&on.rows(select_roles!(" WHERE r.id IN (SELECT unnest($1))"), &[Bind::Ids(ids)]).await?)
}

pub async fn names_of(on: impl Run, account: Uuid) -> Result<Vec<String>, Error> {
    const SQL: &str = "SELECT r.name FROM peristyle.role r JOIN peristyle.account_role m ON m.role_id = r.id WHERE m.account_id = $1 \
                       ORDER BY r.name";
    on.rows(SQL, &[Bind::Id(account)]).await?.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

pub async fn by_name(on: impl Run, name: &str) -> Result<Option<RoleRecord>, Error> {
    Ok(by_names(on, &[name.to_owned()]).await?.into_iter().next())
}

fn gather(rows: &[Row]) -> Result<Vec<RoleRecord>, Error> {
    let mut roles: Vec<RoleRecord> = Vec::new();
    for row in rows {
        let id = row.id(0)?;
        if roles.last().is_none_or(|last| last.id != id) {
            let description = row.maybe_text(2)?.map(str::to_owned);
            roles.push(RoleRecord { id, name: row.text(1)?.to_owned(), description, permissions: BTreeSet::new() });
        }
        if let (Some(last), Some(name)) = (roles.last_mut(), row.maybe_text(3)?) {
            last.permissions.insert(Permission::parse(name).map_err(|_| unexpected(3, "a permission"))?);
        }
    }
    Ok(roles)
}

/// Inserts a role. The caller holds [`rights::lock`].
pub async fn insert(transaction: &mut Transaction, role: &RoleRecord, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.role (id, name, description, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)";
    let description = Bind::maybe(role.description.as_deref(), Bind::Text);
    transaction.run(SQL, &[Bind::Id(role.id), Bind::Text(&role.name), description, Bind::timestamp(now)]).await?;
    list_permissions(transaction, role, now).await
}

/// Updates a role. If its permissions change, recomputes the rights of its holders. The caller holds [`rights::lock`].
pub async fn update(transaction: &mut Transaction, role: &RoleRecord, now: Timestamp) -> Result<(), Error> {
    const SQL: &str = "UPDATE peristyle.role SET name = $2, description = $3, updated_at = $4 WHERE id = $1";
    let description = Bind::maybe(role.description.as_deref(), Bind::Text);
    transaction.run(SQL, &[Bind::Id(role.id), Bind::Text(&role.name), description, Bind::timestamp(now)]).await?;
    let before = by_ids(&mut *transaction, &[role.id]).await?;
    if before.first().is_some_and(|before| before.permissions == role.permissions) {
        return Ok(());
    }
    transaction.run("DELETE FROM peristyle.role_permission WHERE role_id = $1", &[Bind::Id(role.id)]).await?;
    list_permissions(transaction, role, now).await?;
    rights::recompute(transaction, AffectedAccounts::Members(MemberGroup::Role(role.id))).await
}

/// Removes a role and recomputes the rights of its holders. The caller holds [`rights::lock`].
pub async fn remove(transaction: &mut Transaction, role: Uuid) -> Result<(), Error> {
    transaction.run("DELETE FROM peristyle.role WHERE id = $1", &[Bind::Id(role)]).await?;
    rights::recompute(transaction, AffectedAccounts::Members(MemberGroup::Role(role))).await
}

async fn list_permissions(transaction: &mut Transaction, role: &RoleRecord, now: Timestamp) -> Result<(), Error> {
    const LISTED: &str = "INSERT INTO peristyle.role_permission (role_id, permission) SELECT $1, p.name FROM peristyle.permission p \
                          WHERE p.name IN (SELECT unnest($2))";
    let names: Vec<String> = role.permissions.iter().map(|name| name.as_str().to_owned()).collect();
    let new = rights::make_known(transaction, &names, now).await?;
    transaction.run(LISTED, &[Bind::Id(role.id), Bind::Texts(&names)]).await?;
    if new {
        rights::recompute(transaction, AffectedAccounts::Members(MemberGroup::Role(identity::account::ADMINISTRATOR))).await?;
    }
    Ok(())
}
