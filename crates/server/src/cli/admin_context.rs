//! What the commands on the hub's records share: the database, how a record is found, and how a result is printed.

use std::fmt::Display;

use identity::account::Account;
use identity::timestamp::Timestamp;
use query::messages::did_you_mean;
use serde_json::{Map, Value};
use store::hub_records::Records;
use store::hub_records::audit_log::AuditContext;
use store::hub_records::{accounts, summaries};
use uuid::Uuid;

use crate::administration::{Actor, Administration};
use crate::config::Config;
use crate::{boot, clock};

use super::output::{OutputFormat, print, print_change};
use super::record_table::RecordTable;
use super::{CommandError, usage};

const MAX_COMPARED_ACCOUNTS: i64 = 10_000;

pub(super) struct AdminContext {
    pub(super) records: Records,
    pub(super) now: Timestamp,
    pub(super) output: OutputFormat,
}

impl AdminContext {
    pub(super) async fn open(config: &Config, output: OutputFormat) -> Result<Self, CommandError> {
        let records = boot::records(&config.database_url, &config.database).await?;
        Ok(AdminContext { records, now: clock::now(), output })
    }

    pub(super) fn administration(&self) -> Administration<'_> {
        Administration { records: &self.records, actor: Actor::CommandLine, audit_context: AuditContext { now: self.now, address: None } }
    }

    pub(super) async fn account(&self, name: &str) -> Result<Account, CommandError> {
        if let Some(account) = accounts::by_login(&self.records, name).await? {
            return Ok(account);
        }
        let known = summaries::login_names(&self.records, MAX_COMPARED_ACCOUNTS).await?;
        Err(not_found("account", format!("with the username or email {name:?}"), &similar(name, known.iter().map(String::as_str))))
    }

    /// Prints one record: a table for people; for programs its `fields` and `more`.
    pub(super) fn show(&self, table: &RecordTable, fields: impl Into<Value>, more: Value) -> Result<(), CommandError> {
        let mut object = fields.into();
        if let (Value::Object(fields), Value::Object(more)) = (&mut object, more) {
            fields.extend(more);
        }
        print(&self.output.choose(&table.text(), &object))
    }

    pub(super) fn print_change(&self, text: &str, object: impl Into<Value>) -> Result<(), CommandError> {
        print_change(&self.output.choose(text, &object.into()))
    }

    /// Prints a list: a line for each item for people, one object with the list under `key` for programs.
    pub(super) fn list<T, J: Into<Value>>(
        &self,
        key: &str,
        items: &[T],
        line: impl Fn(&T) -> String,
        object: impl Fn(&T) -> J,
    ) -> Result<(), CommandError> {
        match self.output {
            OutputFormat::Text if items.is_empty() => Ok(()),
            OutputFormat::Text => print(&items.iter().map(line).collect::<Vec<_>>().join("\n")),
            OutputFormat::Json => {
                let objects: Value = items.iter().map(object).map(Into::into).collect();
                print(&Value::Object(Map::from_iter([(key.to_owned(), objects)])).to_string())
            }
        }
    }
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct CodeOrId {
    /// Its code
    #[arg(long)]
    pub(super) code: Option<String>,
    /// Its id
    #[arg(long, value_parser = usage::id)]
    pub(super) id: Option<Uuid>,
}

/// Finds the record with a name, or without one the record with an id. `key` gives the name and the id of a record.
pub(super) fn select<T>(
    kind: &str,
    mut records: Vec<T>,
    (name, id): (Option<&str>, Option<Uuid>),
    key: impl Fn(&T) -> (&str, Uuid),
) -> Result<T, CommandError> {
    let matches = |record: &T| name.map_or_else(|| id == Some(key(record).1), |name| name == key(record).0);
    match (records.iter().position(matches), name) {
        (Some(index), _) => Ok(records.swap_remove(index)),
        (None, Some(name)) => Err(not_found(kind, format!("{name:?}"), &similar(name, records.iter().map(|record| key(record).0)))),
        (None, None) => Err(not_found(kind, id.unwrap_or_default(), "")),
    }
}

pub(super) fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    did_you_mean(name, &known.collect::<Vec<_>>())
}

pub(super) fn not_found(kind: &str, which: impl Display, hint: &str) -> CommandError {
    CommandError(format!("there is no {kind} {which}{hint}; `peristyle {kind} list` shows all"))
}

pub(super) fn require_change<T: Default + PartialEq>(change: &T, flags: &str) -> Result<(), CommandError> {
    if *change == T::default() {
        return Err(CommandError(format!("nothing to update; at least one of these flags is needed: {flags}")));
    }
    Ok(())
}
