//! Checks that a role of PostgreSQL may run the statements of all writes.

use query::catalog::write_rules::{WriteOperation, WriteRules};
use query::catalog::{Catalog, Field, Resource};
use query::sql::Dialect;

use crate::schema::{Column, Schema, Table};

use super::write::statement;
use super::write_columns::fills;
use super::{Finding, Severity};

/// The privileges that the writes of the manifest need and the role lacks that read this schema. Writes may have a role of their own.
pub fn check_write_privileges(catalog: &Catalog, schema: &Schema, dialect: Dialect) -> Vec<Finding> {
    let mut findings = Vec::new();
    let declared = catalog.resources().iter().filter(|resource| !resource.is_own());
    for resource in declared {
        let (Some(rules), Some(table)) = (resource.write_rules(), schema.table(&resource.table, dialect)) else { continue };
        let privileges = Privileges { resource, rules, table, shown: schema.shown(table, dialect), dialect };
        let lacking = rules.operations().flat_map(|operation| privileges.lacking(operation));
        findings.extend(lacking.map(|message| {
            let message = format!("resource `{}`: {message}", resource.full_name);
            Finding { severity: Severity::Error, line: rules.line, message }
        }));
    }
    findings
}

struct Privileges<'c> {
    resource: &'c Resource,
    rules: &'c WriteRules,
    table: &'c Table,
    shown: String,
    dialect: Dialect,
}

impl Privileges<'_> {
    fn lacking(&self, operation: WriteOperation) -> Vec<String> {
        let (statement, is_impossible) = statement(self.resource, operation, self.table.impossible);
        // A table that takes no such statement is reported as such.
        if is_impossible {
            return Vec::new();
        }
        let mut lacking = Vec::new();
        match statement {
            "INSERT" => {
                lacking.extend(self.columns(operation, statement, |column| column.insert_forbidden));
                lacking.extend(self.sequences());
            }
            "DELETE" => {
                if self.table.delete_forbidden {
                    lacking.push(self.message(operation, statement, ""));
                }
                // Rows are locked before they are deleted, and a lock needs UPDATE on one column.
                if self.table.columns.iter().all(|column| column.update_forbidden) {
                    lacking.push(self.message(operation, "UPDATE", " to lock rows"));
                }
            }
            _ => lacking.extend(self.columns(operation, statement, |column| column.update_forbidden)),
        }
        lacking
    }

    /// The privilege on the columns that an operation writes.
    fn columns(&self, operation: WriteOperation, statement: &str, is_forbidden: impl Fn(&Column) -> bool) -> Option<String> {
        if self.table.columns.iter().all(&is_forbidden) {
            return Some(self.message(operation, statement, ""));
        }
        let fields = self.resource.stored_fields().filter(|(id, field)| {
            let is_raised = self.rules.version == Some(*id) && operation != WriteOperation::Create;
            is_raised || self.is_mark(field, operation) || fills(field, operation)
        });
        let columns = fields.filter_map(|(_, field)| self.table.column(field.column.plain(), self.dialect));
        let mut names: Vec<&str> = columns.filter(|column| is_forbidden(column)).map(|column| column.name.as_str()).collect();
        names.dedup();
        (!names.is_empty()).then(|| {
            let (word, listed, shown) = (operation.as_str(), names.join(", "), &self.shown);
            format!("`{word}` needs {statement} on ({listed}) of `{shown}`, which the database user lacks; GRANT it {statement}")
        })
    }

    /// Whether the operation marks a row as deleted, or not deleted, by this field.
    fn is_mark(&self, field: &Field, operation: WriteOperation) -> bool {
        let is_marking = matches!(operation, WriteOperation::Delete | WriteOperation::Restore);
        is_marking && self.resource.soft_delete().is_some_and(|mark| std::ptr::eq(mark, field))
    }

    /// The sequences of defaults that a new row may use.
    fn sequences(&self) -> impl Iterator<Item = String> {
        let has_preset = |column: &Column| {
            let mut fields = self.resource.stored_fields().filter(|(_, field)| field.column.plain() == column.name);
            fields.any(|(_, field)| field.has_preset(WriteOperation::Create))
        };
        let columns = self.table.columns.iter().filter(move |column| !has_preset(column));
        columns.filter_map(|column| {
            let sequence = column.forbidden_sequence.as_ref()?;
            let lacking = format!("`create` needs USAGE on the sequence `{sequence}` of column `{}`", column.name);
            Some(format!("{lacking}, which the database user lacks; GRANT it USAGE"))
        })
    }

    fn message(&self, operation: WriteOperation, statement: &str, purpose: &str) -> String {
        let (word, shown) = (operation.as_str(), &self.shown);
        format!("`{word}` needs {statement} on `{shown}`{purpose}, which the database user lacks; GRANT it {statement}")
    }
}
