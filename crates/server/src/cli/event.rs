//! `peristyle event`

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use store::events::{self, Noted};

use crate::chance;
use crate::config::Config;

use super::desk::Desk;
use super::print::{Reader, Watch, print};
use super::{Failure, Output, usage};

/// How often new events are looked for.
const PAUSE: Duration = Duration::from_millis(500);
/// How far back a number is looked for that was given out before, but committed after, a larger one.
const BACK: i64 = 1_000;

/// What is typed after `event`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Print one JSON object for programs; with `follow`, one a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the newest events
    #[command(after_help = "Example:\n  peristyle event list --limit 20")]
    List {
        /// How many
        #[arg(long, default_value_t = 100, value_parser = usage::count, allow_negative_numbers = true)]
        limit: u32,
    },
    /// Print events as they happen, until it is interrupted
    #[command(after_help = "Example:\n  peristyle event follow --json")]
    Follow,
}

fn shown(event: &Noted) -> Value {
    json!({ "sequence": event.sequence, "at": at(event), "event": event.name, "address": event.address, "data": event.data })
}

fn at(event: &Noted) -> String {
    chance::rfc3339(event.at)
}

fn line(event: &Noted) -> String {
    format!("{}\t{}\t{}\t{}", at(event), event.name, event.address.as_deref().unwrap_or("-"), Value::Object(event.data.clone()))
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, Output::of(arguments.json)).await?;
    match arguments.action {
        Action::List { limit } => {
            let events = events::newest(&desk.records, limit.into()).await?;
            desk.list("events", &events.iter().map(line).collect::<Vec<_>>(), events.iter().map(shown).collect())
        }
        Action::Follow => {
            let watch = Watch::new();
            let mut seen: BTreeSet<i64> = events::newest(&desk.records, BACK).await?.iter().map(|event| event.sequence).collect();
            loop {
                let last = seen.last().copied().unwrap_or_default();
                for event in events::after(&desk.records, last - BACK, BACK * 2).await? {
                    if !seen.insert(event.sequence) {
                        continue;
                    }
                    if print(&if arguments.json { shown(&event).to_string() } else { line(&event) })? == Reader::Gone {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
                seen = seen.split_off(&(seen.last().copied().unwrap_or_default() - BACK * 2));
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    () = watch.gone() => return Ok(ExitCode::SUCCESS),
                }
            }
        }
    }
}
