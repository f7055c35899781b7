//! `peristyle demo`: starts the demo and prints its URLs and accounts.

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::boot_error::BootError;
use crate::demo::{self, DemoAccount, DemoSettings, LogOutput, RunningDemo};

use super::output::{OutputFormat, print};
use super::{CommandError, usage};

#[derive(Debug, clap::Args)]
pub(super) struct DemoArguments {
    /// The hub's port on 127.0.0.1; 0 is any free port
    #[arg(long, default_value = "4000", value_name = "PORT", value_parser = usage::port, allow_negative_numbers = true)]
    hub_port: u16,
    /// The port of the satellite and its app on 127.0.0.1; 0 is any free port
    #[arg(long, default_value = "4001", value_name = "PORT", value_parser = usage::port, allow_negative_numbers = true)]
    app_port: u16,
    /// Show the logs of both servers on standard error
    #[arg(long)]
    verbose: bool,
    /// Print one JSON object for programs when both servers are ready
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &DemoArguments) -> Result<(), CommandError> {
    if arguments.hub_port == arguments.app_port && arguments.hub_port != 0 {
        return Err(CommandError(format!("--hub-port and --app-port are both {}; two different ports are needed", arguments.hub_port)));
    }
    let settings = DemoSettings {
        hub_port: arguments.hub_port,
        app_port: arguments.app_port,
        log: if arguments.verbose { LogOutput::StandardError } else { LogOutput::OnFailure },
    };
    let output = OutputFormat::of(arguments.json);
    let on_ready = |demo: RunningDemo| {
        let printed = print(&output.choose(&text(&demo), &object(&demo)));
        printed.map_err(|CommandError(message)| BootError(message))
    };
    Ok(demo::run(settings, stop()?, on_ready).await?)
}

/// Resolves on Ctrl-C, on SIGTERM, or when the terminal closes.
fn stop() -> std::io::Result<impl Future<Output = ()>> {
    let [mut interrupt, mut terminate, mut hangup]: [Signal; 3] =
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}

fn text(RunningDemo { hub, app, accounts, .. }: &RunningDemo) -> String {
    let mut lines = vec![
        String::new(),
        "Peristyle is running.".to_owned(),
        String::new(),
        format!("  the app          {app}/"),
        format!("  its resources    {app}/docs"),
        format!("  the hub          {hub}/"),
        String::new(),
        "Sign in as".to_owned(),
        String::new(),
    ];
    lines
        .extend(accounts.iter().map(|account| format!("  {:<8} {}    sees {}", account.username, account.password.expose(), account.sees)));
    lines.extend([
        String::new(),
        "Try".to_owned(),
        String::new(),
        format!("  curl {app}/api/shop/products/paginate -H 'Content-Type: application/json' \\"),
        "    -d '{\"query\": {\"where\": {\"category\": {\"eq\": \"sleep\"}}, \"order\": [{\"field\": \"price\", \"dir\": \"desc\"}], \"limit\": 3}}'"
            .to_owned(),
        format!("  curl -i -X POST {app}/api/shop/customers/list      # 401: customers need a permission"),
        format!("  curl {hub}/.well-known/openid-configuration"),
        String::new(),
        "Ctrl-C stops both servers and removes everything.".to_owned(),
    ]);
    lines.join("\n")
}

fn object(demo: &RunningDemo) -> Value {
    let account =
        |account: &DemoAccount| json!({ "username": account.username, "password": account.password.expose(), "sees": account.sees });
    let accounts: Vec<Value> = demo.accounts.iter().map(account).collect();
    json!({ "hub": demo.hub, "app": demo.app, "client": demo.client, "people": accounts })
}
