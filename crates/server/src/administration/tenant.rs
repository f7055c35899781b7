//! Tenants: made, changed, removed.

use identity::event::{Change, Record};
use store::rights;
use store::tenants::{self, Tenant};
use uuid::Uuid;

use crate::chance;

use super::{Administration, Fault, readable};

impl Administration<'_> {
    /// Makes a tenant; an id may be brought along from where its data is.
    pub async fn create_tenant(&self, id: Option<Uuid>, code: &str, name: &str) -> Result<Tenant, Fault> {
        self.need("iam.tenant.create")?;
        let id = id.unwrap_or_else(chance::id);
        let tenant = Tenant { id, code: readable("a tenant's code", code)?, name: readable("a tenant's name", name)? };
        let mut transaction = self.records.begin().await?;
        let inserted = tenants::insert(&mut transaction, &tenant, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, "a tenant with this id or code"))?;
        self.finish(transaction, Record::Tenant(tenant.id), Change::Created).await?;
        Ok(tenant)
    }

    /// Changes a tenant.
    pub async fn update_tenant(&self, id: Uuid, code: Option<&str>, name: Option<&str>) -> Result<Tenant, Fault> {
        self.need("iam.tenant.update")?;
        let mut transaction = self.records.begin().await?;
        let mut tenant = tenants::by_ids(&mut transaction, &[id]).await?.pop().ok_or_else(|| unknown(id))?;
        tenant.code = readable("a tenant's code", code.unwrap_or(&tenant.code))?;
        tenant.name = readable("a tenant's name", name.unwrap_or(&tenant.name))?;
        let updated = tenants::update(&mut transaction, &tenant, self.occasion.now).await;
        updated.map_err(|error| Fault::named(error, "a tenant with this code"))?;
        self.finish(transaction, Record::Tenant(id), Change::Updated).await?;
        Ok(tenant)
    }

    /// Removes a tenant from everybody who belongs to it.
    pub async fn remove_tenant(&self, id: Uuid) -> Result<(), Fault> {
        self.need("iam.tenant.delete")?;
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        tenants::by_ids(&mut transaction, &[id]).await?.pop().ok_or_else(|| unknown(id))?;
        tenants::remove(&mut transaction, id).await?;
        self.finish(transaction, Record::Tenant(id), Change::Removed).await
    }
}

fn unknown(id: Uuid) -> Fault {
    Fault::Unknown(format!("there is no tenant {id}"))
}
