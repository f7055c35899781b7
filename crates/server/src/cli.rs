//! The command line: parses the arguments and runs one command. A command that fails prints one line that says what to fix.

mod account;
mod admin_context;
mod app;
mod backup;
mod check;
mod client;
mod completions;
mod demo;
mod event;
mod explain;
mod introspect;
mod keys;
mod man;
mod output;
mod reload;
mod replica_check;
mod role;
mod schema;
mod serve;
mod session;
mod tenant;
mod usage;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use query::catalog::{Catalog, ResourceId};
use serde_json::json;
use store::hub_records::Records;

use crate::boot;
use crate::boot_error::unusable;
use crate::config::Config;

use admin_context::AdminContext;
use output::OutputFormat;
use serve::StopOn;

/// A safe query layer and sign-in for your relational database.
#[derive(Debug, Parser)]
#[command(
    name = "peristyle",
    version,
    after_help = "Settings are environment variables; docs/guide/settings.md lists them all.\n\nExample:\n  DATABASE_URL=postgres://localhost/shop peristyle introspect\n  DATABASE_URL=postgres://localhost/shop peristyle serve"
)]
struct CommandLine {
    #[command(subcommand)]
    command: AnyCommand,
}

#[derive(Debug, Subcommand)]
enum AnyCommand {
    /// Start a hub and a satellite with sample data on this machine
    #[command(
        after_help = "The demo removes everything when it ends. It ignores settings such as DATABASE_URL.\n\nExamples:\n  peristyle demo\n  peristyle demo --hub-port 5000 --app-port 5001"
    )]
    Demo(demo::DemoArguments),
    /// Print the completion script of a shell
    #[command(
        display_order = 100,
        after_help = "Examples:\n  peristyle completions bash > ~/.local/share/bash-completion/completions/peristyle\n  peristyle completions zsh > ~/.zfunc/_peristyle\n  peristyle completions fish > ~/.config/fish/completions/peristyle.fish"
    )]
    Completions(completions::CompletionsArguments),
    /// Print a manual page, or write all of them
    #[command(
        display_order = 100,
        after_help = "Examples:\n  peristyle man | man -l -\n  peristyle man account add | man -l -\n  peristyle man --out ~/.local/share/man/man1"
    )]
    Man(man::ManArguments),
    #[command(flatten)]
    Configured(Command),
}

/// The commands that read settings from the environment.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the declared resources over HTTP
    #[command(after_help = "Example:\n  DATABASE_URL=sqlite://shop.db LISTEN=127.0.0.1:4000 peristyle serve")]
    Serve {
        /// Stop when standard input closes, so that the server ends with its parent process
        #[arg(long, hide = true)]
        until_stdin_closes: bool,
        /// Print one JSON object for programs when the server is ready
        #[arg(long)]
        json: bool,
    },
    /// Reload the manifest of the running server and print the outcome
    #[command(
        after_help = "PID_FILE names the file that the server was started with. The server keeps its manifest if the new one has errors.\n\nExample:\n  PID_FILE=/run/peristyle/peristyle.pid peristyle reload"
    )]
    Reload {
        /// Print one JSON object for programs
        #[arg(long)]
        json: bool,
    },
    /// Copy the SQLite file while a server writes to it
    #[command(
        after_help = "The copy is one consistent state, and only its owner can read it. Back up PostgreSQL with pg_dump.\n\nExample:\n  DATABASE_URL=sqlite://shop.db peristyle backup shop-2026-01-15.db"
    )]
    Backup(backup::BackupArguments),
    /// Compare the manifest with the live database and print what to fix
    #[command(after_help = "Example:\n  DATABASE_URL=postgres://localhost/shop peristyle check")]
    Check {
        /// Print one JSON object for programs
        #[arg(long)]
        json: bool,
    },
    /// Write a manifest from an existing database
    #[command(
        after_help = "Examples:\n  DATABASE_URL=postgres://localhost/shop peristyle introspect\n  DATABASE_URL=postgres://localhost/shop peristyle introspect --out shop.toml\n  DATABASE_URL=postgres://localhost/shop peristyle introspect --update\n  DATABASE_URL=postgres://localhost/shop peristyle introspect --writable"
    )]
    Introspect(introspect::IntrospectArguments),
    /// Show the merged statement, the SQL of each level, and the source of each predicate
    #[command(
        after_help = "Example:\n  echo '{\"where\":{\"name\":{\"iLike\":\"a%\"}}}' > statement.json\n  peristyle explain shop.customer statement.json"
    )]
    Explain(explain::ExplainArguments),
    /// Print a description for programs: OpenAPI, GraphQL, JSON Schema or TypeScript
    #[command(after_help = "Examples:\n  peristyle schema openapi > openapi.json\n  peristyle schema typescript > peristyle.ts")]
    Schema(schema::SchemaArguments),
    /// Generate and rotate the keys that sign tokens
    #[command(after_help = "Example:\n  peristyle keys generate")]
    Keys(AdminCommand<keys::KeysAction>),
    /// Manage roles and their permissions
    #[command(after_help = "Example:\n  peristyle role add --name clerk --permission shop.order.get")]
    Role(AdminCommand<role::RoleAction>),
    /// Manage accounts and their passwords
    #[command(
        after_help = "Example:\n  echo 'correct horse' | peristyle account add --username ana --email ana@example.com --role administrator --password-stdin"
    )]
    Account(AdminCommand<account::AccountAction>),
    /// Manage OAuth clients and their secrets
    #[command(after_help = "Example:\n  peristyle client add --id shop --name Shop --redirect https://shop.example/callback")]
    Client(AdminCommand<client::ClientAction>),
    /// Manage tenants
    #[command(after_help = "Example:\n  peristyle tenant add --code north --name 'The North'")]
    Tenant(AdminCommand<tenant::TenantAction>),
    /// Manage apps and the accounts that can sign in to them
    #[command(after_help = "Example:\n  peristyle app add --code shop --name Shop")]
    App(AdminCommand<app::AppAction>),
    /// List and end sessions
    #[command(after_help = "Example:\n  peristyle session list")]
    Session(AdminCommand<session::SessionAction>),
    /// Show the audit log
    #[command(after_help = "Example:\n  peristyle event follow")]
    Event(AdminCommand<event::EventAction>),
    /// Migrate the hub's own tables to this version
    #[command(after_help = "Example:\n  DATABASE_URL=postgres://localhost/hub peristyle migrate")]
    Migrate {
        /// Print one JSON object for programs
        #[arg(long)]
        json: bool,
    },
}

/// A command on the hub's records, with an action of its own.
#[derive(Debug, clap::Args)]
struct AdminCommand<Action: Subcommand> {
    #[command(subcommand)]
    action: Action,
    /// Print one JSON object for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug)]
pub(crate) struct CommandError(pub(crate) String);

impl<E: std::error::Error> From<E> for CommandError {
    fn from(error: E) -> Self {
        CommandError(error.to_string())
    }
}

const USAGE_ERROR: u8 = 2;

pub fn run() -> ExitCode {
    let outcome = match CommandLine::try_parse() {
        Ok(CommandLine { command }) => execute(command),
        Err(help) if !help.use_stderr() => output::print_help(&help).map(|()| ExitCode::SUCCESS),
        Err(error) => {
            print_error(&usage::error(&error, &CommandLine::command(), std::env::args_os().skip(1)));
            return ExitCode::from(USAGE_ERROR);
        }
    };
    outcome.unwrap_or_else(|error| {
        print_error(&error);
        ExitCode::FAILURE
    })
}

/// Prints what a program that reads standard output does not want to see.
fn print_warning(message: &str) {
    _ = writeln!(std::io::stderr(), "peristyle: warning: {message}");
}

fn print_error(CommandError(message): &CommandError) {
    // Standard error may be closed; the exit code still says that the command failed.
    _ = writeln!(std::io::stderr(), "peristyle: {message}");
}

fn execute(command: AnyCommand) -> Result<ExitCode, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let command = match command {
        AnyCommand::Demo(arguments) => return runtime.block_on(demo::run(&arguments)).map(|()| ExitCode::SUCCESS),
        AnyCommand::Completions(arguments) => return completions::run(CommandLine::command(), &arguments).map(|()| ExitCode::SUCCESS),
        AnyCommand::Man(arguments) => return man::run(CommandLine::command(), &arguments).map(|()| ExitCode::SUCCESS),
        AnyCommand::Configured(command) => command,
    };
    let config = match Config::from_environment() {
        Err(errors) if matches!(command, Command::Serve { .. }) => return serve::log_config_errors(&errors),
        Err(errors) if matches!(command, Command::Check { json: true }) => return check::print_config_errors(&errors),
        read => read?,
    };
    runtime.block_on(run_configured(&config, command))
}

async fn run_configured(config: &Config, command: Command) -> Result<ExitCode, CommandError> {
    let admin = |json, usage| AdminContext::open(config, OutputFormat::of(json), usage);
    match command {
        Command::Serve { until_stdin_closes, json } => {
            return serve::run(config, StopOn::of(until_stdin_closes), OutputFormat::of(json)).await;
        }
        Command::Reload { json } => reload::run(config, OutputFormat::of(json)).await?,
        Command::Backup(arguments) => backup::run(config, arguments).await?,
        Command::Check { json } => return check::run(config, OutputFormat::of(json)).await,
        Command::Introspect(arguments) => introspect::run(config, arguments).await?,
        Command::Explain(arguments) => explain::run(config, arguments).await?,
        Command::Schema(arguments) => schema::run(config, &arguments).await?,
        Command::Keys(AdminCommand { action, json }) => keys::run(config, action, OutputFormat::of(json)).await?,
        Command::Role(AdminCommand { action, json }) => role::run(&admin(json, action.records_use()).await?, action).await?,
        Command::Account(AdminCommand { action, json }) => {
            account::run(&admin(json, action.records_use()).await?, action, &config.app_url).await?;
        }
        Command::Client(AdminCommand { action, json }) => client::run(&admin(json, action.records_use()).await?, action).await?,
        Command::Tenant(AdminCommand { action, json }) => tenant::run(&admin(json, action.records_use()).await?, action).await?,
        Command::App(AdminCommand { action, json }) => app::run(&admin(json, action.records_use()).await?, action).await?,
        Command::Session(AdminCommand { action, json }) => session::run(&admin(json, action.records_use()).await?, action).await?,
        Command::Event(AdminCommand { action, json }) => event::run(&admin(json, action.records_use()).await?, action).await?,
        Command::Migrate { json } => migrate(config, OutputFormat::of(json)).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn migrate(config: &Config, output: OutputFormat) -> Result<(), CommandError> {
    let database = boot::open("DATABASE_URL", &config.database_url, &config.database, &Catalog::default()).await?;
    let steps = Records::of(&database).map_err(unusable)?.migrate().await.map_err(unusable)?;
    let text = if steps.is_empty() { "the tables are up to date".to_owned() } else { format!("migrated: {}", steps.join(", ")) };
    output::print_change(&output.choose(&text, &json!({ "taken": steps })))
}

fn find_resource(catalog: &Catalog, name: &str) -> Result<ResourceId, CommandError> {
    catalog.by_name(name).ok_or_else(|| {
        let known: Vec<&str> = catalog.resources().iter().map(|resource| resource.full_name.as_str()).collect();
        CommandError(match known.as_slice() {
            [] => format!("no resource {name:?}; the manifest declares none, and `peristyle introspect` writes one"),
            known => format!("no resource {name:?}; declared are {}", known.join(", ")),
        })
    })
}
