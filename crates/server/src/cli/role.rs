//! `peristyle role`: adds, lists, shows, changes and removes roles.

use clap::Subcommand;
use serde_json::json;
use store::hub_records::roles::{self, RoleRecord};
use store::hub_records::summaries;
use uuid::Uuid;

use crate::administration::{NameOrId, PermissionsChange, RoleChange, describe_role};

use super::admin_context::{AdminContext, MAX_NAMES, RecordTable, RecordsUse, require_change, select};
use super::{CommandError, usage};

#[derive(Debug, Subcommand)]
pub(super) enum RoleAction {
    /// Add a role
    #[command(after_help = "Example:\n  peristyle role add --name clerk --permission shop.order.get --permission shop.order.update")]
    Add {
        /// Its name
        #[arg(long)]
        name: String,
        /// A permission, context.resource.action; repeat for several
        #[arg(long = "permission")]
        permissions: Vec<String>,
    },
    /// List roles and their permissions
    #[command(after_help = "Example:\n  peristyle role list")]
    List,
    /// Show one role, its permissions and its accounts
    #[command(after_help = "Example:\n  peristyle role show --name clerk")]
    Show(RoleSelector),
    /// Change the permissions of a role, or rename it
    #[command(after_help = "Example:\n  peristyle role update --name clerk --add-permission shop.order.update")]
    Update {
        /// Its name
        #[arg(long)]
        name: String,
        #[command(flatten)]
        permissions: PermissionFlags,
        /// A new name
        #[arg(long)]
        rename: Option<String>,
    },
    /// Remove a role; its accounts lose its permissions
    #[command(after_help = "Example:\n  peristyle role remove --name clerk")]
    Remove {
        /// Its name
        #[arg(long)]
        name: String,
    },
}

impl RoleAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            RoleAction::Add { .. } => RecordsUse::Add,
            RoleAction::List | RoleAction::Show(_) => RecordsUse::Read,
            RoleAction::Update { .. } | RoleAction::Remove { .. } => RecordsUse::Change,
        }
    }
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct RoleSelector {
    /// Its name
    #[arg(long)]
    name: Option<String>,
    /// Its id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
}

/// Either all permissions of the role, or those that it gets and loses.
#[derive(Debug, clap::Args)]
pub(super) struct PermissionFlags {
    /// A permission that it gets beside those it has; repeat for several
    #[arg(long = "add-permission", value_name = "PERMISSION")]
    add: Vec<String>,
    /// A permission that it loses; repeat for several
    #[arg(long = "remove-permission", value_name = "PERMISSION")]
    remove: Vec<String>,
    /// A permission that replaces all that it has; repeat for several
    #[arg(long = "permission", conflicts_with_all = ["add", "remove"])]
    replace: Vec<String>,
    /// Remove all permissions
    #[arg(long, conflicts_with_all = ["replace", "add", "remove"])]
    no_permissions: bool,
}

impl PermissionFlags {
    fn change(self) -> PermissionsChange {
        if self.no_permissions || !self.replace.is_empty() {
            return PermissionsChange::Replace(self.replace);
        }
        if self.add.is_empty() && self.remove.is_empty() {
            return PermissionsChange::Keep;
        }
        PermissionsChange::Alter { add: self.add, remove: self.remove }
    }
}

fn permissions(role: &RoleRecord) -> Vec<&str> {
    if role.id == identity::account::ADMINISTRATOR {
        return vec!["everything"];
    }
    role.permissions.iter().map(identity::account::Permission::as_str).collect()
}

async fn find(context: &AdminContext, selector: &RoleSelector) -> Result<RoleRecord, CommandError> {
    let roles = roles::list(&context.records).await?;
    select("role", roles, (selector.name.as_deref(), selector.id), |role| (&role.name, role.id))
}

pub(super) async fn run(context: &AdminContext, action: RoleAction) -> Result<(), CommandError> {
    let (records, administration) = (&context.records, context.administration());
    match action {
        RoleAction::Add { name, permissions } => {
            let new = RoleChange { permissions: PermissionsChange::Replace(permissions), ..RoleChange::default() };
            let role = context.add(async |administration| administration.create_role(&name, new.clone()).await).await?;
            context.print_change(&format!("role {name} was added: {}", role.id), describe_role(&role))
        }
        RoleAction::List => {
            let line = |role: &RoleRecord| format!("{}\t{}\t{}", role.id, role.name, permissions(role).join(" "));
            context.list("roles", &roles::list(records).await?, line, describe_role)
        }
        RoleAction::Show(selector) => {
            let role = find(context, &selector).await?;
            let accounts = summaries::holders(records, role.id, MAX_NAMES).await?;
            let table = RecordTable::default()
                .row("id", role.id)
                .row("name", &role.name)
                .optional("description", role.description.as_deref())
                .list("permissions", &permissions(&role))
                .accounts(&accounts);
            context.show(&table, describe_role(&role), json!({ "accounts": accounts.names, "accountCount": accounts.all }))
        }
        RoleAction::Update { name, permissions, rename } => {
            let change = RoleChange { name: rename, permissions: permissions.change(), ..RoleChange::default() };
            require_change(&change, "--add-permission, --remove-permission, --permission, --no-permissions, --rename")?;
            let role = find(context, &RoleSelector { name: Some(name), id: None }).await?;
            let role = administration.update_role(NameOrId::Id(role.id), change).await?;
            context.print_change(&format!("role {} was updated", role.name), describe_role(&role))
        }
        RoleAction::Remove { name } => {
            let role = find(context, &RoleSelector { name: Some(name), id: None }).await?;
            administration.remove_role(NameOrId::Id(role.id)).await?;
            context.print_change(&format!("role {} was removed", role.name), json!({ "removed": role.name }))
        }
    }
}
