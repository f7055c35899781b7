//! Checks `[….write]` of a resource against its table: what the table takes, the keys, the version and soft delete.

use query::catalog::write_rules::{WriteOperation, WriteRules};
use query::catalog::{Field, Resource, ResourceId};
use query::messages::quoted_list;
use query::sql::Dialect;

use crate::schema::affinity::keeps_whole_numbers;
use crate::schema::{Changes, Table, same};

use super::Checker;
use super::write_columns::{fills, sets_soft_delete};

/// The statement that an operation runs, and whether a table cannot take it.
pub(super) fn statement(resource: &Resource, operation: WriteOperation, impossible: Changes) -> (&'static str, bool) {
    match operation {
        WriteOperation::Create => ("INSERT", impossible.insert),
        WriteOperation::Delete if resource.soft_delete().is_none() => ("DELETE", impossible.delete),
        WriteOperation::Update | WriteOperation::Delete | WriteOperation::Restore => ("UPDATE", impossible.update),
    }
}

impl<'c> Checker<'c> {
    pub(super) fn write(&mut self, id: ResourceId, table: &'c Table) {
        let resource = self.catalog.resource(id);
        let Some(rules) = resource.write_rules() else { return };
        self.everyone(resource, rules);
        if !self.takes_changes(resource, table, rules) {
            return;
        }
        self.broken_foreign_keys(resource, table, rules);
        self.trusted_key(resource, table, rules);
        self.unique_keys(resource, table, rules);
        self.version(resource, table, rules);
        self.soft_delete_column(resource, table);
        self.written_columns(resource, table);
        self.distribution_column(resource, table);
        self.unfilled_columns(resource, table, rules);
        self.conflict_leaks(resource, table, rules);
        self.reference_leaks(resource, table, rules);
        self.delete_leaks(id, table, rules);
        self.update_leaks(id, table, rules);
    }

    fn everyone(&mut self, resource: &Resource, rules: &WriteRules) {
        let name = &resource.full_name;
        for operation in rules.open_operations() {
            let word = operation.as_str();
            let message = format!("`{word} = true` lets everyone {word} rows, also without a sign-in");
            self.warning(
                rules.line,
                format!("resource `{name}`: {message}; name a permission, such as \"{name}.{word}\", if not everyone may"),
            );
        }
    }

    /// Whether the table takes the statements of all operations.
    fn takes_changes(&mut self, resource: &Resource, table: &Table, rules: &WriteRules) -> bool {
        let noun = match table {
            Table { is_materialized: true, .. } => "materialized view",
            Table { is_view: true, .. } => "view",
            _ => "foreign table",
        };
        let (name, shown) = (&resource.full_name, self.schema.shown(table, self.dialect));
        let mut takes_all = true;
        for operation in rules.operations() {
            let word = operation.as_str();
            let (statement, is_impossible) = statement(resource, operation, table.impossible);
            let message = if is_impossible {
                let can_have_trigger = table.is_view && !table.is_materialized && self.dialect.is_postgres();
                let trigger = if can_have_trigger { ", or give it an INSTEAD OF trigger" } else { "" };
                let accepted = format!("remove `{word}`, or name a table in `table`{trigger}");
                format!("`{word}` needs {statement}, which the {noun} `{shown}` does not take; {accepted}")
            } else if table.is_unlockable && operation != WriteOperation::Create {
                let reason = "with GROUP BY, DISTINCT, UNION, a window function or an outer join has no rows to lock";
                format!("`{word}` locks its rows first, but the view `{shown}` {reason}; remove `{word}`, or name a table in `table`")
            } else {
                continue;
            };
            takes_all = false;
            self.error(rules.line, format!("resource `{name}`: {message}"));
        }
        takes_all
    }

    /// SQLite refuses changes for a foreign key without a target.
    fn broken_foreign_keys(&mut self, resource: &Resource, table: &Table, rules: &WriteRules) {
        for broken in &table.broken_foreign_keys {
            let is_hit = |field: &Field| broken.columns.iter().any(|column| same(column, field.column.plain(), self.dialect));
            let is_updated = |field: &Field| fills(field, WriteOperation::Update) && is_hit(field);
            let is_stopped = |operation: &WriteOperation| match statement(resource, *operation, table.impossible).0 {
                "UPDATE" => resource.stored_fields().any(|(_, field)| is_updated(field)),
                _ => true,
            };
            let stopped: Vec<&str> = rules.operations().filter(is_stopped).map(WriteOperation::as_str).collect();
            if stopped.is_empty() {
                continue;
            }
            let (shown, words) = (self.schema.shown(table, self.dialect), quoted_list(&stopped));
            let message = format!("SQLite refuses {words} on table `{shown}` for {}", broken.reason);
            let accepted = format!("correct the foreign key, or remove {words}");
            self.error(rules.line, format!("resource `{}`: {message}; {accepted}", resource.full_name));
        }
    }

    /// A view and a foreign table have no index that keeps the key unique.
    fn trusted_key(&mut self, resource: &Resource, table: &Table, rules: &WriteRules) {
        if table.is_view || table.is_foreign_table {
            let noun = if table.is_view { "view" } else { "foreign table" };
            let columns: Vec<&str> = resource.key_fields().map(|field| field.column.plain()).collect();
            let trusted = format!("that ({}) is unique is taken from the manifest's `key`", columns.join(", "));
            let message = format!("resource `{}`: `{}` is a {noun}; {trusted}", resource.full_name, resource.table);
            self.warning(rules.line, message);
        }
    }

    fn unique_keys(&mut self, resource: &Resource, table: &Table, rules: &WriteRules) {
        for (fields, line) in &rules.keys {
            let columns: Vec<&str> = fields.iter().map(|id| resource.fields[*id].column.plain()).collect();
            let is_known = columns.iter().all(|column| table.column(column, self.dialect).is_some());
            if !is_known || table.is_view || table.is_foreign_table || table.has_unique_key(&columns, self.dialect) {
                continue;
            }
            let (listed, shown) = (columns.join(", "), self.schema.shown(table, self.dialect));
            let reason = if table.has_child_tables {
                "no key of it covers the tables that inherit from it; remove the entry".to_owned()
            } else {
                format!("add a unique index on {shown} ({listed}), or remove the entry")
            };
            let message = format!("`keys` names ({listed}), which is no unique key of table `{shown}`");
            self.error(*line, format!("resource `{}`: {message}; {reason}", resource.full_name));
        }
    }

    fn version(&mut self, resource: &Resource, table: &Table, rules: &WriteRules) {
        let Some(field) = rules.version.map(|id| &resource.fields[id]) else { return };
        let Some(column) = table.column(field.column.plain(), self.dialect) else { return };
        let (what, name) = (format!("field `{}` of `{}`", field.name, resource.full_name), &column.name);
        let needs = "`version` needs a number that every update raises by one";
        if column.own_value.is_fixed() {
            self.error(field.line, format!("{what}: {needs}, but the database alone writes column `{name}`; name a plain column"));
        } else if column.nullable && !table.is_view {
            self.error(
                field.line,
                format!("{what}: {needs}, but column `{name}` may hold NULL; set it NOT NULL, with a default such as 1"),
            );
        }
        if self.dialect == Dialect::Sqlite && !keeps_whole_numbers(&column.native) {
            let found = &column.native;
            self.error(field.line, format!("{what}: {needs}, but column `{name}` is declared {found:?}; declare the column INTEGER"));
        }
    }

    fn soft_delete_column(&mut self, resource: &Resource, table: &Table) {
        let Some(field) = resource.soft_delete().filter(|_| sets_soft_delete(resource)) else { return };
        let Some(column) = table.column(field.column.plain(), self.dialect) else { return };
        let what = format!("resource `{}`: `soft-delete` names `{}`", resource.full_name, field.name);
        if column.own_value.is_fixed() {
            self.error(field.line, format!("{what}, whose column the database alone writes; name a plain column"));
        } else if column.required {
            let accepted = "drop NOT NULL, or remove `delete` and `restore`";
            self.error(field.line, format!("{what}, whose column is NOT NULL, but a row that is not deleted has NULL there; {accepted}"));
        }
    }
}
