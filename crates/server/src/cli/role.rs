//! `peristyle role`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use store::hub_records::roles::{self, RoleRecord};
use store::hub_records::summaries;
use uuid::Uuid;

use crate::administration::{RoleChange, Which, describe_role};
use crate::config::Config;

use super::desk::Desk;
use super::show::{MAX_NAMES, Table, merge, unknown};
use super::{Administered, Failure, usage};

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
    /// Show one role, what it holds and who holds it
    #[command(after_help = "Example:\n  peristyle role show --name clerk")]
    Show(Chosen),
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

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Chosen {
    /// Its name
    #[arg(long)]
    name: Option<String>,
    /// Its id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
}

fn shown(role: &RoleRecord) -> Value {
    let mut object = json!({ "id": role.id.to_string() });
    merge(&mut object, Value::Object(describe_role(role)));
    object
}

/// What it holds, as people read it.
fn held(role: &RoleRecord) -> Vec<&str> {
    if role.id == identity::account::ADMINISTRATOR {
        return vec!["everything"];
    }
    role.permissions.iter().map(identity::account::Permission::as_str).collect()
}

async fn chosen(desk: &Desk, chosen: Chosen) -> Result<RoleRecord, Failure> {
    match (chosen.name, chosen.id) {
        (Some(name), _) => {
            if let Some(role) = roles::by_name(&desk.records, &name).await? {
                return Ok(role);
            }
            let known: Vec<String> = roles::list(&desk.records).await?.into_iter().map(|role| role.name).collect();
            Err(unknown(&format!("role {name:?}"), &name, &known, "role"))
        }
        (None, id) => {
            let id = id.unwrap_or_default();
            roles::by_ids(&desk.records, &[id]).await?.pop().ok_or_else(|| unknown(&format!("role {id}"), "", &[], "role"))
        }
    }
}

async fn show(desk: &Desk, chosen: Chosen) -> Result<ExitCode, Failure> {
    let role = self::chosen(desk, chosen).await?;
    let accounts = summaries::holders(&desk.records, role.id, MAX_NAMES).await?;
    let table = Table::default()
        .row("id", role.id.to_string())
        .row("name", &role.name)
        .maybe("description", role.description.as_deref())
        .list("permissions", &held(&role))
        .accounts(&accounts);
    let mut object = shown(&role);
    merge(&mut object, json!({ "accounts": accounts.names, "accountCount": accounts.all }));
    desk.show(&table, &object)
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
            let line = |role: &RoleRecord| format!("{}\t{}\t{}", role.id, role.name, held(role).join(" "));
            desk.list("roles", &roles.iter().map(line).collect::<Vec<_>>(), roles.iter().map(shown).collect())
        }
        Action::Show(chosen) => show(&desk, chosen).await,
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
