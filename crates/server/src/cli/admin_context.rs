//! What the commands on the hub's records share: the database, how a record is found, and how a result is printed.

use std::fmt::Display;
use std::io::Write;

use identity::account::Account;
use identity::timestamp::Timestamp;
use query::messages::did_you_mean;
use serde_json::{Map, Value};
use store::DatabaseSettings;
use store::hub_records::accounts;
use store::hub_records::audit_log::AuditContext;
use store::hub_records::summaries::{self, AccountNames};
use store::hub_records::{Records, TablesState};
use uuid::Uuid;

use crate::administration::{Actor, AdminError, Administration};
use crate::config::Config;
use crate::{boot, clock};

use super::output::{OutputFormat, print, print_change};
use super::{CommandError, usage};

/// How many accounts a table names; for the others it gives their number.
pub(super) const MAX_NAMES: i64 = 20;
const MAX_COMPARED_ACCOUNTS: i64 = 10_000;

pub(super) struct AdminContext {
    pub(super) records: Records,
    /// Where the records go. Until a record is added, `records` is an empty hub in memory.
    created_on_add: Option<DatabaseToCreate>,
    pub(super) now: Timestamp,
    pub(super) output: OutputFormat,
}

/// A database without the tables of a hub.
struct DatabaseToCreate {
    url: String,
    settings: DatabaseSettings,
}

/// What a command does with the hub's records. Only one that adds a record creates or migrates their tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordsUse {
    Read,
    Change,
    Add,
}

impl AdminContext {
    pub(super) async fn open(config: &Config, output: OutputFormat, usage: RecordsUse) -> Result<Self, CommandError> {
        let (url, settings) = (&config.database_url, &config.database);
        let mut created_on_add = None;
        let records = match usage {
            RecordsUse::Read => boot::existing_records(config).await?,
            RecordsUse::Change => {
                boot::existing_records(config).await?;
                boot::records(url, settings).await?
            }
            RecordsUse::Add if boot::hub_tables(config).await? == TablesState::Missing => {
                created_on_add = Some(DatabaseToCreate { url: url.clone(), settings: *settings });
                boot::records("sqlite::memory:", settings).await?
            }
            RecordsUse::Add => boot::records(url, settings).await?,
        };
        Ok(AdminContext { records, created_on_add, now: clock::now(), output })
    }

    /// For a command that changes records beside [`AdminContext::add`], and creates or migrates their tables first.
    pub(super) async fn create(config: &Config, output: OutputFormat) -> Result<Self, CommandError> {
        let records = boot::records(&config.database_url, &config.database).await?;
        Ok(AdminContext { records, created_on_add: None, now: clock::now(), output })
    }

    pub(super) fn administration(&self) -> Administration<'_> {
        self.administration_of(&self.records)
    }

    fn administration_of<'r>(&self, records: &'r Records) -> Administration<'r> {
        Administration { records, actor: Actor::CommandLine, audit_context: AuditContext { now: self.now, address: None } }
    }

    /// Adds a record, and creates the hub's tables for it if they are missing. Then the record is first added in memory, so that a refused
    /// one creates nothing.
    pub(super) async fn add<T>(&self, add: impl AsyncFn(Administration<'_>) -> Result<T, AdminError>) -> Result<T, CommandError> {
        let added = add(self.administration()).await?;
        let Some(DatabaseToCreate { url, settings }) = &self.created_on_add else { return Ok(added) };
        let records = boot::records(url, settings).await?;
        Ok(add(self.administration_of(&records)).await?)
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
            OutputFormat::Text if items.is_empty() => {
                // Not a line of the list, so that a program that counts lines finds none. Standard error may be closed.
                _ = writeln!(std::io::stderr(), "there are no {key}");
                Ok(())
            }
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

/// The table that the `show` commands print for people.
#[derive(Debug, Default)]
pub(super) struct RecordTable(Vec<(&'static str, String)>);

impl RecordTable {
    pub(super) fn row(mut self, name: &'static str, value: impl Display) -> Self {
        self.0.push((name, value.to_string()));
        self
    }

    pub(super) fn optional(self, name: &'static str, value: Option<&str>) -> Self {
        self.row(name, value.unwrap_or("-"))
    }

    pub(super) fn flag(self, name: &'static str, value: bool) -> Self {
        self.row(name, if value { "yes" } else { "no" })
    }

    pub(super) fn list(self, name: &'static str, values: &[impl AsRef<str>]) -> Self {
        let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        self.optional(name, (!values.is_empty()).then(|| values.join(", ")).as_deref())
    }

    pub(super) fn accounts(self, accounts: &AccountNames) -> Self {
        let unnamed = accounts.all.saturating_sub(i64::try_from(accounts.names.len()).unwrap_or(i64::MAX));
        let more = if unnamed > 0 { format!(" and {unnamed} more") } else { String::new() };
        let names = if accounts.all == 0 { String::new() } else { format!(": {}{more}", accounts.names.join(", ")) };
        self.row("accounts", format!("{}{names}", accounts.all))
    }

    pub(super) fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let lines: Vec<String> = self.0.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
        lines.join("\n")
    }
}
