//! `peristyle tenant`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use store::hub_records::summaries;
use store::hub_records::tenants::{self, Tenant};
use uuid::Uuid;

use crate::administration::describe_tenant;
use crate::config::Config;

use super::desk::Desk;
use super::show::{MAX_NAMES, Table, merge, unknown};
use super::{Administered, Failure, usage};

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Make a tenant
    #[command(after_help = "Example:\n  peristyle tenant add --code north --name 'The North'")]
    Add {
        /// What people call it
        #[arg(long)]
        name: String,
        /// A readable name that is unique; the name when left out
        #[arg(long)]
        code: Option<String>,
        /// Its id, where its data has one already
        #[arg(long, value_parser = usage::id)]
        id: Option<Uuid>,
    },
    /// List tenants
    #[command(after_help = "Example:\n  peristyle tenant list")]
    List,
    /// Show one tenant and who belongs to it
    #[command(after_help = "Example:\n  peristyle tenant show --code north")]
    Show(Chosen),
    /// Change a tenant
    #[command(after_help = "Example:\n  peristyle tenant update --id 6f1c0f6e-5a0e-4e0c-9d53-1c2f0a7b9e11 --name 'The South'")]
    Update {
        /// Its id
        #[arg(long, value_parser = usage::id)]
        id: Uuid,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// A readable name that is unique
        #[arg(long)]
        code: Option<String>,
    },
    /// Remove a tenant from everybody who belongs to it
    #[command(after_help = "Example:\n  peristyle tenant remove --id 6f1c0f6e-5a0e-4e0c-9d53-1c2f0a7b9e11")]
    Remove {
        /// Its id
        #[arg(long, value_parser = usage::id)]
        id: Uuid,
    },
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Chosen {
    /// Its code
    #[arg(long)]
    code: Option<String>,
    /// Its id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
}

pub(super) fn shown(tenant: &Tenant) -> Value {
    let mut object = json!({ "id": tenant.id.to_string() });
    merge(&mut object, Value::Object(describe_tenant(tenant)));
    object
}

async fn show(desk: &Desk, chosen: Chosen) -> Result<ExitCode, Failure> {
    let mut all = tenants::list(&desk.records).await?;
    let place = match (&chosen.code, chosen.id) {
        (Some(code), _) => all.iter().position(|tenant| tenant.code == *code),
        (None, id) => all.iter().position(|tenant| Some(tenant.id) == id),
    };
    let Some(place) = place else {
        let known: Vec<String> = all.into_iter().map(|tenant| tenant.code).collect();
        return Err(match (chosen.code, chosen.id) {
            (Some(code), _) => unknown(&format!("tenant {code:?}"), &code, &known, "tenant"),
            (None, id) => unknown(&format!("tenant {}", id.unwrap_or_default()), "", &[], "tenant"),
        });
    };
    let tenant = all.swap_remove(place);
    let accounts = summaries::members(&desk.records, tenant.id, MAX_NAMES).await?;
    let table = Table::default().row("id", tenant.id.to_string()).row("code", &tenant.code).row("name", &tenant.name).accounts(&accounts);
    let mut object = shown(&tenant);
    merge(&mut object, json!({ "accounts": accounts.names, "accountCount": accounts.all }));
    desk.show(&table, &object)
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    let administration = desk.administration();
    match arguments.action {
        Action::Add { name, code, id } => {
            let tenant = administration.create_tenant(id, code.as_deref().unwrap_or(&name), &name).await?;
            desk.answer(&format!("tenant {} was made: {}", tenant.code, tenant.id), &shown(&tenant))
        }
        Action::List => {
            let tenants = tenants::list(&desk.records).await?;
            let line = |tenant: &Tenant| format!("{}\t{}\t{}", tenant.id, tenant.code, tenant.name);
            desk.list("tenants", &tenants.iter().map(line).collect::<Vec<_>>(), tenants.iter().map(shown).collect())
        }
        Action::Show(chosen) => show(&desk, chosen).await,
        Action::Update { id, name, code } => {
            if name.is_none() && code.is_none() {
                return Err(Failure("nothing to update: name --name or --code".to_owned()));
            }
            let tenant = administration.update_tenant(id, code.as_deref(), name.as_deref()).await?;
            desk.answer(&format!("tenant {} was updated", tenant.code), &shown(&tenant))
        }
        Action::Remove { id } => {
            administration.remove_tenant(id).await?;
            desk.answer(&format!("tenant {id} was removed"), &json!({ "removed": id.to_string() }))
        }
    }
}
