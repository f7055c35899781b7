//! `peristyle event`

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use store::hub_records::audit_log::{self, LoggedEvent};
use store::hub_records::summaries;
use uuid::Uuid;

use crate::clock;
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

fn shown(event: &LoggedEvent) -> Value {
    json!({ "sequence": event.sequence, "at": at(event), "event": event.name, "address": event.address, "data": event.data })
}

fn at(event: &LoggedEvent) -> String {
    clock::rfc3339(event.at)
}

/// An event as people read it.
fn line(event: &LoggedEvent, names: &Names) -> String {
    format!("{}\t{}\t{}\t{}", at(event), event.name, event.address.as_deref().unwrap_or("-"), told(&event.data, names))
}

/// What accounts are called.
type Names = BTreeMap<Uuid, String>;

/// The accounts that events name.
async fn names(desk: &Desk, events: &[LoggedEvent]) -> Result<Names, Failure> {
    let id = |event: &LoggedEvent, key: &str| event.data.get(key).and_then(Value::as_str).and_then(|text| text.parse().ok());
    let ids: BTreeSet<Uuid> = events.iter().flat_map(|event| [id(event, "account"), id(event, "actor")]).flatten().collect();
    Ok(summaries::account_names(&desk.records, &ids.into_iter().collect::<Vec<_>>()).await?)
}

/// The data of an event, `key=value`; the ids of accounts with their names, and behind the names of changed fields what became of them.
fn told(data: &Map<String, Value>, names: &Names) -> String {
    let plain = data.iter().filter(|(key, _)| !["changed", "values"].contains(&key.as_str()));
    let mut words: Vec<String> = plain
        .map(|(key, value)| match value.as_str().and_then(|text| names.get(&text.parse().ok()?)) {
            Some(name) => format!("{key}={} ({name})", bare(value)),
            None => format!("{key}={}", bare(value)),
        })
        .collect();
    if let Some(Value::Array(changed)) = data.get("changed") {
        words.push(format!("changed={}", changed.iter().map(bare).collect::<Vec<_>>().join(",")));
    }
    let values = data.get("values").and_then(Value::as_object).into_iter().flatten();
    words.extend(values.map(|(field, value)| format!("{field}:{}", became(value))));
    words.join(" ")
}

/// `true->false`, or of a list `+added,-removed`.
fn became(value: &Value) -> String {
    if let (Some(from), Some(to)) = (value.get("from"), value.get("to")) {
        return format!("{}->{}", bare(from), bare(to));
    }
    let members = |key: &str, sign: &str| -> Vec<String> {
        value.get(key).and_then(Value::as_array).into_iter().flatten().map(|member| format!("{sign}{}", bare(member))).collect()
    };
    [members("added", "+"), members("removed", "-")].concat().join(",")
}

/// A text without its quotes where it is one word.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.chars().any(|letter| letter.is_whitespace() || letter == '"') => text.clone(),
        other => other.to_string(),
    }
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, Output::of(arguments.json)).await?;
    match arguments.action {
        Action::List { limit } => {
            let events = audit_log::newest(&desk.records, limit.into()).await?;
            let names = names(&desk, &events).await?;
            let lines: Vec<String> = events.iter().map(|event| line(event, &names)).collect();
            desk.list("events", &lines, events.iter().map(shown).collect())
        }
        Action::Follow => {
            let watch = Watch::new();
            let mut seen: BTreeSet<i64> = audit_log::newest(&desk.records, BACK).await?.iter().map(|event| event.sequence).collect();
            loop {
                let last = seen.last().copied().unwrap_or_default();
                let mut news = audit_log::after(&desk.records, last - BACK, BACK * 2).await?;
                news.retain(|event| seen.insert(event.sequence));
                let names = if news.is_empty() { Names::new() } else { names(&desk, &news).await? };
                for event in news {
                    if print(&if arguments.json { shown(&event).to_string() } else { line(&event, &names) })? == Reader::Gone {
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
