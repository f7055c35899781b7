//! `peristyle event`: prints the audit log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use store::hub_records::audit_log::{self, LoggedEvent};
use store::hub_records::summaries;
use uuid::Uuid;

use crate::{clock, listen};

use super::admin_context::{AdminContext, RecordsUse};
use super::output::{OutputFormat, Pipe, PipeWatcher, print_line};
use super::{CommandError, usage};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How many sequence numbers `follow` looks back: a transaction with a smaller number may commit after one with a larger number.
const LOOK_BACK: i64 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum EventAction {
    /// List the newest events
    #[command(after_help = "Example:\n  peristyle event list --limit 20")]
    List {
        /// How many events to print
        #[arg(long, default_value_t = 100, value_parser = usage::count, allow_negative_numbers = true)]
        limit: u32,
    },
    /// Print events as they happen, until interrupted; with --json, one object on each line
    #[command(after_help = "Example:\n  peristyle event follow --json")]
    Follow,
}

impl EventAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            EventAction::List { .. } | EventAction::Follow => RecordsUse::Read,
        }
    }
}

fn to_json(event: &LoggedEvent) -> Value {
    json!({ "sequence": event.sequence, "at": clock::rfc3339(event.at), "event": event.name, "address": event.address, "data": event.data })
}

fn line(event: &LoggedEvent, names: &AccountNames) -> String {
    let (time, address) = (clock::rfc3339(event.at), event.address.as_deref().unwrap_or("-"));
    format!("{time}\t{}\t{address}\t{}", event.name, data_text(&event.data, names))
}

type AccountNames = BTreeMap<Uuid, String>;

async fn account_names(context: &AdminContext, events: &[LoggedEvent]) -> Result<AccountNames, CommandError> {
    let id = |event: &LoggedEvent, key: &str| event.data.get(key).and_then(Value::as_str).and_then(|text| text.parse().ok());
    let ids: BTreeSet<Uuid> = events.iter().flat_map(|event| [id(event, "account"), id(event, "actor")]).flatten().collect();
    Ok(summaries::account_names(&context.records, &ids.into_iter().collect::<Vec<_>>()).await?)
}

/// The data of an event as `key=value`: account ids with their names, and each changed field with its old and new value.
fn data_text(data: &Map<String, Value>, names: &AccountNames) -> String {
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
    words.extend(values.map(|(field, value)| format!("{field}:{}", change_text(value))));
    words.join(" ")
}

/// `true->false`, or of a list `+added,-removed`.
fn change_text(value: &Value) -> String {
    if let (Some(from), Some(to)) = (value.get("from"), value.get("to")) {
        return format!("{}->{}", bare(from), bare(to));
    }
    let members = |key: &str, sign: &str| -> Vec<String> {
        value.get(key).and_then(Value::as_array).into_iter().flatten().map(|member| format!("{sign}{}", bare(member))).collect()
    };
    [members("added", "+"), members("removed", "-")].concat().join(",")
}

/// A string of one word without quotes, everything else as JSON.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && !text.chars().any(|letter| letter.is_whitespace() || letter == '"') => text.clone(),
        other => other.to_string(),
    }
}

pub(super) async fn run(context: &AdminContext, action: EventAction) -> Result<(), CommandError> {
    match action {
        EventAction::List { limit } => {
            let events = audit_log::newest(&context.records, limit.into()).await?;
            let names = account_names(context, &events).await?;
            context.list("events", &events, |event| line(event, &names), to_json)
        }
        EventAction::Follow => follow(context).await,
    }
}

async fn follow(context: &AdminContext) -> Result<(), CommandError> {
    let watcher = PipeWatcher::new();
    // The end by a signal is in good order, so that a SQLite file stays without a WAL beside it.
    let mut interrupted = std::pin::pin!(listen::signal());
    let mut seen: BTreeSet<i64> = audit_log::newest(&context.records, LOOK_BACK).await?.iter().map(|event| event.sequence).collect();
    loop {
        let last = seen.last().copied().unwrap_or_default();
        let mut new = audit_log::after(&context.records, last - LOOK_BACK, LOOK_BACK * 2).await?;
        new.retain(|event| seen.insert(event.sequence));
        let names = if new.is_empty() { AccountNames::new() } else { account_names(context, &new).await? };
        for event in new {
            let text = if context.output == OutputFormat::Json { to_json(&event).to_string() } else { line(&event, &names) };
            if print_line(&text)? == Pipe::Closed {
                return Ok(());
            }
        }
        seen = seen.split_off(&(seen.last().copied().unwrap_or_default() - LOOK_BACK * 2));
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = watcher.closed() => return Ok(()),
            () = &mut interrupted => return Ok(()),
        }
    }
}
