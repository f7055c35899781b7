//! What the `show` commands share: a table for people, and what is said of a record that does not exist.

use query::wording::near;
use serde_json::Value;
use store::hub_records::summaries::AccountNames;

use super::Failure;

/// How many accounts that belong to something are named; of more the number is told.
pub(super) const MAX_NAMES: i64 = 20;

/// A record as people read it: a line for each field, the values below each other.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<(&'static str, String)>);

impl Table {
    pub(super) fn row(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// A field that may have no value.
    pub(super) fn maybe(self, name: &'static str, value: Option<&str>) -> Self {
        self.row(name, value.unwrap_or("-"))
    }

    pub(super) fn list(self, name: &'static str, values: &[impl AsRef<str>]) -> Self {
        let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        self.row(name, if values.is_empty() { "-".to_owned() } else { values.join(", ") })
    }

    /// How many accounts belong to it, and what the first of them are called.
    pub(super) fn accounts(self, belonging: &AccountNames) -> Self {
        let unnamed = belonging.all.saturating_sub(i64::try_from(belonging.names.len()).unwrap_or(i64::MAX));
        let more = if unnamed > 0 { format!(" and {unnamed} more") } else { String::new() };
        let text = if belonging.all == 0 { "0".to_owned() } else { format!("{}: {}{more}", belonging.all, belonging.names.join(", ")) };
        self.row("accounts", text)
    }

    pub(super) fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let lines: Vec<String> = self.0.iter().map(|(name, value)| format!("{name:width$}  {value}")).collect();
        lines.join("\n")
    }
}

/// What is said of a record that does not exist: `what` is `role "clark"`, `list` the command that shows those that do.
pub(super) fn unknown(what: &str, name: &str, known: &[String], list: &str) -> Failure {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Failure(format!("there is no {what}{}; `peristyle {list} list` shows all", near(name, &known)))
}

/// Adds the members of one object to another.
pub(super) fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}
