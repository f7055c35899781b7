//! Tenants. [`crate::hub_records::rights`] derives `dTenants` of their members.

use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::rights::{AffectedAccounts, MemberGroup};
use crate::hub_records::{Bind, Row, Run, Transaction, rights};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    pub id: Uuid,
    /// `code`: a unique readable name.
    pub code: String,
    pub name: String,
}

fn read(row: &Row) -> Result<Tenant, Error> {
    Ok(Tenant { id: row.id(0)?, code: row.text(1)?.to_owned(), name: row.text(2)?.to_owned() })
}

pub async fn list(on: impl Run) -> Result<Vec<Tenant>, Error> {
    on.rows("SELECT id, code, name FROM peristyle.tenant ORDER BY code", &[]).await?.iter().map(read).collect()
}

/// The tenants with these ids, without those that do not exist.
pub async fn by_ids(on: impl Run, ids: &[Uuid]) -> Result<Vec<Tenant>, Error> {
    const SQL: &str = "SELECT id, code, name FROM peristyle.tenant WHERE id IN (SELECT unnest($1)) ORDER BY code";
    on.rows(SQL, &[Bind::Ids(ids)]).await?.iter().map(read).collect()
}

pub async fn insert(on: impl Run, tenant: &Tenant, now: Timestamp) -> Result<(), Error> {
    save(on, "INSERT INTO peristyle.tenant (id, code, name, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)", tenant, now).await
}

/// The fields that another tenant has the same values in.
pub async fn taken_values(on: impl Run, tenant: &Tenant) -> Result<Vec<&'static str>, Error> {
    const SQL: &str = "SELECT id, code, name FROM peristyle.tenant WHERE id = $1 OR code = $2";
    let rows = on.rows(SQL, &[Bind::Id(tenant.id), Bind::Text(&tenant.code)]).await?;
    let others = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let fields = [("id", others.iter().any(|other| other.id == tenant.id)), ("code", others.iter().any(|other| other.code == tenant.code))];
    Ok(fields.into_iter().filter(|(_, is_taken)| *is_taken).map(|(name, _)| name).collect())
}

pub async fn update(on: impl Run, tenant: &Tenant, now: Timestamp) -> Result<(), Error> {
    save(on, "UPDATE peristyle.tenant SET code = $2, name = $3, updated_at = $4 WHERE id = $1", tenant, now).await
}

async fn save(on: impl Run, sql: &'static str, tenant: &Tenant, now: Timestamp) -> Result<(), Error> {
    let binds = [Bind::Id(tenant.id), Bind::Text(&tenant.code), Bind::Text(&tenant.name), Bind::timestamp(now)];
    on.rows(sql, &binds).await.map(drop)
}

/// Removes a tenant and recomputes `dTenants` of its members. The caller holds [`rights::lock`].
pub async fn remove(transaction: &mut Transaction, tenant: Uuid) -> Result<(), Error> {
    transaction.run("DELETE FROM peristyle.tenant WHERE id = $1", &[Bind::Id(tenant)]).await?;
    rights::recompute(transaction, AffectedAccounts::Members(MemberGroup::Tenant(tenant))).await
}

/// Whether a tenant with this id was removed and still has members. Another one with its id would get them.
pub async fn is_leaving(on: impl Run, tenant: Uuid) -> Result<bool, Error> {
    const SQL: &str = "SELECT 1 FROM peristyle.pending_rights WHERE kind = 'tenant' AND id = $1";
    Ok(on.row(SQL, &[Bind::Id(tenant)]).await?.is_some())
}
