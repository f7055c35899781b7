//! The command line. Every command says in one line what to fix and exits non-zero, or does its work and exits zero.

mod account;
mod app;
mod check;
mod client;
mod demo;
mod desk;
mod event;
mod explain;
mod introspect;
mod keys;
mod migrate;
mod print;
mod replace;
mod role;
mod schema;
mod serve;
mod session;
mod show;
mod tenant;
mod usage;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use query::catalog::{Catalog, ResourceId};

use crate::config::Config;

use serve::Until;

/// A safe query layer and sign-in for your relational database.
#[derive(Debug, Parser)]
#[command(
    name = "peristyle",
    version,
    after_help = "Configuration is read from the environment; docs/guide/settings.md has every variable.\n\nExample:\n  DATABASE_URL=postgres://localhost/shop peristyle introspect\n  DATABASE_URL=postgres://localhost/shop peristyle serve"
)]
struct Arguments {
    #[command(subcommand)]
    typed: Typed,
}

#[derive(Debug, Subcommand)]
enum Typed {
    /// Start a hub and a satellite with sample data on this machine, to look around in
    #[command(
        after_help = "Nothing of it is left once it ends. Variables such as DATABASE_URL do not count here.\n\nExamples:\n  peristyle demo\n  peristyle demo --hub-port 5000 --app-port 5001"
    )]
    Demo(demo::Arguments),
    #[command(flatten)]
    Configured(Command),
}

/// The commands that the environment configures.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the declared resources over HTTP
    #[command(after_help = "Example:\n  DATABASE_URL=sqlite://shop.db LISTEN=127.0.0.1:4000 peristyle serve")]
    Serve {
        /// End when standard input does, for a program that must not leave a server behind
        #[arg(long, hide = true)]
        until_stdin_closes: bool,
        /// Print one JSON object for programs, once it serves
        #[arg(long)]
        json: bool,
    },
    /// Compare the manifest with the live database and print what to fix
    #[command(after_help = "Example:\n  DATABASE_URL=postgres://localhost/shop peristyle check")]
    Check {
        /// Print one JSON object for programs
        #[arg(long)]
        json: bool,
    },
    /// Write a manifest from an existing database
    #[command(
        after_help = "Examples:\n  DATABASE_URL=postgres://localhost/shop peristyle introspect\n  DATABASE_URL=postgres://localhost/shop peristyle introspect --out shop.toml\n  DATABASE_URL=postgres://localhost/shop peristyle introspect --update"
    )]
    Introspect(introspect::Arguments),
    /// Show what a statement becomes: merged statement, SQL of each level, where each predicate came from
    #[command(
        after_help = "Example:\n  echo '{\"where\":{\"name\":{\"iLike\":\"a%\"}}}' > statement.json\n  peristyle explain shop.customer statement.json"
    )]
    Explain(explain::Arguments),
    /// Print a description that machines can read: OpenAPI, GraphQL, JSON Schema or TypeScript
    #[command(after_help = "Examples:\n  peristyle schema openapi > openapi.json\n  peristyle schema typescript > peristyle.ts")]
    Schema(schema::Arguments),
    /// Make and rotate the keys that tokens are signed with
    #[command(after_help = "Example:\n  peristyle keys generate")]
    Keys(Administered<keys::Action>),
    /// Roles and what they hold
    #[command(after_help = "Example:\n  peristyle role add --name clerk --permission shop.order.get")]
    Role(Administered<role::Action>),
    /// Accounts and their passwords
    #[command(
        after_help = "Example:\n  echo 'correct horse' | peristyle account add --username ana --email ana@example.com --role administrator --password-stdin"
    )]
    Account(Administered<account::Action>),
    /// OAuth clients and their secrets
    #[command(after_help = "Example:\n  peristyle client add --id shop --name Shop --redirect https://shop.example/callback")]
    Client(Administered<client::Action>),
    /// Tenants
    #[command(after_help = "Example:\n  peristyle tenant add --code north --name 'The North'")]
    Tenant(Administered<tenant::Action>),
    /// Apps and who may sign in to them
    #[command(after_help = "Example:\n  peristyle app add --code shop --name Shop")]
    App(Administered<app::Action>),
    /// Sessions: list them, end them
    #[command(after_help = "Example:\n  peristyle session list")]
    Session(Administered<session::Action>),
    /// The audit log
    #[command(after_help = "Example:\n  peristyle event follow")]
    Event(event::Arguments),
    /// Bring the hub's own tables to the shape this version needs
    #[command(after_help = "Example:\n  DATABASE_URL=postgres://localhost/hub peristyle migrate")]
    Migrate {
        /// Print one JSON object for programs
        #[arg(long)]
        json: bool,
    },
}

/// What is typed after a command that has commands of its own.
#[derive(Debug, clap::Args)]
struct Administered<Action: Subcommand> {
    #[command(subcommand)]
    action: Action,
    /// Print one JSON object for programs
    #[arg(long, global = true)]
    json: bool,
}

impl<Action: Subcommand> Administered<Action> {
    fn output(&self) -> Output {
        Output::of(self.json)
    }
}

/// A command that could not do its work: one message, for the person who typed it.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.to_string())
    }
}

/// The exit code after a command that was not understood.
const MISTYPED: u8 = 2;

/// Runs the command that was typed.
pub fn run() -> ExitCode {
    let typed = match Arguments::try_parse() {
        Ok(Arguments { typed }) => typed,
        Err(asked) if !asked.use_stderr() => {
            return ended(print::help(&asked).map(|_| ExitCode::SUCCESS));
        }
        Err(error) => {
            complain(&usage::fault(&error, &Arguments::command(), std::env::args_os().skip(1)));
            return ExitCode::from(MISTYPED);
        }
    };
    ended(execute(typed))
}

fn ended(outcome: Result<ExitCode, Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        complain(&failure);
        ExitCode::FAILURE
    })
}

/// Nobody may be reading; that is no reason to fail louder.
fn complain(Failure(message): &Failure) {
    _ = writeln!(std::io::stderr(), "peristyle: {message}");
}

fn execute(typed: Typed) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let command = match typed {
        Typed::Demo(arguments) => return runtime.block_on(demo::run(&arguments)),
        Typed::Configured(command) => command,
    };
    let config = match Config::from_environment() {
        Err(error) if matches!(command, Command::Serve { .. }) => return serve::refused(error),
        read => read?,
    };
    runtime.block_on(async {
        match command {
            Command::Serve { until_stdin_closes, json } => serve::run(&config, Until::of(until_stdin_closes), Output::of(json)).await,
            Command::Check { json } => check::run(&config, Output::of(json)).await,
            Command::Introspect(arguments) => introspect::run(&config, arguments).await,
            Command::Explain(arguments) => explain::run(&config, arguments).await,
            Command::Schema(arguments) => schema::run(&config, &arguments),
            Command::Keys(arguments) => keys::run(&config, arguments).await,
            Command::Role(arguments) => role::run(&config, arguments).await,
            Command::Account(arguments) => account::run(&config, arguments).await,
            Command::Client(arguments) => client::run(&config, arguments).await,
            Command::Tenant(arguments) => tenant::run(&config, arguments).await,
            Command::App(arguments) => app::run(&config, arguments).await,
            Command::Session(arguments) => session::run(&config, arguments).await,
            Command::Event(arguments) => event::run(&config, arguments).await,
            Command::Migrate { json } => migrate::run(&config, Output::of(json)).await,
        }
    })
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Text,
    Json,
}

impl Output {
    /// As `--json` says.
    fn of(json: bool) -> Self {
        if json { Output::Json } else { Output::Text }
    }
}

/// A resource by its name.
fn resource(catalog: &Catalog, name: &str) -> Result<ResourceId, Failure> {
    catalog.by_name(name).ok_or_else(|| {
        let known: Vec<&str> = catalog.resources().iter().map(|resource| resource.full_name.as_str()).collect();
        Failure(match known.as_slice() {
            [] => format!("no resource {name:?}; the manifest declares none, and `peristyle introspect` writes one"),
            known => format!("no resource {name:?}; declared are {}", known.join(", ")),
        })
    })
}
