//! `peristyle app`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use store::hub_records::apps::{self, Access, App};
use store::hub_records::{clients, summaries};
use uuid::Uuid;

use crate::administration::{AppChange, Which, describe_app};
use crate::config::Config;

use super::desk::Desk;
use super::show::{MAX_NAMES, Table, merge, unknown};
use super::{Administered, Failure, usage};

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Make an app
    #[command(after_help = "Example:\n  peristyle app add --code shop --name Shop --closed true")]
    Add(Described),
    /// List apps
    #[command(after_help = "Example:\n  peristyle app list")]
    List,
    /// Show one app, its clients and the accounts on its list
    #[command(after_help = "Example:\n  peristyle app show --code shop")]
    Show(Chosen),
    /// Change an app
    #[command(after_help = "Example:\n  peristyle app update --code shop --closed false")]
    Update(Described),
    /// Remove an app; its clients get apps of their own, closed if it was
    #[command(after_help = "Example:\n  peristyle app remove --code shop")]
    Remove {
        /// Its code
        #[arg(long)]
        code: String,
    },
    /// List an account for an app, so that it may sign in to it while it is closed
    #[command(after_help = "Example:\n  peristyle app admit --code shop --username ana")]
    Admit(Membership),
    /// Take an account off an app's list
    #[command(after_help = "Example:\n  peristyle app expel --code shop --username ana")]
    Expel(Membership),
}

#[derive(Debug, clap::Args)]
pub(super) struct Described {
    /// Its code: a readable name that is unique
    #[arg(long)]
    code: String,
    /// What people call it
    #[arg(long)]
    name: Option<String>,
    /// Where it is
    #[arg(long)]
    url: Option<String>,
    /// Whether only listed accounts may sign in to it
    #[arg(long, action = clap::ArgAction::Set)]
    closed: Option<bool>,
}

impl Described {
    fn change(self) -> AppChange {
        let access = self.closed.map(|closed| if closed { Access::Closed } else { Access::Open });
        AppChange { code: None, name: self.name, url: self.url, access }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct Membership {
    /// The app's code
    #[arg(long)]
    code: String,
    /// The account's username or email
    #[arg(long)]
    username: String,
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

fn shown(app: &App) -> Value {
    let mut object = json!({ "id": app.id.to_string() });
    merge(&mut object, Value::Object(describe_app(app)));
    object
}

/// The app with a code, or what there is near it.
pub(super) async fn by_code(desk: &Desk, code: &str) -> Result<App, Failure> {
    if let Some(app) = apps::by_code(&desk.records, code).await? {
        return Ok(app);
    }
    let known: Vec<String> = apps::list(&desk.records).await?.into_iter().map(|app| app.code).collect();
    Err(unknown(&format!("app {code:?}"), code, &known, "app"))
}

async fn show(desk: &Desk, chosen: Chosen) -> Result<ExitCode, Failure> {
    let app = match (chosen.code, chosen.id) {
        (Some(code), _) => by_code(desk, &code).await?,
        (None, id) => {
            let id = id.unwrap_or_default();
            apps::by_id(&desk.records, id).await?.ok_or_else(|| unknown(&format!("app {id}"), "", &[], "app"))?
        }
    };
    let clients: Vec<String> = clients::of_app(&desk.records, app.id).await?.iter().map(|client| client.id.to_string()).collect();
    let accounts = summaries::users(&desk.records, app.id, MAX_NAMES).await?;
    let table = Table::default()
        .row("id", app.id.to_string())
        .row("code", &app.code)
        .row("name", &app.name)
        .maybe("url", app.url.as_deref())
        .row("access", if app.access == Access::Closed { "closed: listed accounts only" } else { "open: every account" })
        .list("clients", &clients)
        .accounts(&accounts);
    let mut object = shown(&app);
    merge(&mut object, json!({ "clients": clients, "accounts": accounts.names, "accountCount": accounts.all }));
    desk.show(&table, &object)
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    let administration = desk.administration();
    match arguments.action {
        Action::Add(described) => {
            let code = described.code.clone();
            let app = administration.create_app(&code, described.change()).await?;
            desk.answer(&format!("app {code} was made: {}", app.id), &shown(&app))
        }
        Action::List => {
            let apps = apps::list(&desk.records).await?;
            let state = |app: &App| if app.access == Access::Closed { "closed" } else { "open" };
            let line = |app: &App| format!("{}\t{}\t{}\t{}", app.id, app.code, app.name, state(app));
            desk.list("apps", &apps.iter().map(line).collect::<Vec<_>>(), apps.iter().map(shown).collect())
        }
        Action::Show(chosen) => show(&desk, chosen).await,
        Action::Update(described) => {
            if described.name.is_none() && described.url.is_none() && described.closed.is_none() {
                return Err(Failure("nothing to update: name --name, --url or --closed".to_owned()));
            }
            let code = described.code.clone();
            let app = administration.update_app(Which::Name(&code), described.change()).await?;
            desk.answer(&format!("app {code} was updated"), &shown(&app))
        }
        Action::Remove { code } => {
            administration.remove_app(Which::Name(&code)).await?;
            desk.answer(&format!("app {code} was removed"), &json!({ "removed": code }))
        }
        Action::Admit(Membership { code, username }) => {
            let account = desk.account(&username).await?;
            administration.admit(Which::Name(&code), account.id).await?;
            desk.answer(&format!("{username} is listed for {code}"), &json!({ "app": code, "account": account.id.to_string() }))
        }
        Action::Expel(Membership { code, username }) => {
            let account = desk.account(&username).await?;
            administration.expel(Which::Name(&code), account.id).await?;
            desk.answer(&format!("{username} is not listed for {code}"), &json!({ "app": code, "account": account.id.to_string() }))
        }
    }
}
