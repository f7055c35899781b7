//! `peristyle app`: adds, lists, shows, changes and removes apps, and the accounts on their lists.

use clap::Subcommand;
use serde_json::json;
use store::hub_records::apps::{self, Access, App};
use store::hub_records::{clients, summaries};
use uuid::Uuid;

use crate::administration::{AppChange, NameOrId, describe_app};

use super::CommandError;
use super::admin_context::{AdminContext, CodeOrId, MAX_NAMES, RecordTable, RecordsUse, require_change, select};

#[derive(Debug, Subcommand)]
pub(super) enum AppAction {
    /// Add an app
    #[command(after_help = "Example:\n  peristyle app add --code shop --name Shop --closed true")]
    Add(AppArguments),
    /// List apps
    #[command(after_help = "Example:\n  peristyle app list")]
    List,
    /// Show one app, its clients and its listed accounts
    #[command(after_help = "Example:\n  peristyle app show --code shop")]
    Show(CodeOrId),
    /// Change an app
    #[command(after_help = "Example:\n  peristyle app update --code shop --closed false")]
    Update(AppArguments),
    /// Remove an app; each of its clients gets an app of its own, closed if this one was
    #[command(after_help = "Example:\n  peristyle app remove --code shop")]
    Remove {
        /// Its code
        #[arg(long)]
        code: String,
    },
    /// Add an account to the list of an app: only listed accounts can sign in to a closed app
    #[command(after_help = "Example:\n  peristyle app admit --code shop --username ana")]
    Admit(AppAccountArguments),
    /// Remove an account from the list of an app
    #[command(after_help = "Example:\n  peristyle app expel --code shop --username ana")]
    Expel(AppAccountArguments),
}

impl AppAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            AppAction::Add(_) => RecordsUse::Add,
            AppAction::List | AppAction::Show(_) => RecordsUse::Read,
            AppAction::Update(_) | AppAction::Remove { .. } | AppAction::Admit(_) | AppAction::Expel(_) => RecordsUse::Change,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct AppArguments {
    /// Its code: unique and readable
    #[arg(long)]
    code: String,
    /// Its display name
    #[arg(long)]
    name: Option<String>,
    /// Its URL
    #[arg(long)]
    url: Option<String>,
    /// Whether only listed accounts can sign in: true or false
    #[arg(long, action = clap::ArgAction::Set)]
    closed: Option<bool>,
}

impl AppArguments {
    fn change(self) -> AppChange {
        let access = self.closed.map(|closed| if closed { Access::Closed } else { Access::Open });
        AppChange { code: None, name: self.name, url: self.url.into(), access }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct AppAccountArguments {
    /// The app's code
    #[arg(long)]
    code: String,
    /// The account's username or email
    #[arg(long)]
    username: String,
}

pub(super) async fn find(context: &AdminContext, selector: &CodeOrId) -> Result<App, CommandError> {
    select("app", apps::list(&context.records).await?, (selector.code.as_deref(), selector.id), |app| (&app.code, app.id))
}

async fn by_code(context: &AdminContext, code: &str) -> Result<Uuid, CommandError> {
    Ok(find(context, &CodeOrId { code: Some(code.to_owned()), id: None }).await?.id)
}

pub(super) async fn run(context: &AdminContext, action: AppAction) -> Result<(), CommandError> {
    let (records, administration) = (&context.records, context.administration());
    match action {
        AppAction::Add(arguments) => {
            let code = arguments.code.clone();
            let new = arguments.change();
            let app = context.add(async |administration| administration.create_app(&code, new.clone()).await).await?;
            context.print_change(&format!("app {code} was added: {}", app.id), describe_app(&app))
        }
        AppAction::List => {
            let state = |app: &App| if app.access == Access::Closed { "closed" } else { "open" };
            let line = |app: &App| format!("{}\t{}\t{}\t{}", app.id, app.code, app.name, state(app));
            context.list("apps", &apps::list(records).await?, line, describe_app)
        }
        AppAction::Show(selector) => {
            let app = find(context, &selector).await?;
            let clients: Vec<String> = clients::of_app(records, app.id).await?.iter().map(|client| client.id.to_string()).collect();
            let accounts = summaries::users(records, app.id, MAX_NAMES).await?;
            let table = RecordTable::default()
                .row("id", app.id)
                .row("code", &app.code)
                .row("name", &app.name)
                .optional("url", app.url.as_deref())
                .row("access", if app.access == Access::Closed { "closed: listed accounts only" } else { "open: every account" })
                .list("clients", &clients)
                .accounts(&accounts);
            let more = json!({ "clients": clients, "accounts": accounts.names, "accountCount": accounts.all });
            context.show(&table, describe_app(&app), more)
        }
        AppAction::Update(arguments) => {
            let code = arguments.code.clone();
            let change = arguments.change();
            require_change(&change, "--name, --url, --closed")?;
            let app = by_code(context, &code).await?;
            let app = administration.update_app(NameOrId::Id(app), change).await?;
            context.print_change(&format!("app {code} was updated"), describe_app(&app))
        }
        AppAction::Remove { code } => {
            let app = by_code(context, &code).await?;
            administration.remove_app(NameOrId::Id(app)).await?;
            context.print_change(&format!("app {code} was removed"), json!({ "removed": code }))
        }
        AppAction::Admit(AppAccountArguments { code, username }) => {
            let account = context.account(&username).await?.id;
            let app = by_code(context, &code).await?;
            administration.admit(NameOrId::Id(app), account).await?;
            context.print_change(&format!("{username} is listed for {code}"), json!({ "app": code, "account": account.to_string() }))
        }
        AppAction::Expel(AppAccountArguments { code, username }) => {
            let account = context.account(&username).await?.id;
            let app = by_code(context, &code).await?;
            administration.expel(NameOrId::Id(app), account).await?;
            context.print_change(&format!("{username} is not listed for {code}"), json!({ "app": code, "account": account.to_string() }))
        }
    }
}
