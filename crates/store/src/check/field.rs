//! Checks a field against its column: type, enum labels, NULL, and the rights of the database user.

use query::catalog::{Field, Resource, Stored};
use query::messages::did_you_mean_as;
use query::sql::Dialect;
use query::types::{EnumValue, Scalar};

use crate::introspect;
use crate::schema::affinity::{Contradiction, contradiction};
use crate::schema::{Column, Enumeration, Table};

use super::Checker;
use super::write_columns::{is_filled, is_written};

impl<'c> Checker<'c> {
    pub(super) fn field(&mut self, resource: &Resource, table: &'c Table, field: &Field) {
        let what = format!("field `{}` of `{}`", field.name, resource.full_name);
        if !self.name(&field.column, field.line, &what) {
            return;
        }
        let Some(column) = self.column(table, field.column.plain(), field.line, &what) else { return };
        match self.dialect {
            Dialect::Postgres | Dialect::Citus => self.postgres_type(field, column, &what),
            Dialect::Sqlite => {
                if let Some(contradiction) = contradiction(&field.kind, field.stored, column) {
                    let (kind, native, reason) = (field.kind.name(), &column.native, contradiction.reason);
                    let message = format!("{what}: type {kind} on a column declared {native:?}: {reason}");
                    if contradiction.loses_values && is_filled(resource, field) {
                        self.error(field.line, format!("{message}, or remove what writes the field"));
                    } else {
                        self.warning(field.line, message);
                    }
                }
            }
        }
        self.nullable(resource, field, (table, column), &what);
    }

    pub(super) fn column(&mut self, table: &'c Table, name: &str, line: usize, what: &str) -> Option<&'c Column> {
        let column = table.column(name, self.dialect);
        match column {
            None => {
                let hint = did_you_mean_as(name, table.columns.iter().map(|column| (column.name.as_str(), column.name.as_str())));
                self.error(line, format!("{what}: table `{}` has no column `{name}`{hint}", self.schema.shown(table, self.dialect)));
            }
            Some(column) if column.forbidden => {
                let Table { schema, name: table, .. } = table;
                self.error(line, format!("{what}: the database user may not read column `{name}` of `{schema}.{table}`; GRANT it SELECT"));
            }
            Some(_) => {}
        }
        column
    }

    fn postgres_type(&mut self, field: &Field, column: &Column, what: &str) {
        let (line, name, found, kind) = (field.line, &column.name, column.native_name(), field.kind.name());
        if introspect::native(&field.kind, column).is_none() {
            let advice = match introspect::kind_of(column, Dialect::Postgres) {
                Some(kind) => format!("declare it {:?}", kind.name()),
                None => "no type reads it; remove the field, or read it through a view that casts it".to_owned(),
            };
            self.error(line, format!("{what}: column `{name}` is {found}, which cannot be read as {kind}; {advice}"));
        } else if *field.kind.scalar() == Scalar::Int && column.native == "int8" {
            let wide = if column.array { "bigint[]" } else { "bigint" };
            let reason = "is int8 and may hold numbers beyond int, which read as null";
            self.warning(line, format!("{what}: column `{name}` {reason}; declare it {wide:?}"));
        }
        if column.nested {
            self.warning(line, format!("{what}: column `{name}` is {found}; arrays within arrays contradict {kind}"));
        }
        if field.stored != Stored::Standard {
            self.warning(line, format!("{what}: `stored` has a meaning on SQLite only; PostgreSQL ignores it"));
        }
        if let (Scalar::Enum(values), Some(enumeration)) = (field.kind.scalar(), &column.enumeration) {
            self.labels(field, values, enumeration, what);
        }
    }

    fn labels(&mut self, field: &Field, values: &[EnumValue], enumeration: &Enumeration, what: &str) {
        let Enumeration { name, labels, .. } = enumeration;
        let foreign: Vec<&str> = values.iter().map(|value| &**value).filter(|value| !labels.iter().any(|label| label == value)).collect();
        for value in foreign {
            let hint = did_you_mean_as(value, labels.iter().map(|label| (label.as_str(), label.as_str())));
            self.error(field.line, format!("{what}: {value:?} is no label of the enum `{name}`{hint}; take it out of `values`"));
        }
        let missing: Vec<String> =
            labels.iter().filter(|label| !values.iter().any(|value| **value == ***label)).map(|label| format!("{label:?}")).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let message = format!("{what}: the enum `{name}` also has {missing}, which read as null; add to `values` what clients may see");
            self.warning(field.line, message);
        }
    }

    fn nullable(&mut self, resource: &Resource, field: &Field, (table, column): (&Table, &Column), what: &str) {
        // Views do not say, and a primary key of SQLite may be NULL.
        if table.is_view || table.primary_key.contains(&column.name) {
            return;
        }
        let name = &column.name;
        let version = resource.write_rules().and_then(|rules| rules.version).map(|id| &resource.fields[id]);
        let message = match (field.nullable, column.nullable) {
            // The check of the version reports it.
            (false, true) if version.is_some_and(|version| std::ptr::eq(version, field)) => return,
            (false, true) => {
                format!("declared `null = false`, but column `{name}` may hold NULL; drop `null = false` or set the column NOT NULL")
            }
            (true, false) if is_written(resource, field) => {
                format!("a payload may have null, but column `{name}` is NOT NULL; declare `null = false`, or drop NOT NULL")
            }
            // The constraint is not valid: older rows may break it.
            (true, true) if column.required && is_written(resource, field) => {
                format!(
                    "a payload may have null, but column `{name}` refuses NULL in new rows; give every row a value and declare `null = false`"
                )
            }
            (true, false) => format!("column `{name}` is NOT NULL; declare `null = false`"),
            _ => return,
        };
        self.warning(field.line, format!("{what}: {message}"));
    }

    /// Whether rows can be connected by this column of a pivot and this field.
    pub(super) fn pivot_type(&mut self, field: &Field, column: &Column, line: usize, what: &str) {
        let (pivot_column, kind) = (format!("column `{}` of the through table", column.name), field.kind.name());
        if self.dialect == Dialect::Sqlite {
            if let Some(Contradiction { reason, .. }) = contradiction(&field.kind, field.stored, column) {
                // Only the second half of the message, how to fix it, applies here.
                let advice = reason.rsplit("; ").next().unwrap_or(reason);
                let declared = format!("{pivot_column} is declared {:?}", column.native);
                self.warning(line, format!("{what}: {declared}, which may not equal a field of type {kind}; {advice}"));
            }
            return;
        }
        if column.enumeration.is_some() {
            self.error(line, format!("{what}: {pivot_column} is a native enum, by which rows cannot be connected; use text"));
        } else if introspect::native(&field.kind, column).is_none() {
            let found = column.native_name();
            self.error(line, format!("{what}: {pivot_column} is {found}, which cannot equal a field of type {kind}"));
        }
    }
}
