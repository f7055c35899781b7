//! `peristyle role`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use store::roles::{self, RoleRecord};

use crate::administration::{RoleChange, Which};
use crate::config::Config;

use super::desk::Desk;
use super::{Administered, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Make a role
    #[command(after_help = "Example:\n  peristyle role add --name clerk --permission shop.order.get --permission shop.order.update")]
    Add {
        /// Its name
        #[arg(long)]
        name: String,
        /// A permission, context.resource.action; repeat for several
        #[arg(long = "permission")]
        permissions: Vec<String>,
    },
    /// List roles and what they hold
    #[command(after_help = "Example:\n  peristyle role list")]
    List,
    /// Replace the permissions of a role, or rename it
    #[command(after_help = "Example:\n  peristyle role update --name clerk --permission shop.order.get")]
    Update {
        /// Its name
        #[arg(long)]
        name: String,
        /// A permission, in place of those it has; repeat for several
        #[arg(long = "permission")]
        permissions: Vec<String>,
        /// Leave it without any permission
        #[arg(long, conflicts_with = "permissions")]
        no_permissions: bool,
        /// A new name
        #[arg(long)]
        rename: Option<String>,
    },
    /// Remove a role from everybody who holds it
    #[command(after_help = "Example:\n  peristyle role remove --name clerk")]
    Remove {
        /// Its name
        #[arg(long)]
        name: String,
    },
}

fn shown(role: &RoleRecord) -> Value {
    let permissions: Vec<&str> = role.permissions.iter().map(identity::account::Permission::as_str).collect();
    json!({ "id": role.id.to_string(), "name": role.name, "permissions": permissions })
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    let administration = desk.administration();
    match arguments.action {
        Action::Add { name, permissions } => {
            let role = administration.create_role(&name, RoleChange { permissions: Some(permissions), ..RoleChange::default() }).await?;
            desk.answer(&format!("role {name} was made: {}", role.id), &shown(&role))
        }
        Action::List => {
            let roles = roles::list(&desk.records).await?;
            let line = |role: &RoleRecord| {
                let held: Vec<&str> = role.permissions.iter().map(identity::account::Permission::as_str).collect();
                let held = if role.id == identity::account::ADMINISTRATOR { "everything".to_owned() } else { held.join(" ") };
                format!("{}\t{}\t{held}", role.id, role.name)
            };
            desk.list("roles", &roles.iter().map(line).collect::<Vec<_>>(), roles.iter().map(shown).collect())
        }
        Action::Update { name, permissions, no_permissions, rename } => {
            let replaced = (no_permissions || !permissions.is_empty()).then_some(permissions);
            if replaced.is_none() && rename.is_none() {
                return Err(Failure("nothing to update: name --permission, --no-permissions or --rename".to_owned()));
            }
            let change = RoleChange { name: rename, permissions: replaced, ..RoleChange::default() };
            let role = administration.update_role(Which::Name(&name), change).await?;
            desk.answer(&format!("role {} was updated", role.name), &shown(&role))
        }
        Action::Remove { name } => {
            administration.remove_role(Which::Name(&name)).await?;
            desk.answer(&format!("role {name} was removed"), &json!({ "removed": name }))
        }
    }
}
