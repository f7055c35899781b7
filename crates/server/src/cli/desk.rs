//! What the commands of administration share: the records they work on, what they read and how they answer.

use std::io::Read;
use std::process::ExitCode;

use identity::account::Account;
use identity::password::{Password, PasswordHash};
use identity::timestamp::Timestamp;
use serde_json::{Map, Value};
use store::hub_records::Records;
use store::hub_records::audit_log::AuditContext;
use store::hub_records::{accounts, summaries};
use zeroize::Zeroizing;

use crate::administration::{Actor, Administration};
use crate::boot;
use crate::clock;
use crate::config::Config;
use crate::random;

use super::print::{hand_over, print, report};
use super::show::{Table, unknown};
use super::{Failure, Output};

/// The most that is read from standard input: a password of the longest kind and a newline fit in many times over.
const MOST_INPUT: u64 = 64 * 1024;

/// How many accounts a name that nobody has is compared with.
const MAX_COMPARED: i64 = 10_000;

/// The records of the database that is configured, brought to their newest shape.
pub(super) struct Desk {
    pub(super) records: Records,
    pub(super) now: Timestamp,
    output: Output,
}

impl Desk {
    pub(super) async fn open(config: &Config, output: Output) -> Result<Self, Failure> {
        let records = boot::records(&config.database_url, &config.database).await?;
        let now = clock::now();
        Ok(Desk { records, now, output })
    }

    /// The administration on behalf of whoever typed the command.
    pub(super) fn administration(&self) -> Administration<'_> {
        Administration { records: &self.records, actor: Actor::CommandLine, occasion: AuditContext { now: self.now, address: None } }
    }

    /// The account with a username or email.
    pub(super) async fn account(&self, name: &str) -> Result<Account, Failure> {
        if let Some(account) = accounts::by_login(&self.records, name).await? {
            return Ok(account);
        }
        let known = summaries::login_names(&self.records, MAX_COMPARED).await?;
        Err(unknown(&format!("account with the username or email {name:?}"), name, &known, "account"))
    }

    /// Shows one record: a table to a person, an object to a program.
    pub(super) fn show(&self, table: &Table, object: &Value) -> Result<ExitCode, Failure> {
        print(&self.phrase(&table.text(), object))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Answers a person in a sentence, a program by an object.
    pub(super) fn answer(&self, text: &str, object: &Value) -> Result<ExitCode, Failure> {
        report(&self.phrase(text, object))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Hands over what is shown only once: `made` says what it is, `again` how to get another.
    pub(super) fn hand_over(&self, text: &str, object: &Value, made: &str, again: &str) -> Result<ExitCode, Failure> {
        hand_over(&self.phrase(text, object), made, again)?;
        Ok(ExitCode::SUCCESS)
    }

    fn phrase(&self, text: &str, object: &Value) -> String {
        match self.output {
            Output::Text => text.to_owned(),
            Output::Json => object.to_string(),
        }
    }

    /// Answers with a list: a line for each to a person, one object to a program.
    pub(super) fn list(&self, name: &str, lines: &[String], items: Vec<Value>) -> Result<ExitCode, Failure> {
        match self.output {
            Output::Text if lines.is_empty() => return Ok(ExitCode::SUCCESS),
            Output::Text => print(&lines.join("\n"))?,
            Output::Json => print(&Value::Object(Map::from_iter([(name.to_owned(), Value::Array(items))])).to_string())?,
        };
        Ok(ExitCode::SUCCESS)
    }
}

/// Standard input to its end, a final newline dropped.
pub(super) fn standard_input() -> Result<Zeroizing<String>, Failure> {
    let mut text = Zeroizing::new(String::new());
    std::io::stdin().take(MOST_INPUT).read_to_string(&mut text).map_err(|_| Failure("standard input is not UTF-8 text".to_owned()))?;
    let bare = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(Zeroizing::new(bare.to_owned()))
}

/// A password from standard input, hashed.
pub(super) fn hashed_password() -> Result<PasswordHash, Failure> {
    let password = Password::chosen(&standard_input()?)?;
    Ok(PasswordHash::make(&password, random::bytes()?)?)
}

/// A hash from elsewhere, from standard input.
pub(super) fn foreign_hash() -> Result<PasswordHash, Failure> {
    Ok(PasswordHash::parse(standard_input()?.trim())?)
}

/// `--meta`: a JSON object.
pub(super) fn meta(text: &str) -> Result<Map<String, Value>, Failure> {
    // Of two members of one name, readers differ in which one counts.
    match query::json::strict(text.as_bytes()).ok().and_then(|_| serde_json::from_str(text).ok()) {
        Some(Value::Object(meta)) => Ok(meta),
        _ => Err(Failure("--meta: a JSON object whose names are unique is expected, such as '{\"region\": \"north\"}'".to_owned())),
    }
}
