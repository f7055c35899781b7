//! Checks that a role of PostgreSQL may run the statements of all writes. Writes may have a role of their own.

use query::catalog::write_rules::{WriteOperation, WriteRules};
use query::catalog::{Catalog, Field, Identifier, JoinColumns, Resource, ResourceId, TableName};
use query::sql::Dialect;

use crate::schema::{Column, OwnValue, Schema, Table};

use super::write::statement;
use super::write_columns::fills;
use super::{Finding, Severity};

/// The role that writes, as messages name it.
const ONE_ROLE: &str = "the database user";
const ROLE_OF_WRITES: &str = "the user of DATABASE_WRITE_URL";

/// The privileges that the writes of the manifest need and the one role of reads and writes lacks.
pub fn check_write_privileges(catalog: &Catalog, schema: &Schema, dialect: Dialect) -> Vec<Finding> {
    privileges_to_change(catalog, schema, dialect, ONE_ROLE)
}

/// What the writes of the manifest need and the role of DATABASE_WRITE_URL lacks, by the schema that it reads. It must find the tables that the
/// role of reads finds, and read what a write reads.
pub fn check_write_role(catalog: &Catalog, reads: &Schema, writes: &Schema, dialect: Dialect) -> Vec<Finding> {
    let mut findings = privileges_to_change(catalog, writes, dialect, ROLE_OF_WRITES);
    for Reached { id, writer, severity } in reached_by_writes(catalog) {
        let resource = catalog.resource(id);
        let name = &catalog.resource(writer).full_name;
        let purpose = match severity {
            Severity::Error if writer == id => String::new(),
            Severity::Error => format!("writes of `{name}` read it, and "),
            Severity::Warning => format!("`returning` of a write of `{name}` can load it, and "),
        };
        for (table_name, columns) in tables_of(resource) {
            // What the role of reads lacks is reported for reads.
            let Some(read) = reads.table(table_name, dialect) else { continue };
            if let Some(reason) = unread(read, writes, (table_name, &columns), dialect) {
                let message = format!("resource `{}`: {purpose}{reason}", resource.full_name);
                findings.push(Finding { severity, line: resource.line, message });
            }
        }
    }
    findings
}

/// A resource that a write can read.
struct Reached {
    id: ResourceId,
    /// The resource of the write.
    writer: ResourceId,
    /// An error if every write of it may need the rows, a warning if only `returning` does.
    severity: Severity,
}

fn reached_by_writes(catalog: &Catalog) -> Vec<Reached> {
    let mut reached: Vec<Reached> = Vec::new();
    let is_writer = |id: &ResourceId| catalog.resource(*id).write_rules().is_some() && !catalog.resource(*id).is_own();
    let writers: Vec<ResourceId> = (0..catalog.resources().len()).filter(is_writer).collect();
    for writer in &writers {
        for id in catalog.read_by_writes(*writer) {
            if !reached.iter().any(|known| known.id == id) {
                reached.push(Reached { id, writer: *writer, severity: Severity::Error });
            }
        }
    }
    let mut open: Vec<(ResourceId, ResourceId)> = reached.iter().map(|known| (known.id, known.writer)).collect();
    while let Some((id, writer)) = open.pop() {
        for relation in &catalog.resource(id).relations {
            if !reached.iter().any(|known| known.id == relation.target) {
                reached.push(Reached { id: relation.target, writer, severity: Severity::Warning });
                open.push((relation.target, writer));
            }
        }
    }
    reached
}

/// The tables of a resource, pivots among them, with their columns.
fn tables_of(resource: &Resource) -> Vec<(&TableName, Vec<&str>)> {
    let own = resource.stored_fields().map(|(_, field)| field.column.plain()).collect();
    let pivots = resource.relations.iter().filter_map(|relation| match &relation.join_columns {
        JoinColumns::Through { pivot, own, other, .. } => {
            let columns = own.iter().map(|(_, column)| column).chain(other.iter().map(|(column, _)| column));
            Some((pivot, columns.map(Identifier::plain).collect()))
        }
        JoinColumns::Direct(_) => None,
    });
    std::iter::once((&resource.table, own)).chain(pivots).collect()
}

/// Why the role of writes does not read these columns as the role of reads does.
fn unread(read: &Table, writes: &Schema, (name, columns): (&TableName, &[&str]), dialect: Dialect) -> Option<String> {
    let qualified = |table: &Table| format!("{}.{}", table.schema, table.name);
    let Some(table) = writes.table(name, dialect) else {
        let advice = "name its schema in `table`, or set the search_path of that user";
        return Some(format!("{ROLE_OF_WRITES} does not find table `{name}`, which is `{}` for reads; {advice}", qualified(read)));
    };
    if qualified(table) != qualified(read) {
        let (own, other) = (qualified(table), qualified(read));
        return Some(format!("table `{name}` is `{own}` for {ROLE_OF_WRITES} and `{other}` for reads; name its schema in `table`"));
    }
    let is_read = |name: &&&str| read.column(name, dialect).is_some_and(|column| !column.forbidden);
    let is_forbidden = |name: &&&str| table.column(name, dialect).is_none_or(|column| column.forbidden);
    let forbidden: Vec<&str> = columns.iter().filter(is_read).filter(is_forbidden).copied().collect();
    if forbidden.is_empty() {
        return None;
    }
    let which = if forbidden.len() == columns.len() { String::new() } else { format!(" ({})", forbidden.join(", ")) };
    let shown = writes.shown(table, dialect);
    Some(format!("{ROLE_OF_WRITES} lacks SELECT{which} on `{shown}`, or USAGE on its schema; GRANT it both, since a write reads rows too"))
}

fn privileges_to_change(catalog: &Catalog, schema: &Schema, dialect: Dialect, role: &'static str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let declared = catalog.resources().iter().filter(|resource| !resource.is_own());
    for resource in declared {
        let (Some(rules), Some(table)) = (resource.write_rules(), schema.table(&resource.table, dialect)) else { continue };
        let privileges = Privileges { resource, rules, table, shown: schema.shown(table, dialect), dialect, role };
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
    role: &'static str,
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
        let fields = self.resource.stored_fields().filter_map(|(id, field)| {
            let column = self.table.column(field.column.plain(), self.dialect)?;
            // A new row has version 1, unless the column has a default.
            let is_numbered = operation != WriteOperation::Create || column.own_value == OwnValue::None;
            let is_version = self.rules.version == Some(id) && is_numbered;
            (is_version || self.is_mark(field, operation) || fills(field, operation)).then_some(column)
        });
        let mut names: Vec<&str> = fields.filter(|column| is_forbidden(column)).map(|column| column.name.as_str()).collect();
        names.dedup();
        (!names.is_empty()).then(|| {
            let (word, listed, shown, role) = (operation.as_str(), names.join(", "), &self.shown, self.role);
            format!("`{word}` needs {statement} on ({listed}) of `{shown}`, which {role} lacks; GRANT it {statement}")
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
            Some(format!("{lacking}, which {} lacks; GRANT it USAGE", self.role))
        })
    }

    fn message(&self, operation: WriteOperation, statement: &str, purpose: &str) -> String {
        let (word, shown, role) = (operation.as_str(), &self.shown, self.role);
        format!("`{word}` needs {statement} on `{shown}`{purpose}, which {role} lacks; GRANT it {statement}")
    }
}
