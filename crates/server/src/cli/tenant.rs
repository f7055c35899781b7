//! `peristyle tenant`: adds, lists, shows, changes and removes tenants.

use clap::Subcommand;
use serde_json::json;
use store::hub_records::summaries;
use store::hub_records::tenants::{self, Tenant};
use uuid::Uuid;

use crate::administration::describe_tenant;

use super::admin_context::{AdminContext, CodeOrId, MAX_NAMES, RecordTable, RecordsUse, require_change, select};
use super::{CommandError, usage};

#[derive(Debug, Subcommand)]
pub(super) enum TenantAction {
    /// Add a tenant
    #[command(after_help = "Example:\n  peristyle tenant add --code north --name 'The North'")]
    Add {
        /// Its display name
        #[arg(long)]
        name: String,
        /// A unique, readable code; the name by default
        #[arg(long)]
        code: Option<String>,
        /// Its id, if its data already has one
        #[arg(long, value_parser = usage::id)]
        id: Option<Uuid>,
    },
    /// List tenants
    #[command(after_help = "Example:\n  peristyle tenant list")]
    List,
    /// Show one tenant and its accounts
    #[command(after_help = "Example:\n  peristyle tenant show --code north")]
    Show(CodeOrId),
    /// Change a tenant
    #[command(after_help = "Example:\n  peristyle tenant update --id 6f1c0f6e-5a0e-4e0c-9d53-1c2f0a7b9e11 --name 'The South'")]
    Update {
        /// Its id
        #[arg(long, value_parser = usage::id)]
        id: Uuid,
        /// Its display name
        #[arg(long)]
        name: Option<String>,
        /// A unique, readable code
        #[arg(long)]
        code: Option<String>,
    },
    /// Remove a tenant; its accounts no longer belong to it
    #[command(after_help = "Example:\n  peristyle tenant remove --code north")]
    Remove(CodeOrId),
}

impl TenantAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            TenantAction::Add { .. } => RecordsUse::Add,
            TenantAction::List | TenantAction::Show(_) => RecordsUse::Read,
            TenantAction::Update { .. } | TenantAction::Remove(_) => RecordsUse::Change,
        }
    }
}

pub(super) async fn run(context: &AdminContext, action: TenantAction) -> Result<(), CommandError> {
    let (records, administration) = (&context.records, context.administration());
    match action {
        TenantAction::Add { name, code, id } => {
            let code = code.as_deref().unwrap_or(&name);
            let tenant = context.add(async |administration| administration.create_tenant(id, code, &name).await).await?;
            context.print_change(&format!("tenant {} was added: {}", tenant.code, tenant.id), describe_tenant(&tenant))
        }
        TenantAction::List => {
            let line = |tenant: &Tenant| format!("{}\t{}\t{}", tenant.id, tenant.code, tenant.name);
            context.list("tenants", &tenants::list(records).await?, line, describe_tenant)
        }
        TenantAction::Show(tenant) => {
            let tenant = find(context, tenant).await?;
            let accounts = summaries::members(records, tenant.id, MAX_NAMES).await?;
            let table = RecordTable::default().row("id", tenant.id).row("code", &tenant.code).row("name", &tenant.name).accounts(&accounts);
            context.show(&table, describe_tenant(&tenant), json!({ "accounts": accounts.names, "accountCount": accounts.all }))
        }
        TenantAction::Update { id, name, code } => {
            require_change(&(name.as_deref(), code.as_deref()), "--name, --code")?;
            let tenant = administration.update_tenant(id, code.as_deref(), name.as_deref()).await?;
            context.print_change(&format!("tenant {} was updated", tenant.code), describe_tenant(&tenant))
        }
        TenantAction::Remove(tenant) => {
            let Tenant { id, code, .. } = find(context, tenant).await?;
            administration.remove_tenant(id).await?;
            context.print_change(&format!("tenant {code} was removed"), json!({ "removed": id.to_string() }))
        }
    }
}

async fn find(context: &AdminContext, CodeOrId { code, id }: CodeOrId) -> Result<Tenant, CommandError> {
    select("tenant", tenants::list(&context.records).await?, (code.as_deref(), id), |tenant| (&tenant.code, tenant.id))
}
