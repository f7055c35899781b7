//! Tenants: made, changed, removed.

use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use serde_json::{Map, Value, json};
use store::hub_records::tenants::{self, Tenant};
use uuid::Uuid;

use crate::random;

use super::{Administration, Fault, Work, fields, readable};

impl Administration<'_> {
    /// Makes a tenant; an id may be brought along from where its data is.
    pub async fn create_tenant(&self, id: Option<Uuid>, code: &str, name: &str) -> Result<Tenant, Fault> {
        let mut work = self.begin("iam.tenant.create").await?;
        let id = id.unwrap_or_else(random::uuid);
        let tenant = Tenant { id, code: readable("a tenant's code", code)?, name: readable("a tenant's name", name)? };
        let inserted = tenants::insert(&mut work.transaction, &tenant, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, "a tenant with this id or code"))?;
        self.finish(work, ChangedRecord::Tenant(tenant.id), RecordChange::Created).await?;
        Ok(tenant)
    }

    /// Changes a tenant.
    pub async fn update_tenant(&self, id: Uuid, code: Option<&str>, name: Option<&str>) -> Result<Tenant, Fault> {
        let mut work = self.begin("iam.tenant.update").await?;
        let mut tenant = work.tenant(id).await?;
        let old = describe_tenant(&tenant);
        tenant.code = readable("a tenant's code", code.unwrap_or(&tenant.code))?;
        tenant.name = readable("a tenant's name", name.unwrap_or(&tenant.name))?;
        let updated = tenants::update(&mut work.transaction, &tenant, self.occasion.now).await;
        updated.map_err(|error| Fault::named(error, "a tenant with this code"))?;
        let altered = ChangedFields::between(&old, &describe_tenant(&tenant), &["code", "name"]);
        self.finish(work, ChangedRecord::Tenant(id), RecordChange::Updated(altered)).await?;
        Ok(tenant)
    }

    /// Removes a tenant from everybody who belongs to it.
    pub async fn remove_tenant(&self, id: Uuid) -> Result<(), Fault> {
        let mut work = self.begin("iam.tenant.delete").await?;
        work.tenant(id).await?;
        tenants::remove(&mut work.transaction, id).await?;
        self.finish(work, ChangedRecord::Tenant(id), RecordChange::Removed).await
    }
}

impl Work {
    async fn tenant(&mut self, id: Uuid) -> Result<Tenant, Fault> {
        let found = tenants::by_ids(&mut self.transaction, &[id]).await?.pop();
        found.ok_or_else(|| Fault::Unknown(format!("there is no tenant {id}")))
    }
}

/// What can be changed of a tenant.
pub(crate) fn describe_tenant(tenant: &Tenant) -> Map<String, Value> {
    fields([("code", json!(tenant.code)), ("name", json!(tenant.name))])
}
