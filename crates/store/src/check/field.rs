//! Checks a field against its column: type, enum labels, NULL, and the rights of the database user.

use query::catalog::{Field, Resource, Stored};
use query::messages::did_you_mean_as;
use query::sql::Dialect;
use query::types::{EnumValue, Scalar};

use crate::introspect;
use crate::schema::{Column, Enumeration, Table};

use super::{Checker, affinity, native};

impl<'c> Checker<'c> {
    pub(super) fn field(&mut self, resource: &Resource, table: &'c Table, field: &Field) {
        let what = format!("field `{}` of `{}`", field.name, resource.full_name);
        if !self.name(&field.column, field.line, &what) {
            return;
        }
        let Some(column) = self.column(table, field.column.plain(), field.line, &what) else { return };
        match self.dialect {
            Dialect::Postgres => self.postgres_type(field, column, &what),
            Dialect::Sqlite => {
                if let Some(reason) = affinity::contradiction(field, &column.native) {
                    let declared = format!("type {} on a column declared {:?}", field.kind.name(), column.native);
                    self.warning(field.line, format!("{what}: {declared}: {reason}"));
                }
            }
        }
        self.nullable(field, table, column, &what);
    }

    pub(super) fn column(&mut self, table: &'c Table, name: &str, line: usize, what: &str) -> Option<&'c Column> {
        let column = table.column(name, self.dialect);
        match column {
            None => {
                let hint = did_you_mean_as(name, table.columns.iter().map(|column| (column.name.as_str(), column.name.as_str())));
                self.error(line, format!("{what}: table `{}` has no column `{name}`{hint}", self.schema.shown(table, self.dialect)));
            }
            Some(column) if column.forbidden => {
                let message =
                    format!("{what}: the database user may not read column `{name}` of `{}.{}`; GRANT it SELECT", table.schema, table.name);
                self.error(line, message);
            }
            Some(_) => {}
        }
        column
    }

    fn postgres_type(&mut self, field: &Field, column: &Column, what: &str) {
        if native::native(&field.kind, column).is_none() {
            let advice = match introspect::kind_of(column, Dialect::Postgres) {
                Some(kind) => format!("declare it {:?}", kind.name()),
                None => "no type reads it; remove the field, or read it through a view that casts it".to_owned(),
            };
            let found = column.native_name();
            self.error(
                field.line,
                format!("{what}: column `{}` is {found}, which cannot be read as {}; {advice}", column.name, field.kind.name()),
            );
        } else if *field.kind.scalar() == Scalar::Int && column.native == "int8" {
            let brackets = if column.array { "[]" } else { "" };
            let message = format!(
                "{what}: column `{}` is int8 and may hold numbers beyond int, which read as null; declare it \"bigint{brackets}\"",
                column.name
            );
            self.warning(field.line, message);
        }
        if column.nested {
            let found = column.native_name();
            self.warning(
                field.line,
                format!("{what}: column `{}` is {found}; arrays within arrays contradict {}", column.name, field.kind.name()),
            );
        }
        if field.stored != Stored::Standard {
            self.warning(field.line, format!("{what}: `stored` has a meaning on SQLite only; PostgreSQL ignores it"));
        }
        if let (Scalar::Enum(values), Some(enumeration)) = (field.kind.scalar(), &column.enumeration) {
            self.labels(field, values, enumeration, what);
        }
    }

    fn labels(&mut self, field: &Field, values: &[EnumValue], enumeration: &Enumeration, what: &str) {
        let labels = &enumeration.labels;
        let foreign: Vec<&str> = values.iter().map(|value| &**value).filter(|value| !labels.iter().any(|label| label == value)).collect();
        for value in foreign {
            let hint = did_you_mean_as(value, labels.iter().map(|label| (label.as_str(), label.as_str())));
            self.error(
                field.line,
                format!("{what}: {value:?} is no label of the enum `{}`{hint}; take it out of `values`", enumeration.name),
            );
        }
        let missing: Vec<String> =
            labels.iter().filter(|label| !values.iter().any(|value| **value == ***label)).map(|label| format!("{label:?}")).collect();
        if !missing.is_empty() {
            let message = format!(
                "{what}: the enum `{}` also has {}, which read as null; add to `values` what clients may see",
                enumeration.name,
                missing.join(", ")
            );
            self.warning(field.line, message);
        }
    }

    fn nullable(&mut self, field: &Field, table: &Table, column: &Column, what: &str) {
        // Views do not say, and a primary key of SQLite may be NULL.
        if table.is_view || table.primary_key.contains(&column.name) {
            return;
        }
        match (field.nullable, column.nullable) {
            (false, true) => {
                let message = format!(
                    "{what}: declared `null = false`, but column `{}` may hold NULL; drop `null = false` or set the column NOT NULL",
                    column.name
                );
                self.warning(field.line, message);
            }
            (true, false) => {
                self.warning(field.line, format!("{what}: column `{}` is NOT NULL; declare `null = false`", column.name));
            }
            _ => {}
        }
    }

    /// Whether rows can be connected by this column of a pivot and this field.
    pub(super) fn pivot_type(&mut self, field: &Field, column: &Column, line: usize, what: &str) {
        let kind = &field.kind;
        if self.dialect == Dialect::Sqlite {
            if let Some(reason) = affinity::contradiction(field, &column.native) {
                // Only the second half of the message, how to fix it, applies here.
                let advice = reason.rsplit("; ").next().unwrap_or(reason);
                let declared = format!("column `{}` of the through table is declared {:?}", column.name, column.native);
                self.warning(line, format!("{what}: {declared}, which may not equal a field of type {}; {advice}", kind.name()));
            }
            return;
        }
        if column.enumeration.is_some() {
            self.error(
                line,
                format!(
                    "{what}: column `{}` of the through table is a native enum, by which rows cannot be connected; use text",
                    column.name
                ),
            );
        } else if native::native(kind, column).is_none() {
            let found = column.native_name();
            self.error(
                line,
                format!(
                    "{what}: column `{}` of the through table is {found}, which cannot equal a field of type {}",
                    column.name,
                    kind.name()
                ),
            );
        }
    }
}
