//! Finds relations between columns of two collations, which PostgreSQL refuses to compare; one side is cast.

use query::catalog::{Catalog, Field, FieldId, Identifier, JoinColumns, Native, Resource, ResourceId, TableName};
use query::sql::Dialect;

use crate::schema::{Collation, Schema};

pub(super) fn conflicts(catalog: &Catalog, schema: &Schema) -> Vec<(ResourceId, FieldId)> {
    let mut found = Vec::new();
    for (id, resource) in catalog.resources().iter().enumerate() {
        let of = |resource: &Resource, field: &Field| of_column(schema, &resource.table, &field.column);
        for relation in &resource.relations {
            let target = catalog.resource(relation.target);
            match &relation.join_columns {
                JoinColumns::Direct(pairs) => {
                    let meets = |(own, other): &&(FieldId, FieldId)| {
                        differ(of(resource, &resource.fields[*own]), of(target, &target.fields[*other]))
                    };
                    found.extend(pairs.iter().filter(meets).map(|(own, _)| (id, *own)));
                }
                JoinColumns::Through { pivot, own, other, .. } => {
                    let away = other.iter().map(|(column, field)| (relation.target, *field, column));
                    for (resource, field, column) in own.iter().map(|(field, column)| (id, *field, column)).chain(away) {
                        let end = catalog.resource(resource);
                        let differ = differ(of(end, &end.fields[field]), of_column(schema, pivot, column));
                        // If the field is cast anyway, the pivot's column is too.
                        let is_plain = matches!(end.fields[field].native, Native::Standard | Native::Varchar);
                        if differ || (is_plain && equates_different_strings(schema, pivot, column)) {
                            found.push((resource, field));
                        }
                    }
                }
            }
        }
    }
    found
}

fn of_column<'s>(schema: &'s Schema, table: &TableName, column: &Identifier) -> Option<&'s Collation> {
    schema.table(table, Dialect::Postgres)?.column(column.plain(), Dialect::Postgres)?.collation.as_ref()
}

/// Whether the column compares by a rule that takes some different strings for equal, such as one without case.
fn equates_different_strings(schema: &Schema, table: &TableName, column: &Identifier) -> bool {
    let found = schema.table(table, Dialect::Postgres).and_then(|table| table.column(column.plain(), Dialect::Postgres));
    found.is_some_and(|found| found.native == "citext" || found.collation.as_ref().is_some_and(|collation| !collation.deterministic))
}

/// The database's own collation yields to every other.
fn differ(left: Option<&Collation>, right: Option<&Collation>) -> bool {
    left.zip(right).is_some_and(|(left, right)| left != right)
}
