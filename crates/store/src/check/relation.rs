//! Checks a relation against the keys and indexes of its tables.

use query::catalog::{Catalog, Field, FieldId, Identifier, JoinColumns, Native, Relation, Resource, ResourceId, Stored, TableName};
use query::sql::Dialect;
use query::types::{Scalar, Type};

use crate::introspect::native;
use crate::schema::{Schema, Table};

use super::Checker;

impl<'c> Checker<'c> {
    pub(super) fn relation(&mut self, resource: &'c Resource, relation: &'c Relation) {
        let what = format!("relation `{}` of `{}`", relation.name, resource.full_name);
        let target = self.catalog.resource(relation.target);
        self.join_fields_read_as_text(resource, relation, &what);
        self.placement(resource, relation, &what);
        match &relation.join_columns {
            JoinColumns::Direct(pairs) => {
                let fields: Vec<FieldId> = pairs.iter().map(|(_, other)| *other).collect();
                let Some((table, columns)) = self.target(target, &fields) else { return };
                if relation.many {
                    self.index(table, (&columns, unset_column(target)), relation.line, &what);
                } else {
                    self.unique(relation, (target, &fields), (table, &columns), &what);
                }
            }
            JoinColumns::Through { pivot, own, other, .. } => {
                let own: Vec<(&Identifier, &Field)> = own.iter().map(|(field, column)| (column, &resource.fields[*field])).collect();
                let away: Vec<(&Identifier, &Field)> = other.iter().map(|(column, field)| (column, &target.fields[*field])).collect();
                self.zones(pivot, (resource, &own), relation.line, &what);
                self.zones(pivot, (target, &away), relation.line, &what);
                self.pivot(pivot, &own, &away, relation.line, &what);
                let fields: Vec<FieldId> = other.iter().map(|(_, field)| *field).collect();
                if let Some((table, columns)) = self.target(target, &fields) {
                    self.index(table, (&columns, unset_column(target)), relation.line, &what);
                }
            }
        }
    }

    /// The target's table and the columns of these fields. Missing ones are reported where they are declared.
    fn target(&self, target: &'c Resource, fields: &[FieldId]) -> Option<(&'c Table, Vec<&'c str>)> {
        let table = self.schema.table(&target.table, self.dialect)?;
        let columns: Vec<&str> = fields.iter().map(|id| target.fields[*id].column.plain()).collect();
        columns.iter().all(|column| table.column(column, self.dialect).is_some()).then_some((table, columns))
    }

    fn unique(&mut self, relation: &Relation, (target, fields): (&Resource, &[FieldId]), (table, columns): (&Table, &[&str]), what: &str) {
        let (line, listed, target_table, target_name) = (relation.line, columns.join(", "), &target.table, &target.full_name);
        if table.is_unique(columns, self.dialect) {
            if self.dialect == Dialect::Sqlite && fields.iter().any(|id| has_spellings(&target.fields[*id])) {
                let advice = "keep each value in one spelling, or declare the relation `many`";
                self.warning(line, format!("{what}: ({listed}) is unique by its texts, and compared by value; {advice}"));
            }
            return;
        }
        if table.is_view && !target.key.is_empty() && target.key.iter().all(|id| fields.contains(id)) {
            let trusted = format!("that ({listed}) is unique is taken from the manifest's `key`");
            self.warning(line, format!("{what}: `{target_table}` is a view; {trusted}"));
            return;
        }
        let reason = if table.has_child_tables {
            format!("no key of `{target_table}` covers the tables that inherit from it; declare")
        } else if table.is_view {
            format!("`{target_table}` is a view; mark `{target_name}`'s fields of ({listed}) with `key = true` if they are one, or declare")
        } else {
            let name = self.schema.shown(table, self.dialect);
            format!("({listed}) is none of table `{target_table}`; add a unique index on {name} ({listed}), or declare")
        };
        self.error(line, format!("{what}: `one` needs a unique key, and {reason} the relation `many`"));
    }

    /// `unset` is NULL in all rows that are asked for.
    fn index(&mut self, table: &Table, (columns, unset): (&[&str], Option<&str>), line: usize, what: &str) {
        if !table.is_view && !table.is_indexed(columns, unset, self.dialect) {
            let (listed, name) = (columns.join(", "), self.schema.shown(table, self.dialect));
            self.warning(line, format!("{what}: no index finds rows of `{name}` by ({listed}); add an index on {name} ({listed})"));
        }
    }

    /// PostgreSQL compares `timestamp` with `timestamptz` by the session's time zone.
    fn zones(&mut self, pivot: &TableName, (resource, fields): (&Resource, &[(&Identifier, &Field)]), line: usize, what: &str) {
        let (pivot, table) = (self.schema.table(pivot, self.dialect), self.schema.table(&resource.table, self.dialect));
        let (Some(pivot), Some(table), Dialect::Postgres | Dialect::Citus) = (pivot, table, self.dialect) else { return };
        for (name, field) in fields {
            let has_zone = |table: &'c Table, column: &str| {
                let native = table.column(column, Dialect::Postgres).and_then(|column| native(&field.kind, column));
                native.map(|native| native != Native::TimestampWithoutZone)
            };
            let sides = has_zone(pivot, name.plain()).zip(has_zone(table, field.column.plain()));
            if sides.is_some_and(|(one, other)| one != other) {
                let columns =
                    format!("column `{}` of the through table and `{}` of `{}`", name.plain(), field.column.plain(), resource.table);
                self.error(line, format!("{what}: of {columns} one is a timestamp with time zone and one is not; make both the same"));
            }
        }
    }

    fn pivot(&mut self, pivot: &TableName, own: &[(&Identifier, &Field)], other: &[(&Identifier, &Field)], line: usize, what: &str) {
        let Some(table) = self.table(pivot, line, what) else { return };
        let mut whole = true;
        for (name, field) in own.iter().chain(other) {
            let column = if self.name(name, line, what) { self.column(table, name.plain(), line, what) } else { None };
            match column {
                Some(column) => self.pivot_type(field, column, line, what),
                None => whole = false,
            }
        }
        if whole {
            let columns: Vec<&str> = own.iter().map(|(column, _)| column.plain()).collect();
            self.index(table, (&columns, None), line, what);
        }
    }
}

/// The column of `soft-delete`, if every row in reach has NULL in it.
pub(super) fn unset_column(resource: &Resource) -> Option<&str> {
    let field = resource.soft_delete().filter(|field| field.kind != Type::One(Scalar::Bool))?;
    Some(field.column.plain())
}

/// Whether SQLite stores equal values of a field in several forms, such as `1.0` and `1.00`, which a unique key does not see as equal.
fn has_spellings(field: &Field) -> bool {
    field.stored == Stored::Datetime || matches!(field.kind, Type::One(Scalar::Decimal | Scalar::Time))
}

/// The relations whose pivot has a unique key over the pair. `check` refuses types whose equality differs from the key's.
pub(super) fn without_repeats(catalog: &Catalog, schema: &Schema) -> Vec<(ResourceId, usize)> {
    let is_unique = |relation: &Relation| match &relation.join_columns {
        JoinColumns::Direct(_) => false,
        JoinColumns::Through { pivot, own, other, .. } => {
            let columns = own.iter().map(|(_, column)| column).chain(other.iter().map(|(column, _)| column));
            let columns: Vec<&str> = columns.map(Identifier::plain).collect();
            schema.table(pivot, Dialect::Postgres).is_some_and(|table| table.is_unique(&columns, Dialect::Postgres))
        }
    };
    let resources = catalog.resources().iter().enumerate();
    let relations =
        resources.flat_map(|(id, resource)| resource.relations.iter().enumerate().map(move |(place, relation)| (id, place, relation)));
    relations.filter(|(.., relation)| is_unique(relation)).map(|(id, place, _)| (id, place)).collect()
}
