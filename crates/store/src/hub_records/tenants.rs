//! Tenants. [`crate::hub_records::rights`] derives `dTenants` of their members.

use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
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

pub async fn update(on: impl Run, tenant: &Tenant, now: Timestamp) -> Result<(), Error> {
    save(on, "UPDATE peristyle.tenant SET code = $2, name = $3, updated_at = $4 WHERE id = $1", tenant, now).await
}

async fn save(on: impl Run, sql: &'static str, tenant: &Tenant, now: Timestamp) -> Result<(), Error> {
    let binds = [Bind::Id(tenant.id), Bind::Text(&tenant.code), Bind::Text(&tenant.name), Bind::timestamp(now)];
    on.rows(sql, &binds).await.map(drop)
}

/// Removes a tenant and recomputes `dTenants` of its members. The caller holds [`rights::lock`].
pub async fn remove(transaction: &mut Transaction, tenant: Uuid) -> Result<(), Error> {
    const LEFT: &str = "DELETE FROM peristyle.account_tenant WHERE tenant_id = $1 RETURNING account_id";
    let members = transaction.run(LEFT, &[Bind::Id(tenant)]).await?;
    let members: Vec<Uuid> = members.iter().map(|row| row.id(0)).collect::<Result<_, _>>()?;
    transaction.run("DELETE FROM peristyle.tenant WHERE id = $1", &[Bind::Id(tenant)]).await?;
    rights::recompute(transaction, rights::AffectedAccounts::Accounts(&members)).await
}
