//! `peristyle demo`

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::boot_error::BootError;
use crate::demo::{self, Log, Opened, Settings};

use super::print::print;
use super::{Failure, Output, usage};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The hub's port on 127.0.0.1; 0 takes one that is free
    #[arg(long, default_value = "4000", value_name = "PORT", value_parser = usage::port, allow_negative_numbers = true)]
    hub_port: u16,
    /// The satellite's port on 127.0.0.1, where the app is; 0 takes one that is free
    #[arg(long, default_value = "4001", value_name = "PORT", value_parser = usage::port, allow_negative_numbers = true)]
    app_port: u16,
    /// Show the logs of both on standard error
    #[arg(long)]
    verbose: bool,
    /// Print one JSON object for programs, once both are ready
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.hub_port == arguments.app_port && arguments.hub_port != 0 {
        return Err(Failure(format!("--hub-port and --app-port are both {}; name two ports", arguments.hub_port)));
    }
    let settings = Settings {
        hub_port: arguments.hub_port,
        app_port: arguments.app_port,
        log: if arguments.verbose { Log::Shown } else { Log::Kept },
    };
    let output = Output::of(arguments.json);
    demo::run(settings, stop()?, |opened| {
        print(&match output {
            Output::Text => text(&opened),
            Output::Json => object(&opened).to_string(),
        })
        .map(|_| ())
        .map_err(|Failure(message)| BootError(message))
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

/// Resolves when somebody wants an end: Ctrl-C, a terminal that closes, or a word from outside.
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

fn text(opened: &Opened) -> String {
    let Opened { hub, app, people, .. } = opened;
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
    lines.extend(people.iter().map(|person| format!("  {:<8} {}    sees {}", person.username, person.password.expose(), person.sees)));
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
        "Ctrl-C ends both and removes everything again.".to_owned(),
    ]);
    lines.join("\n")
}

fn object(opened: &Opened) -> Value {
    let people: Vec<Value> = opened
        .people
        .iter()
        .map(|person| json!({ "username": person.username, "password": person.password.expose(), "sees": person.sees }))
        .collect();
    json!({ "hub": opened.hub, "app": opened.app, "client": opened.client, "people": people })
}
