//! Notes in the catalog what the database enforces in the tables of writable resources: defaults, unique keys and constraints.

use query::catalog::write_rules::{TableConstraint, TableFacts};
use query::catalog::{Catalog, FieldId, Resource};
use query::sql::Dialect;

use crate::schema::{OwnValue, Schema, Table, same};

pub(super) fn learn(catalog: &mut Catalog, schema: &Schema, dialect: Dialect) {
    let (mut defaults, mut facts) = (Vec::new(), Vec::new());
    for (id, resource) in catalog.resources().iter().enumerate().filter(|(_, resource)| resource.write_rules().is_some()) {
        let Some(table) = schema.table(&resource.table, dialect) else { continue };
        for (field, declared) in resource.stored_fields() {
            let column = table.column(declared.column.plain(), dialect);
            defaults.extend(column.filter(|column| column.own_value != OwnValue::None).map(|_| (id, field)));
        }
        facts.push((id, of(resource, table, dialect)));
    }
    for (resource, field) in defaults {
        catalog.set_default(resource, field);
    }
    for (resource, facts) in facts {
        catalog.set_table_facts(resource, facts);
    }
}

fn of(resource: &Resource, table: &Table, dialect: Dialect) -> TableFacts {
    let field = |column: &String| field_of(resource, column, dialect);
    let mut unique_keys: Vec<Vec<FieldId>> = table.keys().filter_map(|key| key.iter().map(field).collect()).collect();
    // The database does not tell the keys of a view or a foreign table, so the manifest's key counts.
    if (table.is_view || table.is_foreign) && !unique_keys.contains(&resource.key) {
        unique_keys.push(resource.key.clone());
    }
    let constraints = table.constraints.iter().map(|constraint| TableConstraint {
        name: constraint.name.clone(),
        kind: constraint.kind,
        fields: constraint.columns.iter().filter_map(field).collect(),
    });
    TableFacts { unique_keys, constraints: constraints.collect() }
}

/// The field of a column. Of several fields the key comes first, then one that clients write, then one that they see.
pub(super) fn field_of(resource: &Resource, column: &str, dialect: Dialect) -> Option<FieldId> {
    let fields = resource.stored_fields().filter(|(_, field)| same(field.column.plain(), column, dialect));
    let rank = |(id, field): &(FieldId, &query::catalog::Field)| (!resource.key.contains(id), field.rules.write.is_none(), field.hidden);
    fields.min_by_key(rank).map(|(id, _)| id)
}
