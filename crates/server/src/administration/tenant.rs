//! Creates, changes and removes tenants.

use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use identity::timestamp::Timestamp;
use serde_json::{Map, Value, json};
use store::hub_records::tenants::{self, Tenant};
use uuid::Uuid;

use crate::random;

use super::{AdminError, Administration, ChangeTransaction, exists, fields, parse_name, taken};

const TAKEN: &str = "a tenant with this id or code";

impl Administration<'_> {
    /// Creates a tenant. Its data may have an id for it already.
    pub async fn create_tenant(&self, id: Option<Uuid>, code: &str, name: &str) -> Result<Tenant, AdminError> {
        let mut tx = self.begin("iam.tenant.create").await?;
        let id = id.unwrap_or_else(random::uuid);
        let tenant = Tenant { id, code: parse_name("a tenant's code", code)?, name: parse_name("a tenant's name", name)? };
        tx.insert_tenant(&tenant, self.audit_context.now).await?;
        self.finish(tx, ChangedRecord::Tenant(tenant.id), RecordChange::Created).await?;
        Ok(tenant)
    }

    pub async fn update_tenant(&self, id: Uuid, code: Option<&str>, name: Option<&str>) -> Result<Tenant, AdminError> {
        let mut tx = self.begin("iam.tenant.update").await?;
        let mut tenant = tx.tenant(id).await?;
        let old = describe_tenant(&tenant);
        tenant.code = parse_name("a tenant's code", code.unwrap_or(&tenant.code))?;
        tenant.name = parse_name("a tenant's name", name.unwrap_or(&tenant.name))?;
        tenants::update(&mut tx.records, &tenant, self.audit_context.now).await.map_err(exists("a tenant with this code", &["code"]))?;
        let altered = ChangedFields::between(&old, &describe_tenant(&tenant), &["code", "name"]);
        self.finish(tx, ChangedRecord::Tenant(id), RecordChange::Updated(altered)).await?;
        Ok(tenant)
    }

    pub async fn remove_tenant(&self, id: Uuid) -> Result<(), AdminError> {
        let mut tx = self.begin("iam.tenant.delete").await?;
        tx.tenant(id).await?;
        // Its members lose it.
        tx.may_admit(&[id])?;
        tenants::remove(&mut tx.records, id).await?;
        self.finish(tx, ChangedRecord::Tenant(id), RecordChange::Removed).await
    }
}

impl ChangeTransaction {
    pub(super) async fn insert_tenant(&mut self, tenant: &Tenant, now: Timestamp) -> Result<(), AdminError> {
        if tenants::is_leaving(&mut self.records, tenant.id).await? {
            let message = format!("the tenant {} was just removed, and its accounts still leave it; try again in some minutes", tenant.id);
            return Err(AdminError::Exists { message, fields: vec!["id"] });
        }
        let fields = tenants::taken_values(&mut self.records, tenant).await?;
        if !fields.is_empty() {
            return Err(taken(TAKEN, &fields));
        }
        tenants::insert(&mut self.records, tenant, now).await.map_err(exists(TAKEN, &[]))
    }

    async fn tenant(&mut self, id: Uuid) -> Result<Tenant, AdminError> {
        let found = tenants::by_ids(&mut self.records, &[id]).await?.pop();
        found.ok_or_else(|| AdminError::NotFound(format!("there is no tenant {id}")))
    }
}

pub(crate) fn describe_tenant(tenant: &Tenant) -> Map<String, Value> {
    fields([("id", json!(tenant.id.to_string())), ("code", json!(tenant.code)), ("name", json!(tenant.name))])
}
