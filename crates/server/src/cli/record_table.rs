//! The table that the `show` commands print for people.

use std::fmt::Display;

use store::hub_records::summaries::AccountNames;

/// How many accounts a table names; for the others it gives their number.
pub(super) const MAX_NAMES: i64 = 20;

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
