//! Compares a manifest with the live database and reports what to fix. It also records facts of the database in the catalog: types of
//! columns, keys, pivots, co-located relations, defaults, and what the tables of writable resources enforce.

mod citus;
mod collation;
mod constraint;
pub(crate) mod derived;
mod field;
mod ineffective;
mod leaks;
mod read_as_text;
mod relation;
mod table_facts;
pub(crate) mod values;
mod write;
mod write_columns;
mod write_privileges;

use query::catalog::{Catalog, Field, Identifier, Native, Resource, ResourceId, TableName};
use query::messages::did_you_mean_as;
use query::sql::Dialect;
use query::types::{Scalar, Type};

use crate::introspect::native;
use crate::schema::{Schema, Table};

pub use write_privileges::{check_write_privileges, check_write_role};

/// PostgreSQL truncates longer names.
const MAX_NAME_BYTES: usize = 63;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    /// Its line in the manifest, from 1.
    pub line: usize,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Statements would fail or answer wrongly.
    Error,
    Warning,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

impl Report {
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Warning)
    }
}

/// Compares a manifest with the database, except the privileges to write: see [`check_write_privileges`] and [`check_write_role`].
pub fn check(catalog: &Catalog, schema: &Schema, dialect: Dialect) -> Report {
    let mut checker = Checker { catalog, schema, dialect, findings: Vec::new() };
    checker.locale();
    checker.jit();
    // Users cannot change the program's own tables.
    for (id, resource) in catalog.resources().iter().enumerate().filter(|(_, resource)| !resource.is_own()) {
        checker.resource(id, resource);
    }
    // The types of the columns may refuse an operator of a constraint.
    for fault in catalog.constraint_faults() {
        checker.error(fault.line, fault.message);
    }
    checker.findings.sort_by_key(|finding| finding.line);
    Report { findings: checker.findings }
}

/// Adds facts of the database to the catalog: on PostgreSQL native types and pivots without repeated pairs, on SQLite certain keys, and
/// on both what the tables of writable resources enforce.
pub fn add_database_facts(catalog: &mut Catalog, schema: &Schema) {
    let dialect = match &schema.locale {
        Some(_) if schema.has_citus => Dialect::Citus,
        Some(_) => Dialect::Postgres,
        None => Dialect::Sqlite,
    };
    match dialect {
        Dialect::Postgres | Dialect::Citus => learn_columns(catalog, schema),
        Dialect::Sqlite => learn_keys(catalog, schema),
    }
    table_facts::learn(catalog, schema, dialect);
}

fn learn_keys(catalog: &mut Catalog, schema: &Schema) {
    let is_certain = |resource: &Resource| {
        let Some(table) = schema.table(&resource.table, Dialect::Sqlite) else { return false };
        let columns: Vec<&str> = resource.key_fields().map(|field| field.column.plain()).collect();
        let is_filled = |name: &&str| table.column(name, Dialect::Sqlite).is_some_and(|column| !column.nullable);
        !table.is_view && columns.iter().all(is_filled) && table.is_unique(&columns, Dialect::Sqlite)
    };
    let certain: Vec<ResourceId> = (0..catalog.resources().len()).filter(|id| is_certain(catalog.resource(*id))).collect();
    for id in certain {
        catalog.set_key_certain(id);
    }
}

fn learn_columns(catalog: &mut Catalog, schema: &Schema) {
    let (mut found, mut scales) = (Vec::new(), Vec::new());
    for (id, resource) in catalog.resources().iter().enumerate() {
        let Some(table) = schema.table(&resource.table, Dialect::Postgres) else { continue };
        for (place, field) in resource.stored_fields() {
            let Some(column) = table.column(field.column.plain(), Dialect::Postgres) else { continue };
            found.extend(native(&field.kind, column).map(|native| (id, place, native)));
            scales.extend(column.digits.filter(|_| !column.array).map(|(_, scale)| (id, place, scale)));
        }
    }
    for (resource, field, native) in found {
        catalog.set_native(resource, field, native);
    }
    for (resource, field, scale) in scales {
        catalog.set_scale(resource, field, scale);
    }
    for (resource, relation) in relation::without_repeats(catalog, schema) {
        catalog.set_never_repeats(resource, relation);
    }
    for (resource, relation, placement) in if schema.has_citus { citus::placements(catalog, schema) } else { Vec::new() } {
        catalog.set_placement(resource, relation, placement);
    }
    for (resource, field) in collation::conflicts(catalog, schema) {
        catalog.set_native(resource, field, Native::TextByCollation);
    }
    catalog.set_derived_native_types();
}

struct Checker<'c> {
    catalog: &'c Catalog,
    schema: &'c Schema,
    dialect: Dialect,
    findings: Vec<Finding>,
}

impl<'c> Checker<'c> {
    fn error(&mut self, line: usize, message: impl Into<String>) {
        self.findings.push(Finding { severity: Severity::Error, line, message: message.into() });
    }

    fn warning(&mut self, line: usize, message: impl Into<String>) {
        self.findings.push(Finding { severity: Severity::Warning, line, message: message.into() });
    }

    fn locale(&mut self) {
        let Some(locale) = &self.schema.locale else { return };
        let declared = self.catalog.resources().iter().filter(|resource| !resource.is_own());
        let mut fields = declared.flat_map(|resource| &resource.fields);
        let text = fields.find(|field| matches!(field.kind, Type::One(Scalar::Text | Scalar::Enum(_))));
        let Some(Field { line, .. }) = text else { return };
        // Connecting checks this too, but a pooler may hide the encoding.
        if locale.encoding != "UTF8" {
            self.error(*line, format!("the encoding of the database is {}; accepted is UTF8", locale.encoding));
        }
        if !locale.folds_beyond_ascii() {
            let (ctype, advice) = (&locale.ctype, "create the database with LC_CTYPE 'C.UTF-8' or that of a language");
            self.warning(*line, format!("the database's ctype is {ctype}: iLike will not fold case beyond ASCII; {advice}"));
        }
    }

    fn resource(&mut self, id: ResourceId, resource: &'c Resource) {
        let what = format!("resource `{}`", resource.full_name);
        let Some(table) = self.table(&resource.table, resource.line, &what) else { return };
        if table.is_unfilled {
            let name = &resource.table;
            self.warning(resource.line, format!("{what}: `{name}` was never filled and cannot be read; run REFRESH MATERIALIZED VIEW"));
        }
        for (_, field) in resource.stored_fields() {
            self.field(resource, table, field);
        }
        self.keys_read_as_text(resource);
        self.key(resource, table);
        self.unseen_key(resource);
        if let Some(field) = resource.soft_delete()
            && let Some(column) = table.column(field.column.plain(), self.dialect)
            && !column.nullable
            && !table.is_view
            && field.kind != Type::One(Scalar::Bool)
            && !write_columns::sets_soft_delete(resource)
        {
            let reason = format!("`soft-delete` names `{}`, whose column is NOT NULL", field.name);
            self.warning(field.line, format!("{what}: {reason}, so that every row counts as deleted"));
        }
        for relation in &resource.relations {
            self.relation(resource, relation);
        }
        self.derived_fields(resource);
        self.conditions(id);
        self.ineffective_rules(resource);
        self.write(id, table);
    }

    fn table(&mut self, name: &TableName, line: usize, what: &str) -> Option<&'c Table> {
        let mut fits = true;
        for part in name.schema.iter().chain([&name.name]) {
            fits &= self.name(part, line, what);
        }
        if !fits {
            return None;
        }
        let Some(table) = self.schema.table(name, self.dialect) else {
            let hint = self.table_hint(name);
            self.error(line, format!("{what}: table `{name}` does not exist{hint}"));
            return None;
        };
        if let Some(reason) = &table.unreadable {
            self.error(line, format!("{what}: `{name}` cannot be read: {reason}"));
            return None;
        }
        Some(table)
    }

    fn table_hint(&self, name: &TableName) -> String {
        let tables = &self.schema.tables;
        let qualified = |table: &Table| format!("{}.{}", table.schema, table.name);
        let elsewhere = tables.iter().filter(|table| table.name == name.name.plain());
        let elsewhere: Vec<String> = elsewhere.map(|table| format!("`table = \"{}\"`", qualified(table))).collect();
        if self.dialect.is_postgres() && !elsewhere.is_empty() {
            return format!("; write {}", elsewhere.join(" or "));
        }
        let names = tables.iter().map(|table| match &name.schema {
            Some(_) => (qualified(table), qualified(table)),
            None if self.schema.find(None, &table.name, self.dialect).is_some() => (table.name.clone(), table.name.clone()),
            None => (table.name.clone(), qualified(table)),
        });
        let names: Vec<(String, String)> = names.collect();
        did_you_mean_as(&name.to_string(), names.iter().map(|(name, shown)| (name.as_str(), shown.as_str())))
    }

    /// Whether PostgreSQL keeps the whole name.
    fn name(&mut self, name: &Identifier, line: usize, what: &str) -> bool {
        let plain = name.plain();
        let fits = self.dialect == Dialect::Sqlite || plain.len() <= MAX_NAME_BYTES;
        if !fits {
            let end = (0..=MAX_NAME_BYTES).rev().find(|end| plain.is_char_boundary(*end)).unwrap_or(0);
            let kept = &plain[..end];
            self.error(line, format!("{what}: the name `{plain}` is longer than {MAX_NAME_BYTES} bytes; PostgreSQL keeps only `{kept}`"));
        }
        fits
    }

    /// Warns of a hidden or masked key, which does not order rows.
    fn unseen_key(&mut self, resource: &Resource) {
        for field in resource.key_fields() {
            let how = match &field.mask {
                _ if field.hidden => "hidden from everybody".to_owned(),
                Some((_, None)) => "masked for everybody".to_owned(),
                Some((_, Some(permission))) => format!("masked for everybody without the permission `{permission}`"),
                None => continue,
            };
            let message = format!(
                "resource `{}`: `{}` of the key is {how}, so it cannot make the order of rows unique: pages may repeat or skip rows that are equal in every visible field; order by a unique visible field. Without `order` rows come as the database keeps them, which may be by the key",
                resource.full_name, field.name
            );
            self.warning(field.line, message);
        }
    }

    fn key(&mut self, resource: &Resource, table: &Table) {
        let columns: Vec<&str> = resource.key.iter().map(|id| resource.fields[*id].column.plain()).collect();
        let Some(first) = resource.key.first() else { return };
        let known = columns.iter().all(|column| table.column(column, self.dialect).is_some());
        if !known || table.is_view || table.is_unique(&columns, self.dialect) {
            return;
        }
        let is_written = resource.write_rules().is_some();
        // Another server may keep the key unique, and only the manifest says so.
        if is_written && table.is_foreign_table {
            return;
        }
        let instead = match table.primary_key.as_slice() {
            _ if table.has_child_tables => "no key of it covers the tables that inherit from it".to_owned(),
            [] => format!("add a unique index on {} ({})", self.schema.shown(table, self.dialect), columns.join(", ")),
            key => format!("the primary key is ({})", key.join(", ")),
        };
        let (name, columns, table) = (&resource.full_name, columns.join(", "), &resource.table);
        let reason = if is_written { ", and a write needs a key that the database keeps unique" } else { "" };
        let message = format!("resource `{name}`: the key ({columns}) is not unique in table `{table}`{reason}; {instead}");
        let line = resource.fields[*first].line;
        if is_written { self.error(line, message) } else { self.warning(line, message) }
    }
}
