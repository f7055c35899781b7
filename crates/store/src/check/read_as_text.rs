//! Columns of PostgreSQL types that no field type reads, such as `inet`. A field of type text reads their text.

use query::catalog::{Field, Native, Relation, Resource};

use super::Checker;

impl<'c> Checker<'c> {
    fn is_read_as_text(&self, resource: &Resource, field: &Field) -> bool {
        let table = self.schema.table(&resource.table, self.dialect);
        let column = table.and_then(|table| table.column(field.column.plain(), self.dialect));
        self.dialect.is_postgres()
            && column
                .and_then(|column| crate::introspect::native(&field.kind, column))
                .is_some_and(|native| matches!(native, Native::ReadAsText(_)))
    }

    /// Text of another type is compared for equality only, without an index.
    pub(super) fn keys_read_as_text(&mut self, resource: &'c Resource) {
        for field in resource.key_fields() {
            if self.is_read_as_text(resource, field) {
                let what = format!("field `{}` of `{}`", field.name, resource.full_name);
                self.error(field.line, format!("{what}: its column is read as text and cannot be a key; remove `key = true`"));
            }
        }
    }

    pub(super) fn join_fields_read_as_text(&mut self, resource: &'c Resource, relation: &'c Relation, what: &str) {
        let target = self.catalog.resource(relation.target);
        let own = relation.join_columns.own_fields().into_iter().map(|id| (resource, &resource.fields[id]));
        let other = relation.join_columns.other_fields().into_iter().map(|id| (target, &target.fields[id]));
        let found = own.chain(other).find(|(resource, field)| self.is_read_as_text(resource, field));
        if let Some((resource, field)) = found {
            let name = format!("`{}` of `{}`", field.name, resource.full_name);
            self.error(relation.line, format!("{what}: the column of {name} is read as text and cannot join rows"));
        }
    }
}
